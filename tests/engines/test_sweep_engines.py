"""The folder of a sweep reads as one dataset in pandas, Polars, DuckDB and Dask, by its name alone."""

from __future__ import annotations

import secrets

import dask.dataframe as dd
import duckdb
import httpx
import pandas as pd
import polars as pl

import toolkit as tk
from toolkit.sweeps import running

COLUMNS = ("key", "n", "note", "on")


def answer(request):
    """Answer each key differently: with integers, fractions, no rows, further columns, not at all."""
    number = int(request.url.path[4:])
    if number % 10 == 9:
        return httpx.Response(404, json={})
    row = {"n": number / 4 if number % 7 == 3 else number, "on": "2026-05-12" if number > 20 else None}
    row |= {"note": "text"} if number > 40 else {}
    return httpx.Response(200, json=[] if number % 5 == 0 else [row, row])


def test_four_engines_read_a_sweep(tmp_path, monkeypatch):
    """All of them find the same rows, in parts that were written with different types."""
    monkeypatch.setattr(running, "SECONDS", 0.0)
    monkeypatch.setattr(running, "_PART_ROWS", 4)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "")
    address = "https://service.example.com"
    token = {"access_token": secrets.token_urlsafe(24), "expires_in": 890, "token_type": "Bearer"}
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, json=token) if request.method == "POST" else answer(request)
    )
    session = tk.Session(
        credentials=tk.ClientSecret("client-1", secrets.token_urlsafe(24), environment="broker-sandbox"),
        settings=tk.Settings({"broker_sandbox": address, "auth_sandbox": address}),
        transport=transport,
    )
    into = tmp_path / "numbers"
    result = tk.sweep(session.broker, range(50), lambda key: f"/v1/{key}", into=into)
    assert len(list(into.iterdir())) > 10
    assert len(result.failures()) == 5
    expected = {(key, n) for key, n in zip(result.table()["key"], result.table()["n"], strict=True)}
    read = [
        pd.read_parquet(into),
        pl.read_parquet(into).to_pandas(),
        duckdb.read_parquet(str(into)).df(),
        duckdb.read_parquet(str(into / "*.parquet")).df(),
        dd.read_parquet(into).compute(),
    ]
    for table in read:
        assert sorted(table.columns) == sorted(COLUMNS)
        assert len(table) == result.rows
        assert set(zip(table["key"], table["n"], strict=True)) == expected
        assert table["on"].notna().sum() == result.table()["on"].notna().sum()
