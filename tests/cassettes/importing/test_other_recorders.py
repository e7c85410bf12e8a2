"""Cassettes of Ruby's VCR, R's vcr, betamax, pydantic-ai, go-vcr and vcrpy become clean cassettes."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from contextlib import suppress

import canaries
import httpx
import pytest
import vcr
import yaml
from hars import bare_settings

import toolkit as tk
from toolkit.core.errors import CassetteCorrupt, ConfigurationError

RUBY = """\
---
http_interactions:
- request:
    method: post
    uri: https://h/a
    body:
      encoding: UTF-8
      string: client_secret=SECRET
    headers:
      Authorization:
      - Bearer SECRET
      Content-Type:
      - application/x-www-form-urlencoded
  response:
    status:
      code: 201
      message: Created
    headers:
      Content-Type:
      - application/json
      Content-Encoding:
      - gzip
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        BASE64
    http_version: '1.1'
  recorded_at: Tue, 12 May 2026 09:30:00 GMT
recorded_with: VCR 6.3.1
"""
RUBY_1 = """\
---
- !ruby/struct:VCR::HTTPInteraction
  request: !ruby/struct:VCR::Request
    method: :post
    uri: https://h/a
    body: client_secret=SECRET
    headers:
      authorization:
      - Bearer SECRET
  response: !ruby/struct:VCR::Response
    status: !ruby/struct:VCR::ResponseStatus
      code: 201
      message: Created
    headers:
      content-type:
      - application/json
    body: '{"ok": true, "access_token": "SECRET"}'
    http_version: "1.1"
"""
R_0 = """\
http_interactions:
- request:
    method: post
    uri: https://h/a
    body:
      encoding: ''
      string: client_secret=SECRET
    headers:
      Authorization: Bearer SECRET
  response:
    status:
      status_code: '201'
      message: Created
    headers:
      status: 'HTTP/2 201 '
      content-type: application/json
    body:
      encoding: UTF-8
      file: no
      string: '{"ok": true, "access_token": "SECRET"}'
  recorded_at: 2026-05-12 09:30:00 GMT
  recorded_with: vcr/0.5.4, webmockr/0.7.0
"""
R_2 = """\
http_interactions:
- request:
    method: POST
    uri: https://h/a
    body:
      fields:
        client_secret: SECRET
    headers:
      Authorization: Bearer SECRET
  response:
    status: 201
    headers:
      content-type: application/json
    body:
      raw_gzip: ZLIB
  recorded_at: 2026-05-12 09:30:00
recorded_with: VCR-vcr/2.0.0
"""
GO = """\
---
version: 2
interactions:
    - id: 0
      request:
        proto: HTTP/1.1
        host: h
        body: client_secret=SECRET
        form:
            client_secret:
                - SECRET
        headers:
            Authorization:
                - Bearer SECRET
        url: https://h/a
        method: POST
      response:
        proto: HTTP/2.0
        uncompressed: true
        body: '{"ok": true, "access_token": "SECRET"}'
        headers:
            Content-Type:
                - application/json
            Date:
                - Tue, 12 May 2026 09:30:00 GMT
        status: 201 Created
        code: 201
        duration: 1.25s
"""
PYDANTIC_AI = """\
interactions:
- request:
    headers:
      content-type:
      - application/json
    method: POST
    parsed_body:
      client_secret: SECRET
    uri: https://h/a
  response:
    headers:
      content-type:
      - application/json
      content-encoding:
      - gzip
    parsed_body:
      ok: true
      access_token: SECRET
    status:
      code: 201
      message: Created
version: 1
"""
VCRPY = """\
interactions:
- request:
    body: client_secret=SECRET
    headers:
      Authorization:
      - Bearer SECRET
    method: POST
    uri: https://h/a
  response:
    body:
      string: '{"ok": true, "access_token": "SECRET"}'
    headers:
      Content-Type:
      - application/json
      Date:
      - Tue, 12 May 2026 09:30:00 GMT
    status:
      code: 201
      message: Created
version: 1
"""


def answer(secret):
    return json.dumps({"ok": True, "access_token": secret}).encode()


def betamax(secret):
    item = {
        "recorded_at": "2026-05-12T09:30:00",
        "request": {
            "body": {"encoding": "utf-8", "string": f"client_secret={secret}"},
            "headers": {"Authorization": [f"Bearer {secret}"]},
            "method": "POST",
            "uri": "https://h/a",
        },
        "response": {
            "body": {"base64_string": encoded(gzip.compress(answer(secret))), "encoding": "utf-8", "string": ""},
            "headers": {"Content-Encoding": ["gzip"], "Content-Type": "application/json"},
            "status": {"code": 201, "message": "Created"},
            "url": "https://h/a",
        },
    }
    return json.dumps({"http_interactions": [item], "recorded_with": "betamax/0.8.1"})


def encoded(data):
    return base64.b64encode(data).decode()


def ruby(secret):
    return RUBY.replace("BASE64", encoded(gzip.compress(answer(secret)))).replace("SECRET", secret)


def r(secret):
    return R_2.replace("ZLIB", encoded(zlib.compress(answer(secret)))).replace("SECRET", secret)


FILES = {
    "Ruby's VCR": ruby,
    "Ruby's VCR, 1": lambda secret: RUBY_1.replace("SECRET", secret),
    "R's vcr": lambda secret: R_0.replace("SECRET", secret),
    "R's vcr, 2": r,
    "R's vcr, JSON": lambda secret: json.dumps(yaml.safe_load(r(secret)), default=str),
    "betamax": betamax,
    "go-vcr": lambda secret: GO.replace("SECRET", secret),
    "the serializer of pydantic-ai": lambda secret: PYDANTIC_AI.replace("SECRET", secret),
    "vcrpy": lambda secret: VCRPY.replace("SECRET", secret),
    "vcrpy, JSON": lambda secret: json.dumps(yaml.safe_load(VCRPY.replace("SECRET", secret))),
}


@pytest.mark.parametrize("name", FILES)
def test_clean_and_playable(tmp_path, name):
    """The cassette has no secret, replays here and in stock vcrpy, and the original is unchanged."""
    secret = canaries.new()
    source, text = tmp_path / "theirs.yml", FILES[name](secret)
    source.write_text(text, encoding="utf-8")
    report = tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    assert source.read_text(encoding="utf-8") == text
    assert (report.program, report.imported, report.left_out) == (name.partition(",")[0], 1, ())
    assert report.replaced
    canaries.assert_absent([report.path, repr(report)], secret)
    cassette = tk.Cassette(report.path, "none", match_on=["method", "uri"])
    response = httpx.Client(transport=cassette.transport()).post("https://h/a")
    assert (response.status_code, response.json()["ok"]) == (201, True)
    assert "status" not in response.headers  # R's vcr keeps the status line there
    if "pydantic" not in name and name != "Ruby's VCR, 1":
        assert cassette.recorded_at.isoformat() == "2026-05-12T09:30:00+00:00"
    with vcr.use_cassette(str(report.path), record_mode="none", match_on=["method", "uri"]):
        assert httpx.post("https://h/a").json() == response.json()


def test_ruby_tags_make_no_objects(tmp_path):
    """A tag of Ruby is read as plain data; any other tag is refused."""
    source = tmp_path / "a.yml"
    source.write_text("http_interactions:\n- !ruby/object:Gem::Installer\n  i: x\nrecorded_with: VCR 1\n")
    report = tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    assert (report.imported, len(report.left_out), report.path) == (0, 1, None)
    source.write_text("http_interactions:\n- !!python/object/apply:os.system [echo]\n")
    with pytest.raises(CassetteCorrupt, match="not valid YAML"):
        tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))


def test_bodies_in_other_files(tmp_path):
    """A body in a file of its own is left out: a file that was cloned may name any other."""
    source = tmp_path / "a.yml"
    source.write_text(R_0.replace("file: no", "file: yes").replace("string: '{", "string: '/etc/passwd{"))
    report = tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    assert report.reasons == {"its body is in a file of its own": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"log": {"entries": ' + "[" * 100_000,
        '{"log": {"entries": [' + "[" * 90_000 + "]" * 90_000 + "]}}",
        "http_interactions:\n" + "- " * 5_000 + "a",
        "http_interactions: &a [1, 2]\nb: &b [*a, *a, *a]\n" + "".join(f"c{i}: &c{i} [*b, *b, *b]\n" for i in range(9)),
        '{"interactions": 3}',
        "[]",
        '{"a": 1}',
        "\x00\x01",
        "",
        '{"log": {"entries": []}, "n": ' + "9" * 5_000 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_or_unknown_files(tmp_path, text):
    """Files that are too deep, or of no known layout, are refused or give nothing, without any other error."""
    source = tmp_path / "a.har"
    source.write_text(text)
    with suppress(CassetteCorrupt):
        assert tk.import_cassette(source, "ours", settings=bare_settings(tmp_path)).path is None


def test_size_is_limited(tmp_path, monkeypatch):
    """A file that is too large is not read; one with too many values is not parsed."""
    source = tmp_path / "a.har"
    source.write_text('{"log": {"entries": [1, 2, 3]}}')
    monkeypatch.setattr("toolkit.cassettes.importing.source_files._MOST_VALUES", 2)
    with pytest.raises(CassetteCorrupt, match="too many values"):
        tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    monkeypatch.setattr("toolkit.cassettes.importing.source_files.MOST_BYTES", 5)
    with pytest.raises(tk.CassetteError, match="at most"):
        tk.import_cassette(source, "ours", settings=bare_settings(tmp_path))
    with pytest.raises(ConfigurationError, match="Cannot read"):
        tk.import_cassette(tmp_path / "none.har", "ours", settings=bare_settings(tmp_path))
