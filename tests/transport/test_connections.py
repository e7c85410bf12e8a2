"""The connections to one host: when they are made, reused and closed."""

from __future__ import annotations

import asyncio
import gc

import pytest

from toolkit.transport.connections import Connections
from toolkit.transport.family import httpx


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __iter__(self):
        yield b"body"

    async def __aiter__(self):
        yield b"body"


class Connection:
    """A transport that answers, or fails, and notes whether it is busy."""

    def __init__(self, made):
        made.append(self)
        self.fails = False

    def handle_request(self, request):
        if self.fails:
            raise httpx.ReadError("no")
        return httpx.Response(200, stream=Stream())

    async def handle_async_request(self, request):
        return self.handle_request(request)


REQUEST = httpx.Request("GET", "https://a.example")


def make():
    made = []
    return Connections(lambda: Connection(made)), made


def test_one_after_the_other():
    """Calls that follow each other share a connection; it is free when the response is closed."""
    connections, made = make()
    for _ in range(3):
        connections.handle_request(REQUEST).read()
    assert len(made) == 1


def test_at_once():
    """Calls at once have a connection each, and the next call takes the one that was used last."""
    connections, made = make()
    responses = [connections.handle_request(REQUEST) for _ in range(3)]
    assert len(made) == 3
    responses[1].read()
    connections.handle_request(REQUEST)
    assert len(made) == 3
    connections.handle_request(REQUEST)
    assert len(made) == 4


def test_async():
    """Tasks get connections in the same way."""
    connections, made = make()

    async def call():
        response = await connections.handle_async_request(REQUEST)
        await asyncio.sleep(0)
        await response.aread()

    async def main():
        await asyncio.gather(*(call() for _ in range(5)))
        await call()

    asyncio.run(main())
    assert len(made) == 5


def test_failure():
    """A connection on which a call failed can be used again: httpx has closed what was open."""
    connections, made = make()
    connections.handle_request(REQUEST).read()
    made[0].fails = True
    with pytest.raises(httpx.ReadError):
        connections.handle_request(REQUEST)
    made[0].fails = False
    connections.handle_request(REQUEST)
    assert len(made) == 1


@pytest.mark.usefixtures("only_new_garbage")
def test_dropped():
    """A connection whose response was dropped in the middle is not used again: the rest of the body is on it."""
    connections, made = make()
    response = connections.handle_request(REQUEST)
    next(iter(response.stream))
    del response
    gc.collect()
    connections.handle_request(REQUEST)
    assert len(made) == 2


def test_taken_away():
    """Connections that were taken away for closing do not come back, even if a response is closed later."""
    connections, made = make()
    connections.handle_request(REQUEST).read()
    late = connections.handle_request(REQUEST)
    assert connections.take_all() == {made[0]}
    late.read()
    response = connections.handle_request(REQUEST)
    assert len(made) == 2
    assert response.read() == b"body"
    assert connections.take_all() == {made[1]}
