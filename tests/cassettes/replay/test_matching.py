"""A recording answers the requests that it should, in order, and no others."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.replay.matching import (
    ANYONE,
    OURS,
    VCRPY_DEFAULT,
    Identity,
    Index,
    Matcher,
    canonical_body,
)
from toolkit.scrubbing.messages import RecordedRequest


def index_of(interactions, match_on=OURS):
    return Index(Matcher(match_on), [each.request for each in interactions], lambda number: interactions[number])


def answers(recorded, incoming, match_on=OURS, identity=ANYONE):
    return bool(index_of([recorded], match_on).find(identity, incoming))


def request(method="GET", uri="https://h.example/a?x=1&y=2", content_type=None, body=b"", **headers):
    listed = tuple(headers.items()) + ((("Content-Type", content_type),) if content_type else ())
    return RecordedRequest(method, uri, listed, body)


BASE = request("POST", body=b'{"a": 1}', content_type="application/json", Accept="x")
DIFFERENT = {
    "method": request("PUT", body=b'{"a": 1}', content_type="application/json", Accept="x"),
    "scheme": request("POST", "http://h.example:443/a?x=1&y=2", "application/json", b'{"a": 1}', Accept="x"),
    "host": request("POST", "https://i.example/a?x=1&y=2", "application/json", b'{"a": 1}', Accept="x"),
    "port": request("POST", "https://h.example:444/a?x=1&y=2", "application/json", b'{"a": 1}', Accept="x"),
    "path": request("POST", "https://h.example/b?x=1&y=2", "application/json", b'{"a": 1}', Accept="x"),
    "query": request("POST", "https://h.example/a?x=1&y=3", "application/json", b'{"a": 1}', Accept="x"),
    "headers": request("POST", body=b'{"a": 1}', content_type="application/json", Accept="y"),
    "body": request("POST", body=b'{"a": 2}', content_type="application/json", Accept="x"),
    "raw_body": request("POST", body=b'{"a":1}', content_type="application/json", Accept="x"),
}
URI = {"scheme", "host", "port", "path", "query"}


@pytest.mark.parametrize("name", [*DIFFERENT, "uri", "url"])
def test_match_on(interaction, name):
    """Each of vcrpy's names compares its own part and no other."""
    recorded = interaction(request={field: getattr(BASE, field) for field in ("method", "uri", "headers", "body")})
    for part, incoming in DIFFERENT.items():
        differs = part == name or (name in ("uri", "url") and part in URI) or (name == "raw_body" and part == "body")
        assert answers(recorded, incoming, [name]) is not differs, part
    assert answers(recorded, BASE, [name])
    assert answers(recorded, BASE, [*DIFFERENT, "uri"])


@pytest.mark.parametrize(
    ("recorded", "incoming", "same"),
    [
        ("https://h.example", "https://h.example/", True),
        ("https://h.example/a?x=1&y=2", "https://h.example/a?y=2&x=1", True),
        ("https://h.example/a?x=1&x=2", "https://h.example/a?x=2", False),
        ("https://h.example/a?x=", "https://h.example/a", False),
        ("https://h.example/a?x=%20b", "https://h.example/a?x=+b", True),
        ("https://h.example:443/a", "https://h.example/a", True),
        ("https://H.example/a", "https://h.example/a", True),
        ("https://h.example/a/", "https://h.example/a", False),
        ("https://h.example/<KEY>/a?x=<KEY>", "https://h.example/%3CKEY%3E/a?x=%3CKEY%3E", True),
    ],
)
def test_urls(interaction, recorded, incoming, same):
    """URLs are compared by their parts: the order of the query, a default port and an empty path do not matter."""
    recording = interaction(request={"uri": recorded})
    assert answers(recording, request(uri=incoming)) is same
    assert not answers(recording, request(uri=incoming), ["uri"]) or same


FIELDS = st.lists(st.tuples(st.text(min_size=1, max_size=3), st.text(max_size=3)), min_size=1, max_size=4)


@given(FIELDS, st.randoms())
def test_forms_by_fields(fields, random):
    """Forms are equal if their fields are equal, in any order, except that of repeated fields."""

    def body(some):
        return canonical_body(request(content_type="application/x-www-form-urlencoded", body=urlencode(some).encode()))

    place = {name: random.random() for name, _ in fields}
    assert body(sorted(fields, key=lambda field: place[field[0]])) == body(fields)
    assert body(fields) != body([*fields, ("more", "1")])
    assert body([("a", "1"), ("b", "2")]) == body([("b", "2"), ("a", "1")])
    assert body([("a", "1"), ("a", "2")]) != body([("a", "2"), ("a", "1")])


def test_bodies_of_other_types():
    """Multipart bodies are compared without their boundary, declared or not, and malformed JSON by its bytes."""

    def body(boundary, content_type):
        written = f"--{boundary}\r\na: b\r\n\r\nc\r\n--{boundary}--".encode()
        return canonical_body(request(content_type=content_type.format(boundary), body=written))

    for content_type in ("multipart/form-data; boundary={}", "multipart/form-data"):
        assert body("one", content_type) == body("another", content_type) != body("one", "text/plain")
    assert canonical_body(request(content_type="application/json", body=b"{")) == b"{"


def test_identities(interaction, authorization):
    """A profile gets its own recordings; a replay without credentials gets all recordings of its environment."""
    mine = interaction(authorized_by=authorization("mine"))
    yours = interaction(authorized_by=authorization("yours"))
    index = index_of([yours, mine])
    incoming = mine.request
    assert list(index.find(Identity("broker-sandbox", "mine"), incoming)) == [1]
    assert list(index.find(Identity("broker-sandbox", "yours"), incoming)) == [0]
    assert list(index.find(Identity("broker-sandbox", "theirs"), incoming)) == []
    assert list(index.find(Identity("broker-sandbox"), incoming)) == [0, 1]
    assert list(index.find(Identity("broker-live", "mine"), incoming)) == []
    assert list(index.find(Identity("broker-live"), incoming)) == []
    assert list(index.find(ANYONE, incoming)) == [0, 1]
    assert list(index_of([yours, mine], VCRPY_DEFAULT).find(Identity("broker-live", "theirs"), incoming)) == [0, 1]
