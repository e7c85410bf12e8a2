"""Connections are refused while a test replays, and only then."""

from __future__ import annotations

import asyncio
import socket
import ssl
import urllib.request

import httpx
import pytest
import requests

from toolkit.core.errors import NetworkBlocked
from toolkit.sharing.pytest_plugin.item_cassette import network_blocked


def state():
    """Return the functions that the guard replaces."""
    return [*vars(socket.socket).items(), socket.getaddrinfo]


@pytest.fixture
def listener():
    """Return the port of a socket on loopback that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def blocked():
    """Refuse connections in the test."""
    before = state()
    with network_blocked((), NetworkBlocked):
        yield
    assert state() == before


async def async_get(url):
    """Send a request from an event loop."""
    async with httpx.AsyncClient() as client:
        await client.get(url)


CLIENTS = {
    "httpx": httpx.get,
    "requests": requests.get,
    "urllib": urllib.request.urlopen,
    "async httpx": lambda url: asyncio.run(async_get(url)),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_clients(blocked, name):
    """Every client is refused at once, before a name is looked up."""
    with pytest.raises(NetworkBlocked, match=r"example\.com"):
        CLIENTS[name]("http://example.com/")


def test_sockets(blocked, listener):
    """Sockets are refused in every way of connecting, in both families, also below TLS."""
    address = ("127.0.0.1", listener)
    with socket.socket() as plain, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        for use in (
            lambda: plain.connect(address),
            lambda: plain.connect_ex(address),
            lambda: datagram.sendto(b"", address),
            lambda: datagram.sendmsg([b""], [], 0, address),
            lambda: ssl.create_default_context().wrap_socket(plain, server_hostname="x").connect(address),
        ):
            with pytest.raises(NetworkBlocked):
                use()
    if socket.has_ipv6:
        with socket.socket(socket.AF_INET6) as six, pytest.raises(NetworkBlocked, match="::1:80"):
            six.connect(("::1", 80))


def test_what_stays_allowed(blocked, tmp_path):
    """Event loops, pairs of sockets, sockets that listen and sockets in the file system work."""

    async def main():
        await asyncio.sleep(0)
        return await asyncio.to_thread(lambda: 7)

    assert asyncio.run(main()) == 7
    for end in socket.socketpair():
        end.close()
    socket.create_server(("127.0.0.1", 0)).close()
    assert all(socket.getaddrinfo(host, 80) for host in ("localhost", "127.0.0.1", "::1"))
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


@pytest.mark.parametrize("allowed", ["127.*", "localhost"])
def test_allowed_hosts(listener, allowed):
    """Hosts that the project allows are reached, and no others."""
    with network_blocked([allowed], NetworkBlocked):
        socket.create_connection(("localhost" if allowed == "localhost" else "127.0.0.1", listener)).close()
        with pytest.raises(NetworkBlocked):
            socket.create_connection(("192.0.2.1", listener))
