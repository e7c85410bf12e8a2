"""Loans on a real cluster: who requests tokens, what the other processes know, and what happens when some die."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import time

import pytest
from distributed import Client

import toolkit as tk
from cluster.conftest import WORKERS, Stopwatch, renewals_due
from cluster.process_memory import holds

LENDER = """
import json, pickle, sys, time
import toolkit as tk
from distributed import Client

terms = json.load(sys.stdin)
credentials = tk.ClientSecret(terms["client_id"], terms["client_secret"], environment="broker-sandbox", name="desk")
session = tk.Session(credentials=credentials, settings=tk.Settings(terms["addresses"]))
with Client(terms["scheduler"]) as client, tk.lend(session, client) as lent:
    print(pickle.dumps(lent).hex(), flush=True)
    time.sleep(60)
"""


def status_of(key, session, pause=0.0):
    """Return a key with the status of a call, and the process that made it."""
    response = session.broker.get("/v1/accounts", params={"key": key})
    time.sleep(pause)
    return key, response.status_code, os.getpid()


def error_of(session):
    """Return the status of a call, or its error in words."""
    try:
        return session.broker.get("/v1/accounts").status_code
    except tk.TokenError as error:
        return str(error)


async def status_of_async(key, session):
    """Return a key with the status of a call."""
    return key, (await session.broker.get("/v1/accounts", params={"key": key})).status_code


def tokens_requested_here(session):
    """Return how many token requests this process has made in a session."""
    return int((session.calls()["interface"] == "auth").sum())


def process_ids(cluster):
    """Return the process IDs of the scheduler and the workers."""
    return [cluster.scheduler_pid, *cluster.run(os.getpid).values()]


def test_one_token_request_for_each_renewal_and_none_from_a_worker(cluster, service, session):
    """Calls over several lifetimes are all answered; the service counts no more requests than the lender made."""
    watch = Stopwatch()
    with tk.lend(session, cluster) as lent:
        results = cluster.gather(cluster.map(status_of, range(600), session=lent, pause=0.1))
        requested = cluster.run(tokens_requested_here, lent)
    assert [key for key, _, _ in results] == list(range(600))
    assert {status for _, status, _ in results} == {200}
    assert len({process for _, _, process in results}) == WORKERS
    assert set(requested.values()) == {0}
    assert service.stats.token_requests == tokens_requested_here(session)
    assert 2 < service.stats.token_requests <= renewals_due(watch.seconds)


def test_a_revoked_token_is_replaced_once(cluster, service, session):
    """Many workers get a 401 at once, and together cause one token request."""
    with tk.lend(session, cluster) as lent:
        cluster.gather(cluster.map(status_of, range(20), session=lent))
        requested, watch = service.stats.token_requests, Stopwatch()
        service.revoke_tokens()
        results = cluster.gather(cluster.map(status_of, range(20, 100), session=lent))
        assert {status for _, status, _ in results} == {200}
        assert 1 <= service.stats.token_requests - requested <= 1 + renewals_due(watch.seconds)
    assert service.stats.token_requests == tokens_requested_here(session)


def session_of(service):
    """Return a session of a broker partner with a client secret."""
    return tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_other_process_knows_the_secret(cluster, monkeypatch):
    """Neither scheduler nor workers have the client secret in memory. They have the token: the search finds things."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    with tk.practice() as service, session_of(service) as session, tk.lend(session, cluster) as lent:
        secret = session.credentials.client_secret.reveal()
        cluster.gather(cluster.map(status_of, range(100), session=lent))
        token = session.token.access_token.reveal()
        known = {pid: (holds(pid, secret), holds(pid, token)) for pid in process_ids(cluster)}
        for data in (pickle.dumps(lent), repr(lent).encode()):
            assert secret.encode() not in data
            assert token.encode() not in data
    assert known == dict.fromkeys(known, (False, True))
    assert len(known) == 1 + WORKERS
    logs = json.dumps([cluster.get_scheduler_logs(), cluster.get_worker_logs(), cluster.get_events()], default=str)
    assert secret not in logs
    assert token not in logs


def test_a_killed_lender_is_an_error_within_seconds(cluster, service):
    """The variable outlives the lender, which no longer acknowledges reports."""
    credentials = service.credentials["sandbox-secret"]
    terms = {
        "client_id": credentials.client_id,
        "client_secret": credentials.client_secret.reveal(),
        "addresses": dict(service.settings.addresses),
        "scheduler": cluster.scheduler.address,
    }
    with subprocess.Popen([sys.executable, "-c", LENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(terms).encode())
        process.stdin.close()
        lent = pickle.loads(bytes.fromhex(process.stdout.readline().decode()))  # noqa: S301
        assert cluster.submit(status_of, 1, session=lent, pure=False).result()[1] == 200
        process.kill()
    watch = Stopwatch()
    while isinstance(error := cluster.submit(error_of, lent, pure=False).result(), int) and watch.seconds < 30:
        assert error in (200, 401)
    assert "is gone" in error
    requested = service.stats.token_requests
    with pytest.raises(tk.TokenError):
        cluster.submit(status_of, 3, session=lent, pure=False).result()
    assert service.stats.token_requests == requested


def test_coroutines_use_an_async_session(cluster, service):
    """An AsyncSession works in tasks that run on the worker's event loop, over several lifetimes."""
    session = tk.AsyncSession(credentials=service.credentials["sandbox-key"], settings=service.settings)
    with tk.lend(session, cluster) as lent:
        for start in range(0, 90, 30):
            results = cluster.gather(cluster.map(status_of_async, range(start, start + 30), session=lent))
            assert [status for _, status in results] == [200] * 30
            time.sleep(1.5)


async def call_that_blocks(session):
    return session.broker.get("/v1/accounts").status_code


def test_a_blocking_session_is_refused_on_the_event_loop(cluster, session):
    """It would deadlock: the token comes through the loop that it blocks."""
    with tk.lend(session, cluster) as lent, pytest.raises(tk.ConfigurationError, match="AsyncSession"):
        cluster.submit(call_that_blocks, lent).result(timeout=60)


def test_an_asynchronous_client(cluster, service, session):
    """`async with` opens the loan without blocking the loop; a plain `with` is refused."""

    async def statuses():
        async with Client(cluster.scheduler.address, asynchronous=True) as client:
            with pytest.raises(tk.ConfigurationError, match="async with"), tk.lend(session, client):
                pass
            async with tk.lend(session, client) as lent:
                results = await client.gather(client.map(status_of, range(10), session=lent))
        return {status for _, status, _ in results}

    with pytest.warns(UserWarning, match="at tcp://127.0.0.1.* does not use TLS") as caught:
        assert asyncio.run(statuses()) == {200}
    assert {warning.filename for warning in caught} == {__file__}


def test_a_rate_is_divided_by_the_workers(cluster, service):
    """All workers together make no more calls a second than the lender's session asks for."""
    options = {"credentials": service.credentials["sandbox-secret"], "settings": service.settings}
    with tk.Session(**options, per_second=20) as session, tk.lend(session, cluster) as lent:
        cluster.gather(cluster.map(status_of, range(40), session=lent))
        watch, before = Stopwatch(), service.stats.calls
        cluster.gather(cluster.map(status_of, range(40, 160), session=lent, batch_size=4))
        assert service.stats.calls - before <= 20 * watch.seconds + 2 * WORKERS
