"""Random values are told from what people write."""

from __future__ import annotations

import random
import string

import pytest

from toolkit.scrubbing.strength import Strength, grade

LETTERS = string.ascii_letters + string.digits
ALPHABETS = {
    "base62": LETTERS,
    "base64": LETTERS + "+/",
    "base64url": LETTERS + "-_",
    "base32": string.ascii_uppercase + "234567",
    "small letters and digits": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "capital hex": "0123456789ABCDEF",
    "a password": LETTERS + "!#$%&*-_+@",
}


def random_texts(alphabet, length, count=500):
    source = random.Random(f"{alphabet} {length}")  # noqa: S311 - the same in each run
    return ["".join(source.choices(alphabet, k=length)) for _ in range(count)]


@pytest.mark.parametrize("length", [20, 24, 32, 43, 64, 120, 5_000])
@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_random_texts(alphabet, length):
    """Random texts of 20 characters or more are strong, or look like digests; at most 4 in 100 are missed."""
    weak = [text for text in random_texts(alphabet, length) if grade(text) is Strength.WEAK]
    assert len(weak) <= (20 if length < 24 else 10 if length < 30 else 5)
