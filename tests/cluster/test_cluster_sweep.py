"""Sweeps that a cluster's workers write: every key once, whatever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

import toolkit as tk
from cluster.conftest import WORKERS


def orders_of(key):
    """Return the call for a key."""
    return "/v1/accounts", {"key": key}


def slow_orders_of(key):
    """Return the call for a key, after a while."""
    time.sleep(0.02)
    return "/v1/accounts", {"key": key}


def keys_in(into):
    """Return the keys of all rows in a folder, sorted, as another reader finds them."""
    return sorted(pd.read_parquet(into)["key"].drop_duplicates())


def test_workers_write_the_parts(cluster, service, session, tmp_path):
    """The table has every key once, with its rows; no part and no request comes from the coordinator."""
    into = tmp_path / "accounts"
    result = tk.sweep(session.broker, range(400), orders_of, into=into, cluster=cluster)
    table = result.table()
    assert (result.answered, result.failed, result.rows) == (400, 0, 1200)
    assert list(table["key"]) == [key for key in range(400) for _ in range(3)]
    assert keys_in(into) == list(range(400))
    assert len(list(into.iterdir())) >= WORKERS
    assert set(session.calls()["interface"]) == {"auth"}
    again = tk.sweep(session.broker, range(410), orders_of, into=into, cluster=cluster)
    assert (again.answered, service.stats.calls) == (410, 410)
    assert [path.name for path in tmp_path.joinpath("accounts.sweep").iterdir() if "part" in path.name] == []


def test_a_killed_worker_loses_nothing(cluster, session, tmp_path):
    """Its task goes on elsewhere, after the keys that it had finished, and borrows the token like any other."""

    def kill():
        while not list(Path(into).glob("*.parquet")):
            time.sleep(0.01)
        os.kill(next(iter(cluster.run(os.getpid).values())), signal.SIGKILL)

    into = tmp_path / "accounts"
    killer = threading.Thread(target=kill)
    killer.start()
    result = tk.sweep(session.broker, range(1000), slow_orders_of, into=into, cluster=cluster, at_once=8)
    killer.join()
    assert (result.answered, result.failed, result.rows) == (1000, 0, 3000)
    assert list(result.table()["key"]) == [key for key in range(1000) for _ in range(3)]
    cluster.wait_for_workers(WORKERS, timeout=60)


def test_failures_and_errors(cluster, service, session, tmp_path):
    """Failures are gathered in one file and count their tries; what a worker raises ends the sweep."""
    into = tmp_path / "accounts"
    result = tk.sweep(session.broker, range(50), missing, into=into, cluster=cluster)
    assert (result.answered, result.failed) == (45, 5)
    assert list(result.failures()["key"]) == [0, 10, 20, 30, 40]
    assert list(result.retry().failures()["tries"]) == [1] * 5
    with pytest.raises(tk.ConfigurationError, match="GET and HEAD"):
        tk.sweep(session.broker, range(50, 100), posting, into=into, cluster=cluster)
    assert tk.sweep(session.broker, range(50), missing, into=into).answered == 45


def missing(key):
    """Return a call that the service does not have for some keys."""
    return "/v1/nothing" if key % 10 == 0 else "/v1/accounts"


def posting(key):
    """Return a request that may change something."""
    import httpx

    return httpx.Request("POST", "/v1/accounts")
