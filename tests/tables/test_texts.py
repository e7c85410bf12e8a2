from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.arrow_text import all_match, string_array, text_of, texts_of
from toolkit.tables.json_body import Written


@given(st.lists(st.none() | st.text()))
def test_texts_round_trip(texts):
    """Text comes out of an Arrow array as it went in."""
    assert string_array(texts).to_pylist() == texts


def test_half_a_surrogate_pair():
    """What UTF-8 cannot hold is replaced, as a decoder would."""
    assert string_array(["a\ud800b", None]).to_pylist() == ["a\ufffdb", None]


@given(st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_scalars_as_json_writes_them(value):
    """A scalar's text is its JSON."""
    assert text_of(value) == json.dumps(value)


def test_texts_of():
    """Numbers keep their digits, and null stays missing."""
    assert texts_of([None, Written("1.50"), Decimal("2.0"), 1.0, "x"]).to_pylist() == [None, "1.50", "2.0", "1.0", "x"]


def test_an_integer_too_long_for_text():
    """An integer that Python does not write is an error of ours."""
    with pytest.raises(TabulationError, match="too many digits"):
        text_of(10**5000)


@pytest.mark.parametrize(
    ("texts", "matches"),
    [
        (["12", None, "3"], True),
        (["12", "x"], False),
        (["x", "12"], False),
        (["12\n"], False),
        ([None], False),
        ([], False),
    ],
)
def test_all_match(texts, matches):
    """Every text has to match from its first character to its last; nothing to match is no match."""
    assert all_match(string_array(texts), "^[0-9]+$") is matches
