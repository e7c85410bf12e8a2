"""Keys that are close to each other, and rows without credentials."""

from __future__ import annotations

from pathlib import Path

import httpx
import pandas as pd
import pytest

import toolkit as tk

ADDRESSES = {name: f"https://{name}.example.com" for name in ("trading_paper", "market_data")}
FIRST = pd.Timestamp("2026-01-01T00:00:00.000000001")


@pytest.fixture
def session():
    answer = {"api_key": "aJ5kW8zQ2vX9mC4nB7tR1yL6pD3", "user": {"password": "hunter2-demo"}, "key": "US0378331005"}
    credentials = tk.KeyPair("AK-FAKE-1", "a-fake-secret-key-0", environment="paper")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    return tk.Session(credentials=credentials, settings=tk.Settings(ADDRESSES), transport=transport)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds(session: tk.Session, tmp_path: Path, zone: str | None) -> None:
    """Instants that are a nanosecond apart are two keys, also when the sweep goes on with instants without."""
    keys = [FIRST.tz_localize(zone), (FIRST + pd.Timedelta(1, "ns")).tz_localize(zone)]
    more = [*keys, pd.Timestamp("2026-01-05", tz=zone)]
    asked: list[pd.Timestamp] = []

    def call(key: pd.Timestamp) -> str:
        asked.append(key)
        return "/v2/account"

    for each in (keys, more):
        result = tk.sweep(session.trading, each, call, into=tmp_path / "swept")
    table = result.table()
    assert sorted(asked) == sorted(table[table.columns[0]]) == more


def test_credentials_in_answers(session: tk.Session, tmp_path: Path) -> None:
    """A value under a name that can only be a credential's is in no file, and others are."""
    result = tk.sweep(session.trading, ["a"], lambda _: "/v2/account", into=tmp_path / "swept")
    row = result.table().iloc[0]
    assert row["api_key"] == "<API_KEY>"
    assert row["key"] == "US0378331005"
    for file in (tmp_path / "swept").rglob("*.parquet"):
        assert b"aJ5kW8" not in file.read_bytes()
        assert b"hunter2" not in file.read_bytes()


def test_keys_of_one_hash(session: tk.Session, tmp_path: Path) -> None:
    """A key that Python hashes like a finished one is asked for all the same: -1 and -2, for example."""
    assert hash(-1) == hash(-2)
    asked: list[int] = []

    def call(key: int) -> str:
        asked.append(key)
        return "/v2/account"

    for keys in ([-1], [-1, -2], [-2, -1]):
        result = tk.sweep(session.trading, keys, call, into=tmp_path / "swept")
    assert (asked, result.answered, result.rows) == ([-1, -2], 2, 2)
