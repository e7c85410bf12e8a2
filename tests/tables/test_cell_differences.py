from __future__ import annotations

from decimal import Decimal

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.comparison import compare


def sides_of(pairs):
    """Return a left and a right table with a row for each pair."""
    return [
        pd.DataFrame({"id": range(len(pairs)), "x": pd.Series(list(values), dtype=object)})
        for values in zip(*pairs, strict=True)
    ]


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
    assert {type(value) for value in exact["left"]} == {Decimal}
    whole = compare(left[["id", "size"]], right[["id", "size"]])
    assert [str(whole[name].dtype) for name in ("left", "right", "change")] == ["Int64"] * 3
    mixed = compare(left[["id"]].assign(x=[1, 1, 1]), right[["id"]].assign(x=[1.5, 1.0, 1.0]))
    assert mixed.itertuples(index=False).__next__()[-3:] == (1.0, 1.5, 0.5)
    beyond = compare(pd.DataFrame({"id": [1], "x": [2**70]}), pd.DataFrame({"id": [1], "x": [float("inf")]}))
    assert beyond["change"].tolist() == [float("inf")]


@given(st.lists(st.tuples(st.integers(-99, 99) | st.floats(-1e9, 1e9), st.decimals(-99, 99, places=2)), max_size=4))
def test_changes_add_up(pairs):
    """The left value and the change give the right value, and change is a column of numbers."""
    left, right = sides_of(pairs) if pairs else [pd.DataFrame({"id": []})] * 2
    changes = compare(left, right)
    assert pd.api.types.is_numeric_dtype(changes["change"])
    for row in changes.itertuples():
        assert abs(float(row.left) + float(row.change) - float(row.right)) <= 1e-6


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
    assert type(changes[changes["kind"] == "changed"]) is pd.DataFrame


def test_numbers_of_a_column_have_one_type():
    """Decimals win over floats, and floats over integers that they hold exactly; other columns do not matter."""
    left, right = sides_of([(1, 1.5), (Decimal("1.10"), 3), (2**53 + 1, 0.5)])
    texts = [side.assign(y=side["id"].map(str) + name) for side, name in ((left, "l"), (right, "r"))]
    for rows, expected in (([0], {float}), ([0, 1], {Decimal}), ([2], {int, float})):
        changes = compare(*(side.iloc[rows] for side in texts))
        numbers = changes[changes["column"] == "x"]
        assert {type(value) for side in ("left", "right") for value in numbers[side]} == expected
    infinite = compare(*sides_of([(Decimal("-Infinity"), Decimal("Infinity"))]))
    assert infinite["change"].tolist() == [float("inf")]
