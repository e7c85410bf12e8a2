"""Faults of the service: what a session raises, which of them it remembers, and which tokens it keeps.

`test_tries` and `tests/auth/tokens` say what is sent again, and when; `test_exposure`, that errors show no secret.
"""

from __future__ import annotations

import httpx
import pytest
from manual_clock import ManualClock
from session_calls import BOTH, call, finished

import toolkit as tk

HTML = b"<p>Sorry</p>"
TOKEN_FAULTS = [  # status and body, the error, a pattern of its message, and the requests of two calls
    (400, {}, tk.TokenRefused, "refused the credentials.*400", 2),
    (401, b"{", tk.TokenRefused, "refused the credentials.*401", 2),
    (403, HTML, tk.TokenRefused, "refused the credentials.*403", 2),
    (302, {}, tk.TokenRefused, "returned no token: status 302", 2),
    *((400, {"error": f"{name}"}, tk.TokenRefused, name, 1) for name in ("invalid_client", "invalid_scope")),
    (400, {"error": "temporarily_unavailable"}, tk.TokenRefused, "temporarily_unavailable.*4 tries", 4),
    (429, {}, tk.TokenRefused, "returned no token: status 429.*4 tries", 4),
    (500, HTML, tk.TokenRefused, "returned no token: status 500.*4 tries", 4),
    (0, {}, tk.Unreachable, "dropped.*4 tries", 4),
    *((200, body, tk.TokenResponseInvalid, None, 2) for body in ({"access_token": 1}, b"{", HTML)),
]


@BOTH
@pytest.mark.parametrize(("status", "body", "error", "words", "requests"), TOKEN_FAULTS)
def test_token_fault(open_session, service, status, body, error, words, requests, is_async):
    """A failing token endpoint gives an error after few tries; when it recovers, the next call succeeds."""
    clock, answer_token = ManualClock(), service.answer_token

    def fail(request):
        if status == 0:
            raise httpx.RemoteProtocolError("QXZ")
        return service.reply(body, status)

    service.answer_token = fail
    session = open_session(clock=clock, is_async=is_async)
    for _ in range(2):
        with pytest.raises(error, match=words) as caught:
            finished(session.accounts())
        assert caught.value.next_step
    assert (len(service.token_requests), service.calls) == (requests, [])
    service.answer_token = answer_token
    clock.advance(61)
    assert call(session).status_code == 200


@BOTH
@pytest.mark.parametrize("kind", ["secret", "key", "headers", "basic"])
def test_always_unauthorized(open_session, service, kind, is_async):
    """After a 401 one new token is requested, but not one for each call; a key pair has nothing to renew."""
    has_token = kind in ("secret", "key")
    service.answer = lambda request: service.reply({}, 401)
    session = open_session("broker-sandbox" if has_token else "paper", kind, is_async=is_async)
    for _ in range(3):
        with pytest.raises(tk.ServiceError, match="401"):
            finished(session.accounts())
    assert (len(service.token_requests), len(service.calls)) == ((2, 4) if has_token else (0, 3))
