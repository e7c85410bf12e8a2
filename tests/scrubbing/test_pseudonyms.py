"""Stand-ins look like the values they replace, never equal them, and are never shared."""

from __future__ import annotations

import re
import string

from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.scrubbing.rules.pseudonyms import Pseudonyms, look_alike

KEY = b"an obviously fake key, 32 bytes."


def pseudonyms(key=KEY):
    return Pseudonyms(lambda _: key)


def shape(text):
    text = re.sub("[0-9]", "9", text)
    return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", text))


def test_a_search_makes_no_key():
    """Whoever looks for the values behind stand-ins where there is no key does not make one."""
    asked = []
    assert Pseudonyms(asked.append).value_of(["0012345678"], {"0098765432"}) == {}
    assert asked == [False]


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
