from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
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


def cells_of(table):
    """Return the cells of each row by its key, without missing ones."""
    return {key: row.dropna().to_dict() for key, row in table.set_index("id").astype(object).iterrows()}


@given(RECORDS, RECORDS)
def test_differences_lead_from_left_to_right(ours, theirs):
    """Applying the differences to the left table gives the right one; a table equals itself in any order and dtype."""
    left, right = table(ours), table(theirs)
    assert compare(left, left[::-1][left.columns[::-1]].astype(object)).empty
    if ours and theirs and not set(left["id"]) & set(right["id"]):
        return
    differences, cells = compare(left, right), cells_of(left)
    for key, kind, column, _, value, _ in differences.astype(object).itertuples(index=False):
        if kind == "only left":
            del cells[key]
        elif kind == "only right":
            cells[key] = cells_of(right)[key]
        elif pd.isna(value):
            del cells[key][column]
        else:
            cells[key][column] = value
    assert cells == cells_of(right)
    assert len(compare(right, left)) == len(differences)


NAN = float("nan")
EQUAL = [
    (1, 1.0),
    (Decimal("1.10"), 1.1),
    (Decimal("1.0"), 1),
    (pd.NA, NAN),
    (START, START.astimezone(timezone(timedelta(hours=2)))),
    ([1, pd.NA], np.array([1, NAN])),
    ({"a": (Decimal("1.10"), None)}, {"a": [1.1, None]}),
]
DIFFERENT = [
    (1, "1"),
    (1, True),
    (2**53 + 1, float(2**53)),
    (None, ""),
    (Decimal("1.1000000000000000001"), 1.1),
    (pd.Timestamp("2026-05-12"), pd.Timestamp("2026-05-12", tz="UTC")),
    (np.array([1]), 1),
    ({"a": 1}, [("a", 1)]),
]


@pytest.mark.parametrize(("pairs", "count"), [(EQUAL, 0), (DIFFERENT, len(DIFFERENT))])
def test_equal_and_different_values(pairs, count):
    """Text and booleans are not numbers, a list is not its only member, and digits beyond a float count."""
    left, right = (
        pd.DataFrame({"id": range(len(pairs)), "x": pd.Series(list(values), dtype=object)})
        for values in zip(*pairs, strict=True)
    )
    assert len(compare(left, right)) == len(compare(right, left)) == count
    assert compare(left, left).empty
    lists = left.assign(x=pd.Series([[1]] * len(pairs), dtype=pd.ArrowDtype(pa.list_(pa.int64()))))
    assert compare(lists, lists).empty


def test_nothing_in_common():
    """Keys that are text in one table and numbers in the other are no reason to call every row new."""
    with pytest.raises(TabulationError, match="have no values of 'id' in common"):
        compare(pd.DataFrame({"id": [1]}), pd.DataFrame({"id": ["1"]}))


def test_tables_of_no_records():
    """A table without rows and columns counts as a table without rows, whatever the key is."""
    nothing, some = tabulate([]), tabulate([{"id": "a", "x": 1}])
    assert compare(nothing, some)["kind"].tolist() == ["only right"]
    assert compare(some, nothing, on="id")["kind"].tolist() == ["only left"]
    assert list(compare(nothing, nothing).columns) == ["kind", "column", "left", "right", "change"]


def test_index_as_key():
    """Tables with the same named index and without a usual key, such as tables of tokens, are compared by the index."""
    left = pd.DataFrame({"profile_id": ["a", "b"], "calls": [3, 4]}, index=pd.Index([1, 2], name="token"))
    assert compare(left, left.assign(calls=[3, 5]))["token"].tolist() == [2]
    levels = pd.MultiIndex.from_tuples([("a", "X"), ("a", "Y")], names=["account", "symbol"])
    positions = pd.DataFrame({"quantity": [1, 2]}, index=levels)
    assert compare(positions, positions.assign(quantity=[1, 3]))["symbol"].tolist() == ["Y"]
    assert compare(left, left.reset_index(drop=True)).columns[0] == "profile_id"


@pytest.mark.parametrize(
    ("columns", "on", "what"),
    [
        (["x"], None, "No column looks like a key"),
        (["order_id", "trade_id"], None, "Several columns might be the key: 'order_id', 'trade_id'"),
        (["id"], "x", "Column 'x' is not in both tables"),
        (["id", "left"], "left", "none of them with the name of a result column"),
        (["id", "id"], None, "left table has several columns with the same name"),
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
