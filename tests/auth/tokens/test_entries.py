"""Entries of shared tokens: found and opened only with equal credentials, and checked before they are used."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.entries import LARGEST_ENTRY, open_token, seal_token, token_seal
from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token
from toolkit.core.clock import ManualClock
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import Secret

URL = "https://auth.example.com/v1/oauth2/token"
IDENTITY = b"client-1 QXZ-fake-secret"
START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
SEAL = token_seal(IDENTITY, URL)


def token(lifetime=890.0, issued_at=START, text="QXZ-token"):
    return Token(Secret(text), issued_at, issued_at + timedelta(seconds=lifetime))


def opened(fields, clock=None):
    """Return the token of an entry with these fields, or with this text."""
    data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return open_token(SEAL.seal(data), SEAL, clock=clock or ManualClock(START))


@pytest.mark.parametrize(
    "other",
    [
        "https://auth.example.org/v1/oauth2/token",
        "https://auth.example.com:8443/v1/oauth2/token",
        "https://auth.example.com/v2/oauth2/token",
        "https://auth.example.com/V1/oauth2/token",
        "https://auth.example.com",
        "http://localhost/v1/oauth2/token",
    ],
)
def test_other_endpoint(other):
    """A token of another origin or path has another entry and does not open here."""
    theirs = token_seal(IDENTITY, other)
    assert theirs.name != SEAL.name
    assert open_token(seal_token(token(), SEAL), theirs, clock=ManualClock(START)) is None


@pytest.mark.parametrize(
    "same", ["HTTPS://Auth.Example.COM/v1/oauth2/token", "https://auth.example.com:443/v1/oauth2/token", f"{URL}/"]
)
def test_same_endpoint(same):
    """It does not matter how the origin is written."""
    assert token_seal(IDENTITY, same).name == SEAL.name


def test_endpoint_that_credentials_may_not_go_to():
    """There is no seal for an address that is malformed or unsafe."""
    with pytest.raises(ConfigurationError):
        token_seal(IDENTITY, "auth.example.com")
    with pytest.raises(UnsafeAddress):
        token_seal(IDENTITY, "http://auth.example.com")


def test_large_entry():
    """An entry above the limit is not opened, although it was sealed here."""
    assert opened({**GOOD, "more": "x" * (LARGEST_ENTRY // 2)}) == token()
    assert opened({**GOOD, "more": "x" * LARGEST_ENTRY}) is None


@given(st.floats(1, LONGEST_LIFETIME.total_seconds()), st.floats(0, 1), st.text("!~azAZ09-._+/=", min_size=1))
def test_round_trip(lifetime, share, text):
    """A token comes back equal, and expires on the monotonic clock when its remaining lifetime is over."""
    sealed = token(lifetime, text=text)
    clock = ManualClock(START)
    clock.advance(share * lifetime)
    result = open_token(seal_token(sealed, SEAL), SEAL, clock=clock)
    left = (sealed.expires_at - clock.now()).total_seconds()
    if left <= 0:
        assert result is None
        return
    assert result == sealed
    assert result.access_token.reveal() == text
    assert result.expires_monotonic == pytest.approx(clock.monotonic() + left)


@pytest.mark.parametrize(("seconds", "is_used"), [(-1, True), (0, True), (5, True), (5.1, False), (3600, False)])
def test_issued_in_the_future(seconds, is_used):
    """A token issued up to 5 s from now is used for at most its lifetime; one issued later shows a wrong clock."""
    entry = seal_token(token(60, issued_at=START + timedelta(seconds=seconds)), SEAL)
    result = open_token(entry, SEAL, clock=ManualClock(START))
    assert (result is not None) == is_used
    assert result is None or result.expires_monotonic <= 60


@pytest.mark.parametrize(
    ("lifetime", "is_used"), [(-1, False), (0, False), (1, True), (86_400, True), (86_401, False), (1e9, False)]
)
def test_lifetime(lifetime, is_used):
    """A token without a lifetime, or with more than the longest one, is not used."""
    fields = {**GOOD, "expires_at": (START + timedelta(seconds=lifetime)).isoformat()}
    assert (opened(fields, ManualClock(START - timedelta(seconds=2))) is not None) == is_used


GOOD = {
    "access_token": "QXZ-token",
    "issued_at": "2026-05-12T09:30:00.000000Z",
    "expires_at": "2026-05-12T09:44:50.000000Z",
}


@pytest.mark.parametrize(
    "changes",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 5},
        {"access_token": "two words"},
        {"access_token": "line\r\nHeader: x"},
        {"access_token": "schlüssel"},
        {"issued_at": None},
        {"issued_at": 5},
        {"issued_at": "yesterday"},
        {"issued_at": "2026-05-12T09:30:00"},
        {"expires_at": ["2026-05-12T09:30:00Z"]},
        {"expires_at": "0001-01-01T00:00:00+23:00"},
        {"expires_at": "9999-12-31T23:59:59-23:00"},
    ],
)
def test_malformed_field(changes):
    """An entry with a malformed field counts as missing."""
    assert opened({**GOOD, "more": [1]}) == token()
    assert opened({**GOOD, **changes}) is None


@pytest.mark.parametrize("field", GOOD)
def test_missing_field(field):
    """An entry without one of its fields counts as missing."""
    assert opened({name: value for name, value in GOOD.items() if name != field}) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"null", b'"text"', b"[" * 40_000, b"9" * 5000, b"\xff\xfe"])
def test_not_a_json_object(data):
    """An entry that is not a JSON object counts as missing."""
    assert opened(data) is None
