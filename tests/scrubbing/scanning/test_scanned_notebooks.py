"""A finding in a notebook has its cell, the kind of output, and the line of the file."""

from __future__ import annotations

import base64
import json
import secrets
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing.scanning import scan_files
from toolkit.scrubbing.scanning.contents import Notebook, TextPlace


def fake():
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(32))


def code_cell(*outputs, source=("x",), **more):
    return {"cell_type": "code", "metadata": {}, "source": list(source), "outputs": list(outputs), **more}


def stream(*lines, name="stdout"):
    return {"output_type": "stream", "name": name, "text": list(lines)}


def shown(kind="display_data", **data):
    return {
        "output_type": kind,
        "metadata": {},
        "data": {key.replace("_", "/", 1): value for key, value in data.items()},
    }


def notebook(*cells, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def widgets(**models):
    state = {name: {"model_name": f"{kind}Model", "state": values} for name, (kind, values) in models.items()}
    return {"application/vnd.jupyter.widget-state+json": {"version_major": 2, "version_minor": 0, "state": state}}


PLACES = {
    "source": lambda value: (notebook(code_cell(source=["x\n", f"api_key = '{value}'\n"])), 1, "source"),
    "second cell": lambda value: (notebook(code_cell(), code_cell(source=[f"api_key='{value}'"])), 2, "source"),
    "source as a text": lambda value: (notebook(code_cell() | {"source": f"a\napi_key='{value}'"}), 1, "source"),
    "stdout": lambda value: (notebook(code_cell(stream("a\n", f"token={value}\n"))), 1, "output text"),
    "stderr": lambda value: (notebook(code_cell(stream(f"token={value}\n", name="stderr"))), 1, "output text"),
    "plain": lambda value: (
        notebook(code_cell(shown("execute_result", text_plain=[f"{{'access_token': '{value}'}}"]))),
        1,
        "output text/plain",
    ),
    "HTML": lambda value: (
        notebook(code_cell(shown(text_plain=["<x>"], text_html=["<p>\n", f"password: {value}</p>"]))),
        1,
        "output text/html",
    ),
    "JSON": lambda value: (
        notebook(code_cell(shown(application_json={"client_secret": value}))),
        1,
        "output application/json",
    ),
    "error": lambda value: (
        notebook(
            code_cell(
                {
                    "output_type": "error",
                    "ename": "E",
                    "evalue": "x",
                    "traceback": ["\x1b[31m--\x1b[0m", f"\x1b[34mpassword\x1b[39m=\x1b[32m'{value}'\x1b[39m"],
                }
            )
        ),
        1,
        "output traceback",
    ),
    "message of an error": lambda value: (
        notebook(code_cell({"output_type": "error", "ename": "E", "evalue": f"token={value}", "traceback": []})),
        1,
        "output evalue",
    ),
    "attachment": lambda value: (
        notebook(
            {
                "cell_type": "markdown",
                "metadata": {},
                "source": [],
                "attachments": {"a.txt": {"text/plain": base64.b64encode(f"password={value}".encode()).decode()}},
            }
        ),
        1,
        "attachment a.txt text/plain, base64",
    ),
    "metadata of a cell": lambda value: (
        notebook(code_cell(metadata={"args": {"password": value}})),
        1,
        "metadata args",
    ),
    "metadata of an output": lambda value: (
        notebook(code_cell(shown() | {"metadata": {"api_key": value}})),
        1,
        "output metadata",
    ),
    "metadata": lambda value: (notebook(code_cell(), login={"password": value}), None, "metadata"),
    "widget": lambda value: (
        notebook(widgets=widgets(a=("Text", {"description": "API key:", "value": value}))),
        None,
        "widget state",
    ),
    "HTML widget": lambda value: (
        notebook(widgets=widgets(a=("HTML", {"value": f"<b>token: {value}</b>"}))),
        None,
        "widget state",
    ),
}


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("place", PLACES)
def test_where_in_a_notebook(tmp_path, place, indent):
    """A secret is found in each part of a notebook, with its cell and part, and the line of the file."""
    value = fake()
    document, cell, part = PLACES[place](value)
    path = tmp_path / "a.ipynb"
    text = json.dumps(document, indent=indent)
    path.write_text(text, encoding="utf-8")
    report = scan_files(path)
    assert {(each.cell, each.part) for each in report} == {(cell, part)}
    assert len(report) == 1
    assert value not in repr(report)
    line = text.split("\n")[report[0].line - 1]
    if value in text:
        assert value in line
    if indent is None:
        assert report[0].line == 1


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [("Winter2025!", 1), ("", 0), ("<ACCESS_TOKEN>", 0), ("********", 0), (7, 0)],
)
def test_password_fields(tmp_path, typed, is_found):
    """What was typed into a field for passwords is a finding, also if somebody made it up; a stand-in is none."""
    state = {"_model_name": "PasswordModel", "description": "x", "value": typed}
    document = notebook(widgets=widgets(a=("Password", state)))
    (tmp_path / "a.ipynb").write_text(json.dumps(document, indent=1), encoding="utf-8")
    assert [(each.part, each.line) for each in scan_files(tmp_path)] == [("widget state", 14)] * is_found


def test_place_in_words(tmp_path):
    """A finding in a notebook reads like the place that a person looks for."""
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook(code_cell(stream(f"token={fake()}")))), encoding="utf-8")
    findings = scan_files(path)
    assert str(findings[0]) == f"{path}:1: cell 1, output text: secret field"
    assert "cell 1, output text" in repr(findings)
    assert "<td" in findings._repr_html_()


def test_not_a_notebook(tmp_path):
    """A file that only looks like a notebook, or is cut short, is read as text."""
    for name, text in (("a.ipynb", '{"cells": [\n'), ("b.ipynb", '{"cells": 3,\n'), ("c.ipynb", '{"nbformat": 4,\n')):
        (tmp_path / name).write_text(f'{text} "password": "{fake()}"}}', encoding="utf-8")
    assert [(each.line, each.cell, each.part) for each in scan_files(tmp_path)] == [(2, None, "")] * 3


@pytest.mark.parametrize("depth", [*range(150, 1000, 50), 100_000])
def test_deep_notebooks(tmp_path, depth):
    """A notebook that is nested too deeply to be read as JSON is read as text."""
    text = f'{{"cells": [], "metadata": {{"password": "{fake()}", "a": {"[" * depth}{"]" * depth}}}}}'
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    assert [finding.kind for finding in scan_files(tmp_path)] == ["secret field"]


KEYS = st.sampled_from(
    [
        *("cells", "metadata", "source", "outputs", "data", "text", "name", "ename", "evalue", "traceback"),
        *("attachments", "widgets", "state", "value", "description", "model_name", "worksheets", "a"),
    ]
)
SHAPES = st.recursive(
    st.text("ab", min_size=3, max_size=5) | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, SHAPES, max_size=3))
def test_every_text_is_read(document):
    """Whatever shape a notebook has, each text in it is searched, and has a place."""
    notebook = Notebook(json.dumps({"cells": [document]}))
    read = notebook.text
    for line in range(1, read.count("\n") + 2):
        assert notebook.place(TextPlace(0), line).line == 1

    def check(value):
        if isinstance(value, str):
            assert value in read
        elif isinstance(value, dict):
            for each in value.values():
                check(each)
        elif isinstance(value, list):
            for each in value:
                check(each)

    check(document)
