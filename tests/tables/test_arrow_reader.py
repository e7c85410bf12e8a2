from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import arrow_reader, brackets, flatten
from toolkit.tables.arrow_reader import read_columns
from toolkit.tables.flatten import columns_of
from toolkit.tables.json_body import Body
from toolkit.tables.row_choice import choose_rows

# One kind of value for each path, as a service sends them: Arrow can read these.
KINDS = {
    "id": st.sampled_from(["a", "007", "é😀", 'quote " and \\ and [', "]}", ""]),
    "at": st.sampled_from(["2026-05-12T09:30:00Z", "2026-05-12", "2026-05-12T09:30:00.123456789Z"]),
    "cash": st.decimals(0, 10**9, places=2).map(str),
    "count": st.integers(-(2**63), 2**63 - 1),
    "rate": st.floats(-1e15, 1e15, allow_nan=False).map(float),
    "open": st.booleans(),
    "tags": st.lists(st.none() | st.text(max_size=3) | st.integers() | st.lists(st.integers(), max_size=1), max_size=3),
    "a.b": st.just("x"),
}
FIELDS = {name: st.none() | kind for name, kind in KINDS.items()}
TYPED = st.lists(
    st.none()
    | st.fixed_dictionaries({}, optional={**FIELDS, "a": st.none() | st.fixed_dictionaries({}, optional=FIELDS)}),
    min_size=1,
    max_size=20,
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2026-05-12"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)


def read_by_json(content, path=None):
    """Return the columns and the number of rows as json reads them, or None if they are refused."""
    try:
        rows = choose_rows(Body(content).parse(), path)
        return columns_of(rows.records), len(rows.records), rows.carried, rows.hint
    except TabulationError:
        return None


def listed(read):
    columns = {path: values.to_pylist() for path, values in read.columns.items()}
    return columns, read.count, read.carried, read.hint


def assert_same(content, path=None):
    """Check that Arrow reads the same columns in the same order, or gives up."""
    read = read_columns(Body(content), path)
    if read is not None:
        by_arrow, by_json = listed(read), read_by_json(content, path)
        assert by_arrow == by_json
        assert list(by_arrow[0]) == list(by_json[0])
    return read


@pytest.fixture(params=["one block", "many blocks"], scope="module")
def _blocks(request):
    """Let Arrow read all records at once, or a few at a time and in parallel."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "many blocks":
            patch.setattr(arrow_reader, "_BLOCK", 1)
            patch.setattr(brackets, "_CHUNK", 7)
        yield


@pytest.mark.usefixtures("_blocks")
@given(TYPED, st.booleans(), st.sampled_from([None, 1]))
def test_same_as_json(records, ascii_only, indent):
    """Records with one type at each path give the same columns as with json, in the same order."""
    read = assert_same(json.dumps(records, ensure_ascii=ascii_only, indent=indent).encode())
    assert read is not None or None in records


@pytest.mark.usefixtures("_blocks")
@given(ANY, st.sampled_from([None, "a", "a.b"]))
def test_any_json(value, path):
    """Any JSON is read as json reads it, or not at all."""
    assert_same(json.dumps(value).encode(), path)


@pytest.mark.usefixtures("_blocks")
@given(st.lists(st.fixed_dictionaries({}, optional={"a": ANY, "b": ANY}), min_size=1, max_size=40))
def test_types_that_change(records):
    """A path with another type in late records, perhaps in another block, is read as json reads it."""
    assert_same(json.dumps(records).encode())


@pytest.mark.usefixtures("_blocks")
@given(TYPED, st.randoms(use_true_random=False))
def test_broken_bodies(records, chance: random.Random):
    """A body with bytes changed, added or lost is read as json reads it, or not at all."""
    content = bytearray(json.dumps(records).encode())
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(content))
        content[place : place + chance.randint(0, 3)] = chance.choice(
            [b"", b"[", b"]", b"}", b'"', b"\\", b"null", b",", b"1", b"\xff"]
        )
    assert_same(bytes(content))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"meta": {"page": 1}, "accounts": [{"id": "a"}, {"id": "b"}], "next": None}, "accounts"),
        ({"symbol": "X", "bars": [{"a": 1}, {"a": 2}], "next_page_token": None}, None),
        ({"symbol": "X", "bars": [{"symbol": "Y", "a": 1}], "next_page_token": None}, "bars"),
        ({"status": "ok", "data": {"total": 2, "items": [{"a": 1}, {"a": 2}], "tags": ["x"]}}, None),
        ({"status": "ok", "data": {"total": 2, "items": [{"a": 1}, {"a": 2}]}}, "data.items"),
        ({"data": [{"a": 1}, {"a": 2}], "included": [{"b": 1}]}, None),
        ({"data": {"nodes": [{"a": 1}], "pageInfo": {}}}, None),
        ([{"data": [{"a": 1}]}, {"data": []}], None),
    ],
)
def test_envelopes_with_columns_and_hints(value, path):
    """Leading columns and hints are those of the slower way, for records at any depth."""
    assert assert_same(json.dumps(value).encode(), path) is not None


@pytest.mark.parametrize(
    "value",
    [
        {"edges": [{"node": {"a": 1}}]},
        {"bars": {"X": [{"a": 1}], "Y": [{"a": 2}]}},
        {"accounts": [{"a": 1}], "orders": [{"a": 1}]},
        {"account": {"id": 1, "positions": [{"a": 1}]}},
        {"time": [1, 2], "close": [3, 4]},
        [{"page": 1}, [{"a": 1}]],
    ],
)
def test_envelopes_that_are_left_to_json(value):
    """Records in another shape than a list, and records that stay one row, are read in the slower way."""
    assert assert_same(json.dumps(value).encode()) is None


def test_a_record_that_is_much_larger_than_others(monkeypatch):
    """A record much larger than others is read, even if its lists grow when they become text."""
    monkeypatch.setattr(arrow_reader, "_BLOCK", 1)
    for large in ({"a": "x" * 5000}, {"a": "y", "b": ["é\u2028" * 900, '"\\' * 900]}):
        for ascii_only in (True, False):
            records = [{"a": "x"}] * 99 + [large] + [{"a": "x"}] * 99
            assert assert_same(json.dumps(records, ensure_ascii=ascii_only).encode()) is not None


@pytest.mark.parametrize("gap", [b"null,", b", ,", b" ,", b",,", b"", b" "])
def test_gaps_between_records(gap):
    """Anything but a comma between records is left to json."""
    assert assert_same(b"[" + gap.join([b'{"a":1}'] * 9) + b"]") is None
    assert assert_same(b'[{"a":1}' + gap + b"]") is None or not gap.strip()


DEEP = [
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b'{"}":' * 100_000 + b"1" + b"}" * 100_000,
    b'[{"a":' * 20_000 + b"1" + b"}]" * 20_000,
    b"[" * 200_000 + b"]" * 200_000,
    b'[{"]":' * 20_000 + b"1" + b"}]" * 20_000,
    b'[{"\\"]":' * 20_000 + b"1" + b"}]" * 20_000,
]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"[1, 2]",
        b'[null, {"a": 1}]',
        b'[{"a\\ud800": "x"}]',
        b'[{"a": {"\\ud800": "x"}}]',
        b'[{"a": -0}, {"a": 1.5}]',
        b'[{"a": 9007199254740993}, {"a": 1.5}]',
        b'\xef\xbb\xbf[{"a": 1}]',
        b'[{"a": 1}] x',
        b'[{"a": 1}],"b":1',
        b'[{"a": 1}]}{"rows":[{"a": 2}]',
        b'{"id": 1, "lots": [{"a": 1}]}',
        b'{"toolkit: the rows stand here": null, "rows": [{"a": 1}]}',
        b'[{"a":1}]}\nnull\n{"rows":[{"a":1}]',
        b'[{"a":1}]}null{"rows":[{"a":1}]',
        *DEEP,
    ],
)
def test_doubts(content):
    """A body that Arrow would change, misread or crash on is left to json."""
    assert read_columns(Body(content)) is None


@pytest.mark.parametrize(
    "record",
    [
        b"null",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 9223372036854775808}',
        b'{"a": 1, "a": 2}',
        b'{"a": "x"}',
        b'{"b": "\\ud800"}',
        b'{"b": "\xff"}',
        b'{"\xff": 1}',
        b'{"b": [NaN]}',
        *[b'{"b": ' + deep + b"}" for deep in DEEP],
    ],
)
@pytest.mark.parametrize("place", [0, 50, 99])
def test_one_doubtful_record(record, place):
    """A single record that Arrow would misread, or that would crash it, leaves the whole body to json."""
    records = [b'{"a": 1.5}'] * 100
    records[place] = record
    assert read_columns(Body(b"[" + b",".join(records) + b"]")) is None


def test_late_instants():
    """Instants stay text, wherever the first instant is."""
    records = [{"a": 1, "in": {"at": None}} for _ in range(1000)]
    records[1]["in"]["at"] = "2026-05-12"
    read = assert_same(json.dumps(records).encode())
    assert read is not None
    assert read.columns[("in", "at")][1].as_py() == "2026-05-12"


def test_minus_zero():
    """The integer -0 is read as an integer, and the float -0.0 keeps its sign."""
    read = assert_same(b'[{"a":-0}]')
    assert read is not None
    assert read.columns[("a",)].type == pa.int64()
    read = assert_same(b'[{"a":-0.0,"b":"x-0","c":"2026-01-02"}]')
    assert read is not None
    assert str(read.columns[("a",)][0]) == "-0.0"


def test_records_without_common_keys(monkeypatch):
    """Records that share almost no keys are left to json, which counts the cells."""
    monkeypatch.setattr(arrow_reader, "_WIDE", 10)
    assert read_columns(Body(json.dumps([{f"k{number}": 1} for number in range(100)]).encode())) is None


@pytest.mark.parametrize("common", [{}, {"id": 1, "symbol": "A", "open": True}], ids=["nothing", "a few keys"])
def test_records_that_each_bring_a_key(monkeypatch, common):
    """Records that each have a key of their own are left to json, too: Arrow's table would be as wide as long."""
    monkeypatch.setattr(flatten, "_MANY_CELLS", 100_000)
    monkeypatch.setattr(arrow_reader, "_BATCH", 100)
    wide = json.dumps([{**common, f"k{number}": 1} for number in range(1000)]).encode()
    assert read_columns(Body(wide)) is None
    optional = json.dumps([{**common, f"k{number % 50}": 1} for number in range(3000)]).encode()
    assert read_columns(Body(optional)) is not None
