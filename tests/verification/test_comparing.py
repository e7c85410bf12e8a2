"""Differences are found to the byte, named, and sorted into results, sources and metadata."""

import base64
import copy
import json
import struct
from pathlib import PureWindowsPath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.verification.comparing import differences
from toolkit.verification.diff import diff_lines, hint_at
from toolkit.verification.normalize import CellResult, RunResult, as_bytes, normal_form
from toolkit.verification.notebook_files import NotANotebook, parse_notebook
from toolkit.verification.verdict import Kind

TABLE = "   a     b\n0  1  0.50\n1  2  0.25"
PAGE = "<table>\n<tr><td>1</td><td>0.50</td></tr></table>"
SOURCES = [("markdown", "# Title\n\nWords."), ("code", "print(1)\nprint(2)"), ("code", "table"), ("code", "fail()")]
OUTPUTS = {
    1: [{"output_type": "stream", "name": "stdout", "text": "1\n2\n"}],
    2: [
        {
            "output_type": "execute_result",
            "execution_count": 2,
            "data": {"text/plain": TABLE, "text/html": PAGE, "image/png": "iVBORw0KGgoA", "application/json": {"a": 1}},
            "metadata": {},
        }
    ],
    3: [{"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["line 1\nline 2"]}],
}
RESULT = RunResult({place: CellResult(outputs, place) for place, outputs in OUTPUTS.items()})


def expected_of(content, result=RESULT):
    return normal_form(content, result, places={}, versions=content["metadata"]["toolkit"].get("versions", {}))


def made():
    cells = []
    for number, (kind, source) in enumerate(SOURCES):
        cell = {"cell_type": kind, "id": f"id-{number}", "metadata": {}, "source": source}
        cells.append(cell if kind == "markdown" else {**cell, "outputs": [], "execution_count": None})
    content = {"cells": cells, "metadata": {"toolkit": {}}, "nbformat": 4, "nbformat_minor": 5}
    return as_bytes(expected_of(content))


STORED = made()
END = STORED.index(b'\n ],\n "metadata"')  # of the cells
BEGINS = [STORED.index(b"  {\n   " + first) for first in (b'"cell_type": "markdown"',)]
BEGINS += [at for at in range(END) if STORED.startswith(b'  {\n   "cell_type": "code"', at)]


def compared(data, result=RESULT):
    stored = parse_notebook(data)
    expected = expected_of(stored.content, result)
    return differences(stored, as_bytes(expected), expected)


def test_unchanged_notebook():
    """An unchanged notebook has no differences."""
    assert compared(STORED) == ()


@given(st.integers(BEGINS[0], END - 1), st.integers(0, 255))
def test_any_changed_byte_is_found_in_its_cell(at, byte):
    """Whatever byte of a cell changes, the file is refused or the difference names that cell."""
    assume(STORED[at] != byte)
    changed = STORED[:at] + bytes([byte]) + STORED[at + 1 :]
    try:
        result = compared(changed)
    except NotANotebook:
        return
    assert result
    if parse_notebook(changed).content != parse_notebook(STORED).content:
        cell = sum(at >= begin for begin in BEGINS)
        assert cell in [item.cell.number for item in result if item.cell is not None]


@pytest.mark.parametrize(
    ("old", "new", "place", "kind"),
    [
        (b"0  1  0.50", b"0  1  0.51", "output 1, text/plain", Kind.DATA),
        (b"0  1  0.50", b"0  1 0.500", "output 1, text/plain", Kind.DATA),
        (b"0  1  0.50", b"0 01  0.50", "output 1, text/plain", Kind.DATA),
        (b"<td>0.50", b"<td>00.50", "output 1, text/html", Kind.DATA),
        (b"<td>0.50", b"<td>0.75", "output 1, text/html", Kind.DATA),
        (b"iVBORw0KGgoA", b"iVBORw0KGgoB", "output 1, image/png", Kind.IMAGE),
        (b'"stdout"', b'"stderr"', "output 1 has another type", Kind.DATA),
        (b"line 2", b"line 3", "output 1, traceback", Kind.DATA),
        (b"KeyError", b"KeyErro ", "output 1, ename", Kind.DATA),
        (b"print(2)", b"print(3)", "source", Kind.SOURCE),
        (b"Words.", b"Words!", "source", Kind.SOURCE),
        (b'"name": "python"', b'"name": "Python"', "metadata/language_info/name", Kind.METADATA),
        (b'    "id-0"', b'    "id-9"', "source", Kind.SOURCE),
    ],
)
def test_place_and_kind_of_a_difference(old, new, place, kind):
    """Differences in results, sources and metadata have different kinds; each digit of a result counts."""
    assert old in STORED
    result = compared(STORED.replace(old, new, 1))
    assert (place, kind) in [(item.place, item.kind) for item in result]


def test_missing_output():
    """A missing or additional output is a difference in results that shows its text."""
    fewer = RunResult({**RESULT.cells, 1: CellResult([], 1)})
    gone = compared(STORED, fewer)
    assert [(item.place, item.cell.number) for item in gone] == [("output 1 is gone", 2)]
    assert gone[0].diff == ("-[stream: stdout]", "-1", "-2")


def test_difference_in_layout():
    """The same content in another layout differs in layout only, shown by line."""
    data = json.dumps(json.loads(STORED), sort_keys=True, indent=2).encode()
    result = compared(data)
    assert [item.kind for item in result] == [Kind.LAYOUT]
    assert result[0].diff


def test_notebook_without_our_metadata():
    """In a notebook that was never updated, the outputs decide."""
    content = json.loads(STORED)
    content["metadata"] = {}
    stored = parse_notebook(json.dumps(content).encode())
    expected = normal_form(stored.content, RESULT, places={}, versions={})
    assert [item.kind for item in differences(stored, as_bytes(expected), expected)] == [Kind.EDITOR]


def png(*kinds):
    chunks = b"".join(struct.pack(">I4sc4x", 1, kind, b"x") for kind in kinds)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


@pytest.mark.parametrize(
    "path",
    ["/tmp/ipykernel_1/36.py", "/var/x1/y_2/T/ipykernel_1/36.py", r"C:\Users\A B\Temp\ipykernel_1\36.py"],  # noqa: S108
)
def test_outputs_that_another_program_saved(path):
    """Split streams, names of cells, colours of tracebacks and texts in images are not results; the rest is."""
    html = "<pre>&lt;cell 2&gt;:3: UserWarning</pre>"
    words = ["1\n", "50%\r2\n", '{0}:3: UserWarning: careful\n  File "{0}", line 3\n']

    def outputs(name, page, image, colour, streams):
        bad = f"bad ({PureWindowsPath(name).name}, line 1)"  # the text of a SyntaxError
        return [
            *({"output_type": "stream", "name": kind, "text": text.format(name)} for kind, text in streams),
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": image, "text/html": page}},
            {"output_type": "error", "ename": "E", "evalue": bad, "traceback": [f"{colour}1/0 in {name}"]},
        ]

    ours = [("stdout", "1\n2\n"), ("stderr", words[2])]
    cell = CellResult(outputs("<cell 2>", html, png(b"IDAT"), "\x1b[31m", ours), 2)
    result = RunResult({**RESULT.cells, 2: cell})
    split = [("stderr", words[2][:4]), ("stdout", words[0]), ("stderr", words[2][4:]), ("stdout", words[1])]
    theirs = json.loads(STORED)
    page, image = html.replace("&lt;cell 2&gt;", path), png(b"tIME", b"IDAT", b"tEXt")
    theirs["cells"][2]["outputs"] = outputs(path, page, image, "", split)
    data = json.dumps(theirs)
    assert [item.kind for item in compared(data.encode(), result)] == [Kind.EDITOR]
    changes = [("50%", "50%\\n"), ("careful", "careless"), ("line 3", "line 4"), ("1/0", "1"), (image, png(b"IEND"))]
    for old, new in changes:
        assert Kind.EDITOR not in {item.kind for item in compared(data.replace(old, new, 1).encode(), result)}


def test_diff_of_texts_and_pages():
    """Texts are compared by line and pages by tag, with unchanged lines as context."""
    assert diff_lines("a\nb\nc\n", "a\nx\nc\n", "text/plain") == (" a", "-b", "+x", " c")
    assert diff_lines("<p><b>1</b></p>", "<p><b>2</b></p>", "text/html") == (" <p>", "-<b>1</b>", "+<b>2</b>", " </p>")
    assert diff_lines({"a": 1}, {"a": 2}, "application/json") == (" {", '- "a": 1', '+ "a": 2', " }")
    assert diff_lines(None, "x", "text/plain") == ("+x",)
    assert diff_lines("x", "x\n", "text/plain") == (" x", "+")


def test_diff_of_images():
    """Images are shown by size in bytes and digest; their pictures are not compared."""
    stored, new = diff_lines("AAAA", "AAAB", "image/png")
    assert stored.startswith("-3 bytes, sha256 ")
    assert new.startswith("+3 bytes, sha256 ")


@pytest.mark.parametrize(
    ("stored", "now", "words"),
    [
        ("<x 0x7f12345678>", "<x 0x7f12345679>", "memory address"),
        ("at 2026-01-02 10:11:12.5", "at 2026-01-02 10:11:13.25", "time of the run"),
        ("1" * 32, "2" * 32, "random identifier"),
        ("paper · live calls, recorded", "paper · replayed, recorded 1 May 2026", "Run the notebook once more"),
        ("live calls, recorded · 1", "live calls, recorded · 2", ""),
        ("10:11:12 and 1", "10:11:13 and 2", ""),
        (None, "10:11:13", ""),
    ],
)
def test_hint_at(stored, now, words):
    """An address, time or identifier gives a hint if nothing else differs, and so does a run that recorded."""
    assert words in hint_at(stored, now)
    assert bool(words) == bool(hint_at(stored, now))


WIDGETS = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def with_widgets(name, text="1"):
    """Return a run with one widget of this identifier."""
    shown = {"output_type": "display_data", "data": {"text/plain": "W", VIEW: {"model_id": name}}, "metadata": {}}
    state = {WIDGETS: {"state": {name: {"state": {"value": text}}}, "version_major": 2, "version_minor": 0}}
    return RunResult({**RESULT.cells, 1: CellResult([shown], 1)}, state)


def saved(result, **changes):
    """Return the bytes of a notebook as an editor saves it after a run of its own."""
    content = expected_of(parse_notebook(STORED).content, result)
    content["metadata"]["language_info"] |= {"version": "3.11.7", "codemirror_mode": {"name": "ipython", "version": 3}}
    content["cells"][1]["metadata"]["execution"] = {"iopub.status.busy": "2026-01-02T10:11:12Z"}
    content["cells"][1]["metadata"]["trusted"] = True
    content["metadata"] |= changes
    return as_bytes(content)


def test_editor_data_is_not_a_result():
    """Times, trust, the language's version and an editor's widget identifiers are not results."""
    result = compared(saved(with_widgets("theirs")), with_widgets("ours"))
    assert {item.kind for item in result} == {Kind.EDITOR}
    without = json.loads(saved(with_widgets("theirs")))
    del without["metadata"]["widgets"]
    result = compared(as_bytes(parse_notebook(json.dumps(without).encode()).content), with_widgets("ours"))
    assert {item.kind for item in result} == {Kind.EDITOR}


def test_widget_state_is_a_result():
    """A changed byte of stored widget state is a difference."""
    content = expected_of(parse_notebook(STORED).content, with_widgets("ours", "2"))
    assert [item.kind for item in compared(as_bytes(content), with_widgets("ours"))] == [Kind.METADATA]


@pytest.mark.parametrize("change", [{"language_info": {"name": "julia"}}, {"kernelspec": {"name": "other"}}])
def test_other_metadata_is_not_an_editors(change):
    """Metadata that editors do not write was changed by somebody."""
    try:
        result = compared(saved(RESULT, **change))
    except NotANotebook:
        return
    assert Kind.METADATA in {item.kind for item in result}


def shown_by(result, **changes):
    return {item.kind for item in compared(saved(result, **changes), with_widgets("ours"))}


def test_results_beside_editor_data():
    """A changed type, or a widget that shows something else or is gone, does not count as an editor's."""
    other = copy.deepcopy(RESULT)
    other.cells[2].outputs[0]["data"]["application/json"] = {"a": True}
    assert Kind.LAYOUT in {item.kind for item in compared(saved(other))}
    assert shown_by(with_widgets("theirs")) == {Kind.EDITOR}
    assert shown_by(with_widgets("theirs", "2")) != {Kind.EDITOR}
    gone = with_widgets("theirs")
    del gone.cells[1].outputs[0]["data"][VIEW]
    assert shown_by(RunResult(gone.cells, None)) != {Kind.EDITOR}


def test_difference_of_a_table_is_shown_once():
    """A page and the text beside it are one difference, shown as text."""
    data = {
        **OUTPUTS[2][0]["data"],
        "text/plain": TABLE.replace("0.50", "0.75"),
        "text/html": PAGE.replace("0.50", "1"),
    }
    result = compared(STORED, RunResult({**RESULT.cells, 2: CellResult([{**OUTPUTS[2][0], "data": data}], 2)}))
    assert [item.place for item in result] == ["output 1, text/plain and text/html"]
    assert any("0.75" in line for line in result[0].diff)


def test_change_behind_a_long_tag():
    """A text has a line of its own behind a long tag, so that the change is not cut off."""
    tag = f"<span style='{'x' * 200}'>"
    assert diff_lines(f"{tag}Monday</span>", f"{tag}Friday</span>", "text/html")[1:] == (
        "-Monday</span>",
        "+Friday</span>",
    )


def test_kernel_of_jupyterlab():
    """JupyterLab writes the kernel that the user has chosen, which is not a result."""
    content = json.loads(STORED)
    content["metadata"]["kernelspec"] |= {"name": "my-venv", "display_name": "Python (mine)"}
    assert {item.kind for item in compared(as_bytes(content))} == {Kind.EDITOR}
