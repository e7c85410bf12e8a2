"""The notes on a response: where it came from, and which call it answers."""

from __future__ import annotations

import pickle

import httpx

from toolkit.core.ledger import call_of, source_of, words_of


def test_words_of_the_moment():
    """The words are those of the moment when they are asked for, and a pickle has none."""
    words = ["live calls, no call yet"]
    response = httpx.Response(200)
    source_of(response).describe = lambda: words[-1]
    assert words_of(response) == "live calls, no call yet"
    words.append("live calls, as of noon")
    assert words_of(response) == "live calls, as of noon"
    assert words_of(pickle.loads(pickle.dumps(response))) is None  # noqa: S301 - our own


def test_nothing_to_say():
    """A response without a note, and anything else, has nothing to tell."""
    for bare in (httpx.Response(200), None, [], b"[]", object()):
        source = source_of(bare)
        assert (words_of(bare), call_of(bare), source.replayed_from, source.recorded_in) == (None, "", "", "")
