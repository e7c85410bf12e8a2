"""Users' patterns match what they match in `re`, and take bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from recordings import as_recorded

from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules import model
from toolkit.scrubbing.rules.model import Rules, compile_pattern
from toolkit.scrubbing.scrubber import Scrubber

ORDINARY = (
    *(r"ACC-\d+", r"[A-Z]{2}\d{8,12}", r"(?:foo|bar)-\w+", r"\b\d{3}-\d{2}\b", r'no[^"]*"(\d+)"', r"x{,2}y", r"\D\W\S"),
    *(r"[\w.+-]+@[\w-]+\.[\w.-]+", r"[^@\s]+@[^@\s]+", r"(?i)k\s*[:=]\s*(\w+)", r"(?s)B.*?E", r"(?m)^\w*$", r"[]\d]+"),
    *(r"(?:a|b)*c", r"\d+\Z", r"[\s\S]x", r"[\[\d]+", r"[^]\d]x", r"[^\W\d]", r"(?P<pin>\d{2})-\d", r"(?<=a)b|(a)\1"),
)
TEXTS = st.text('ab1٣é K\u017f\u2003\n-=@.[]"ABCxyokn\x85\x1c', max_size=40)


def spans(text, content):
    return [*compile_pattern(text).spans(content)]


@given(TEXTS, st.sampled_from(ORDINARY))
@example("xxxy", "x{,2}y")
@example("é٣@é.é", r"[\w.+-]+@[\w-]+\.[\w.-]+")
def test_same_matches(content, text):
    """A pattern finds what it finds in `re`, in any script."""
    group = min(re.compile(text).groups, 1)
    expected = [match.span(group) for match in re.finditer(text, content) if match[group]]
    assert spans(text, content) == expected


@pytest.mark.parametrize("text", ["(", "\\", "a{2,1}", "(?P<1>a)", "x" * 20_001])
def test_syntax_that_is_refused(text):
    """What is not a regular expression is an error that quotes the reason."""
    with pytest.raises(ConfigurationError, match="not a regular expression that can be used: ") as caught:
        Rules(patterns=[text])
    assert caught.value.about == "patterns"
    assert caught.value.next_step


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+b"])
def test_a_search_that_takes_too_long_is_refused(monkeypatch, interaction, text):
    """A pattern that runs out of its time refuses the recording; it is not skipped."""
    monkeypatch.setattr(model, "_MOST_SECONDS", 0.05)
    with pytest.raises(SecretLeak, match="takes too long"):
        as_recorded(Scrubber(KnownSecrets(), rules=Rules(patterns=[text])), interaction(body=b"a" * 50_000 + b"!"))
