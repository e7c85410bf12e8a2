"""Sweeps as users run them, against a service within the process."""

from __future__ import annotations

import asyncio

import httpx
import pandas as pd
import pytest

import toolkit as tk

KEYS = [f"acc-{number}" for number in range(40)]


def path_of(key):
    return f"/v1/accounts/{key}/positions"


def positions(request):
    """Answer with as many positions as the last digit of the account says."""
    account = request.url.path.split("/")[3]
    number = int(account.split("-")[1])
    return [{"symbol": f"S{row}", "qty": str(number + row), "price": 1.5} for row in range(number % 3)]


@pytest.fixture
def answering(service):
    """Return the service with positions of every account."""
    service.answer = lambda request: service.reply(positions(request))
    return service


@pytest.fixture
def session(answering, settings, make_credentials):
    """Return a session with the service."""
    return tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, transport=answering)


@pytest.fixture
def async_session(answering, settings, make_credentials):
    """Return an asynchronous session with the service."""
    return tk.AsyncSession(credentials=make_credentials("broker-sandbox"), settings=settings, transport=answering)


def expected(keys=KEYS):
    """Return (key, symbol) of all rows, in the order of the keys."""
    return [(key, f"S{row}") for key in keys for row in range(int(key.split("-")[1]) % 3)]


def rows_of(table):
    """Return (key, symbol) of each row."""
    return list(zip(table["key"], table["symbol"], strict=True))


def test_a_sweep_asks_once_for_each_key_and_its_table_has_all_rows(session, answering, tmp_path):
    """Rows come in the order of the keys, each beside its key, whatever the order of the answers."""
    result = tk.sweep(session.broker, KEYS, path_of, into=tmp_path / "positions")
    assert sorted(request.url.path for request in answering.calls) == sorted(map(path_of, KEYS))
    table = result.table()
    assert rows_of(table) == expected()
    assert table.columns.tolist() == ["key", "symbol", "qty", "price"]
    assert table["qty"].dtype == "Int64"
    assert len(result.failures()) == 0
    assert (result.answered, result.failed, result.rows) == (40, 0, len(table))


def test_an_asynchronous_client_gives_the_same_table(async_session, session, tmp_path):
    """The same engine runs in tasks."""
    result = asyncio.run(run(async_session, tmp_path / "a"))
    pd.testing.assert_frame_equal(result.table(), tk.sweep(session.broker, KEYS, path_of, into=tmp_path / "b").table())


async def run(session, into, keys=KEYS, **options):
    """Sweep with an asynchronous session."""
    return await tk.sweep(session.broker, keys, path_of, into=into, **options)


def test_a_second_run_asks_for_new_keys_only(session, answering, tmp_path):
    """Keys without rows are finished, too."""
    tk.sweep(session.broker, KEYS[:30], path_of, into=tmp_path / "positions")
    asked = len(answering.calls)
    result = tk.sweep(session.broker, reversed(KEYS), path_of, into=tmp_path / "positions")
    assert len(answering.calls) == asked + 10
    assert rows_of(result.table()) == expected(KEYS[::-1])


def test_failures_that_may_pass_are_asked_again_and_final_ones_by_retry(session, answering, tmp_path):
    """404 is an answer and stays; 503 and a lost connection are asked for by the next run."""
    statuses = {"acc-1": 404, "acc-2": 503, "acc-3": 200}

    def answer(request):
        account = request.url.path.split("/")[3]
        if account == "acc-4":
            raise httpx.ConnectError("no route", request=request)
        status = statuses.get(account, 200)
        return answering.reply(positions(request) if status == 200 else {"message": "no such account"}, status)

    answering.answer = answer
    into = tmp_path / "positions"
    result = tk.sweep(session.broker, KEYS[:6], path_of, into=into)
    failures = result.failures()
    assert failures["key"].tolist() == ["acc-1", "acc-2", "acc-4"]
    assert failures["status"].tolist() == [404, 503, pd.NA]
    assert failures["reason"].tolist() == [
        "Not Found: no such account",
        "Service Unavailable: no such account",
        "no answer: ConnectError",
    ]
    answering.requests.clear()
    result = tk.sweep(session.broker, KEYS[:6], path_of, into=into)
    assert {request.url.path for request in answering.calls} == {path_of("acc-2"), path_of("acc-4")}
    answering.answer = lambda request: answering.reply(positions(request))
    result = result.retry()
    assert len(result.failures()) == 0
    assert rows_of(result.table()) == expected(KEYS[:6])


def test_the_folder_is_one_dataset(session, tmp_path):
    """The folder holds parts and nothing else; pandas reads it with the types of the table."""
    into = tmp_path / "positions"
    result = tk.sweep(session.broker, KEYS, path_of, into=into)
    assert {file.suffix for file in into.iterdir()} == {".parquet"}
    pd.testing.assert_frame_equal(
        pd.read_parquet(into).sort_values(["key", "symbol"], ignore_index=True),
        result.table().sort_values(["key", "symbol"], ignore_index=True),
    )
