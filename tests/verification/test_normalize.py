"""The stored form of a notebook: without anything that depends on the run or the machine, and otherwise complete."""

import base64
import html
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.verification.normalize import (
    CellResult,
    RunResult,
    as_bytes,
    normal_form,
    normal_output,
    without_places,
    without_png_metadata,
    without_times,
)
from toolkit.verification.notebook_files import parse_notebook

CODE = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
NOTEBOOK = {"cells": [CODE], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*extra):
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = [chunk(b"IHDR", head), *extra, chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("end", ["", "\n"])
def test_without_png_metadata(end):
    """A PNG loses versions and times and keeps its pixels; the base64 ends as before."""
    metadata = chunk(b"tEXt", b"Software\0Matplotlib version 3.1"), chunk(b"tIME", b"\x07\xea\x0b\x14\0\0\0")
    encoded = base64.b64encode(png(*metadata)).decode() + end
    assert without_png_metadata(encoded) == base64.b64encode(png()).decode() + end


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_text_in_place_of_a_png(data, cut):
    """Text that is not a PNG, or part of one, never raises an error."""
    for broken in (data, png()[:cut], png() + data):
        without_png_metadata(base64.b64encode(broken).decode())
    without_png_metadata(data.decode("latin-1"))


def test_without_places():
    """Folders are replaced longest first and as whole names, also after a colour; names with the same start stay."""
    places = {"/home/ann/proj/nb": "<notebooks>", "/home/ann": "~"}
    texts = ["/home/ann/proj/nb/x.py", "\x1b[32m/home/ann/a.py\x1b[39m", "'/home/ann'", "/home/anna", "x/home/ann"]
    expected = ["<notebooks>/x.py", "\x1b[32m~/a.py\x1b[39m", "'~'", "/home/anna", "x/home/ann"]
    assert without_places({"a": texts}, places) == {"a": expected}
    assert without_places("/x", {}) == "/x"


def test_placeholders_are_escaped_in_markup():
    """Placeholders are escaped in HTML and SVG, also in Output widgets, and stay as they are in plain text."""
    places = {"/home/ann/proj": "<project>", "/home/ann": "~"}
    shown = {
        "text/plain": "/home/ann/proj/a.csv",
        "text/html": "<td>/home/ann/proj/a.csv</td><td>/home/ann</td>",
        "image/svg+xml": "<svg><text>/home/ann/proj</text></svg>",
    }
    expected = {
        "text/plain": "<project>/a.csv",
        "text/html": "<td>&lt;project&gt;/a.csv</td><td>~</td>",
        "image/svg+xml": "<svg><text>&lt;project&gt;</text></svg>",
    }
    output = {"output_type": "display_data", "data": shown, "metadata": {}}
    assert normal_output(output, places)["data"] == expected
    assert without_places({"state": {"outputs": [output]}}, places)["state"]["outputs"][0]["data"] == expected


@given(st.lists(st.sampled_from(["/a/b", "/a", "<td>", "&", "'", "x", "/", ".", " ", "\x1b[32m", "project"])))
def test_order_of_escaping_and_replacing(parts):
    """Escaping a text and replacing its folders gives the same in either order."""
    places, text = {"/a/b": "<project>", "/a": "<a&b>"}, "".join(parts)
    assert without_places({"text/html": html.escape(text)}, places) == {
        "text/html": html.escape(without_places(text, places))
    }


def test_without_addresses():
    """Memory addresses of default reprs are removed; other hexadecimal numbers are results and stay."""
    given_data = {"text/plain": "<Styler at 0x7fa40bb8fc90> 0x7fa40bb8fc90"}
    normal = normal_output({"output_type": "display_data", "data": given_data, "metadata": {}}, {})
    assert normal["data"]["text/plain"] == "<Styler at 0x...> 0x7fa40bb8fc90"


def test_without_times():
    """Execution times and trust are removed from a cell's metadata; tags stay."""
    assert without_times({"execution": {}, "ExecuteTime": {}, "trusted": True, "tags": ["x"]}) == {"tags": ["x"]}


def test_normal_form():
    """Outputs and counts come from the run, kernel and language are fixed, and existing widget state is kept."""
    result = RunResult({0: CellResult([{"output_type": "stream", "name": "stdout", "text": "x\n"}], 1)})
    normal = normal_form(NOTEBOOK, result, places={}, versions={"pandas": "1"})
    assert normal["cells"][0]["outputs"][0]["text"] == "x\n"
    assert normal["cells"][0]["execution_count"] == 1
    assert normal["metadata"]["language_info"] == {"name": "python"}
    assert normal["metadata"]["toolkit"]["versions"] == {"pandas": "1"}
    assert "widgets" not in normal["metadata"]
    assert NOTEBOOK["metadata"] == {}
    with_state = normal_form(NOTEBOOK, RunResult({}, {"state": 1}), places={}, versions={})
    assert with_state["metadata"]["widgets"] == {"state": 1}


def test_normal_form_of_skipped_cell():
    """A skipped cell keeps its outputs and count to the byte."""
    output = {"output_type": "stream", "name": "stdout", "text": "<x at 0x7fa40bb8fc90> in /home/ann\n"}
    skipped = {**CODE, "outputs": [output], "execution_count": 7}
    notebook = {**NOTEBOOK, "cells": [skipped, {**skipped, "id": "b"}]}
    normal = normal_form(notebook, RunResult({1: CellResult()}), places={"/home/ann": "~"}, versions={})
    assert normal["cells"] == [skipped, {**CODE, "id": "b"}]


def test_writing_and_reading_is_stable():
    """A written notebook is read as it was, and written as the same bytes."""
    result = RunResult({0: CellResult([{"output_type": "stream", "name": "stdout", "text": "ä\nb"}], 1)})
    data = as_bytes(normal_form(NOTEBOOK, result, places={}, versions={}))
    read = parse_notebook(data)
    assert as_bytes(read.content) == data
    assert as_bytes(normal_form(read.content, result, places={}, versions={})) == data
