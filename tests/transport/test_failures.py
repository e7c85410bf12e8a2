from __future__ import annotations

import asyncio
import socket

import httpx
import pytest
from manual_clock import ManualClock

import toolkit as tk
from toolkit.transport.failures import unreachable


@pytest.mark.parametrize(
    ("error", "reason", "is_passing"),
    [
        (httpx.ConnectError("x"), "no connection", True),
        (httpx.ConnectTimeout("x"), "no connection in time", True),
        (httpx.ReadTimeout("x"), "no complete response in time", True),
        (httpx.RemoteProtocolError("x"), "the connection was dropped", True),
        (httpx.ProxyError("x"), "ProxyError", False),
        (httpx.LocalProtocolError("x"), "LocalProtocolError", False),
        (httpx.UnsupportedProtocol("x"), "UnsupportedProtocol", False),
    ],
)
def test_unreachable(error, reason, is_passing):
    """The error gives the reason, and says if another try may succeed."""
    result = unreachable("The service", error)
    assert result.what == f"The service cannot be reached: {reason}."
    assert result.is_passing is is_passing


@pytest.fixture
def free_port():
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def failure_at(address, *, is_async, proxy=None):
    """Return the error of a session whose service has this address."""
    pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
    options = {"credentials": pair, "settings": tk.Settings({"trading_paper": address}), "clock": ManualClock()}
    session = (tk.AsyncSession if is_async else tk.Session)(**options, proxy=proxy)
    with pytest.raises(tk.Unreachable) as caught:
        asyncio.run(session.accounts()) if is_async else session.accounts()
    return caught.value


@pytest.mark.parametrize("is_async", [False, True])
def test_why_there_is_no_connection(free_port, server, monkeypatch, is_async):
    """A port without a listener, an unknown host and a port without TLS are different, also behind a proxy."""
    error = failure_at(f"http://127.0.0.1:{free_port}", is_async=is_async)
    assert error.what == f"The service at http://127.0.0.1:{free_port} cannot be reached: nothing listens there."
    assert "it may have stopped" in error.next_step
    error = failure_at(server.url.replace("http:", "https:"), is_async=is_async)
    assert error.what.endswith(" cannot be reached: what answers there does not speak TLS.")
    assert not error.is_passing
    proxy = f"http://desk:QXZ-password@127.0.0.1:{free_port}"
    error = failure_at("https://one.example.com", is_async=is_async, proxy=proxy)
    assert error.what.endswith(f": nothing listens at its proxy. The proxy is http://127.0.0.1:{free_port}.")
    assert "proxy=" in error.next_step

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "QXZ")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = failure_at("https://one.example.com", is_async=is_async)
    assert error.what == "The service at https://one.example.com cannot be reached: its host name is not known."
    assert "the name in the address" in error.next_step
