"""Recordings of other programs are refused by name, are left as they are, and nobody is told to delete them."""

from __future__ import annotations

import json

import pytest

import toolkit as tk
from toolkit.core.errors import CassetteCorrupt
from toolkit.local.settings import Settings
from toolkit.scrubbing.messages import RecordedRequest

RUBY = """\
---
http_interactions:
- request:
    method: get
    uri: https://h/a
    body:
      encoding: US-ASCII
      string: ''
    headers:
      Accept:
      - "*/*"
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type:
      - application/json
    body:
      encoding: UTF-8
      string: '{}'
  recorded_at: Tue, 12 May 2026 09:30:00 GMT
recorded_with: VCR 6.3.1
"""
RUBY_1 = """\
---
- !ruby/struct:VCR::HTTPInteraction
  request: !ruby/struct:VCR::Request
    method: :get
    uri: http://h:80/
  response: !ruby/struct:VCR::Response
    status: !ruby/struct:VCR::ResponseStatus
      code: 200
"""
R = """\
http_interactions:
- request:
    method: get
    uri: https://h/get
    body:
      encoding: ''
      string: ''
    headers:
      Accept: application/json
  response:
    status:
      status_code: '200'
      message: OK
    headers:
      status: HTTP/1.1 200 OK
    body:
      encoding: UTF-8
      string: '{}'
  recorded_at: 2026-05-12 09:30:00 GMT
  recorded_with: vcr/0.5.4, webmockr/0.7.0
"""
BETAMAX = {
    "http_interactions": [
        {
            "recorded_at": "2026-05-12T09:30:00",
            "request": {
                "body": {"encoding": "utf-8", "string": ""},
                "headers": {"Accept": ["*/*"]},
                "method": "GET",
                "uri": "https://h/a",
            },
            "response": {
                "body": {"base64_string": "H4sIAA==", "encoding": None, "string": ""},
                "headers": {},
                "status": {"code": 200, "message": "OK"},
                "url": "https://h/a",
            },
        }
    ],
    "recorded_with": "betamax/0.8.1",
}
PYDANTIC_AI = """\
interactions:
- request:
    {request}
    method: POST
    uri: https://h/v1/chat
  response:
    headers:
      content-type:
      - application/json
    parsed_body:
      model: m
    status:
      code: 200
      message: OK
version: 1
"""
GO = """\
---
version: 1
interactions:
- request:
    body: ""
    form: {}
    headers: {}
    url: https://h/a
    method: GET
  response:
    body: '{}'
    headers: {}
    status: 200 OK
    code: 200
    duration: ""
"""
OLD_VCRPY = """\
- request: !!python/object:vcr.request.Request
    body: null
    headers: !!python/object/apply:__builtin__.frozenset
    - - !!python/tuple [accept, '*/*']
    host: h
    method: GET
    path: /
    port: 80
    protocol: http
  response:
    body: {string: x}
    headers: []
    status: {code: 200, message: OK}
"""
FILES = {
    "Ruby's VCR": (RUBY, "recorded by Ruby's VCR"),
    "Ruby's VCR, binary": (RUBY.replace("string: '{}'", "string: !binary |-\n        e30="), "recorded by Ruby's VCR"),
    "Ruby's VCR 1": (RUBY_1, "recorded by Ruby's VCR"),
    "R's vcr": (R, "recorded by R's vcr"),
    "R's vcr 2": (RUBY.replace("VCR 6.3.1", "VCR-vcr/2.0.0"), "recorded by R's vcr"),
    "betamax": (json.dumps(BETAMAX), "recorded by betamax"),
    "betamax, pretty": (json.dumps(BETAMAX, indent=2, sort_keys=True), "recorded by betamax"),
    "unsaid": (RUBY.replace("recorded_with: VCR 6.3.1\n", ""), "Ruby's VCR or a program that shares its format"),
    "pydantic-ai": (PYDANTIC_AI.replace("{request}", "body: ''\n    headers: {}"), "pydantic-ai"),
    "pydantic-ai, twice": (PYDANTIC_AI.replace("{request}", "headers: {}\n    parsed_body: {a: 1}"), "pydantic-ai"),
    "go-vcr": (GO, "recorded by go-vcr"),
    "vcrpy before 1.0": (OLD_VCRPY, "older version of vcrpy"),
    "vcrpy before 1.0, JSON": (json.dumps([{"request": {}, "response": {}}]), "older version of vcrpy"),
}


@pytest.mark.parametrize(("text", "name"), FILES.values(), ids=FILES)
def test_named(tmp_path, text, name):
    """The error names the program; the file stays as it was."""
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(CassetteCorrupt) as caught:
        tk.Cassette(path, "none").find(RecordedRequest("GET", "https://h/a"))
    said = str(caught.value)
    assert said.startswith((str(path), "other.yaml"))
    assert name in said
    assert not any(word in said.lower() for word in ("delete", "remove", "re-record"))
    assert path.read_text() == text


@pytest.mark.parametrize(("text", "name"), FILES.values(), ids=FILES)
def test_not_converted(tmp_path, text, name):
    """An import says the same, and for a program other than vcrpy what to do instead; no cassette is made."""
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(CassetteCorrupt) as caught:
        tk.import_cassette(path, "ours", settings=Settings({}, project=tmp_path))
    said = str(caught.value)
    assert name in said
    assert "vcrpy" in name or all(words in said for words in ("not converted", "record the calls again", "HAR file"))
    assert [each.name for each in tmp_path.iterdir()] == ["other.yaml"]
    assert path.read_text() == text


def test_words_of_other_programs_in_a_body(tmp_path):
    """A cassette of vcrpy whose bodies speak of other programs is a cassette of vcrpy."""
    path = tmp_path / "a.json"
    item = {
        "request": {"method": "GET", "uri": "http://h/", "body": RUBY_1, "headers": {}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": RUBY + PYDANTIC_AI}},
    }
    path.write_text(json.dumps({"version": 1, "interactions": [item]}))
    assert len(tk.Cassette(path, "none")) == 1
