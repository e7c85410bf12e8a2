"""Patterns choose requests by host and path, as `fnmatch` would with stars, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.importing.choosing import EntryChoice
from toolkit.core.errors import ConfigurationError


@pytest.mark.parametrize(
    ("pattern", "uri", "is_chosen"),
    [
        ("api.example.com", "https://api.example.com/v1?a=b", True),
        ("API.example.com", "https://api.example.com", True),
        ("api.example.com", "https://api.example.com:8443/", True),
        ("api.example.com:8443", "https://api.example.com:8443/", True),
        ("api.example.com:8443", "https://api.example.com/", False),
        ("example.com", "https://api.example.com/", False),
        ("*.example.com", "https://api.example.com/", True),
        ("*.example.com", "https://api.example.com.evil.net/", False),
        ("https://h/v1/*", "https://h/v1/a/b?c=d", True),
        ("h/v1/*", "https://h/v2/a", False),
        ("*/orders", "https://h/v1/orders?page=2", True),
        ("h", "https://me:secret@h/", True),
        ("h", "https://[h/", False),
    ],
)
def test_examples(pattern, uri, is_chosen):
    """A pattern without a slash names hosts; one with a slash names hosts and paths; the query does not matter."""
    assert EntryChoice(pattern).has(uri) is is_chosen
    assert EntryChoice(["nothing", pattern]).has(uri) is is_chosen


def test_without_patterns():
    """Without patterns every request is chosen."""
    assert EntryChoice(()).has("anything")


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_stars_stand_for_any_text(pattern, path):
    """A path matches as a regular expression with `.*` for each star says."""
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path) is not None
    assert EntryChoice(f"h/{pattern}").has(f"https://h/{path}") is expected


@pytest.mark.parametrize("pattern", ["", " ", "a" * 300, "*" * 20, "https://", 3])
def test_refused(pattern):
    """A pattern that names nothing is an error."""
    with pytest.raises(ConfigurationError) as caught:
        EntryChoice([pattern])
    assert caught.value.about == "only"
