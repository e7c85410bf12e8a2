from __future__ import annotations

import pickle

from toolkit.transport.family import httpx
from toolkit.transport.provenance import note_provenance, provenance_of


def test_words_of_the_moment():
    """The words are those of the moment when they are asked for, and a pickle has none."""
    words = ["live calls, no call yet"]
    response = note_provenance(httpx.Response(200), lambda: words[-1])
    assert provenance_of(response) == "live calls, no call yet"
    words.append("live calls, as of noon")
    assert provenance_of(response) == "live calls, as of noon"
    assert provenance_of(pickle.loads(pickle.dumps(response))) is None  # noqa: S301 - our own


def test_nothing_to_say():
    """A response without a note, and anything else, has no words."""
    assert [provenance_of(each) for each in (httpx.Response(200), None, [], b"[]", {"extensions": 1})] == [None] * 5
