"""Random values are told from what people write, and count by the names beside them."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import pytest

from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import MessageKind, Place, decision_on

DATA = Path(__file__).with_name("data")

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
    """Random texts of 20 characters or more are strong, or look like digests; at most 2 in 100 are missed."""
    weak = [text for text in random_texts(alphabet, length) if grade(text) is Strength.WEAK]
    assert len(weak) <= (10 if length < 24 else 2)


def test_grades():
    """Secrets, what looks like them, and what people and programs write are told apart."""
    grades = json.loads((DATA / "grades.json").read_text("utf-8"))
    for strength, texts in grades.items():
        assert [text for text in texts if grade(text).value != strength] == []


@pytest.mark.parametrize("row", json.loads((DATA / "decisions.json").read_text("utf-8")), ids=":".join)
def test_decisions(row):
    """A value beside a name is replaced everywhere, in its place, in its place though it is weak, or not at all."""
    message, place, name, value, expected = row
    decision = decision_on(name, value, Place(place), MessageKind(message))
    words = (
        ""
        if decision is None
        else "everywhere"
        if decision.is_everywhere
        else "weak"
        if decision.is_weak
        else "in place"
    )
    assert f"{decision.kind if decision else ''} {words}".strip() == expected
