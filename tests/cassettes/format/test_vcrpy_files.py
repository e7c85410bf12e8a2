"""Cassettes of stock vcrpy are read completely, whatever client they are of; errors say what is wrong and where.

Recordings of other programs are refused by name and left as they are.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from datetime import UTC, datetime

import httpx
import pytest
import yaml
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.core.errors import CassetteCorrupt, CassetteMiss
from toolkit.core.ledger import EPOCH
from toolkit.local.settings import Settings

ANSWER = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "x"}}


def read(data):
    """Return the only interaction of a file."""
    opened = contents.read(data, source="x.yaml")
    assert len(opened) == 1
    return opened.interaction(0)


def interaction_of(**response):
    """Return the interaction that vcrpy writes for a request and these parts of a response."""
    request = {"method": "GET", "uri": "http://h/a", "body": None, "headers": {"Accept": ["*/*"]}}
    parts = {name: value for name, value in (ANSWER | response).items() if value is not ...}
    return read(yaml.dump({"interactions": [{"request": request, "response": parts}], "version": 1}).encode())


def test_time():
    """The time of an interaction is its Date header in UTC, or a fixed instant if it has no valid one."""
    for text, instant in {
        "Tue, 12 May 2026 11:30:00 +0200": datetime(2026, 5, 12, 9, 30, tzinfo=UTC),
        "Tue, 12 May 2026 09:30:00 -0000": datetime(2026, 5, 12, 9, 30, tzinfo=UTC),
        "Fri, 31 Dec 9999 23:59:59 -2300": EPOCH,
        "soon": EPOCH,
    }.items():
        assert interaction_of(headers={"date": [text]}).recorded_at == instant
    assert interaction_of().recorded_at == EPOCH


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
    assert read(text.encode()).request.body == b"abc"


@pytest.mark.parametrize("serializer", [yamlserializer, jsonserializer])
@pytest.mark.parametrize("value", [{"a": {"b": [1, None, True, 2.5]}}, ["x", "y"], [1, 2], [{}], {}, []])
def test_json_of_aiohttp(tmp_path, serializer, value):
    """A value that aiohttp sent as JSON answers the same value, whatever its layout, and no other."""
    path = tmp_path / "foreign.yaml"
    for headers in ({}, {"Content-Type": "application/json; charset=utf-8"}):
        request = Request("POST", "http://h/a", value, headers)
        path.write_text(serialize({"requests": [request], "responses": [ANSWER]}, serializer))
        cassette = tk.Cassette(path, "none", match_on=("method", "uri", "body"))
        with httpx.Client(transport=cassette.transport()) as client:
            assert client.post("http://h/a", json=value).text == "x"
            with pytest.raises(CassetteMiss):
                client.post("http://h/a", json=[value])


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ({"body": {"string": None}}, b""),
        ({"body": {"string": b"\xff"}}, b"\xff"),
        ({"body": {"base64_string": base64.b64encode(b"\xff").decode()}}, b"\xff"),
        ({"body": {"base64_string": base64.b64encode(b"\xff"), "encoding": "utf-8"}}, b"\xff"),
        ({"body": ..., "content": "ü"}, "ü".encode()),
        ({"body": {"string": "x"}, "content": "another"}, b"x"),
        ({"body": ..., "status": ..., "status_code": 200, "content": b"\xff"}, b"\xff"),
        ({"body": ..., "status": ..., "status_code": 200, "content": "/w==", "base64encoded": True}, b"\xff"),
        ({"body": ..., "status": ..., "status_code": 200, "content": "/w==", "base64encoded": False}, b"/w=="),
        ({"status": {"code": 302, "message": "Found"}, "body": {}}, b""),
    ],
)
def test_content(parts, body):
    """Content is read from each place where vcrpy, or a tool around it, wrote it."""
    assert interaction_of(**parts).response.body == body


def test_body_recorded_decoded():
    """A compressed body keeps its header, also with bytes after its end; a decoded body loses it."""
    for encoding, body, kept in (
        ("gzip", gzip.compress(b"a"), "Content-Encoding"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"a")), "Content-Encoding"),
        ("gzip", b"plain", "Content-Length"),
        ("deflate", b"plain", "Content-Length"),
    ):
        found = interaction_of(headers={"Content-Encoding": [encoding]}, body={"string": body})
        assert [name for name, _ in found.response.headers] == [kept]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\xff\xfe", "x.yaml, line 1 is not a cassette: it is not UTF-8 text."),
        (b"a: 1\nb: \xff", "x.yaml, line 2 is not a cassette: it is not UTF-8 text."),
        (b"just text", "the fields of a cassette"),
        (b"version: 1\n", "the fields of a cassette"),
        (b"interactions: [{response: {}}]\n", "'request' is missing"),
        (b"interactions:\n- request: {uri: 'http://h/'}\n", "line 2 is .* in interaction 1, 'response' is missing"),
        (b"interactions: [\x00]", "a character or a value that is not allowed"),
        (b"a: {\nb: ]\n", "x.yaml, line 2 is not a cassette: it is not valid YAML"),
        (b"\ninteractions: !!python/object/apply:os.getcwd []\n", "x.yaml, line 2 is not a cassette: .*os.getcwd"),
        (b'{"interactions": [\n{"request"]}', "x.yaml, line 2 is not a cassette: it is not valid JSON"),
        (b"version: 1\ninteractions: " + b"[" * 100_000, "x.yaml, line 2 is not a cassette: it is nested too deeply"),
        (b'{"interactions": ' + b"[" * 100_000, "x.yaml, line 1 is not a cassette"),
    ],
)
def test_refused(data, what):
    """The error is one line that says why and, if a parser knows it, on which line."""
    with pytest.raises(CassetteCorrupt, match=r"^x\.yaml") as caught:
        read(data)
    assert re.search(what, caught.value.what), caught.value.what
    assert "\n" not in caught.value.what


# Other programs

RUBY = "---\nhttp_interactions:\n- request:\n    method: get\n    uri: https://h/a\nrecorded_with: VCR 6.3.1\n"
BETAMAX = {"http_interactions": [{"request": {}, "response": {}}], "recorded_with": "betamax/0.8.1"}
PYDANTIC_AI = """\
interactions:
- request: {body: '', headers: {}, method: POST, uri: https://h/v1/chat}
  response: {headers: {}, parsed_body: {model: m}, status: {code: 200, message: OK}}
version: 1
"""
GO = """\
---
version: 1
interactions:
- request:
    body: ""
    headers: {}
    url: https://h/a
    method: GET
  response: {body: '{}', headers: {}, status: 200 OK, code: 200}
"""
OLD_VCRPY = "- request: !!python/object:vcr.request.Request\n    body: null\n    method: GET\n"
FILES = {
    "Ruby's VCR": (RUBY, "recorded by Ruby's VCR"),
    "Ruby's VCR 1": ("- !ruby/struct:VCR::HTTPInteraction\n  request: 1\n", "recorded by Ruby's VCR"),
    "R's vcr": (RUBY.replace("recorded_with: VCR 6.3.1", "recorded_with: vcr/0.5.4"), "recorded by R's vcr"),
    "betamax": (json.dumps(BETAMAX), "recorded by betamax"),
    "pydantic-ai": (PYDANTIC_AI, "pydantic-ai"),
    "go-vcr": (GO, "recorded by go-vcr"),
    "vcrpy before 1.0": (OLD_VCRPY, "vcrpy before version 1.0"),
    "vcrpy before 1.0, JSON": (json.dumps([{"request": {}, "response": {}}]), "vcrpy before version 1.0"),
}


@pytest.mark.parametrize(("text", "name"), FILES.values(), ids=FILES)
def test_other_programs(tmp_path, text, name):
    """Who plays or imports such a file is told what it is and what to do instead; the file stays as it was."""
    path = tmp_path / "other.yaml"
    path.write_text(text)
    for use in (
        lambda: httpx.Client(transport=tk.Cassette(path, "none").transport()).get("https://h/a"),
        lambda: tk.import_cassette(path, "ours", settings=Settings({}, project=tmp_path)),
    ):
        with pytest.raises(CassetteCorrupt, match=name) as caught:
            use()
        said = str(caught.value)
        assert "vcrpy" in name or ("record the calls again" in said and "HAR file" in said)
        assert not any(word in said.lower() for word in ("delete", "remove", "re-record"))
    assert [each.name for each in tmp_path.iterdir()] == ["other.yaml"]
    assert path.read_text() == text


def test_words_of_other_programs_in_a_body():
    """A cassette of vcrpy whose bodies speak of other programs is a cassette of vcrpy."""
    request = {"method": "GET", "uri": "http://h/", "body": GO, "headers": {}}
    item = {"request": request, "response": ANSWER | {"body": {"string": RUBY + PYDANTIC_AI}}}
    assert read(json.dumps({"version": 1, "interactions": [item]}).encode()).request.body == GO.encode()
