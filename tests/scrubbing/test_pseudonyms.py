"""Stand-ins look like what they stand for, never equal it, and are never shared."""

from __future__ import annotations

import re
import string
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.scrubbing.rules.pseudonyms import Pseudonyms, shaped

KEY = b"an obviously fake key, 32 bytes."


def pseudonyms(key=KEY):
    return Pseudonyms(lambda _: key)


def shape(text):
    text = re.sub("[0-9]", "9", text)
    return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", text))


@given(st.text(string.ascii_letters + string.digits + " -._/", min_size=3, max_size=80))
@example("0012345678")
@example("Ada Lovelace")
def test_shape(value):
    """Digits stay digits and letters letters in their case; the same value always has the same stand-in."""
    made = shaped(value, KEY)
    assert shape(made) == shape(value)
    assert made == shaped(value, KEY)
    if any(character.isalnum() for character in value.lstrip("0 -._/")):
        assert made != value
        assert len(value) < 12 or made != shaped(value, b"another obviously fake key")


@pytest.mark.parametrize("look", ["d9", "9", "99", "aA"])
def test_none_is_shared(look):
    """Of all values of a look, each has a stand-in of its own, and none has itself."""
    letters = {"d": "d", "9": string.digits, "a": string.ascii_lowercase, "A": string.ascii_uppercase}
    values = [""]
    for one in look:
        values = [value + letter for value in values for letter in letters[one]]
    values = [value for value in values if not value.startswith("0")]
    made = [shaped(value, KEY) for value in values]
    assert len(set(made)) == len(values)
    assert all(one != value for one, value in zip(made, values, strict=True))


@given(st.uuids(version=4), st.booleans())
def test_uuids(value, capitals):
    """A UUID stays one of its version."""
    text = str(value).upper() if capitals else str(value)
    made = shaped(text, KEY)
    assert uuid.UUID(made).version == 4
    assert made != text
    assert made == (made.upper() if capitals else made.lower())


def test_emails():
    """An address stays one, at a domain that is nobody's; the same name elsewhere is somebody else."""
    made = [shaped(value, KEY) for value in ("ada@a.example", "ada@b.example", "bob@a.example")]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"[a-z]{3}\.[a-z]{6}@example\.invalid", one) for one in made)


@pytest.mark.parametrize("number", ["12345", "-12.50", "0.25", "1e5", "1.5E-10"])
def test_numbers(number):
    """A number stays one of its length."""
    made = shaped(number, KEY, is_number=True)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", made)
    assert len(made) == len(number)
    assert float(made) != float(number)


@pytest.mark.parametrize("value", ["Zoë Ünal", "王小明先生", 'a"b<c>\\d', "Łódź 12"])
def test_any_script(value):
    """Letters beyond ASCII become Latin ones, and nothing is left that would have to be escaped."""
    made = shaped(value, KEY)
    assert made.isascii()
    assert len(made) == len(value)
    assert not re.search(r"[\"\\<>&%']", made)


def test_too_few_of_a_look():
    """Where no look-alike is free, the stand-in is longer; it still differs and is nobody else's."""
    some = pseudonyms()
    made = [some.stand_in(value) for value in ("--", "0", "000", "—")]
    assert len(set(made)) == 4
    assert all(one != value for one, value in zip(made, ("--", "0", "000", "—"), strict=True))


def test_without_a_key():
    """Without a key nothing is made up for a request, and nothing raised."""
    some = pseudonyms(None)
    assert some.of_request("4711000815", records=False) == "4711000815"
    assert some.of_recorded("4711000815") is None


def test_the_key_decides():
    """Two keys give different stand-ins; nothing of the value is in them."""
    values = [str(number) for number in range(10**9, 10**9 + 50)]
    assert not {shaped(value, KEY) for value in values} & {shaped(value, KEY[::-1]) for value in values}
