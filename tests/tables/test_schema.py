from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate
from toolkit.tables.schema import arrow_table, schema, widened

DECIMALS = st.builds(lambda whole, scale: pa.decimal128(whole + scale, scale), st.integers(1, 19), st.integers(0, 19))
TIMES = st.builds(pa.timestamp, st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from([None, "UTC", "Asia/Tokyo"]))
OTHERS = st.sampled_from(
    [
        *(pa.null(), pa.bool_(), pa.int8(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.date32(), pa.time32("s"), pa.duration("us"), pa.list_(pa.int64())),
    ]
)
FIELDS = st.builds(lambda kind, is_nullable: (kind, is_nullable), OTHERS | DECIMALS | TIMES, st.booleans())
SCHEMAS = st.dictionaries(st.sampled_from("abc"), FIELDS).map(
    lambda fields: pa.schema(
        [pa.field(name, kind, nullable=null or kind == pa.null()) for name, (kind, null) in fields.items()]
    )
)


def in_order(fields):
    return sorted(fields, key=lambda field: field.name)


@given(SCHEMAS, SCHEMAS, SCHEMAS)
def test_widening_is_a_join(one, two, three):
    """Many schemas have one least schema, whatever their order; only the order of columns depends on it."""
    assert widened(one, one) == one
    assert in_order(widened(one, two)) == in_order(widened(two, one))
    both = widened(one, two)
    assert widened(both, three) == widened(one, widened(two, three))
    assert widened(both, one) == both
    assert widened(both, two) == both


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (pa.null(), pa.date32(), pa.date32()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.int8(), pa.uint32(), pa.int64()),
        (pa.bool_(), pa.int64(), pa.string()),
        (pa.int64(), pa.decimal128(18, 2), pa.decimal128(20, 2)),
        (pa.decimal128(18, 2), pa.decimal128(18, 8), pa.decimal128(24, 8)),
        (pa.float64(), pa.decimal128(18, 2), pa.string()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.string()),
        (pa.timestamp("us"), pa.date32(), pa.string()),
        (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.timestamp("ns", "UTC")),
    ],
)
def test_wider_types(one, other, expected):
    """The least type for the values of both."""
    assert widened(pa.schema([("a", one)]), pa.schema([("a", other)])).field("a").type == expected


def test_schema_of_other_things():
    """Arrow tables and schemas are taken without metadata; several tables give the schema that all fit.

    A column of mixed types has their texts.
    """
    parts = [tabulate([{"a": 1}]), tabulate([{"a": 1.5, "b": None}]), tabulate([{"b": "x"}])]
    assert schema(parts) == pa.schema([("a", pa.float64()), ("b", pa.string())])
    mixed = tabulate([{"limit": 1}, {"limit": "none"}])
    assert schema(mixed) == pa.schema([("limit", pa.string())])
    assert arrow_table(mixed)["limit"].to_pylist() == ["1", "none"]
    marked = pa.schema([pa.field("a", pa.int64(), metadata={"x": "y"})], metadata={"pandas": "{}"})
    for kind in (pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        texts = pa.table({"a": pa.array(["x"]).cast(kind)})
        assert schema([texts, texts]) == schema(texts) == pa.schema([("a", pa.string())])
    for source in (marked, marked.empty_table(), pa.RecordBatchReader.from_batches(marked, [])):
        assert schema(source).metadata is None
        assert schema(source).field("a").metadata is None


def test_empty_texts_fit_every_type():
    """A page on which all dates are empty does not make text of them; a column that is empty everywhere is text."""
    pages = [[{"on": "", "note": ""}], [{"on": "2026-05-12", "note": None}], [{"on": None, "closed": None}]]
    wanted = schema([tabulate(page) for page in pages])
    assert wanted == pa.schema([("on", pa.timestamp("us")), ("note", pa.string()), ("closed", pa.null())])
    assert schema([tabulate(pages[0]), wanted]) == wanted
    assert [tabulate(page, schema=wanted)["on"].isna().tolist() for page in pages] == [[True], [False], [True]]


@pytest.mark.parametrize(
    "table",
    [
        [],
        None,
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({1: [2]}),
        pd.DataFrame({"a": [1j]}),
        pa.schema([("a", pa.int64()), ("a", pa.int64())]),
    ],
)
def test_not_a_table(table):
    """What is not a table, or has no types in Arrow, is refused."""
    with pytest.raises(TabulationError) as caught:
        schema(table)
    assert caught.value.about == "schema"
