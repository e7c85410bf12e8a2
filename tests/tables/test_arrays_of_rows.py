"""Tables sent as an array for each row."""

from __future__ import annotations

import pytest

from toolkit.tables import tabulate
from toolkit.tables.arrays_of_rows import are_rows, header_of, named_rows

ROWS = [["ALFA", 1], ["BRVO", 2]]


@pytest.mark.parametrize("value", [None, {}, [], [[]], [1], [[1], [1, 2]], [[1], 2], [[[1]]], [[{"a": 1}]], [{"a": 1}]])
def test_no_rows(value):
    """Arrays of other lengths or values stay as they are."""
    assert not are_rows(value)
    assert named_rows(value or []) == list(value or [])


@pytest.mark.parametrize(
    "value",
    [
        {"columns": ["symbol", "size"], "rows": ROWS},
        {"datatable": {"data": ROWS, "columns": [{"name": "symbol", "type": "s"}, {"name": "size", "type": "n"}]}},
        {"fields": [{"id": "symbol"}, {"id": "size"}], "series": ROWS, "next": None},
    ],
)
def test_names_beside_the_rows(value):
    """A list of names, or of objects with names, is the header."""
    assert tabulate(value).to_dict("list") == {"symbol": ["ALFA", "BRVO"], "size": [1, 2]}


def test_a_path_to_rows():
    """A path finds the header, too."""
    assert tabulate({"id": 1, "columns": ["symbol", "size"], "x": ROWS}, records="x").columns.tolist() == [
        "id",
        "symbol",
        "size",
    ]


@pytest.mark.parametrize("other", [["a"], ["a", "a"], ["a", 1], [{"x": "a"}, {"x": "b"}]])
def test_no_header(other):
    """A list with fewer, equal or other values is not a header."""
    assert header_of({"rows": ROWS, "other": other}, "rows") is None


def test_a_list_of_rows():
    """A list of arrays, and rows under a main name, are a table without names."""
    assert tabulate(ROWS).to_dict("list") == {"0": ["ALFA", "BRVO"], "1": [1, 2]}
    assert tabulate({"range": "A1:B2", "values": ROWS}).shape == (2, 2)
