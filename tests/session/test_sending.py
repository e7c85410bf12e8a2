"""The way of a request through a session: scope, credentials, streams, and the ledger."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from bodies import body_class
from manual_clock import ManualClock
from session_calls import BOTH, bearer, call

from toolkit.core.errors import CredentialsMismatch, UnsafeAddress

URL = "https://broker-sandbox.example.com/v1/accounts"


@BOTH
def test_consumed_body(open_session, service, is_async):
    """A body that can be read only once is not sent again; the next call has a new token."""
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)

    def pieces():
        yield b"one"
        yield b"two"

    async def awaited():
        for piece in pieces():
            yield piece

    session = open_session(is_async=is_async)
    assert call(session, method="POST", content=awaited() if is_async else pieces()).status_code == 401
    assert len(service.calls) == 1
    assert call(session).status_code == 200
    assert len(service.token_requests) == 2


@BOTH
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"path": "https://elsewhere.example.com/v1/QXZ?token=QXZ#QXZ"}, UnsafeAddress),
        ({"path": "http://broker-sandbox.example.com/v1/accounts"}, UnsafeAddress),
        ({"path": "https://auth-sandbox.example.com/v1/oauth2/token"}, UnsafeAddress),
        ({"path": "https://user:QXZ@broker-sandbox.example.com/v1/accounts"}, UnsafeAddress),
        ({"auth": ("user", "QXZ")}, CredentialsMismatch),
        ({"auth": httpx.DigestAuth("user", "QXZ"), "headers": {"Authorization": "Digest QXZ"}}, CredentialsMismatch),
        ({"headers": {"authorization": "Bearer QXZ"}}, CredentialsMismatch),
        ({"headers": {"SVC-API-SECRET-KEY": "QXZ"}}, CredentialsMismatch),
    ],
)
def test_nothing_is_sent(open_session, service, request_, error, is_async):
    """A request that may not be sent raises an AccessError without its credentials, live and while recording."""
    for options in ({}, {"cassette": "c"}):
        with pytest.raises(error) as caught:
            call(open_session(is_async=is_async, **options), **request_)
        assert service.requests == []
        assert "QXZ" not in f"{caught.value} {caught.value!r}"


@BOTH
@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "https://elsewhere.example.com/?token={token}",
        "http://broker-sandbox.example.com/v1/accounts",
        "//elsewhere.example.com",
    ],
)
def test_redirect_elsewhere(open_session, service, location, follow, is_async):
    """A redirect to another origin is not followed: it is refused, and nothing is sent there."""
    service.answer = lambda request: service.reply({}, 307, {"Location": location.format(token=bearer(request))})
    session, request = open_session(is_async=is_async), {"method": "POST", "content": b"order"}
    if follow:
        with pytest.raises(UnsafeAddress) as caught:
            call(session, follow_redirects=True, **request)
        assert service.issued[0] not in str(caught.value)
    else:
        assert call(session, **request).status_code == 307
    hosts = [request.url.host for request in service.requests]
    assert hosts == ["auth-sandbox.example.com", "broker-sandbox.example.com"]


@BOTH
def test_redirect_within(open_session, service, is_async):
    """A redirect within the interface's own address is followed, with credentials on each request."""
    moved = {"Location": "/v2/accounts?page=2"}
    service.answer = lambda request: service.reply({}, *((302, moved) if request.url.path == "/v1/accounts" else ()))
    response = call(open_session(is_async=is_async), follow_redirects=True)
    assert str(response.url) == "https://broker-sandbox.example.com/v2/accounts?page=2"
    assert [bearer(call) for call in service.calls] == service.issued * 2
    assert "Authorization" not in response.request.headers


@BOTH
def test_streaming(open_session, service, is_async):
    """A streamed response is returned unread, its pieces come as they are read, and the call ends with its body."""
    body = body_class(httpx)([b"x" * 100] * 1000)
    service.answer = lambda request: httpx.Response(200, stream=body)
    clock = ManualClock()
    session = open_session(is_async=is_async, clock=clock)

    def check(piece):
        assert [piece, body.taken, body.closed] == [b"x" * 100, 1, 0]
        assert session.calls()["elapsed"].isna().tolist() == [False, True]
        clock.advance(7)

    def sync():
        with session.broker.stream("GET", URL) as response:
            assert body.taken == 0
            check(next(response.iter_raw()))

    async def awaited():
        async with session.broker.stream("GET", URL) as response:
            assert body.taken == 0
            check(await anext(response.aiter_raw()))

    asyncio.run(awaited()) if is_async else sync()
    assert (body.closed, body.taken) == (1, 1)
    assert session.calls()["elapsed"].iloc[-1] == 7


@BOTH
def test_responses_that_are_already_read(open_session, is_async):
    """httpx.MockTransport, whose responses are already read, works below a session and is recorded."""

    def answer(request):
        reply = {"access_token": "QXZ-access-token", "expires_in": 890, "token_type": "Bearer"}
        return httpx.Response(200, json=reply if request.method == "POST" else {"path": request.url.path})

    clock = ManualClock()
    for mode in ("all", "none"):
        options = {"cassette": "c", "mode": mode, "clock": clock, "is_async": is_async}
        session = open_session(transport=httpx.MockTransport(answer), **options)
        assert call(session).json() == {"path": "/v1/accounts"}
        assert set(session.calls()["elapsed"]) == {timedelta(0).total_seconds()}
