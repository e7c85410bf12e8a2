"""Token responses as RFC 6749 defines them and as servers send them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.token import Token, read_token_response
from toolkit.core.errors import TokenError, TokenRefused, TokenResponseInvalid
from toolkit.core.secret import REGISTER, Secret

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
# Text that no message holds by chance.
CANARIES = st.text("QXZ0123456789", min_size=12, max_size=40)
GOOD = {"access_token": "QXZ-token-QXZ-token", "expires_in": 890, "token_type": "Bearer"}


def read(fields=None, *, status=200, headers=None, body=None, **more):
    body = json.dumps(fields).encode() if body is None else body
    return read_token_response(
        status, httpx.Headers(headers or {}), body, requested_at=START, requested_monotonic=100.0, **more
    )


@pytest.mark.parametrize("expires_in", [0, -1, 0.999, "0", "", "15 min", math.nan, "nan", True, [900], {}])
def test_lifetime_refused(expires_in):
    """A lifetime below one second, or one that is not a number, is refused."""
    with pytest.raises(TokenResponseInvalid, match="expires_in"):
        read({**GOOD, "expires_in": expires_in})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | CANARIES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*GOOD, "error", "error_description", "scope"), JSON)))
def test_values_are_not_quoted(fields):
    """Any reply is a token or an error that names fields and types and quotes no value."""
    shown = ""
    try:
        read(fields)
    except TokenError as error:
        shown = f"{error} {error!r}"
    assert not any(text in shown for text in texts_in(fields))


def texts_in(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(inner)


@pytest.mark.parametrize(
    ("offset", "status", "error", "did", "words"),
    [
        (0, 401, None, "refused the credentials", "Check the client ID"),
        (29, 401, "invalid_client", "refused the credentials", "Check the client ID"),
        (90, 401, "invalid_client", "refused the credentials", "90 s ahead of"),
        (-90, 401, None, "refused the credentials", "90 s behind"),
        (90, 400, "invalid_scope", "refused the request", "the scope in form_fields"),
        (0, 404, "invalid_client", "refused the credentials", "Check the client ID"),
        (0, 404, None, "returned no token", "another service or a proxy"),
        (0, 302, "invalid_client", "returned no token", "another service or a proxy"),
        (90, 503, None, "returned no token", "itself has a problem"),
        (0, 400, "temporarily_unavailable", "returned no token", "itself has a problem"),
        (90, 429, None, "returned no token", "too many requests"),
    ],
)
def test_advice(offset, status, error, did, words):
    """A refusal says what to do next, and mentions a wrong clock only where that can be the reason."""
    date = format_datetime(START - timedelta(seconds=offset), usegmt=True)
    with pytest.raises(TokenRefused) as caught:
        read({"error": error}, status=status, headers={"Date": date, "Retry-After": "5"})
    assert f"The token endpoint {did}: status {status}" in caught.value.what
    assert words in caught.value.next_step
    assert "The service asks you to wait 5 s." in caught.value.next_step
    assert caught.value.clock_offset == timedelta(seconds=offset)


@pytest.mark.parametrize("body", [b"<html>", b"[" * 100_000, b"[]"])
def test_reply_that_is_not_an_object(body):
    """It may be a login page: the error names its type and length."""
    with pytest.raises(TokenResponseInvalid, match=rf"status 200, but no JSON object \(text/html, {len(body)} bytes\)"):
        read(body=body, headers={"Content-Type": "text/html"})


def test_tokens_are_registered_when_they_arrive():
    """Every token of a reply is known to the process, even if the reply is then refused."""
    read({**GOOD, "refresh_token": "QXZ-refresh-token", "id_token": 7})
    assert REGISTER.since(0) == [
        ("ACCESS_TOKEN", Secret(GOOD["access_token"])),
        ("REFRESH_TOKEN", Secret("QXZ-refresh-token")),
    ]
    with pytest.raises(TokenResponseInvalid):
        read({"access_token": "QXZ-another-token", "token_type": "mac"})
    assert Secret("QXZ-another-token") in REGISTER


def made(lifetime=890):
    """Return a token requested at START, when the monotonic clock stood at 100 seconds."""
    return Token(Secret("QXZ-token"), START, START + timedelta(seconds=lifetime), expires_monotonic=100.0 + lifetime)


def two_clocks(wall=0.0, monotonic=0.0):
    """Return a clock whose two readings are so many seconds after START."""
    return SimpleNamespace(now=lambda: START + timedelta(seconds=wall), monotonic=lambda: 100.0 + monotonic)


@given(lifetime=st.integers(1, 86400), after=st.floats(0, 90000))
def test_usable(lifetime, after):
    """A token is usable until 10 seconds or 10 % of its lifetime before its end, whichever is less."""
    token = made(lifetime)
    early = min(10.0, lifetime / 10)
    usable = token.is_usable(two_clocks(after, after))
    if after < lifetime - early - 0.001:
        assert usable
    if after > lifetime - early + 0.001:
        assert not usable


@pytest.mark.parametrize(("wall", "monotonic"), [(895, 0), (0, 895), (895, -50), (-5000, 895)])
def test_both_clocks(wall, monotonic):
    """A token that has expired on either clock is not used: after a sleep, or after the wall clock was set back."""
    assert made().is_usable(two_clocks())
    assert not made().is_usable(two_clocks(wall, monotonic))
