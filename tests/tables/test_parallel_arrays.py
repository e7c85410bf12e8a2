"""Tables sent as an array for each column."""

from __future__ import annotations

import pytest

from toolkit.tables import tabulate
from toolkit.tables.parallel_arrays import are_parallel
from toolkit.tables.row_choice import choose_rows


def test_values_beside_the_arrays():
    """Plain values beside the arrays stand before them; arrays in an object are columns too; paging is left out."""
    value = {
        "timestamp": [1, 2],
        "equity": [5.5, 6],
        "base_value": 100,
        "timeframe": "1D",
        "cashflow": {"fees": [0, 1]},
        "empty": {},
        "status": "ok",
        "next": None,
    }
    assert tabulate(value).to_dict("list") == {
        "base_value": [100, 100],
        "timeframe": ["1D", "1D"],
        "timestamp": [1, 2],
        "equity": [5.5, 6],
        "cashflow.fees": [0, 1],
    }


def test_in_an_envelope():
    """Arrays may stand in an object; what identifies them leads."""
    value = {"latitude": 38.7, "symbol": "X", "hourly_units": {"time": "s"}, "hourly": {"time": [1, 2], "t": [3, 4]}}
    assert tabulate(value).to_dict("list") == {"symbol": ["X", "X"], "time": [1, 2], "t": [3, 4]}
    assert tabulate(value, records="hourly").equals(tabulate(value))


@pytest.mark.parametrize(
    "value",
    [
        {"time": [1, 2], "tags": ["a"]},
        {"time": [1, 2]},
        {"time": [], "close": []},
        {"time": [1], "rows": [{"a": 1}]},
        {"time": [1], "close": [[1]]},
        {"name": "x", "tags": ["a", "b"], "roles": ["c", "d"]},
        {"tags": ["a"], "roles": ["c"]},
        {"time": [1], "close": [2]} | {f"k{number}": 1 for number in range(100)},
    ],
)
def test_not_parallel(value):
    """Lists of other lengths, of other values, or equal by chance, are not columns."""
    assert not are_parallel(value)


def test_a_record_with_lists_of_equal_length():
    """A record that says who it is stays one row, and there is nothing to say."""
    rows = choose_rows({"id": 1, "dates": ["2026-05-12"], "tags": ["a"]})
    assert (len(rows.records), rows.hint) == (1, "")
