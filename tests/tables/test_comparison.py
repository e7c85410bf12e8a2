from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.comparison import compare
from toolkit.tables.tabulation import tabulate

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
CELLS = st.none() | st.integers(-3, 3) | st.sampled_from(["a", "1", "2026-05-12"]) | st.booleans()
RECORDS = st.dictionaries(st.integers(0, 5), st.dictionaries(st.sampled_from("xyz"), CELLS)).map(
    lambda rows: [{"id": key, **cells} for key, cells in rows.items()]
)


def table(records):
    return tabulate(records) if records else pd.DataFrame({"id": pd.Series([], dtype="Int64")})


def listed(differences):
    """Return key, column, left and right of each cell that changed, and key and kind of each row on one side."""
    rows = [
        tuple(cell.item() if isinstance(cell, np.generic) else None if cell is pd.NA else cell for cell in row)
        for row in differences.drop(columns="change").astype(object).itertuples(index=False)
    ]
    return [
        (*key, column, left, right) if kind == "changed" else (*key, kind)
        for *key, kind, column, left, right in map(tidy, rows)
    ]


def tidy(row):
    """Return a row with None for missing values."""
    return [None if isinstance(cell, float) and cell != cell else cell for cell in row]  # noqa: PLR0124 - only NaN


@given(RECORDS)
def test_a_table_equals_itself(records):
    """A table equals itself, in any order of rows and columns, and with columns of objects."""
    whole = table(records)
    for other in (whole[::-1][whole.columns[::-1]], whole.astype(object)):
        differences = compare(whole, other)
        assert differences.empty
        assert list(differences.columns) == ["id", "kind", "column", "left", "right", "change"]


@given(RECORDS, RECORDS)
def test_differences_lead_from_left_to_right(ours, theirs):
    """Applying the differences to the left table gives the right table; swapped tables give swapped differences."""
    left, right = table(ours), table(theirs)
    if ours and theirs and not set(left["id"]) & set(right["id"]):
        return
    differences = compare(left, right)
    cells = {key: dict(row) for key, row in left.set_index("id").astype(object).iterrows()}
    for key, *difference in listed(differences):
        if difference == ["only left"]:
            del cells[key]
        elif difference == ["only right"]:
            cells[key] = dict(right.set_index("id").astype(object).loc[key])
        else:
            column, _, value = difference
            cells[key][column] = value
    expected = {key: dict(row) for key, row in right.set_index("id").astype(object).iterrows()}
    assert without_missing(cells) == without_missing(expected)
    sides = {"only left": "only right", "only right": "only left"}
    assert {tuple(row) for row in listed(compare(right, left))} == {
        (row[0], sides[row[1]]) if len(row) == 2 else (row[0], row[1], row[3], row[2]) for row in listed(differences)
    }


def without_missing(rows):
    return {key: {name: cell for name, cell in row.items() if not pd.isna(cell)} for key, row in rows.items()}


NAN = float("nan")
EQUAL = [
    (1, 1.0),
    (Decimal("1.10"), 1.1),
    (Decimal("1.0"), 1),
    (NAN, None),
    (pd.NA, NAN),
    (0.0, -0.0),
    (START, START.astimezone(timezone(timedelta(hours=2)))),
    (pd.Timestamp("2026-05-12").as_unit("s"), pd.Timestamp("2026-05-12").as_unit("ns")),
]
EQUAL_INSIDE = [([1, pd.NA], np.array([1, NAN])), ({"a": (Decimal("1.10"), None)}, {"a": [1.1, None]})]
DIFFERENT = [
    (1, "1"),
    (1, True),
    (0, False),
    (2**53 + 1, float(2**53)),
    (None, ""),
    (Decimal("1.1000000000000000001"), 1.1),
    (pd.Timestamp("2026-05-12"), pd.Timestamp("2026-05-12", tz="UTC")),
    (np.array([1]), 1),
    (np.array([1]), np.array([True])),
    ([1, 2], np.array([1, 3])),
    ({"a": 1}, [("a", 1)]),
    *(([None], [other]) for other in (0, False, "", [], {})),
]


def sides_of(pairs):
    """Return a left and a right table with a row for each pair."""
    return [
        pd.DataFrame({"id": range(len(pairs)), "x": pd.Series(list(values), dtype=object)})
        for values in zip(*pairs, strict=True)
    ]


def test_equal_values():
    """Equal values of different types are equal, also inside lists and objects."""
    left, right = sides_of(EQUAL + EQUAL_INSIDE)
    assert compare(left, right).empty
    assert compare(right, left).empty


def test_different_values():
    """Text and booleans are not numbers, a list is not its only member, and digits beyond a float count."""
    left, right = sides_of(DIFFERENT)
    for one, other in ((left, right), (right, left)):
        assert compare(one, other)["id"].tolist() == list(range(len(DIFFERENT)))
        assert compare(one, one).empty


@pytest.mark.parametrize(
    ("columns", "on", "what"),
    [
        (["x"], None, "No column looks like a key"),
        (["order_id", "trade_id"], None, "Several columns might be the key: 'order_id', 'trade_id'"),
        (["id"], "x", "Column 'x' is not in both tables"),
        (["id", "left"], "left", "none that is named like one of the result"),
        (["id"], [], "one column or more"),
        (["id", "id"], None, "left table has several columns of the same name"),
    ],
)
def test_no_key(columns, on, what):
    """Without a clear key the error lists the candidates."""
    frame = pd.DataFrame([["1"] * len(columns)], columns=columns)
    with pytest.raises(TabulationError, match=what):
        compare(frame, frame, on=on)


@pytest.mark.parametrize(("keys", "what"), [(["canary", "canary"], "repeated"), (["canary", None], "missing")])
@pytest.mark.parametrize("side", ["left", "right"])
def test_missing_or_repeated_keys(keys, what, side):
    """The error names the row and the side of a key that is missing or repeated, but not its value."""
    good, bad = tabulate([{"id": "a"}, {"id": "b"}]), tabulate([{"id": key} for key in keys])
    with pytest.raises(TabulationError, match=f"is {what} in row 1 of the {side} table") as caught:
        compare(*((bad, good) if side == "left" else (good, bad)))
    assert "canary" not in str(caught.value)


def test_tables_of_no_records():
    """A table without rows and columns counts as a table without rows, whatever the key is."""
    nothing, some = tabulate([]), tabulate([{"id": "a", "x": 1}])
    assert listed(compare(nothing, some)) == [("a", "only right")]
    assert listed(compare(some, nothing, on="id")) == [("a", "only left")]
    for on in (None, "id"):
        assert list(compare(nothing, nothing, on=on).columns) == ["kind", "column", "left", "right", "change"]


def test_index_as_key():
    """Tables with the same named index and without a usual key, such as tables of tokens, are compared by the index."""
    index = pd.Index([1, 2], name="token")
    left = pd.DataFrame({"profile_id": ["a", "b"], "calls": [3, 4]}, index=index)
    assert listed(compare(left, left.assign(calls=[3, 5]))) == [(2, "calls", 4, 5)]
    levels = pd.MultiIndex.from_tuples([("a", "X"), ("a", "Y")], names=["account", "symbol"])
    positions = pd.DataFrame({"quantity": [1, 2]}, index=levels)
    assert listed(compare(positions, positions.assign(quantity=[1, 3]))) == [("a", "Y", "quantity", 2, 3)]
    assert compare(left, left.reset_index(drop=True)).columns[0] == "profile_id"


def test_differences_that_can_be_computed_with():
    """Numbers of a column have one type on both sides, and the change is exact, whatever other columns hold."""
    left = pd.DataFrame({"id": ["a", "b", "c"], "cash": [114306.34, 1.1, 5.0], "size": [1, 2, 3]})
    right = pd.DataFrame({"id": ["a", "b", "c"], "cash": [116806.34, 3.3, None], "size": [1, 20, 3]})
    changes = compare(left, right)
    assert changes["change"].tolist()[:3] == [2500.0, 2.2, 18.0]
    assert changes.loc[changes["column"] == "cash", "change"].sum() == 2502.2
    cash = compare(left[["id", "cash"]], right[["id", "cash"]])
    assert [str(cash[name].dtype) for name in ("left", "right", "change")] == ["float64"] * 3
    exact = compare(left.assign(cash=[Decimal("1.10")] * 3), right.assign(cash=[Decimal("2.35")] * 3))
    assert exact.loc[exact["column"] == "cash", "change"].sum() == Decimal("3.75")
    assert {type(value) for value in exact["change"]} == {Decimal}
    whole = compare(left[["id", "size"]], right[["id", "size"]])
    assert [str(whole[name].dtype) for name in ("left", "right", "change")] == ["Int64"] * 3
    mixed = compare(left[["id"]].assign(x=[1, 1, 1]), right[["id"]].assign(x=[1.5, 1.0, 1.0]))
    assert mixed.itertuples(index=False).__next__()[-3:] == (1.0, 1.5, 0.5)
    beyond = compare(pd.DataFrame({"id": [1], "x": [2**70]}), pd.DataFrame({"id": [1], "x": [float("inf")]}))
    assert beyond["change"].tolist() == [float("inf")]


def test_summary():
    """How many rows changed, stand on one side only or are equal is shown below, and stands in attrs."""
    left = pd.DataFrame({"id": range(5), "x": [1, 2, 3, 4, 5], "y": ["a"] * 5})
    right = pd.DataFrame({"id": range(1, 7), "x": [20, 3, 4, 5, 6, 7], "y": ["b"] + ["a"] * 5})
    changes = compare(left, right)
    summary = "1 row changed in 2 cells, 1 row only left, 2 rows only right, 3 rows equal"
    assert changes.attrs["summary"] == summary
    assert repr(changes).endswith(f"\n{summary}")
    assert f"<p>{summary}</p>" in changes._repr_html_()
    assert compare(left, left).attrs["summary"] == "5 rows equal"
    assert "3 rows equal" not in repr(changes[changes["kind"] == "changed"])
