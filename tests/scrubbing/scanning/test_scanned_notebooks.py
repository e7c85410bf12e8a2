"""A finding in a notebook has its cell, the kind of output, and the line on which the source of the cell starts."""

from __future__ import annotations

import base64
import json

import pytest

from tests.planted_project import fake
from toolkit.scrubbing.scanning import scan_files


def cell(*outputs, source=("x",), **more):
    return {"cell_type": "code", "metadata": {}, "source": list(source), "outputs": list(outputs), **more}


def shown(media_type, value):
    return {"output_type": "display_data", "metadata": {}, "data": {media_type: value}}


def notebook(*cells, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def widget(**state):
    """Return the metadata in which a notebook keeps the state of a widget."""
    models = {"state": {"a": {"model_name": "HTMLModel", "state": state}}}
    return {"widgets": {"application/vnd.jupyter.widget-state+json": models}}


PLACES = {
    "source": lambda value: (notebook(cell(), cell(source=["x\n", f"api_key = '{value}'\n"])), 2, "source"),
    "source as a text": lambda value: (notebook(cell() | {"source": f"a\napi_key='{value}'"}), 1, "source"),
    "stdout": lambda value: (notebook(cell({"text": ["a\n", f"token={value}\n"]})), 1, "output text"),
    "plain": lambda value: (notebook(cell(shown("text/plain", [f"access_token={value}"]))), 1, "output text/plain"),
    "HTML": lambda value: (notebook(cell(shown("text/html", ["<p>\n", f"pin: {value}</p>"]))), 1, "output text/html"),
    "JSON": lambda value: (notebook(cell(shown("application/json", {"pin": value}))), 1, "output application/json"),
    "error": lambda value: (
        notebook(cell({"traceback": ["\x1b[31m--\x1b[0m", f"\x1b[34mpassword\x1b[39m=\x1b[32m'{value}'\x1b[39m"]})),
        1,
        "output traceback",
    ),
    "attachment": lambda value: (
        notebook(cell(attachments={"a.txt": {"text/plain": base64.b64encode(f"token={value}".encode()).decode()}})),
        1,
        "attachment a.txt text/plain, base64",
    ),
    "metadata of a cell": lambda value: (notebook(cell(metadata={"args": {"pwd": value}})), 1, "metadata args"),
    "metadata": lambda value: (notebook(cell(), login={"password": value}), None, "metadata"),
    "widget": lambda value: (notebook(**widget(description="API key:", value=value)), None, "widget state"),
}


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("place", PLACES)
def test_where_in_a_notebook(tmp_path, place, indent):
    """A secret is found in each part of a notebook, with its cell and part and the line of its source."""
    value = fake()
    document, number, part = PLACES[place](value)
    path = tmp_path / "a.ipynb"
    text = json.dumps(document, indent=indent)
    path.write_text(text, encoding="utf-8")
    (finding,) = scan_files(path)
    assert (finding.cell, finding.part) == (number, part)
    starts = [at for at, line in enumerate(text.split("\n"), 1) if line.startswith('   "source":')]
    assert finding.line == (starts[number - 1] if indent and number else 1)
    assert str(finding) == f"{path}:{finding.line}: {f'cell {number}, ' if number else ''}{part}: secret field"


@pytest.mark.parametrize(
    ("typed", "count"), [("Winter2025!", 1), ("", 0), ("<ACCESS_TOKEN>", 0), ("********", 0), (7, 0)]
)
def test_password_fields(tmp_path, typed, count):
    """What was typed into a field for passwords is a finding, also if somebody made it up; a stand-in is none."""
    document = notebook(**widget(_model_name="PasswordModel", description="x", value=typed))
    (tmp_path / "a.ipynb").write_text(json.dumps(document), encoding="utf-8")
    assert [each.part for each in scan_files(tmp_path)] == ["widget state"] * count
