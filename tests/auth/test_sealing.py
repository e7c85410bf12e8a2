"""Seals: what was sealed opens with the same secret, for the same purpose, and unchanged."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import string

import canaries
import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.sealing import Seal

SECRET = canaries.new()
SEAL = Seal(SECRET.encode(), "tests")
secrets = st.binary(min_size=1, max_size=64)
purposes = st.text(max_size=20)


@given(secrets, purposes, st.binary(max_size=2000))
def test_round_trip(secret, purpose, data):
    """Data opens with an equal seal, derived again or copied, and is sealed differently each time."""
    seal = Seal(secret, purpose)
    sealed = seal.seal(data)
    assert Seal(secret, purpose).open(sealed) == data
    assert copy.copy(seal).open(sealed) == copy.deepcopy(seal).open(sealed) == data
    assert seal.seal(data) != sealed


@given(st.tuples(secrets, purposes), st.tuples(secrets, purposes))
def test_other_secret_or_purpose(first, second):
    """A seal with another secret or purpose has another name and does not open the data."""
    if first != second:
        assert Seal(*first).name != Seal(*second).name
        assert Seal(*second).open(Seal(*first).seal(b"data")) is None


def test_empty_secret():
    """A key cannot be derived from an empty secret."""
    with pytest.raises(ValueError, match="empty secret"):
        Seal(b"", "tests")


@given(secrets)
def test_name(secret):
    """A name is 64 hexadecimal digits, which do not open the entry filed under it."""
    seal = Seal(secret, "tests")
    assert len(seal.name) == 64
    assert set(seal.name) <= set(string.hexdigits.lower())
    key = Fernet(base64.urlsafe_b64encode(bytes.fromhex(seal.name)))
    with pytest.raises(Exception, match=r"\A\Z"):
        key.decrypt(seal.seal(b"data"))


def test_changed():
    """Data with any bit changed, or without its end, does not open."""
    sealed = base64.urlsafe_b64decode(SEAL.seal(b"data"))
    for position in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[position // 8] ^= 1 << position % 8
        assert SEAL.open(base64.urlsafe_b64encode(changed)) is None
    for length in range(len(sealed)):
        assert SEAL.open(base64.urlsafe_b64encode(sealed[:length])) is None


@given(st.binary(max_size=400))
def test_other_data(data):
    """Any other data does not open, whatever it begins with."""
    assert SEAL.open(data) is None
    assert SEAL.open(SEAL.seal(b"")[:40] + data) is None


def test_seal_shows_nothing():
    """A seal shows no key, and cannot be pickled or serialized."""
    assert repr(SEAL) == str(SEAL) == f"<Seal {SEAL.name[:8]}>"
    data = canaries.new()
    shown = f"{SEAL.seal(data.encode()).decode()} {SEAL.name} {SEAL!r} {[getattr(SEAL, name) for name in dir(SEAL)]}"
    canaries.assert_absent(shown, [data, SECRET])
    for refused in (pickle.dumps, json.dumps, vars):
        with pytest.raises(TypeError):
            refused(SEAL)
    with pytest.raises(TypeError, match="cannot be pickled"):
        SEAL.__getstate__()
