"""Interactions are chosen by number and by pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.catalog.facts import parse_numbers, selected
from toolkit.cassettes.format.contents import Contents
from toolkit.core.errors import ConfigurationError


@given(st.lists(st.integers(1, 30), min_size=1), st.integers(1, 30), st.integers(1, 30))
def test_numbers_and_ranges(numbers, first, last):
    """Numbers from 1 and ranges give numbers from 0, as texts, integers, or several in one text."""
    first, last = sorted((first, last))
    expected = {number - 1 for number in numbers} | set(range(first - 1, last))
    assert parse_numbers([*map(str, numbers), f"{first}-{last}"], 30) == expected
    assert parse_numbers([*numbers, f"{first}-{last}"], 30) == expected
    assert parse_numbers([",".join(map(str, numbers)), f" {first}-{last}"], 30) == expected


@pytest.mark.parametrize("text", ["0", "4", "2-4", "3-2", "x", "1-", "-1", "1--2", "9" * 5000, "\x1b[31m"])
def test_other_texts(text):
    """Anything else is an error that quotes the text safely."""
    with pytest.raises(ConfigurationError) as caught:
        parse_numbers([text], 3)
    assert "\x1b" not in caught.value.what
    assert len(caught.value.what) < 200


def test_patterns(interaction, authorization):
    """All conditions hold together; a pattern fits the URI, or its path with or without the query."""
    caller = authorization()
    opened = Contents(
        [
            interaction("/token", token_obtained=caller, request={"method": "POST"}),
            interaction("/orders?a=1", authorized_by=caller),
            interaction("/orders", authorized_by=caller, request={"method": "POST"}),
            interaction("/accounts"),
        ],
        is_foreign=False,
    )
    assert selected(opened) == set()
    assert selected(opened, method="post") == {2}
    assert selected(opened, uri="/orders?a=*") == {1}
    assert selected(opened, uri="/orders") == {0, 1, 2}
    assert selected(opened, uri="https://broker*") == {0, 1, 2, 3}
    assert selected(opened, uri="*", method="GET", played={1}) == {3}
    assert selected(opened, uri="orders") == set()
    assert selected(opened, [2]) == {1}
    assert selected(opened, ["2-3"]) == {0, 1, 2}
