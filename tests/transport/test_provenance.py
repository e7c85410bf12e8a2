from __future__ import annotations

import pickle

from toolkit.transport.family import httpx
from toolkit.transport.provenance import (
    call_of,
    note_call,
    note_provenance,
    note_recording,
    note_replay,
    provenance_of,
    recorded_in,
    replayed_from,
)


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


def test_notes_about_a_call():
    """A response tells its call, and the cassette that it comes from or goes into; others have nothing to tell."""
    response = httpx.Response(200, request=httpx.Request("GET", "https://one.example.com/x"))
    for bare in (response, object()):
        assert (call_of(bare), replayed_from(bare), recorded_in(bare)) == ("", None, None)
    note_call(response, lambda each: f"{each.request.method} {each.request.url.path}")
    note_replay(response, "a.yaml")
    note_recording(response, "b.yaml")
    assert (call_of(response), replayed_from(response), recorded_in(response)) == ("GET /x", "a.yaml", "b.yaml")
