"""Seals: what was sealed opens with the same secret, for the same purpose, and unchanged."""

from __future__ import annotations

import base64
import copy

import canaries
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.sealing import Seal

SECRET = canaries.new()
SEAL = Seal(SECRET.encode(), "tests")
secrets = st.binary(min_size=1, max_size=64)
purposes = st.text(max_size=20)


@given(secrets, purposes, st.binary(max_size=2000))
def test_round_trip(secret, purpose, data):
    """Data opens with an equal seal, derived again, and is never copied; it is sealed differently each time."""
    seal = Seal(secret, purpose)
    sealed = seal.seal(data)
    assert Seal(secret, purpose).open(sealed) == data
    with pytest.raises(TypeError, match="cannot be pickled"):
        copy.deepcopy(seal)
    assert seal.seal(data) != sealed


@given(st.tuples(secrets, purposes), st.tuples(secrets, purposes))
def test_other_secret_or_purpose(first, second):
    """A seal with another secret or purpose has another name and does not open the data."""
    if first != second:
        assert Seal(*first).name != Seal(*second).name
        assert Seal(*second).open(Seal(*first).seal(b"data")) is None


def test_changed():
    """Data with any bit changed, or without its end, does not open."""
    sealed = base64.urlsafe_b64decode(SEAL.seal(b"data"))
    for position in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[position // 8] ^= 1 << position % 8
        assert SEAL.open(base64.urlsafe_b64encode(changed)) is None
    for length in range(len(sealed)):
        assert SEAL.open(base64.urlsafe_b64encode(sealed[:length])) is None
