"""Stand-ins look like the values they stand for, never equal them, and are never shared."""

from __future__ import annotations

import itertools
import re
import string
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.scrubbing.rules.pseudonyms import Pseudonyms, look_alike

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
    """Digits stay digits and letters keep their case; a value always has the same stand-in."""
    made = look_alike(value, KEY)
    assert shape(made) == shape(value)
    assert made == look_alike(value, KEY)
    if any(character.isalnum() for character in value.lstrip("0 -._/")):
        assert made != value
        assert len(value) < 12 or made != look_alike(value, b"another obviously fake key")


@pytest.mark.parametrize("alphabets", [["d", string.digits], ["123456789"], ["123456789", string.digits], ["ab", "XY"]])
def test_no_stand_in_is_shared(alphabets):
    """The stand-ins of all values of a look are distinct, and no value is its own stand-in."""
    if alphabets == ["ab", "XY"]:
        alphabets = [string.ascii_lowercase, string.ascii_uppercase]
    values = ["".join(letters) for letters in itertools.product(*alphabets)]
    made = [look_alike(value, KEY) for value in values]
    assert len(set(made)) == len(values)
    assert all(stand_in != value for stand_in, value in zip(made, values, strict=True))


def test_similar_values_have_unrelated_stand_ins():
    """Neither the beginning nor the end of a stand-in tells that two values begin or end alike."""
    for one, other in (("4711000815", "4711000816"), ("4711000815", "5711000815")):
        pairs = list(zip(look_alike(one, KEY), look_alike(other, KEY), strict=True))
        assert sum(left == right for left, right in pairs) < 5


@given(st.uuids(version=4), st.booleans())
def test_uuids(value, capitals):
    """The stand-in of a UUID is a UUID of the same version."""
    text = str(value).upper() if capitals else str(value)
    made = look_alike(text, KEY)
    assert uuid.UUID(made).version == 4
    assert made != text
    assert made == (made.upper() if capitals else made.lower())


def test_emails():
    """The stand-in of an e-mail address is one at a domain that nobody has; the same name elsewhere is another one."""
    made = [look_alike(value, KEY) for value in ("ada@a.example", "ada@b.example", "bob@a.example")]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"[a-z]{3}\.[a-z]{6}@example\.invalid", stand_in) for stand_in in made)


@pytest.mark.parametrize("number", ["12345", "-12.50", "0.25", "1e5", "1.5E-10"])
def test_numbers(number):
    """The stand-in of a number is a number of the same length."""
    made = look_alike(number, KEY, is_number=True)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", made)
    assert len(made) == len(number)
    assert float(made) != float(number)


@pytest.mark.parametrize("value", ["Zoë Ünal", "王小明先生", 'a"b<c>\\d', "Łódź 12", "٣٤٥"])
def test_any_script(value):
    """Letters and digits beyond ASCII become Latin ones, and no character is left that some format escapes."""
    made = look_alike(value, KEY)
    assert made.isascii()
    assert len(made) == len(value)
    assert not re.search(r"[\"\\<>&%']", made)


def test_a_long_text():
    """A long text, such as a note, takes no longer than its length and is changed everywhere."""
    text = "Called 4711 today. " * 5000
    made = look_alike(text, KEY)
    assert shape(made) == shape(text)
    assert "Called" not in made
    assert made != look_alike(text + "x", KEY)[:-1]


def test_too_few_of_a_look():
    """If every look-alike is taken, the stand-in is longer; it still differs and is not shared."""
    made = pseudonyms()
    values = ("--", "0", "000", "—")
    stand_ins = [made.stand_in(value) for value in values]
    assert len(set(stand_ins)) == 4
    assert all(stand_in != value for stand_in, value in zip(stand_ins, values, strict=True))


def test_without_a_key():
    """Without a key a request keeps its values."""
    some = pseudonyms(None)
    assert some.of_request("4711000815", records=False) == "4711000815"
    assert some.of_recorded("4711000815") is None


def test_the_key_decides():
    """Two keys give different stand-ins."""
    values = [str(number) for number in range(10**9, 10**9 + 50)]
    assert not {look_alike(value, KEY) for value in values} & {look_alike(value, KEY[::-1]) for value in values}
