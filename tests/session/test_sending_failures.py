"""Requests of a session that fail: the errors, and what they must not show."""

from __future__ import annotations

import pickle
from urllib.parse import parse_qs

import httpx
import pytest
from bodies import body_class
from sender_calls import URL, Way, assert_clean, chain, frames
from session_calls import BOTH

from toolkit.core.document import Interface
from toolkit.core.errors import (
    TokenError,
    TokenRefused,
    TokenResponseInvalid,
    Unreachable,
)

FAILURES = [
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadTimeout,
    httpx.WriteError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
    httpx.DecodingError,
]


@pytest.mark.parametrize(
    ("failure", "kind", "is_async"),
    [(failure, ("secret", "key")[number // 2 % 2], number % 2 == 1) for number, failure in enumerate(FAILURES)],
)
def test_token_endpoint_unreachable(make_credentials, service, failure, kind, is_async):
    """If the token endpoint cannot be reached, Unreachable is raised, without the token request attached."""
    way = Way(make_credentials("broker-sandbox", kind), service)

    def fail(request):
        raise failure(f"cannot send {service.bodies[-1].decode()}", request=request)

    service.answer_token = fail
    passes = issubclass(failure, httpx.TimeoutException | httpx.NetworkError | httpx.RemoteProtocolError)
    with pytest.raises(Unreachable, match=r"token endpoint at https:.* cannot be reached") as caught:
        way.send(is_async=is_async)
    assert list(chain(caught.value)) == [caught.value]
    assert_clean(caught.value, way)
    assert not any(isinstance(value, httpx.Request) for value in vars(caught.value).values())
    pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - pickled here
    assert len(service.requests) == (4 if passes else 1)


REPLIES = {
    "refused": (401, lambda sent: {"error": sent, "error_description": sent}),
    "echo": (400, lambda sent: {sent: sent}),
    "no token": (200, lambda sent: {"token_type": "Bearer", sent: sent}),
    "other type": (200, lambda sent: {"access_token": "QXZ-access-token", "token_type": "mac", "echo": sent}),
    "bad lifetime": (200, lambda sent: {"access_token": "QXZ-access-token", "token_type": "Bearer", "expires_in": -1}),
    "page": (200, lambda sent: f"<html>{sent}</html>".encode()),
    "down": (503, lambda sent: b"down " + sent.encode()),
}


@pytest.mark.parametrize(
    ("reply", "kind", "is_async"),
    [(reply, ("secret", "key")[number // 2 % 2], number % 2 == 1) for number, reply in enumerate(REPLIES)],
)
def test_token_refused(make_credentials, service, kind, reply, is_async):
    """A reply without a token raises a TokenError that shows nothing that was sent or received."""
    way = Way(make_credentials("broker-sandbox", kind), service)
    status, value = REPLIES[reply]

    def refuse(request):
        form = parse_qs(service.bodies[-1].decode())
        (sent,) = form.get("client_secret") or form["client_assertion"]
        return service.reply(value(sent), status, {"X-Echo": sent})

    service.answer_token = refuse
    with pytest.raises(TokenError) as caught:
        way.send(is_async=is_async)
    assert isinstance(caught.value, TokenResponseInvalid if status == 200 else TokenRefused)
    assert_clean(caught.value, way)
    assert "QXZ" not in "".join(frames(caught.value)) + str(caught.value)
    pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - pickled here
    assert way.sender.ledger.calls() == []
    assert way.sender.current_token() == (None, None)


@BOTH
@pytest.mark.parametrize("kind", ["secret", "key"])
def test_trouble_that_passes(make_credentials, service, kind, is_async):
    """Trouble at the token endpoint that passes is not noticed; each try has a new assertion."""
    way = Way(make_credentials("broker-sandbox", kind), service)
    troubles = [lambda: service.reply({}, 503), lambda: service.reply({}, 429, {"Retry-After": "5"})]

    def answer(request):
        if not troubles:
            return service.token_reply()
        return troubles.pop()()

    service.answer_token = answer
    assert way.send(is_async=is_async).status_code == 200
    assert len(service.token_requests) == 3
    assert len({*service.bodies[:3]}) == (1 if kind == "secret" else 3)
    assert way.clock.monotonic() > 5


def test_broken_token_reply(way, service):
    """If a token reply breaks off, Unreachable is raised."""
    body = body_class(httpx)([b'{"access_token": "QXZ'], httpx.ReadError("connection lost"))
    service.answer_token = lambda request: httpx.Response(200, stream=body)
    with pytest.raises(Unreachable) as caught:
        way.send()
    assert "QXZ" not in "".join(frames(caught.value))


@pytest.mark.parametrize(
    ("failure", "kind", "is_async"),
    [(failure, ("headers", "basic", "secret")[number % 3], number % 2 == 1) for number, failure in enumerate(FAILURES)],
)
def test_service_unreachable(make_credentials, service, failure, kind, is_async):
    """A call that fails raises httpx's own error, with the caller's own request and no credentials."""
    way = Way(make_credentials("broker-sandbox" if kind == "secret" else "live", kind), service)

    def fail(request):
        raise failure("no answer", request=request)

    service.answer = fail
    with pytest.raises(failure) as caught:
        way.send(is_async=is_async)
    assert str(caught.value.request.url) == URL
    assert_clean(caught.value, way)
    calls = [call for call in way.sender.ledger.calls() if call.interface == Interface.BROKER]
    assert [(call.path, call.status) for call in calls] == [("/v1/accounts", 599)]
