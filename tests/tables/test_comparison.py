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
    return [tuple(row) for row in differences.itertuples(index=False)]


def test_differing_cells():
    """Each differing cell is a row: its key, its column and both values."""
    left = tabulate([{"id": "a", "cash": 1, "open": True}, {"id": "b", "cash": 2, "open": None}])
    right = tabulate([{"id": "b", "cash": 2, "open": True}, {"id": "a", "cash": 1.5, "open": True}])
    found = compare(left, right)
    assert list(found.columns) == ["id", "column", "left", "right"]
    assert listed(found) == [("a", "cash", 1, 1.5), ("b", "open", None, True)]
    assert found.dtypes.astype(str).tolist() == ["str", "str", "object", "object"]


def test_rows_of_one_side():
    """A row that is on one side only is one row, left ones in their place and right ones at the end."""
    left, right = tabulate([{"id": 1, "x": 1}, {"id": 2, "x": 1}]), tabulate([{"id": 3, "x": 1}, {"id": 2, "x": 2}])
    assert listed(compare(left, right)) == [
        (1, "<row>", "only left", None),
        (2, "x", 1, 2),
        (3, "<row>", None, "only right"),
    ]


def test_columns_of_one_side():
    """A column that one side lacks differs wherever the other has a value."""
    left, right = tabulate([{"id": 1, "x": 1}, {"id": 2, "x": None}]), tabulate([{"id": 1}, {"id": 2, "y": "new"}])
    assert listed(compare(left, right)) == [(1, "x", 1, None), (2, "y", None, "new")]


@given(RECORDS)
def test_a_table_equals_itself(records):
    """A table differs in nothing from itself, in any order of rows and columns."""
    whole = table(records)
    for other in (whole, whole[::-1], whole[whole.columns[::-1]], whole.astype(object)):
        found = compare(whole, other)
        assert found.empty
        assert list(found.columns) == ["id", "column", "left", "right"]


@given(RECORDS, RECORDS)
def test_differences_lead_from_left_to_right(ours, theirs):
    """The differences applied to the left give the right; swapped tables give swapped differences."""
    left, right = table(ours), table(theirs)
    found = compare(left, right)
    cells = {key: dict(row) for key, row in left.set_index("id").astype(object).iterrows()}
    for key, column, _, value in listed(found):
        if column == "<row>":
            row = {} if value is None else dict(right.set_index("id").astype(object).loc[key])
            cells.pop(key, None)
            cells |= {key: row} if row or value else {}
        else:
            cells[key][column] = value
    expected = {key: dict(row) for key, row in right.set_index("id").astype(object).iterrows()}
    assert without_missing(cells) == without_missing(expected)
    swapped = {(key, column): (right, left) for key, column, left, right in listed(compare(right, left))}
    sides = {"only left": "only right", "only right": "only left"}
    assert swapped == {
        (key, column): (sides.get(left, left), sides.get(right, right)) for key, column, left, right in listed(found)
    }


def without_missing(rows):
    return {key: {name: cell for name, cell in row.items() if not pd.isna(cell)} for key, row in rows.items()}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (Decimal("1.10"), 1.1),
        (1.1, Decimal("1.10")),
        (Decimal("1.0"), 1),
        (float("nan"), None),
        (pd.NA, float("nan")),
        (0.0, -0.0),
        (datetime(2026, 5, 12, 9, tzinfo=UTC), datetime(2026, 5, 12, 11, tzinfo=timezone(timedelta(hours=2)))),
        (pd.Timestamp("2026-05-12").as_unit("s"), pd.Timestamp("2026-05-12").as_unit("ns")),
    ],
)
def test_equal_by_value(left, right):
    """Values of different types that are the same value do not differ."""
    assert compare(pd.DataFrame({"id": [1], "x": [left]}), pd.DataFrame({"id": [1.0], "x": [right]})).empty


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, "1"),
        (1, True),
        (0, False),
        (2**53 + 1, float(2**53)),
        (None, ""),
        (Decimal("1.1000000000000000001"), 1.1),
        (pd.Timestamp("2026-05-12"), pd.Timestamp("2026-05-12", tz="UTC")),
    ],
)
def test_different_values(left, right):
    """Text is no number, a boolean is no number, and digits beyond a float count."""
    frames = [pd.DataFrame({"id": [1], "x": pd.Series([value], dtype=object)}) for value in (left, right)]
    assert len(compare(*frames)) == 1


@pytest.mark.parametrize("numbers", ["float", "decimal"])
def test_numbers_of_either_kind(numbers):
    """The same accounts as floats and as decimals do not differ."""
    records = [{"id": "a", "cash": "216042.84"}, {"id": "b", "cash": None}]
    assert compare(tabulate(records), tabulate(records, numbers=numbers)).empty


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (["account_number", "id", "x"], "id"),
        (["account_number", "x"], "account_number"),
        (["order_id", "x"], "order_id"),
        (["owner.id", "x"], "owner.id"),
    ],
)
def test_the_key_by_its_name(columns, key):
    """Without `on`, the usual names are tried first, then the only one that says identifier."""
    frame = pd.DataFrame({column: ["1"] for column in columns})
    assert compare(frame, frame).columns[0] == key


def test_keys_of_several_columns_and_of_the_index():
    """A key may be several columns, or a named level of the index."""
    left = pd.DataFrame({"account": ["a", "a"], "symbol": ["X", "Y"], "quantity": [1, 2]})
    right = left.assign(quantity=[1, 3])
    assert listed(compare(left, right, on=["account", "symbol"])) == [("a", "Y", "quantity", 2, 3)]
    indexed = [frame.set_index("symbol") for frame in (left, right)]
    assert listed(compare(*indexed, on="symbol")) == [("Y", "quantity", 2, 3)]


@pytest.mark.parametrize(
    ("columns", "on", "what"),
    [
        (["x"], None, "no column's name says that it is the key"),
        (["order_id", "trade_id"], None, "several columns might be the key: 'order_id', 'trade_id'"),
        (["id"], "x", "not both tables have a column 'x'"),
        (["id", "left"], "left", "a key called 'left'"),
        (["id"], [], "one or more columns"),
        (["id", "id"], None, "several columns of one name"),
    ],
)
def test_no_key(columns, on, what):
    """Without one clear key nothing is compared, and the error says what there is."""
    frame = pd.DataFrame([["1"] * len(columns)], columns=columns)
    with pytest.raises(TabulationError, match=what):
        compare(frame, frame, on=on)


@pytest.mark.parametrize(("keys", "what"), [(["canary", "canary"], "repeated"), (["canary", None], "missing")])
@pytest.mark.parametrize("side", ["left", "right"])
def test_bad_keys(keys, what, side):
    """A key that is missing or repeated is named by its row and side, not by its value."""
    good, bad = tabulate([{"id": "a"}, {"id": "b"}]), tabulate([{"id": key} for key in keys])
    with pytest.raises(TabulationError, match=f"is {what} in row 1 of the {side} table") as caught:
        compare(*((bad, good) if side == "left" else (good, bad)))
    assert "canary" not in str(caught.value)


def test_tables_of_no_records():
    """A table without rows and columns lacks every row of the other, whatever the key; two such differ in nothing."""
    nothing, some = tabulate([]), tabulate([{"id": "a", "x": 1}])
    assert listed(compare(nothing, some)) == [("a", "<row>", None, "only right")]
    assert listed(compare(some, nothing, on="id")) == [("a", "<row>", "only left", None)]
    for on in (None, "id"):
        assert list(compare(nothing, nothing, on=on).columns) == ["column", "left", "right"]


def test_the_index_is_the_key():
    """Tables with the same named index and no usual key are compared by it; tables of tokens are such."""
    index = pd.Index([1, 2], name="token")
    left = pd.DataFrame({"profile_id": ["a", "b"], "calls": [3, 4]}, index=index)
    assert listed(compare(left, left.assign(calls=[3, 5]))) == [(2, "calls", 4, 5)]
    levels = pd.MultiIndex.from_tuples([("a", "X"), ("a", "Y")], names=["account", "symbol"])
    positions = pd.DataFrame({"quantity": [1, 2]}, index=levels)
    assert listed(compare(positions, positions.assign(quantity=[1, 3]))) == [("a", "Y", "quantity", 2, 3)]
    assert compare(left, left.reset_index(drop=True)).columns[0] == "profile_id"


def test_keys_that_cannot_be_equal():
    """Text on one side and numbers on the other would make every row seem to be on one side only."""
    left, right = pd.DataFrame({"id": ["1", "2"]}), pd.DataFrame({"id": [1, 2]})
    for ours, theirs in ((left, right), (right, left), (right.astype("float64"), left)):
        with pytest.raises(TabulationError, match="the key 'id' is text in one table and numbers in the other"):
            compare(ours, theirs)
    assert len(compare(left, right[:0])) == 2


@pytest.mark.parametrize("key", [[1], {"a": 1}])
def test_keys_that_are_no_values(key):
    """Lists and objects are no keys."""
    with pytest.raises(TabulationError, match="the key 'id' of the left table holds lists or objects"):
        compare(pd.DataFrame({"id": [key]}), pd.DataFrame({"id": ["a"]}))


@pytest.mark.parametrize(("other", "differences"), [([1, 2], 0), ([1, 3], 1), ([1, 2, 3], 1), ([], 1)])
def test_lists_and_arrays(other, differences):
    """Lists come back from Parquet as arrays, and are equal member by member."""
    frames = [pd.DataFrame({"id": ["a"], "x": pd.Series([cell], dtype=object)}) for cell in ([1, 2], np.array(other))]
    assert len(compare(*frames)) == differences
    arrays = [frames[0].assign(x=frames[0]["x"].map(np.array)), frames[1]]
    assert len(compare(*arrays)) == differences


def test_what_is_no_table():
    """A session, an answer and a name are refused with what to do, not compared."""
    with pytest.raises(TabulationError, match="not str") as caught:
        compare("monday", "friday")
    assert "accounts()" in caught.value.next_step
    assert "tabulate" in caught.value.next_step


def test_a_key_that_is_no_name():
    """A number in place of a name is told with the names that there are."""
    table = pd.DataFrame({"id": [1], "cash": [2.0]})
    with pytest.raises(TabulationError, match="the name of a column") as caught:
        compare(table, table, on=3)
    assert "'id', 'cash'" in caught.value.next_step
    assert compare(table, table, on=table.columns[:1]).empty


def test_lists_within_lists(tmp_path):
    """Whatever becomes of them on their way through Parquet, they equal themselves, and others do not."""
    table = pd.DataFrame({"id": [1, 2], "legs": [[[1, 2], [3]], []], "note": [{"a": [1]}, {"a": [2]}]})
    table.to_parquet(tmp_path / "table.parquet")
    again = pd.read_parquet(tmp_path / "table.parquet")
    assert compare(again, again).empty
    other = table.assign(legs=[[[1, 2], [4]], []])
    assert list(compare(again, other)["column"]) == ["legs"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.array([1]), 1),
        (np.array([]), 0),
        (np.array([]), False),
        (np.array([1]), np.array([1, 1])),
        ([True], [1]),
        ({"a": True}, {"a": 1}),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": 1}, [("a", 1)]),
    ],
)
def test_nested_values_that_only_look_equal(left, right):
    """A list of one number is not that number, and within lists and objects the same holds as outside."""
    tables = [pd.DataFrame({"id": [1], "x": pd.Series([value], dtype=object)}) for value in (left, right)]
    assert len(compare(*tables)) == len(compare(*tables[::-1])) == 1
    assert compare(tables[0], tables[0]).empty


def test_nested_values_that_are_equal():
    """Numbers by value, lists of any kind."""
    for left, right in ((np.array([1, 2]), [1.0, 2]), ({"a": (Decimal("1.10"), None)}, {"a": [1.1, None]})):
        tables = [pd.DataFrame({"id": [1], "x": pd.Series([value], dtype=object)}) for value in (left, right)]
        assert compare(*tables).empty


def test_missing_values_within_lists():
    """Two missing ones are equal there as well, whatever stands for them, and a missing one is no other value."""
    nan = float("nan")
    for left, right in (
        ([nan], [nan]),
        ([None], [nan]),
        ([1, pd.NA], np.array([1, nan])),
        ({"a": nan}, {"a": pd.NaT}),
        ([Decimal("NaN")], [None]),
        ([np.datetime64("NaT")], [None]),
    ):
        tables = [pd.DataFrame({"id": [1], "x": pd.Series([value], dtype=object)}) for value in (left, right)]
        assert compare(*tables).empty
    for other in (0, False, "", [], {}):
        tables = [pd.DataFrame({"id": [1], "x": pd.Series([[value]], dtype=object)}) for value in (None, other)]
        assert len(compare(*tables)) == len(compare(*tables[::-1])) == 1


def test_arrays_of_booleans_and_floats():
    """What NumPy has in its arrays is a boolean or a number as well."""
    for left, right in (([True], np.array([True])), ([Decimal("1.10")], np.array([1.1])), ([1], np.array([1]))):
        tables = [pd.DataFrame({"id": [1], "x": pd.Series([value], dtype=object)}) for value in (left, right)]
        assert compare(*tables).empty
        assert compare(*tables[::-1]).empty
    numbers = [pd.DataFrame({"id": [1], "x": pd.Series([np.array([value])], dtype=object)}) for value in (True, 1)]
    assert len(compare(*numbers)) == 1


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


@pytest.mark.parametrize("kind", ARROW)
@given(data=st.data())
def test_columns_of_arrow(kind, data):
    """Cells are equal by value in them, too, missing ones among them, and to the same cells as objects."""
    dtype, values = ARROW[kind]
    ours, theirs = (data.draw(st.none() | values) for _ in range(2))
    frames = [
        pd.DataFrame({"id": ["a"], "x": pa.array([value], type=dtype).to_pandas(types_mapper=pd.ArrowDtype)})
        for value in (ours, theirs)
    ]
    objects = [pd.DataFrame({"id": ["a"], "x": pd.Series([value], dtype=object)}) for value in (ours, theirs)]
    for frame, same in zip(frames, objects, strict=True):
        assert compare(frame, frame).empty
        assert compare(frame, same).empty
        assert compare(same, frame).empty
    assert len(compare(*frames)) == len(compare(*objects)) == (plain(ours) != plain(theirs))


def plain(value):
    """The value with None for what is missing: None equals itself."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - what only NaN does


def test_a_usual_key_comes_before_the_index():
    """Rows that were sorted otherwise belong together by their id all the same."""
    table = pd.DataFrame({"id": [1, 2], "cash": [3.0, 4.0]}).rename_axis(index="row")
    found = compare(table, table.iloc[::-1].reset_index(drop=True).rename_axis(index="row"))
    assert listed(found) == [(1, "row", 0, 1), (2, "row", 1, 0)]
