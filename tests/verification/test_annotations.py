"""Annotations stand at the line of their cell, and say everything in one line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.verification.annotations import cell_annotations, cell_lines
from toolkit.verification.verdict import CellPlace, Difference, Failure, Kind, Outcome, Verdict, VersionChange

VALUES = st.recursive(
    st.text('ab"{}[]:,\\\n', max_size=5) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab}", max_size=2), inner, max_size=3),
    max_leaves=5,
)
CELL = CellPlace(2, "table")


@given(st.lists(VALUES, max_size=4), VALUES, st.sampled_from([None, 0, 1]), st.booleans())
def test_cell_lines(others, metadata, indent, is_crlf):
    """The line of each cell begins with its source, whatever stands before and between, in any layout."""
    cells = [{"a": other, "source": f"SOURCE {number}", "z": other} for number, other in enumerate(others)]
    text = json.dumps({"metadata": metadata, "cells": cells, "nbformat": 4}, indent=indent)
    lines = text.split("\n")
    found = cell_lines((text.replace("\n", "\r\n") if is_crlf else text).encode())
    assert found == [
        next(number for number, line in enumerate(lines, start=1) if f'"source": "SOURCE {cell}"' in line)
        for cell in range(len(cells))
    ]


def test_odd_files():
    """Cells without a source have the line where they begin; a byte order mark does not count."""
    assert cell_lines(b'{"cells":\n [{},\n {"id": 1\n}\n]}') == [2, 3]
    assert cell_lines('\ufeff{"cells": [\n{"source": ""}]}'.encode()) == [2]
    assert cell_lines(b'{"metadata": {}}') == []


def annotated(lines=(5, 9), **verdict):
    return cell_annotations(Verdict(Path("/w/nb/a.ipynb"), **verdict), lines, Path("/w"))


def test_differences_of_a_cell():
    """All differences of one cell are one annotation, at its line, with versions and the next step."""
    differences = (
        Difference("output 1, text/plain", Kind.DATA, CELL, ("-1", "+2"), "It holds a hint."),
        Difference("output 2, stdout", Kind.DATA, CELL, ("-a" * 200, *["+b"] * 50)),
        Difference("metadata/x", Kind.METADATA, None, ("-1",)),
        Difference("metadata/language_info", Kind.EDITOR, None, ("-1",)),
    )
    first, second = annotated(
        outcome=Outcome.DIFFERS, differences=differences, versions=(VersionChange("pandas", "3.0", "3.1"),)
    )
    assert first.startswith("::error file=nb/a.ipynb,line=9,title=a.ipynb%2C cell 2 (table)%3A differs::output 1")
    for words in ("%0A-1%0A+2%0AIt holds a hint.%0Aoutput 2", "31 more lines", "--update", "pandas 3.0, here 3.1"):
        assert words in first
    assert "a" * 200 not in first
    assert second.startswith("::error file=nb/a.ipynb,line=1,title=a.ipynb%3A differs::metadata/x [metadata]%0A-1%0A")
    assert "language_info" not in second


@pytest.mark.parametrize(("cell", "line"), [(CELL, 9), (CellPlace(7, "x"), 1), (None, 1)])
def test_failure(cell, line):
    """A failure says what happened and what to do, at its cell if the file has it."""
    (annotation,) = annotated(outcome=Outcome.FAILED, failure=Failure("KeyError: '::x'\n::warning::y", "Do.", cell))
    assert annotation.split(",")[1] == f"line={line}"
    assert annotation.endswith("::KeyError: '::x'%0A::warning::y%0ADo.")
    assert "\n" not in annotation


def test_good_notebooks_have_none():
    """A notebook that is the same has no annotation, whatever its editor added."""
    difference = Difference("metadata/language_info", Kind.EDITOR)
    assert annotated(outcome=Outcome.SAME, differences=(difference,)) == []
    assert len(annotated(outcome=Outcome.UNSTABLE, differences=(difference,))) == 1
