"""Stand-ins look like the values they replace, never equal them, and are never shared."""

from __future__ import annotations

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


@given(st.text(string.ascii_letters + string.digits + " -._/", min_size=8, max_size=80))
@example("0012345678")
@example("Ada Lovelace")
@example("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
def test_shape(value):
    """Digits stay digits and letters keep their case; a value always has the same stand-in."""
    stand_in = look_alike(value, KEY)
    assert stand_in == look_alike(value, KEY)
    assert shape(stand_in).startswith(shape(value))
    assert sum(map(str.isalnum, stand_in)) == max(8, sum(map(str.isalnum, value)))


@given(st.sets(st.from_regex(r"[0-9]{1,3}|[A-Z]{2}-?[0-9]|[a-f0-9]{2}", fullmatch=True), max_size=300))
def test_no_stand_in_is_shared(values):
    """Even short values have distinct stand-ins, which do not equal any of the values."""
    table = pseudonyms()
    stand_ins = {value: table.stand_in(value) for value in values}
    assert len(set(stand_ins.values())) == len(values)
    assert not set(stand_ins.values()) & values


def test_similar_values_have_unrelated_stand_ins():
    """Stand-ins do not show whether two values begin or end alike."""
    for value, similar in (("4711000815", "4711000816"), ("4711000815", "5711000815")):
        pairs = list(zip(look_alike(value, KEY), look_alike(similar, KEY), strict=True))
        assert sum(left == right for left, right in pairs) < 5


@given(st.uuids())
def test_uuids(value):
    """The stand-in of a UUID is another UUID, in the same case."""
    assert uuid.UUID(look_alike(str(value), KEY)) != value
    assert look_alike(str(value).upper(), KEY).isupper() or str(value).upper().isdigit()


def test_emails():
    """The stand-in of an e-mail address is at a domain that nobody owns."""
    stand_ins = [look_alike(value, KEY) for value in ("ada@a.example", "ada@b.example", "bob@a.example")]
    assert len(set(stand_ins)) == 3
    assert all(re.fullmatch(r"[a-z]{12}@example\.invalid", stand_in) for stand_in in stand_ins)


@pytest.mark.parametrize("number", ["12345", "-12.50", "0.25", "1e5", "1.5E-10", "7"])
def test_numbers(number):
    """The stand-in of a JSON number is a JSON number."""
    stand_in = look_alike(number, KEY, is_number=True)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", stand_in)
    assert float(stand_in) != float(number)


@pytest.mark.parametrize("value", ["Zoë Ünal", "王小明先生", 'a"b<c>\\d', "Łódź 12", "٣٤٥"])
def test_any_script(value):
    """Letters and digits beyond ASCII become Latin, and characters that some format escapes are replaced."""
    stand_in = look_alike(value, KEY)
    assert stand_in.isascii()
    assert not re.search(r"[\"\\<>&%']", stand_in)


def test_a_long_text():
    """A long text, such as a note, is changed everywhere in linear time."""
    text = "Called 4711 today. " * 5000
    stand_in = look_alike(text, KEY)
    assert shape(stand_in) == shape(text)
    assert "Called" not in stand_in
    assert stand_in != look_alike(text + "x", KEY)[:-1]


def test_values_without_letters_and_digits():
    """Values without letters and digits have distinct stand-ins as well."""
    table = pseudonyms()
    values = ("--", "0", "000", "—")
    stand_ins = [table.stand_in(value) for value in values]
    assert len(set(stand_ins)) == 4
    assert all(stand_in != value for stand_in, value in zip(stand_ins, values, strict=True))


def test_without_a_key():
    """Without a key a request keeps its values."""
    table = pseudonyms(None)
    assert table.of_request("4711000815", records=False) == "4711000815"
    assert table.of_recorded("4711000815") is None


def test_the_key_decides():
    """Different keys give different stand-ins."""
    values = [str(number) for number in range(10**9, 10**9 + 50)]
    assert not {look_alike(value, KEY) for value in values} & {look_alike(value, KEY[::-1]) for value in values}
