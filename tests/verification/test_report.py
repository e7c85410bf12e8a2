"""Annotations stand at the line of their cell, and say everything in one line."""

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from toolkit.verification.report import details_text, github_text, result_text
from toolkit.verification.verdict import CellPlace, Difference, Failure, Kind, Outcome, Verdict, VersionChange

VALUES = st.recursive(
    st.text('ab"{}[]:,\\\n', max_size=5) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab}", max_size=2), inner, max_size=3),
    max_leaves=5,
)
CELL = CellPlace(2, "table")


@given(others=st.lists(VALUES, min_size=1, max_size=4), indent=st.sampled_from([None, 0, 1]), is_crlf=st.booleans())
def test_line_of_each_cell(tmp_path_factory, others, indent, is_crlf):
    """The line of each cell begins with its source, whatever stands before and between, in any layout."""
    file = tmp_path_factory.mktemp("notebooks") / "a.ipynb"
    cells = [
        {"cell_type": "raw", "metadata": {"a": other}, "source": f"SOURCE {number}"}
        for number, other in enumerate(others)
    ]
    text = json.dumps({"metadata": {}, "cells": cells, "nbformat": 4, "nbformat_minor": 4}, indent=indent)
    file.write_bytes((text.replace("\n", "\r\n") if is_crlf else text).encode())
    places = [Difference("x", Kind.DATA, CellPlace(number, "")) for number in range(1, len(others) + 1)]
    found = github_text([Verdict(file, Outcome.DIFFERS, differences=tuple(places))], file.parent)
    assert [int(line) for line in re.findall(r"line=(\d+)", found)] == [
        next(at for at, line in enumerate(text.split("\n"), start=1) if f'"source": "SOURCE {cell}"' in line)
        for cell in range(len(cells))
    ]


def test_differences_of_a_cell():
    """All differences of one cell are one annotation, with versions and the next step; good notebooks have none."""
    differences = (
        Difference("output 1, text/plain", Kind.DATA, CELL, ("-1", "+2"), "It holds a hint."),
        Difference("output 2, stdout", Kind.DATA, CELL, ("-a" * 200, *["+b"] * 50)),
        Difference("metadata/x", Kind.METADATA, None, ("-1",)),
        Difference("metadata/language_info", Kind.EDITOR, None, ("-1",)),
    )
    versions = (VersionChange("pandas", "3.0", "3.1"),)
    verdict = Verdict(Path("/w/nb/a.ipynb"), Outcome.DIFFERS, differences=differences, versions=versions)
    first, second = github_text([verdict], Path("/w")).splitlines()
    assert first.startswith("::error file=nb/a.ipynb,line=1,title=a.ipynb%2C cell 2 (table)%3A differs::output 1")
    for words in ("%0A-1%0A+2%0AIt holds a hint.%0Aoutput 2", "31 more lines", "--update", "pandas 3.0, here 3.1"):
        assert words in first
    assert "a" * 200 not in first
    assert second.startswith("::error file=nb/a.ipynb,line=1,title=a.ipynb%3A differs::metadata/x [metadata]%0A-1%0A")
    assert "language_info" not in second + details_text(verdict)
    assert result_text(verdict).startswith("differs at 3 places (made with pandas 3.0")
    assert github_text([Verdict(Path("a.ipynb"), Outcome.SAME, differences=differences[-1:])], Path("/w")) == ""


def test_failure():
    """A failure says what happened and what to do, whatever its text is."""
    failure = Failure("KeyError: '::x'\n::warning::y", "Do.", CELL)
    [annotation] = github_text([Verdict(Path("a.ipynb"), Outcome.FAILED, failure=failure)], Path("/w")).splitlines()
    assert annotation.endswith("::KeyError: '::x'%0A::warning::y%0ADo.")
