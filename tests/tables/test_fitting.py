from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.conversion import converted
from toolkit.tables.schema import widened

TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001 - bounds
# Types, and values that fit each type that the type can be widened to.
KINDS = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    (pa.int64(), st.integers(-(2**53), 2**53)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.decimal128(18, 4), st.decimals(-(10**13), 10**13, places=4)),
    (pa.string(), st.text(st.characters(codec="utf-8"))),
    (pa.date32(), st.dates(date(1900, 1, 1), date(2200, 1, 1))),
    (pa.timestamp("s"), TIMES.map(lambda at: at.replace(microsecond=0))),
    (pa.timestamp("us"), TIMES),
    (pa.timestamp("us", "UTC"), TIMES.map(lambda at: at.replace(tzinfo=UTC))),
]
COLUMNS = st.sampled_from(KINDS).flatmap(
    lambda kind: st.lists(st.none() | kind[1], max_size=5).map(lambda values: pa.array(values, kind[0]))
)
TABLES = st.dictionaries(st.sampled_from("abc"), COLUMNS).map(
    lambda columns: pa.table({name: values.slice(0, 2) for name, values in columns.items() if len(values) >= 2})
)


@given(TABLES, TABLES)
def test_both_tables_fit_the_wider_schema(one, other):
    """Tables fit the schema that both need: each value stays what it is, as its own type or as text."""
    both = widened(one.schema, other.schema)
    for table in (one, other):
        result = fitted(table, both)
        assert result.schema == both
        assert fitted(result, both).equals(result)
        for name in both.names:
            values = table[name].to_pylist() if name in table.column_names else [None] * table.num_rows
            for before, after in zip(values, result[name].to_pylist(), strict=True):
                assert is_same(before, after)


def fitted(table, schema):
    """Return a table with the columns and types of a schema."""
    return pa.table(
        [
            converted(table[field.name], field.type, {})
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


def is_same(before, after):
    if isinstance(after, str) and not isinstance(before, str):
        return isinstance(before, bool) or as_text_reads(after, type(before)) == before
    if isinstance(before, date) and not isinstance(before, datetime) and isinstance(after, datetime):
        return after == datetime(before.year, before.month, before.day)  # noqa: DTZ001 - local times
    return before == after


def as_text_reads(text, kind):
    if kind in (date, datetime):
        return kind.fromisoformat(text)
    return kind(text)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, pa.bool_(), "true"),
        (1.0, pa.float64(), "1.0"),
        (Decimal("0.0000001"), pa.decimal128(18, 7), "0.0000001"),
        (date(2026, 5, 12), pa.date32(), "2026-05-12"),
        (datetime(2026, 5, 12), pa.timestamp("us"), "2026-05-12"),  # noqa: DTZ001 - a date
        (datetime(2026, 5, 12, 9, 30), pa.timestamp("us"), "2026-05-12 09:30:00"),  # noqa: DTZ001 - a local time
        (datetime(2026, 5, 12, 9, 30, 0, 250_000, UTC), pa.timestamp("us", "UTC"), "2026-05-12T09:30:00.25Z"),
        (datetime(2026, 5, 12, tzinfo=UTC), pa.timestamp("us", "Asia/Tokyo"), "2026-05-12T00:00:00Z"),
    ],
)
def test_texts(value, kind, text):
    """The text of a value does not depend on the other values of its column."""
    for others in ([], [None]):
        table = pa.table({"a": pa.array([value, *others], kind)})
        assert fitted(table, pa.schema([("a", pa.string())]))["a"].to_pylist() == [text, *others]
