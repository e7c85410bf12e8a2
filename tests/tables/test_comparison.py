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


def test_differing_cells():
    """Each differing cell is a row with its key, its column and both values."""
    left = tabulate([{"id": "a", "cash": 1, "open": True}, {"id": "b", "cash": 2, "open": None}])
    right = tabulate([{"id": "b", "cash": 2, "open": True}, {"id": "a", "cash": 1.5, "open": True}])
    differences = compare(left, right)
    assert list(differences.columns) == ["id", "kind", "column", "left", "right", "change"]
    assert listed(differences) == [("a", "cash", 1, 1.5), ("b", "open", None, True)]
    assert differences.dtypes.astype(str).tolist() == ["str", "str", "str", "object", "object", "float64"]


def test_rows_on_one_side():
    """A row on one side only is one difference: in its place if it is on the left, at the end if on the right."""
    left, right = tabulate([{"id": 1, "x": 1}, {"id": 2, "x": 1}]), tabulate([{"id": 3, "x": 1}, {"id": 2, "x": 2}])
    assert listed(compare(left, right)) == [
        (1, "only left"),
        (2, "x", 1, 2),
        (3, "only right"),
    ]


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
EQUAL_INSIDE = [
    ([1, 2], np.array([1, 2])),
    ({"a": (Decimal("1.10"), None)}, {"a": [1.1, None]}),
    ([NAN], [NAN]),
    ([1, pd.NA], np.array([1, NAN])),
    ({"a": NAN}, {"a": pd.NaT}),
    ([Decimal("NaN")], [None]),
    ([np.datetime64("NaT")], [None]),
    ([Decimal("1.10")], np.array([1.1])),
]
DIFFERENT = [
    (1, "1"),
    (1, True),
    (0, False),
    (2**53 + 1, float(2**53)),
    (None, ""),
    (Decimal("1.1000000000000000001"), 1.1),
    (pd.Timestamp("2026-05-12"), pd.Timestamp("2026-05-12", tz="UTC")),
    (np.array([1]), 1),
    (np.array([]), 0),
    (np.array([1]), np.array([True])),
    ([1, 2], np.array([1, 3])),
    ([1, 2], np.array([])),
    ([True], [1]),
    ({"a": True}, {"a": 1}),
    ({"a": 1}, {"a": 1, "b": 1}),
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


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_values_of_different_dtypes(left, right):
    """The dtypes of the columns and of the keys do not matter."""
    assert compare(pd.DataFrame({"id": [1], "x": [left]}), pd.DataFrame({"id": [1.0], "x": [right]})).empty


def test_different_values():
    """Text and booleans are not numbers, a list is not its only member, and digits beyond a float count."""
    left, right = sides_of(DIFFERENT)
    for one, other in ((left, right), (right, left)):
        assert compare(one, other)["id"].tolist() == list(range(len(DIFFERENT)))
        assert compare(one, one).empty


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (["account_number", "id", "x"], "id"),
        (["account_number", "x"], "account_number"),
        (["order_id", "x"], "order_id"),
        (["owner.id", "x"], "owner.id"),
    ],
)
def test_key_by_name(columns, key):
    """Without `on`, the key is the first of the usual names, or else the only name of an identifier."""
    frame = pd.DataFrame({column: ["1"] for column in columns})
    assert compare(frame, frame).columns[0] == key


def test_keys_of_several_columns_and_of_the_index():
    """A key can be several columns, or a named level of the index."""
    left = pd.DataFrame({"account": ["a", "a"], "symbol": ["X", "Y"], "quantity": [1, 2]})
    right = left.assign(quantity=[1, 3])
    assert listed(compare(left, right, on=["account", "symbol"])) == [("a", "Y", "quantity", 2, 3)]
    indexed = [frame.set_index("symbol") for frame in (left, right)]
    assert listed(compare(*indexed, on="symbol")) == [("Y", "quantity", 2, 3)]


@pytest.mark.parametrize(
    ("columns", "on", "what"),
    [
        (["x"], None, "No column looks like a key"),
        (["order_id", "trade_id"], None, "Several columns might be the key: 'order_id', 'trade_id'"),
        (["id"], "x", "Column 'x' is not in both tables"),
        (["id", "left"], "left", "A key called 'left'"),
        (["id"], [], "at least one column"),
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


def test_keys_that_cannot_be_equal():
    """Keys that are text on one side and numbers on the other are refused, because no row would match."""
    left, right = pd.DataFrame({"id": ["1", "2"]}), pd.DataFrame({"id": [1, 2]})
    for ours, theirs in ((left, right), (right, left), (right.astype("float64"), left)):
        with pytest.raises(TabulationError, match="key 'id' is text in one table and numbers in the other"):
            compare(ours, theirs)
    assert len(compare(left, right[:0])) == 2


@pytest.mark.parametrize("key", [[1], {"a": 1}])
def test_keys_that_are_lists_or_objects(key):
    """Lists and objects are refused as keys."""
    with pytest.raises(TabulationError, match="key 'id' of the left table holds lists or objects"):
        compare(pd.DataFrame({"id": [key]}), pd.DataFrame({"id": ["a"]}))


def test_not_a_table():
    """Anything but two tables is refused, and the error says how to make a table."""
    with pytest.raises(TabulationError, match="not str") as caught:
        compare("monday", "friday")
    assert "accounts()" in caught.value.next_step
    assert "tabulate" in caught.value.next_step


def test_a_key_that_is_not_a_name():
    """A number instead of a name is refused, and the error lists the names."""
    table = pd.DataFrame({"id": [1], "cash": [2.0]})
    with pytest.raises(TabulationError, match="the name of a column") as caught:
        compare(table, table, on=3)
    assert "'id', 'cash'" in caught.value.next_step
    assert compare(table, table, on=table.columns[:1]).empty


def test_lists_within_lists(tmp_path):
    """Nested lists that come back from Parquet equal themselves, and differ from others."""
    table = pd.DataFrame({"id": [1, 2], "legs": [[[1, 2], [3]], []], "note": [{"a": [1]}, {"a": [2]}]})
    table.to_parquet(tmp_path / "table.parquet")
    again = pd.read_parquet(tmp_path / "table.parquet")
    assert compare(again, again).empty
    other = table.assign(legs=[[[1, 2], [4]], []])
    assert list(compare(again, other)["column"]) == ["legs"]


ARROW = {
    "list": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(0, 3), max_size=3)),
    "list of floats": (pa.list_(pa.float64()), st.lists(st.none() | st.sampled_from([0.5, float("nan")]), max_size=3)),
    "struct": (
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        st.fixed_dictionaries({"a": st.none() | st.integers(0, 3), "b": st.sampled_from(["", "x"])}),
    ),
    "lists in a struct": (
        pa.struct([("a", pa.list_(pa.bool_()))]),
        st.fixed_dictionaries({"a": st.lists(st.booleans(), max_size=2)}),
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 3)), max_size=1),
    ),
    "float": (pa.float64(), st.sampled_from([0.5, 1.5, float("nan")])),
    "decimal": (pa.decimal128(5, 2), st.sampled_from([Decimal("1.10"), Decimal("1.20")])),
    "text": (pa.string(), st.sampled_from(["", "x"])),
    "instant": (pa.timestamp("us", tz="UTC"), st.sampled_from([START, START + timedelta(seconds=1)])),
}


pairs = st.fixed_dictionaries({kind: st.tuples(*[st.none() | values] * 2) for kind, (_, values) in ARROW.items()})


@given(st.lists(pairs, max_size=4))
def test_columns_of_arrow(rows):
    """Cells of Arrow columns are equal by value, also to cells of object columns, and two missing values are equal."""
    sides = [[{kind: pair[side] for kind, pair in row.items()} for row in rows] for side in (0, 1)]
    arrow, objects = [arrow_table(side) for side in sides], [object_table(side) for side in sides]
    for own, other in zip(arrow, objects, strict=True):
        assert compare(own, own, on="row").empty
        assert compare(own, other, on="row").empty
        assert compare(other, own, on="row").empty
    expected = [
        (number, kind)
        for number, row in enumerate(rows)
        for kind in ARROW
        if plain(row[kind][0]) != plain(row[kind][1])
    ]
    for left, right in (arrow, objects):
        result = compare(left, right, on="row")
        assert list(zip(result["row"], result["column"], strict=True)) == expected


def arrow_table(records):
    columns = {
        kind: pa.array([record[kind] for record in records], type=dtype).to_pandas(types_mapper=pd.ArrowDtype)
        for kind, (dtype, _) in ARROW.items()
    }
    return pd.DataFrame({"row": range(len(records)), **columns})


def object_table(records):
    columns = {kind: pd.Series([record[kind] for record in records], dtype=object) for kind in ARROW}
    return pd.DataFrame({"row": range(len(records)), **columns})


def plain(value):
    """Return the value with None for NaN, because None equals itself."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - only NaN does not equal itself


def test_usual_key_and_index():
    """A usual key takes precedence over the index, so rows in another order are matched by id."""
    table = pd.DataFrame({"id": [1, 2], "cash": [3.0, 4.0]}).rename_axis(index="row")
    differences = compare(table, table.iloc[::-1].reset_index(drop=True).rename_axis(index="row"))
    assert listed(differences) == [(1, "row", 0, 1), (2, "row", 1, 0)]


def test_no_common_keys():
    """Tables whose keys are all different are refused, because there is nothing to compare."""
    left, right = tabulate([{"id": "a", "x": 1}]), tabulate([{"id": "b", "x": 1}])
    with pytest.raises(TabulationError, match="no 'id' in common") as caught:
        compare(left, right)
    assert caught.value.about == "on"
    assert len(compare(left, right[:0])) == 1
