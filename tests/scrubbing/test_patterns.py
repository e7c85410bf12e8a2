"""Users' patterns match what they match in `re`, and take bounded time and memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from recordings import as_recorded

from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules import patterns
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.rules.patterns import compile_pattern
from toolkit.scrubbing.scrubber import Scrubber

ORDINARY = (
    *(r"ACC-\d+", r"[A-Z]{2}\d{8,12}", r"(?:foo|bar)-\w+", r"\b\d{3}-\d{2}\b", r'no[^"]*"(\d+)"', r"x{,2}y", r"\D\W\S"),
    *(r"[\w.+-]+@[\w-]+\.[\w.-]+", r"[^@\s]+@[^@\s]+", r"(?i)k\s*[:=]\s*(\w+)", r"(?s)B.*?E", r"(?m)^\w*$", r"[]\d]+"),
    *(r"(?:a|b)*c", r"\d+\Z", r"[\s\S]x", r"[\[\d]+", r"[^]\d]x", r"[^\w]", r"(?P<pin>\d{2})-\d"),
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
    expected = [match[group].encode() for match in re.finditer(text, content) if match[group]]
    data = content.encode()
    assert [data[start:end] for start, end in spans(text, data)] == expected


@given(st.integers(-40, 40), st.integers(0, 40))
def test_slices(before, size):
    """The slices in which a long text is searched hide no match, wherever it stands."""
    for edge in (patterns._LARGEST_SLICE, 2 * patterns._LARGEST_SLICE):
        content = "-" * (edge + before) + "key=" + "1" * size + "x\n" + "-" * edge
        for text in (r"key=(\d+)", r"\bkey=\d*x", r"(?m)key=(.*)$", r"\d+$", r"=[^.]*-"):
            expected = [match.span(min(re.compile(text).groups, 1)) for match in re.finditer(text, content)]
            assert spans(text, content.encode()) == [span for span in expected if span[1] > span[0]]


def test_bytes_that_are_not_utf_8():
    """A match goes on over bytes that are not UTF-8."""
    assert spans(r"key=(\S+)", b"\xff key=a\xe9b\xff c") == [(6, 10)]


@pytest.mark.parametrize("text", [r"(?<=a)b", r"(a)\1", "a++", "(?x)a", "x{0,3900}", r"[^\W\d]", "(", "\ud800"])
def test_syntax_that_is_refused(text):
    """Syntax that RE2 lacks, or reads otherwise than `re`, is an error that says what to write instead."""
    with pytest.raises(ConfigurationError, match=r"RE2 accepts|excludes") as caught:
        Rules(patterns=[text])
    assert caught.value.about == "patterns"
    assert caught.value.next_step


@pytest.mark.parametrize(
    "text",
    [r"\w{1,1000}", "(" * 5000 + ")" * 5000, "|".join(f"number{i}" for i in range(40_000)), "(?:x{10}){100}" * 100],
)
def test_patterns_that_are_too_large(text):
    """A pattern that would take much memory is refused before it is used."""
    with pytest.raises(ConfigurationError, match=r"too large"):
        Rules(patterns=[text])


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+b", "(?:a?){30}a{30}b", "(.*)(.*)(.*)x", "(?:.*,){5}x"])
def test_hostile_patterns(text):
    """Patterns that have exponentially many ways to match find nothing in a long text that nearly matches."""
    assert spans(text, b"a" * 500_000 + b"!") == []


def test_a_search_that_takes_too_long_is_refused(monkeypatch, interaction):
    """A pattern that runs out of its time refuses the recording; it is not skipped."""
    monkeypatch.setattr(patterns, "_MOST_SECONDS", -1.0)
    with pytest.raises(SecretLeak, match="takes too long"):
        as_recorded(Scrubber(KnownSecrets(), rules=Rules(patterns=["a"])), interaction(body=b"aaa"))
