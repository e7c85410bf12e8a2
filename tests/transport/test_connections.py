"""The connections to one host: when they are made, reused and closed."""

from __future__ import annotations

import asyncio
import gc

import httpx
import pytest

from toolkit.transport.network import Network


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __iter__(self):
        yield b"body"

    async def __aiter__(self):
        yield b"body"


class Connection:
    """A transport that answers, or fails, and notes whether it is busy."""

    def __init__(self, made):
        made.append(self)
        self.fails = self.is_closed = False

    def close(self):
        self.is_closed = True

    def handle_request(self, request):
        if self.fails:
            raise httpx.ReadError("no")
        return httpx.Response(200, stream=Stream())

    async def handle_async_request(self, request):
        return self.handle_request(request)


REQUEST = httpx.Request("GET", "https://a.example")


class StubNetwork(Network):
    """A network whose connections are made here; `made` holds them."""

    def __init__(self):
        super().__init__(is_async=False)
        self.made = []

    def _transport(self, proxy, scheme):
        return Connection(self.made)


def make():
    network = StubNetwork()
    return network, network.made


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


def test_closed():
    """Connections that were closed with the network do not come back, even if a response is closed later."""
    network, made = make()
    network.handle_request(REQUEST).read()
    late = network.handle_request(REQUEST)
    network.close()
    assert made[0].is_closed
    late.read()
    assert network.handle_request(REQUEST).read() == b"body"
    assert len(made) == 2
