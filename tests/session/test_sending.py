"""The way of a request through a session: scope, credentials, retry, and the ledger."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from sender_calls import ADDRESS, URL, Way, secrets_in
from session_calls import BOTH, bearer

from toolkit.core.errors import CredentialsMismatch, UnsafeAddress

# Tokens


@BOTH
def test_consumed_body(way, service, is_async):
    """A body that can be read only once is not sent again; the next call has a new token."""
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)

    def pieces():
        yield b"one"
        yield b"two"

    async def awaited():
        for piece in pieces():
            yield piece

    response = way.send("POST", content=awaited() if is_async else pieces(), is_async=is_async)
    assert response.status_code == 401
    assert len(service.calls) == 1
    assert way.send(is_async=is_async).status_code == 200
    assert len(service.token_requests) == 2


# The caller's request holds no credentials


@BOTH
def test_timeouts_survive(way, service, is_async):
    """A request's own timeout reaches the network, and does not hold for the token request."""
    way.send(is_async=is_async, timeout=httpx.Timeout(1.0, read=2.0))
    assert service.calls[0].extensions["timeout"] == {"connect": 1.0, "read": 2.0, "write": 1.0, "pool": 1.0}
    assert service.token_requests[0].extensions["timeout"]["read"] > 2.0


# Refused before sent


@BOTH
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"url": "https://elsewhere.example.com/v1/accounts"}, UnsafeAddress),
        ({"url": "http://broker.example.com/v1/accounts"}, UnsafeAddress),
        ({"url": "https://auth.example.com/v1/oauth2/token"}, UnsafeAddress),
        ({"url": "https://user:QXZ@broker.example.com/v1/accounts"}, UnsafeAddress),
        ({"auth": ("user", "QXZ")}, CredentialsMismatch),
        ({"auth": httpx.DigestAuth("user", "QXZ"), "headers": {"Authorization": "Digest QXZ"}}, CredentialsMismatch),
        ({"headers": {"authorization": "Bearer QXZ"}}, CredentialsMismatch),
        ({"headers": {"SVC-API-SECRET-KEY": "QXZ"}}, CredentialsMismatch),
        ({"client": {"auth": ("user", "QXZ")}}, CredentialsMismatch),
        ({"client": {"headers": {"Authorization": "QXZ"}}}, CredentialsMismatch),
    ],
)
def test_nothing_is_sent(way, service, request_, error, is_async):
    """A request that may not be sent raises an AccessError without its credentials, and nothing is sent."""
    with pytest.raises(error) as caught:
        way.send(is_async=is_async, **request_)
    assert service.requests == []
    assert "QXZ" not in f"{caught.value} {caught.value!r}"


@BOTH
@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "https://elsewhere.example.com/?token={token}",
        "http://broker.example.com/v1/accounts",
        "//elsewhere.example.com",
    ],
)
def test_redirect_elsewhere(way, service, location, follow, is_async):
    """A redirect to another origin is not followed: it is refused, and nothing is sent there."""
    service.answer = lambda request: service.reply({}, 307, {"Location": location.format(token=bearer(request))})
    client = {"follow_redirects": follow}
    if follow:
        with pytest.raises(UnsafeAddress) as caught:
            way.send("POST", content=b"order", client=client, is_async=is_async)
        assert secrets_in(str(caught.value), way) == []
    else:
        assert way.send("POST", content=b"order", client=client, is_async=is_async).status_code == 307
    assert [request.url.host for request in service.requests] == ["auth.example.com", "broker.example.com"]


@BOTH
def test_redirect_within(way, service, is_async):
    """A redirect within the interface's own address is followed, with credentials on each request."""
    moved = {"Location": "/v2/accounts?page=2"}
    service.answer = lambda request: service.reply({}, *((302, moved) if request.url.path == "/v1/accounts" else ()))
    response = way.send(client={"follow_redirects": True}, is_async=is_async)
    assert str(response.url) == f"{ADDRESS}/v2/accounts?page=2"
    assert [bearer(call) for call in service.calls] == service.issued * 2
    assert "Authorization" not in response.request.headers


# Streaming


@BOTH
def test_streaming(way, service, is_async):
    """A streamed response is returned unread, and its pieces come as they are read."""
    body = type(service.reply({}).stream)([b"x" * 100] * 1000)
    service.answer = lambda request: httpx.Response(200, stream=body)

    def check(taken, read):
        assert body.taken == taken
        assert read == b"x" * 100

    def sync():
        with httpx.Client(transport=way.transport()) as client, client.stream("GET", URL) as response:
            assert body.taken == 0
            pieces = response.iter_raw()
            check(1, next(pieces))
            check(2, next(pieces))
            assert not body.closed

    async def awaited():
        async with httpx.AsyncClient(transport=way.transport()) as client, client.stream("GET", URL) as response:
            assert body.taken == 0
            pieces = response.aiter_raw()
            check(1, await anext(pieces))
            check(2, await anext(pieces))
            assert not body.closed

    asyncio.run(awaited()) if is_async else sync()
    assert body.closed
    assert body.taken == 2


@BOTH
def test_streamed_upload(make_credentials, service, is_async):
    """A streamed request body is not collected before it is sent."""
    taken = []

    def pieces():
        for number in range(3):
            taken.append(number)
            yield b"%d" % number

    async def awaited():
        for piece in pieces():
            yield piece

    request = httpx.Request("POST", URL, content=awaited() if is_async else pieces())
    sent = next(Way(make_credentials("paper"), service).flow(request))
    assert taken == []
    assert sent.stream is request.stream


# The ledger


def test_elapsed_of_a_stream(way, service):
    """A call ends with its body; until then it has no elapsed time."""
    service.answer = lambda request: httpx.Response(200, stream=type(service.reply({}).stream)([b"x"] * 3))
    with httpx.Client(transport=way.transport()) as client, client.stream("GET", URL) as response:
        call = way.sender.ledger.calls()[-1]
        assert call.elapsed is None
        way.clock.advance(7)
        response.read()
    assert call.elapsed == timedelta(seconds=7)
