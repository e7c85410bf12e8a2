"""Errors of a transport show no credentials, whatever the network does."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import sys
import threading
from dataclasses import dataclass

import httpx
import pytest
from frames import raised, with_locals

from toolkit.transport.flow import without_frames


@contextlib.contextmanager
def serving(treat):
    """Serve on loopback: call a function for one connection, in its own thread; the outcome is the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                treat(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


def drop(connection):
    connection.recv(65536)


def half_a_body(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


@dataclass(frozen=True)
class Fault:
    treat: object
    error: type[Exception]
    header: tuple[bytes, bytes] = (b"X-Harmless", b"yes")
    proxied: str = ""


FAULTS = {
    "drop": Fault(drop, httpx.TransportError),
    "illegal header of the caller": Fault(drop, httpx.LocalProtocolError, header=(b"X-Bad", b"a\nb")),
    "half a body": Fault(half_a_body, httpx.RemoteProtocolError),
    "drop by a proxy": Fault(drop, httpx.TransportError, proxied="http://elsewhere.invalid"),
}


def caught(url, fault, secret, *, is_async, clean):
    """Return the error that a fault raises, caught as by the driver of a flow, and cleaned if `clean`."""
    request = _request(url, fault, secret)
    proxy = httpx.Proxy(url, auth=("user", secret)) if fault.proxied else None

    def called():
        with httpx.HTTPTransport(proxy=proxy) as transport:
            transport.handle_request(request).read()

    async def awaited():
        async with httpx.AsyncHTTPTransport(proxy=proxy) as transport:
            await (await transport.handle_async_request(request)).aread()

    with pytest.raises(httpx.HTTPError) as raised_here:
        asyncio.run(awaited()) if is_async else called()
    if clean:
        without_frames(raised_here.value)
    return raised_here.value


def _request(url, fault, secret):
    headers = [(b"Host", b"service"), (b"Authorization", b"Bearer " + secret.encode()), fault.header]
    return httpx.Request("GET", f"{fault.proxied or url}/v1/accounts", headers=headers)


def as_ipython_shows(error):
    """Return the traceback of IPython's %xmode Verbose."""
    from IPython.core.ultratb import VerboseTB

    try:
        raise error
    except httpx.HTTPError:
        return VerboseTB(theme_name="nocolor").text(*sys.exc_info())


@pytest.mark.parametrize(
    ("name", "is_async"),
    [*((name, False) for name in FAULTS), ("drop", True), ("half a body", True)],
)
def test_no_frame_shows_a_secret(name, is_async):
    """Whatever the network does, a traceback with local variables shows the error but no credentials."""
    fault, secret = FAULTS[name], secrets.token_hex(20)
    with serving(fault.treat) as url:
        error = caught(url, fault, secret, is_async=is_async, clean=True)
    assert isinstance(error, fault.error)
    for text in (as_ipython_shows(error), with_locals(error)):
        assert type(error).__name__ in text
        assert secret not in text


@pytest.mark.parametrize(
    ("name", "show", "is_async"),
    [("illegal header of the caller", with_locals, False), ("drop by a proxy", with_locals, True)],
)
def test_frames_of_libraries_show_secrets(name, show, is_async):
    """Without cleaning, the frames of httpx and httpcore show credentials, so the test above can fail."""
    fault, secret = FAULTS[name], secrets.token_hex(20)
    with serving(fault.treat) as url:
        error = caught(url, fault, secret, is_async=is_async, clean=False)
    assert secret in show(error.with_traceback(error.__traceback__.tb_next))  # without the frame of this test


def test_groups():
    """Members of nested groups are cleaned with their causes; messages, notes and links stay."""
    cause, inner = raised(ValueError("b")), raised(OSError("a"))
    inner.__cause__ = cause
    group = raised(BaseExceptionGroup("many", [ExceptionGroup("some", [inner])]))
    group.add_note("a note")
    without_frames(group)
    assert [error.__traceback__ for error in (group, group.exceptions[0], inner, cause)] == [None] * 4
    assert (group.__notes__, inner.__cause__, str(inner)) == (["a note"], cause, "a")


def failing_call():
    """Clean an error like the driver of a flow, and return it."""
    try:
        try:
            raise OSError("below")  # noqa: TRY301
        except OSError as below:
            raise httpx.ConnectError("failed") from below
    except httpx.ConnectError as error:
        without_frames(error)
        return error


def test_error_that_the_caller_was_handling():
    """An error that the caller was handling during the call keeps its traceback and chain, also in a task."""

    async def handling():
        try:
            raise KeyError("of the caller")  # noqa: TRY301
        except KeyError:
            await asyncio.sleep(0)
            return failing_call()

    error = asyncio.run(handling())
    below = error.__cause__
    assert (error.__traceback__, below.__traceback__) == (None, None)
    assert isinstance(below.__context__, KeyError)
    assert below.__context__.__traceback__ is not None


def test_request_of_an_error():
    """The request of an error, or of its response, is removed."""
    hot = httpx.Request("GET", "https://a.example", headers={"Authorization": "Bearer x"})
    cause = raised(httpx.HTTPStatusError("b", request=hot, response=httpx.Response(500, request=hot)))
    error = raised(httpx.ConnectError("a", request=hot), cause)
    without_frames(error)
    assert (error._request, cause._request, cause.response._request) == (None, None, None)
