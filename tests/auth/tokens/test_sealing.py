"""Sealed tokens: what only equal credentials find and read."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import string
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.sealing import LARGEST_ENTRY, Seal, token_from_bytes, token_to_bytes
from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token
from toolkit.core.clock import ManualClock
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import Secret

URL = "https://auth.example.com/v1/oauth2/token"
IDENTITY = b"client-1 QXZ-fake-secret"
START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
SEAL = Seal.of(IDENTITY, URL)
identities = st.binary(min_size=1, max_size=64)
texts = st.binary(max_size=2000)


def token(lifetime=890.0, issued_at=START, text="QXZ-token"):
    return Token(Secret(text), issued_at, issued_at + timedelta(seconds=lifetime))


@given(identities, texts)
def test_round_trip(identity, text):
    """What was sealed opens for the same credentials and address, derived anew, and for a copy of the seal."""
    sealed = Seal.of(identity, URL).seal(text)
    again = Seal.of(identity, URL)
    assert again.open(sealed) == text
    assert copy.copy(again).open(sealed) == copy.deepcopy(again).open(sealed) == text


@given(identities, identities, texts)
def test_other_credentials(mine, other, text):
    """Other credentials, a wrong secret among them, have another entry, and read none but their own."""
    if mine == other:
        return
    ours, theirs = Seal.of(mine, URL), Seal.of(other, URL)
    assert ours.name != theirs.name
    assert theirs.open(ours.seal(text)) is None


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
    """Another origin or path has another entry, which does not open here."""
    theirs = Seal.of(IDENTITY, other)
    assert theirs.name != SEAL.name
    assert theirs.open(SEAL.seal(b"text")) is None


@pytest.mark.parametrize(
    "same", ["HTTPS://Auth.Example.COM/v1/oauth2/token", "https://auth.example.com:443/v1/oauth2/token", f"{URL}/"]
)
def test_same_endpoint(same):
    """How the origin is written makes no difference."""
    assert Seal.of(IDENTITY, same).name == SEAL.name
    assert Seal.of(IDENTITY, same).open(SEAL.seal(b"text")) == b"text"


def test_of_nothing():
    """No credentials, and no address that credentials may go to, have no seal."""
    with pytest.raises(ValueError, match="nothing to derive"):
        Seal.of(b"", URL)
    with pytest.raises(ConfigurationError):
        Seal.of(IDENTITY, "auth.example.com")
    with pytest.raises(UnsafeAddress):
        Seal.of(IDENTITY, "http://auth.example.com")


@given(identities)
def test_name(identity):
    """A name is 64 hexadecimal digits."""
    name = Seal.of(identity, URL).name
    assert len(name) == 64
    assert set(name) <= set(string.hexdigits.lower())


def test_name_and_key_are_independent():
    """The name is no part of the key: nobody opens an entry with what it is filed under."""
    sealed = SEAL.seal(b"text")
    for key in (bytes.fromhex(SEAL.name), SEAL.name[:32].encode(), SEAL.name[32:].encode()):
        assert Seal(SEAL.name, AESGCM(key)).open(sealed) is None


def test_under_another_name():
    """An entry that was copied to another name does not open, even with the same key."""
    key = AESGCM(bytes(32))
    mine, other = Seal("a" * 64, key), Seal("b" * 64, key)
    assert mine.open(mine.seal(b"text")) == b"text"
    assert other.open(mine.seal(b"text")) is None


@given(st.data(), texts)
def test_changed(data, text):
    """An entry with any bit turned over, cut short or added to is no entry."""
    sealed = SEAL.seal(text)
    position = data.draw(st.integers(0, len(sealed) * 8 - 1))
    turned = bytearray(sealed)
    turned[position // 8] ^= 1 << position % 8
    assert SEAL.open(bytes(turned)) is None
    assert SEAL.open(sealed[: data.draw(st.integers(0, len(sealed) - 1))]) is None
    assert SEAL.open(sealed + data.draw(st.binary(min_size=1, max_size=300))) is None


def test_every_bit_and_length():
    """No single bit of an entry may differ, nor may its end be missing."""
    sealed = SEAL.seal(b"text")
    for position in range(len(sealed) * 8):
        turned = bytearray(sealed)
        turned[position // 8] ^= 1 << position % 8
        assert SEAL.open(bytes(turned)) is None
    assert [SEAL.open(sealed[:length]) for length in range(len(sealed))] == [None] * len(sealed)


@given(st.binary(max_size=400))
def test_foreign(data):
    """What is no entry at all does not open, whatever it begins with."""
    assert SEAL.open(data) is None
    assert SEAL.open(SEAL.seal(b"")[:40] + data) is None


def test_other_version():
    """An entry of another version of the format does not open, even when its version is what it was sealed with."""
    sealed = SEAL.seal(b"text")
    version = sealed.index(b"\x00") + 1
    assert sealed[version] == 1
    assert SEAL.open(sealed[:version] + b"\x02" + sealed[version + 1 :]) is None


def test_too_long():
    """An entry above the limit does not open, although it was sealed here."""
    fits = SEAL.seal(bytes(LARGEST_ENTRY - 512))
    assert len(fits) <= LARGEST_ENTRY
    assert SEAL.open(fits) == bytes(LARGEST_ENTRY - 512)
    assert SEAL.open(SEAL.seal(bytes(LARGEST_ENTRY))) is None


@given(st.text(string.ascii_letters + string.digits, min_size=12, max_size=300), st.binary(min_size=8, max_size=40))
def test_shows_nothing(text, identity):
    """The bytes of an entry hold neither token nor credentials, plain, in hexadecimal, or in base64 at any offset."""
    text, identity = f"QXZ{text}", b"QXZ-" + identity  # or it is found in the header: hypothesis knows our literals
    seal = Seal.of(identity, URL)
    kept = seal.seal(token_to_bytes(token(text=text))) + seal.name.encode() + repr(seal).encode()
    for secret in (text.encode(), identity):
        forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), secret[::-1]]
        for offset in range(3):
            coded = base64.b64encode(bytes(offset) + secret)
            forms += [coded[4:-4], coded[4:-4].translate(bytes.maketrans(b"+/", b"-_"))]
        assert not any(form in kept for form in forms if len(form) >= 8)


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_length(one, other):
    """The length of an entry tells that of its text in steps of 256 bytes only."""
    lengths = [len(SEAL.seal(bytes(length))) for length in (one, other)]
    assert (lengths[0] - lengths[1]) % 256 == 0
    assert (lengths[0] == lengths[1]) == ((one + 3) // 256 == (other + 3) // 256)


def test_nonce():
    """Each sealing takes 12 fresh random bytes; what gives another number of them is refused."""
    assert SEAL.seal(b"text") != SEAL.seal(b"text")
    asked = []
    sealed = SEAL.seal(b"text", random=lambda count: asked.append(count) or bytes(range(count)))
    assert asked == [12]
    assert bytes(range(12)) in sealed
    assert SEAL.seal(b"text", random=lambda count: bytes(range(count))) == sealed
    with pytest.raises(ValueError, match="12 bytes"):
        SEAL.seal(b"text", random=lambda count: b"\x00")


def test_seal_is_kept_here():
    """A seal shows no key, and is neither pickled nor serialized."""
    key = b"QXZ-key-" * 4
    seal = Seal("ab" * 32, AESGCM(key))
    assert repr(seal) == str(seal) == "<Seal abababab>"
    assert key not in repr([getattr(seal, name) for name in dir(seal)]).encode()
    for refused in (pickle.dumps, json.dumps, vars):
        with pytest.raises(TypeError):
            refused(seal)
    with pytest.raises(TypeError, match="not pickled"):
        seal.__getstate__()


@given(
    st.floats(1, LONGEST_LIFETIME.total_seconds()), st.floats(0, 1), st.text("!~azAZ09-._+/=", min_size=1), st.data()
)
def test_token_round_trip(lifetime, share, text, data):
    """A token comes back equal, and ends on the monotonic clock when its remaining lifetime is over."""
    given_token = token(lifetime, text=text)
    clock = ManualClock(START)
    clock.advance(share * lifetime)
    found = token_from_bytes(token_to_bytes(given_token), clock=clock)
    left = (given_token.expires_at - clock.now()).total_seconds()
    if left <= 0:
        assert found is None
        return
    assert found == given_token
    assert found.access_token.reveal() == text
    assert found.expires_monotonic == pytest.approx(clock.monotonic() + left)
    later = ManualClock(clock.now())
    later.advance(data.draw(st.floats(0, 2 * lifetime)))
    assert (token_from_bytes(token_to_bytes(given_token), clock=later) is None) == (
        later.now() >= given_token.expires_at
    )


@pytest.mark.parametrize(("seconds", "is_taken"), [(-1, True), (0, True), (5, True), (5.1, False), (3600, False)])
def test_issued_in_the_future(seconds, is_taken):
    """A token issued up to 5 s from now is taken, for its lifetime at most; one issued later shows a wrong clock."""
    kept = token_to_bytes(token(60, issued_at=START + timedelta(seconds=seconds)))
    found = token_from_bytes(kept, clock=ManualClock(START))
    assert (found is not None) == is_taken
    assert found is None or found.expires_monotonic <= 60


@pytest.mark.parametrize(
    ("lifetime", "is_taken"), [(-1, False), (0, False), (1, True), (86_400, True), (86_401, False), (1e9, False)]
)
def test_lifetime(lifetime, is_taken):
    """A token that lasts no time, or longer than the longest lifetime, is of no use."""
    fields = json.loads(token_to_bytes(token(60)))
    fields["expires_at"] = json.loads(token_to_bytes(token(max(lifetime, 1))))["expires_at"]
    if lifetime <= 0:
        fields["expires_at"] = (START + timedelta(seconds=lifetime)).isoformat()
    found = token_from_bytes(json.dumps(fields).encode(), clock=ManualClock(START - timedelta(seconds=2)))
    assert (found is not None) == is_taken


GOOD = json.loads(token_to_bytes(token()))


@pytest.mark.parametrize(
    "changes",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 5},
        {"access_token": "two words"},
        {"access_token": "line\r\nHeader: x"},
        {"access_token": "end\n"},
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
def test_malformed_fields(changes):
    """A field that is not what it should be makes no token."""
    clock = ManualClock(START)
    assert token_from_bytes(json.dumps(GOOD).encode(), clock=clock) == token()
    assert token_from_bytes(json.dumps({**GOOD, **changes}).encode(), clock=clock) is None


@pytest.mark.parametrize("field", GOOD)
def test_missing_field(field):
    """A field that is missing makes no token; one that is unknown is passed over."""
    clock = ManualClock(START)
    fields = {name: value for name, value in GOOD.items() if name != field}
    assert token_from_bytes(json.dumps(fields).encode(), clock=clock) is None
    assert token_from_bytes(json.dumps({**GOOD, "more": [1]}).encode(), clock=clock) == token()


@given(st.binary(max_size=100))
def test_no_json(data):
    """What is no JSON object makes no token."""
    clock = ManualClock(START)
    assert token_from_bytes(data, clock=clock) is None
    for text in (b"[]", b"5", b"null", b'"text"', b"{}", b"[" * 100_000, b"9" * 5000, b"\xff\xfe"):
        assert token_from_bytes(text, clock=clock) is None
