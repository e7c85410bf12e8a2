"""A client that does not finish its request is cut off, nobody else is, and an answer comes in one piece."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from toolkit.practice_service import practice
from toolkit.practice_service.server import HOST, ServerThread, listen

COMPLETE = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab"


async def application(scope, receive, send):
    """Answer 204 when the whole body has come."""
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass
    if message["type"] == "http.request":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})


@pytest.fixture
def connect():
    """Return a function that connects to a server with a short time for a request."""
    sockets = listen(1, 0)
    port = sockets[0].getsockname()[1]
    server = ServerThread(application, sockets, request_timeout=0.2)
    server.start()
    opened = []

    def connect():
        opened.append(socket.create_connection((HOST, port), timeout=20))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()
    server.close()


def is_cut_off(connection):
    """Wait until the server closes the connection or sends something; return True if it closed it."""
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_half_a_request(connect):
    """A connection on which half a request came, as its first or its second, is closed after a while."""
    halves = [b"P", b"POST / HTTP/1.1\r\nHost: h\r\n", COMPLETE[:-1], COMPLETE[:-2]]
    waiting = {(b"", half): connect() for half in (b"", *halves)} | {(COMPLETE, half): connect() for half in halves}
    for (before, half), connection in waiting.items():
        connection.sendall(before + half)
    for (before, half), connection in waiting.items():
        if before:
            assert connection.recv(1000).startswith(b"HTTP/1.1 204"), half
        assert is_cut_off(connection), (before, half)


def test_idle_connections_stay_open(connect):
    """The pause between two requests does not count, and other clients are served meanwhile."""
    idle, stalled = connect(), connect()
    idle.sendall(COMPLETE)
    assert idle.recv(1000).startswith(b"HTTP/1.1 204")
    stalled.sendall(COMPLETE[:-1])
    assert is_cut_off(stalled)
    idle.sendall(COMPLETE)
    assert idle.recv(1000).startswith(b"HTTP/1.1 204")


def test_one_segment():
    """Head and body of an answer are sent together, also before the connection closes."""
    with practice(accounts=1) as service:
        address = httpx.URL(service.url("broker"))
        for ending in ("", "Connection: close\r\n"):
            with socket.create_connection((address.host, address.port), timeout=20) as connection:
                host = address.netloc.decode()
                connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n{ending}\r\n".encode())
                head, _, body = connection.recv(10_000).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 401")
                assert json.loads(body)["error"] == "unauthorized"
                if ending:
                    assert connection.recv(1) == b""
