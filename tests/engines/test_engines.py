"""Pages of one endpoint, written to Parquet one by one or by a sweep, are one dataset for Polars, DuckDB and Dask."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta

import dask.dataframe as dd
import duckdb
import httpx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import toolkit as tk
from toolkit.sweeps import running

PAGES = 50
RECORD = {
    "id": "1f",
    "account_number": "040000001",
    "last4": "0042",
    "quantity": 1,
    "price": "100.50",
    "fee": 0,
    "is_open": True,
    "created_at": "2026-05-12T09:30:00.25Z",
    "opened_on": "2026-05-12",
    "filled_at": "2026-05-12 09:30:00",
    "legs": [{"symbol": "ALFA"}],
    "owner": {"city": "Lisbon", "postal_code": "1100"},
    "closed_on": None,
    "note": "first",
}
DUCKDB_TYPES = {
    "bool": "BOOLEAN",
    "double": "DOUBLE",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[us, tz=UTC]": "TIMESTAMP WITH TIME ZONE",
}


def page_of(number):
    """Return the records of a page; columns, their order, types of numbers and gaps depend on the page."""
    rng = random.Random(number)  # noqa: S311 - the same pages in every run
    day, instant = date(2026, 1, 1) + timedelta(number), datetime(2026, 1, 1, 9, 30, tzinfo=UTC) + timedelta(number)
    kinds = {
        "id": lambda: f"{rng.getrandbits(64):x}",
        "account_number": lambda: f"{rng.randrange(10**9):09}",
        "last4": lambda: str(rng.randrange(1000, 9999)),
        "quantity": lambda: rng.choice([rng.randrange(100), str(rng.randrange(100))]),
        "price": lambda: f"{rng.randrange(10**6) / 100:.2f}" if number % 2 else str(rng.randrange(10**4)),
        "fee": lambda: rng.randrange(9) if number % 3 else rng.randrange(100) / 8,
        "is_open": lambda: rng.choice([True, False]),
        "created_at": lambda: instant.isoformat() if number % 2 else "",
        "opened_on": lambda: rng.choice([day.isoformat(), ""]),
        "filled_at": lambda: rng.choice([f"{day} 09:30:00", f"{day}T09:30:00", ""]),
        "legs": lambda: rng.choice([[], [{"symbol": "ALFA", "ratio": number}]]),
        "owner": lambda: rng.choice([None, {}, {"city": "Lisbon"}, {"postal_code": "1100", "city": None}]),
        "closed_on": lambda: None,
        "note": lambda: rng.choice([number, "", "text", True]),
    }
    present = [name for name in kinds if name == "id" or rng.random() < 0.8]
    empty = {name for name in present if name != "id" and rng.random() < 0.2}
    rng.shuffle(present)
    count = rng.randrange(6) if number else 0
    return [{name: None if name in empty else kinds[name]() for name in present} for _ in range(count)]


@pytest.fixture(scope="module")
def pages():
    return [page_of(number) for number in range(PAGES)]


@pytest.fixture(scope="module")
def schema():
    """Return the schema of one full record."""
    return tk.schema(tk.tabulate([RECORD, {"fee": 0.5}]))


@pytest.fixture(scope="module", params=["by schema", "by a sweep"])
def written(request, tmp_path_factory, pages, schema):
    """Return a folder of the pages, the rows of all of them, and the schema.

    The pages are written as the documentation of `tk.schema` says, or are the answers of a sweep.
    """
    folder = tmp_path_factory.mktemp("pages")
    if request.param == "by a sweep":
        rows = swept(folder, pages)
        return folder, arrow_table(rows), tk.schema(rows)
    for number, page in enumerate(pages):
        answer = httpx.Response(200, json={"orders": page, "next": None})
        table = tk.tabulate(answer, schema=schema)
        table.to_parquet(folder / f"{number:05}.parquet", schema=schema, index=False)
    rows = tk.tabulate([record for page in pages for record in page], schema=schema)
    return folder, arrow_table(rows), schema


def swept(folder, pages):
    """Sweep the pages into a folder, in parts of which later ones need other types; return the table."""

    def answer(request):
        return httpx.Response(200, json=pages[int(request.url.path[4:])])

    settings = tk.Settings({"trading_paper": "https://service.example.com"})
    credentials = tk.KeyPair("key-id-1", "an-obviously-fake-secret", environment="paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        patch.setattr(running, "_BATCH_KEYS", 1)
        patch.setattr(running, "_PART_ROWS", 4)
        session = tk.Session(credentials=credentials, settings=settings, transport=httpx.MockTransport(answer))
        result = tk.sweep(session.trading, range(PAGES), lambda key: f"/v1/{key}", into=folder, at_once=1)
    return result.table()


def arrow_table(table):
    table = pa.Table.from_pandas(table, preserve_index=False) if isinstance(table, pd.DataFrame) else pa.table(table)
    return table.cast(tk.schema(table.schema))


def values_of(table):
    """Return the values of a table as lists, with None for what is missing, and instants in UTC."""
    table = arrow_table(table)
    return {
        name: [
            value.astimezone(UTC).isoformat() if isinstance(value, datetime) and value.tzinfo else value
            for value in table[name].to_pylist()
        ]
        for name in table.column_names
    }


def test_polars(written):
    """Polars, which refuses files whose schemas differ, reads all rows."""
    folder, rows, _ = written
    table = pl.scan_parquet(folder / "*.parquet").collect()
    assert values_of(table.to_arrow()) == values_of(rows)
    assert pl.read_parquet(folder).equals(table)


def test_duckdb(written):
    """DuckDB reads all rows without `union_by_name`, with the types of the schema."""
    folder, rows, schema = written
    with duckdb.connect() as database:
        table = database.read_parquet(f"{folder}/*.parquet")
        types = dict(zip(table.columns, map(str, table.types), strict=True))
        result = values_of(table.to_arrow_table())
    assert result == values_of(rows)
    expected = {field.name: DUCKDB_TYPES[str(field.type)] for field in schema if not pa.types.is_null(field.type)}
    assert {name: types[name] for name in expected} == expected


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own
def test_dask(written):
    """Dask reads all rows, and each partition has the dtypes that it promised."""
    folder, rows, _ = written
    frame = dd.read_parquet(folder)
    table = frame.compute(scheduler="synchronous")
    assert values_of(table) == values_of(rows)
    assert frame.dtypes.equals(table.dtypes)
