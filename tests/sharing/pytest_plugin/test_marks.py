"""What the markers of a test choose."""

from __future__ import annotations

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.sharing.pytest_plugin.marks import CassetteChoice, choice_of


def mark(*args, **kwargs):
    """Return a marker with these arguments."""
    return pytest.mark.toolkit_cassette(*args, **kwargs).mark


def test_no_marker():
    """Without a marker the cassette is named after the test, and strict."""
    assert choice_of([]) == CassetteChoice()


def test_closest_wins():
    """A closer marker wins, argument by argument."""
    marks = [mark("tour", mode="all"), mark("other", environment="paper"), mark(mode="none", strict=False)]
    assert choice_of(marks) == CassetteChoice("tour", "paper", mode="all", strict=False)


def test_one_host():
    """A single host may be a text."""
    assert choice_of([mark(allowed_hosts="localhost")]).allowed_hosts == ("localhost",)


@pytest.mark.parametrize(
    ("wrong", "about", "advice"),
    [
        (mark("a", "b"), "name", "one"),
        (mark("a", name="b"), "name", "one"),
        (mark(enviroment="paper"), "enviroment", "environment"),
        (mark(mode="rewrite"), "mode", "new_episodes"),
    ],
)
def test_wrong_marker(wrong, about, advice):
    """A marker that says something unknown is refused, with what is known."""
    with pytest.raises(ConfigurationError) as caught:
        choice_of([wrong])
    assert caught.value.about == about
    assert advice in caught.value.next_step
