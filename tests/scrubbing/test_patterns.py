"""Users' patterns match what they match in `re`, and take bounded time."""

from __future__ import annotations

import pytest
from recordings import as_recorded

from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules import model
from toolkit.scrubbing.rules.model import Rules, compile_pattern
from toolkit.scrubbing.scrubber import Scrubber


def spans(text, content):
    return [*compile_pattern(text).spans(content)]


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
