"""Calls of sessions of both kinds, for tests."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import toolkit as tk

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
PATHS = {"trading": "/v2/account", "market_data": "/v2/quotes", "broker": "/v1/accounts"}
CLIENTS = tuple(PATHS)


def own_client(session):
    """Return the name of the client for the accounts call."""
    return "trading" if session.environment in ("live", "paper") else "broker"


def call(session, path=None, client=None, method="GET", **request):
    """Return the response to a call, by default a GET of the accounts, through a session of either kind."""
    client = client or own_client(session)
    return finished(getattr(session, client).request(method, path or PATHS[client], **request))


def finished(value, run=asyncio.run):
    """Return a value, or what an awaitable gives.

    The coroutine that runs has no result of its own: asyncio writes it as text when it gives the signal handler back,
    which takes long for a table.
    """
    if not inspect.isawaitable(value):
        return value
    results = []
    run(_append_awaited(value, results))
    return results.pop()


async def _append_awaited(awaitable, results):
    results.append(await awaitable)


def in_threads(count, work):
    """Return what `work(number)` returns or raises in as many threads that start together."""
    start = threading.Barrier(count)

    def run(number):
        start.wait()
        try:
            return work(number)
        except tk.ToolkitError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def bearer(request):
    """Return the token that a request was sent with."""
    return request.headers["Authorization"].removeprefix("Bearer ")
