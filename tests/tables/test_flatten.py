from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolkit.tables.records import MAX_DEPTH, columns_of, json_text

from toolkit.core.errors import TabulationError
from toolkit.tables import records as flatten

KEYS = st.sampled_from(["a", "b", "a.b", "", "id"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
RECORDS = st.lists(st.dictionaries(KEYS, VALUES, max_size=4) | SCALARS, max_size=6)


def leaves(value, path=()):
    """Yield path and value of everything in a record that is not an object with members."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    elif path or not (isinstance(value, dict) or value is None):
        yield path, None if value == {} else json_text(value) if isinstance(value, list) else value


@given(RECORDS)
def test_nothing_is_lost(records):
    """Every value is at its path in the row of its record, and nothing else is there."""
    columns = columns_of(records)
    assert all(len(values) == len(records) for values in columns.values())
    for row, record in enumerate(records):
        expected = {path: value for path, value in leaves(record) if value is not None}
        result = {path: values[row] for path, values in columns.items() if values[row] is not None}
        assert {path: json.dumps(value) for path, value in result.items()} == {
            path: json.dumps(value) for path, value in expected.items()
        }


@pytest.mark.parametrize("nothing", [None, {}])
def test_null_where_other_records_have_an_object(nothing):
    """Null and an empty object do not make a column if another record has an object there."""
    assert list(columns_of([{"a": nothing}, {"a": {"b": 1}}])) == [("a", "b")]
    assert columns_of([{"a": nothing}]) == {("a",): [None]}
    assert columns_of([{"a": nothing}, {"a": {"b": 1}}, {"a": 2}]) == {
        ("a",): [None, None, 2],
        ("a", "b"): [None, 1, None],
    }


def nested(depth, kind):
    value = 1
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return value


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500])
def test_depth_is_bounded(kind, depth):
    """Records nested deeper than the limit are refused; records at the limit are read."""
    with pytest.raises(TabulationError, match="nested deeper than 64"):
        columns_of([{"a": nested(depth, kind)}])
    assert len(columns_of([{"a": nested(MAX_DEPTH - 2, kind)}])) == 1


@pytest.mark.parametrize("record", [{1: 2}, {"a": [{1: 2}]}, {"a": [object()]}, {"a": [float("nan")]}])
def test_not_json(record):
    """A value that JSON does not have is refused."""
    with pytest.raises(TabulationError):
        columns_of([record])


def test_a_map_is_refused(monkeypatch):
    """Records that share almost no keys are refused before they fill the memory."""
    monkeypatch.setattr(flatten, "_MANY_CELLS", 10_000)
    with pytest.raises(TabulationError, match="hardly any key in common"):
        columns_of([{f"order-{number}": 1} for number in range(500)])
    assert len(columns_of([{f"day-{number}": 1 for number in range(500)}] * 50)) == 500
