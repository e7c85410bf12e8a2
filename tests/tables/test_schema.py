from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from toolkit.core.errors import TabulationError
from toolkit.tables.schema import schema
from toolkit.tables.tabulation import tabulate


def test_schema_of_other_things():
    """Arrow tables and schemas are taken without metadata; several tables give the schema that all fit.

    A column of mixed types has their texts.
    """
    parts = [tabulate([{"a": 1}]), tabulate([{"a": 1.5, "b": None}]), tabulate([{"b": "x"}])]
    assert schema(parts) == pa.schema([("a", pa.float64()), ("b", pa.string())])
    mixed = tabulate([{"limit": 1}, {"limit": "none"}]).assign(lots=[[1], None], odd=[1j, 2j])
    assert schema(mixed) == pa.schema([(name, pa.string()) for name in mixed])
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
        pa.schema([("a", pa.int64()), ("a", pa.int64())]),
    ],
)
def test_not_a_table(table):
    """What is not a table, or has no types in Arrow, is refused."""
    with pytest.raises(TabulationError) as caught:
        schema(table)
    assert caught.value.about == "schema"
    with pytest.raises(TabulationError, match="has a type in both dtypes and schema"):
        tabulate([], schema=pa.schema([("a", pa.int64())]), dtypes={"a": "Int64"})
