"""Cassettes of stock vcrpy are read completely; the error for anything else says what is wrong and where."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
import yaml

from toolkit.cassettes.format import contents
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH


def item(**response):
    """Return an interaction as vcrpy writes it."""
    return {
        "request": {"method": "GET", "uri": "http://h/a", "body": None, "headers": {"Accept": ["*/*"]}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "x"}, **response},
    }


def read(data):
    return list(contents.read(data, source="x.yaml").readable().values())


def load(*items, **more):
    return read(yaml.dump({"interactions": list(items), "version": 1, **more}).encode())


def refused(data):
    """Return why a file, or its only interaction, cannot be read."""
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml") as caught:
        contents.read(data, source="x.yaml").interaction(0)
    return caught.value.what


def test_time():
    """The time of an interaction is its Date header in UTC, or a fixed instant if it has no valid one."""
    for text, instant in {
        "Tue, 12 May 2026 11:30:00 +0200": datetime(2026, 5, 12, 9, 30, tzinfo=UTC),
        "Tue, 12 May 2026 09:30:00 -0000": datetime(2026, 5, 12, 9, 30, tzinfo=UTC),
        "Fri, 31 Dec 9999 23:59:59 -2300": EPOCH,
        "soon": EPOCH,
    }.items():
        assert load(item(headers={"date": [text]}))[0].recorded_at == instant
    assert load(item())[0].recorded_at == EPOCH


def test_tags_that_vcrpy_loads():
    """The harmless tags in old cassettes load as in vcrpy."""
    text = """
interactions:
- request:
    method: POST
    uri: http://h/
    body: !!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary YWJj, 0, null]}
    headers: {}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: !!python/unicode x}}
version: 1
"""
    assert read(text.encode())[0].request.body == b"abc"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\xff\xfe", "x.yaml, line 1 is not a cassette: it is not UTF-8 text."),
        (b"a: 1\nb: \xff", "x.yaml, line 2 is not a cassette: it is not UTF-8 text."),
        (b"- request: {}\n", "older version"),
        (b"just text", "the fields of a cassette"),
        (b"version: 1\n", "the fields of a cassette"),
        (b"interactions: [{response: {}}]\n", "'request' is missing"),
        (b"interactions:\n- request: {uri: 'http://h/'}\n", "line 2 is .* in interaction 1, 'response' is missing"),
        (b"a: {\nb: ]\n", "x.yaml, line 2 is not a cassette: it is not valid YAML"),
        (b"\ninteractions: !!python/object/apply:os.getcwd []\n", "x.yaml, line 2 is not a cassette: .*os.getcwd"),
        (b'{"interactions": [\n{"request"]}', "x.yaml, line 2 is not a cassette: it is not valid JSON"),
        (b"version: 1\ninteractions: " + b"[" * 100_000, "x.yaml, line 2 is not a cassette: it is nested too deeply"),
        (b'{"interactions": ' + b"[" * 100_000, "x.yaml, line 1 is not a cassette"),
    ],
)
def test_refused(data, what):
    """The error is one line that says why and, if a parser knows it, on which line."""
    said = refused(data)
    assert re.search(what, said), said
    assert "\n" not in said
