"""HAR files as Chrome, Firefox, Safari and Playwright write them."""

from __future__ import annotations

import base64

import pytest
from hars import entry, har, pairs

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.local.settings import Settings

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file with one entry; it returns the interaction, or the reason against it."""

    def run(**arguments):
        (tmp_path / "a.har").write_text(har(entry(**arguments)))
        report = tk.import_cassette(tmp_path / "a.har", tmp_path / "b.yaml", replace=True, settings=Settings())
        if report.path is None:
            return report.left_out[0].reason
        return contents.read(report.path.read_bytes(), source="").interaction(0)

    return run


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
def test_stored_bodies(imported, content, status, body):
    """A body is the bytes that were sent, whatever the file stores."""
    assert imported(content=content, status=status, received=()).response.body == body


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"content": {"size": 7, "mimeType": "text/html"}}, "a body is not stored"),
        ({"content": {"size": -1, "comment": "Response bodies are not included."}}, "a body is not stored"),
        ({"content": {"size": 7, "_file": "ab12.json"}}, "a body is not stored"),
        ({"content": {"text": "!!", "encoding": "base64"}}, "the fields of an exchange"),
        ({"content": {"text": "aa", "encoding": "hex"}}, "a body is not stored"),
        ({"url": "data:text/plain,abc"}, "not a call over HTTP"),
        ({"url": "wss://h/s", "_resourceType": "websocket"}, "not a call over HTTP"),
        ({"status": 101, "received": {"Upgrade": "websocket"}}, "not a call over HTTP"),
        ({"status": 0, "content": {"size": 0}}, "no response"),
        ({"status": -1}, "no response"),
        (
            {"method": "POST", "post": {"mimeType": "multipart/form-data", "params": pairs({"a": "b"})}},
            "a body is not stored",
        ),
        ({"url": "https://[h/"}, "fields of an exchange"),
    ],
)
def test_left_out(imported, arguments, words):
    """An entry that cannot be replayed is left out, with the reason."""
    assert words in imported(**arguments)


@pytest.mark.parametrize(
    ("post", "body"),
    [
        ({"mimeType": "application/json", "text": '{"a": "\u00e9"}'}, '{"a": "\u00e9"}'.encode()),
        ({"mimeType": FORM, "text": "a=b&c=d", "params": pairs({"a": "b"})}, b"a=b&c=d"),
        ({"mimeType": FORM, "text": "", "params": pairs([("a", "b c"), ("a", "\u00e9")])}, b"a=b+c&a=%C3%A9"),
        ({"mimeType": "application/octet-stream", "text": "AAE=", "encoding": "base64"}, b"\x00\x01"),
    ],
)
def test_sent_bodies(imported, post, body):
    """The body of a request is its text, or else a form of its parameters."""
    assert imported(method="POST", post=post).request.body == body


@pytest.mark.parametrize(
    ("member", "value"),
    [("headers", 5), ("headers", [1, {"name": 3}]), ("cookies", {"a": 1}), ("content", [1]), ("status", "x")],
)
def test_misshapen_members(imported, member, value):
    """Members of any type lead to an entry with or without an interaction, and to no other error."""
    fields = entry()
    fields["response"][member] = value
    assert imported(response=fields["response"])
