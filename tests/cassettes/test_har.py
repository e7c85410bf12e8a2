"""HAR files as Chrome, Firefox, Safari and Playwright write them."""

from __future__ import annotations

import base64
import json

import pytest
from hars import entry, har, pairs

from toolkit.cassettes import har as reader

FORM = "application/x-www-form-urlencoded"


def read(*entries):
    """Return what the reader makes of entries."""
    return list(reader.entries(json.loads(har(*entries))))


def one(**arguments):
    """Return the interaction of one entry."""
    (result,) = read(entry(**arguments))
    assert result.reason == ""
    return result.interaction


def reason(**arguments):
    """Return why an entry is left out."""
    (result,) = read(entry(**arguments))
    assert result.interaction is None
    return result.reason


@pytest.mark.parametrize(
    ("content", "status", "body"),
    [
        ({"text": base64.b64encode(b"\x89PNG\x00").decode(), "encoding": "base64"}, 200, b"\x89PNG\x00"),
        ({"text": "caf\u00e9", "mimeType": "text/plain; charset=iso-8859-1"}, 200, "caf\u00e9".encode("latin-1")),
        ({"text": "caf\u00e9 \u20ac", "mimeType": "text/plain; charset=iso-8859-1"}, 200, "caf\u00e9 \u20ac".encode()),
        ({"text": "half \ud83d"}, 200, b"half ?"),
        ({"text": ""}, 200, b""),
        ({"size": 0, "mimeType": "x-unknown"}, 200, b""),
        ({"size": -1}, 204, b""),
        ({"size": 120, "text": "from the cache"}, 304, b""),
        ({}, 302, b""),
    ],
)
def test_stored_bodies(content, status, body):
    """A body is the bytes that were sent, whatever the file stores."""
    assert one(content=content, status=status, received=()).response.body == body


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content": {"size": 7, "mimeType": "text/html"}}, "its body is not stored"),
        ({"content": {"size": -1, "comment": "Response bodies are not included."}}, "its body is not stored"),
        ({"content": {"size": 7, "_file": "ab12.json"}}, "its body is in a file of its own"),
        ({"content": {"text": "!!", "encoding": "base64"}}, "not valid base64"),
        ({"content": {"text": "aa", "encoding": "hex"}}, "encoding that is not base64"),
        ({"url": "data:text/plain,abc"}, "not http or https"),
        ({"url": "wss://h/s", "_resourceType": "websocket"}, "a websocket"),
        ({"status": 101, "received": {"Upgrade": "websocket"}}, "a websocket"),
        ({"status": 0, "content": {"size": 0}}, "no response"),
        ({"status": -1}, "no response"),
        (
            {"method": "POST", "post": {"mimeType": "multipart/form-data", "params": pairs({"a": "b"})}},
            "of its request",
        ),
        ({"url": "https://[h/"}, "fields of an exchange"),
    ],
)
def test_left_out(arguments, words):
    """An entry that cannot be replayed is left out, with the reason."""
    assert words in reason(**arguments)


@pytest.mark.parametrize(
    ("post", "body"),
    [
        ({"mimeType": "application/json", "text": '{"a": "\u00e9"}'}, '{"a": "\u00e9"}'.encode()),
        ({"mimeType": FORM, "text": "a=b&c=d", "params": pairs({"a": "b"})}, b"a=b&c=d"),
        ({"mimeType": FORM, "text": "", "params": pairs([("a", "b c"), ("a", "\u00e9")])}, b"a=b+c&a=%C3%A9"),
        ({"mimeType": "application/octet-stream", "text": "AAE=", "encoding": "base64"}, b"\x00\x01"),
    ],
)
def test_sent_bodies(post, body):
    """The body of a request is its text, or else a form of its parameters."""
    assert one(method="POST", post=post).request.body == body


@pytest.mark.parametrize(
    ("member", "value"),
    [("headers", 5), ("headers", [1, {"name": 3}]), ("cookies", {"a": 1}), ("content", [1]), ("status", "x")],
)
def test_misshapen_members(member, value):
    """Members of any type lead to an entry with or without an interaction, and to no other error."""
    fields = entry()
    fields["response"][member] = value
    (result,) = read(fields)
    assert (result.interaction is None) == bool(result.reason)
