from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.building import columns_of, json_text
from toolkit.tables.columns import Column, packed
from toolkit.tables.columns import inferred as with_inferred_type
from toolkit.tables.tabulation import tabulate


def inferred(values, numbers="float", *, key="cash", losses=None):
    return with_inferred_type(
        Column(key, key, packed(values)),
        numbers,
        {} if losses is None else losses,
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], pa.int64()),
        (["1.50", None, "2"], pa.float64()),
        (["1.50", "x"], pa.string()),
        (["1.50", ""], pa.float64()),
        ([1, "2.5"], pa.float64()),
        (["007", "8"], pa.string()),
        (["2026-05-12", "2026-05-12T09:30:00Z"], pa.string()),
        (["2026-02-30"], pa.string()),
        (["2026-05-12T00:00:00Z", "2016-12-31T23:59:60Z"], pa.string()),
        (["2026-05-12T00:00:00Z", "0001-01-01T00:00:00+01:00"], pa.string()),
        (["2026-05-12", "0000-01-01"], pa.string()),
        (["2026-05-12T09:30:00", "2026-05-12"], pa.timestamp("us")),
        (["", "2026-05-12", None], pa.timestamp("us")),
        (["2026-05-12T09:30:00Z", ""], pa.timestamp("us", "UTC")),
        (["", None], pa.string()),
        ([None, None], pa.null()),
        ([2**63], pa.float64()),
        (["1e999"], pa.string()),
        (["12\n"], pa.string()),
        (["\ud800"], pa.string()),
    ],
)
def test_types(values, kind):
    """The type of a column follows from its values."""
    assert inferred(values).type == kind


def test_types_by_name():
    """Digits are a number unless the name says that they are not a quantity."""
    assert [inferred([1, "2"], key=key).type for key in ("account_number", "cash")] == [pa.string(), pa.int64()]
    assert inferred(["2026-12-18"], key="expiry").type == pa.timestamp("us")


@pytest.mark.parametrize("values", [[1.5, True], [True, 1.5], [1, True], [False, 0], [1, "x", True, None, 2.5]])
def test_booleans_are_not_numbers(values):
    """A boolean among numbers stays a boolean, in a column of objects."""
    assert [(type(value), value) for value in inferred(values)] == [(type(value), value) for value in values]


KEYS = st.sampled_from(["a", "b", "a.b", "", "id"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
RECORDS = st.lists(st.dictionaries(KEYS, NESTED, max_size=4) | SCALARS, max_size=6)


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
    found = columns_of(records)
    assert all(len(values) == len(records) for values in found.values())
    for row, record in enumerate(records):
        expected = {path: value for path, value in leaves(record) if value is not None}
        result = {path: values[row] for path, values in found.items() if values[row] is not None}
        assert {path: json.dumps(value) for path, value in result.items()} == {
            path: json.dumps(value) for path, value in expected.items()
        }


@pytest.mark.parametrize("record", [{1: 2}, {"a": [{1: 2}]}, {"a": [object()]}, {"a": [float("nan")]}])
def test_not_json(record):
    """A value that JSON does not have is refused."""
    with pytest.raises(TabulationError):
        tabulate([record])
