"""Recordings of other programs are refused by name, are left as they are, and nobody is told to delete them."""

from __future__ import annotations

import json

import httpx
import pytest

import toolkit as tk
from toolkit.core.errors import CassetteCorrupt
from toolkit.local.settings import Settings

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
    "vcrpy before 1.0": (OLD_VCRPY, "older version of vcrpy"),
    "vcrpy before 1.0, JSON": (json.dumps([{"request": {}, "response": {}}]), "older version of vcrpy"),
}


@pytest.mark.parametrize(("text", "name"), FILES.values(), ids=FILES)
def test_named(tmp_path, text, name):
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
        assert "vcrpy" in name or all(
            words in said for words in ("not converted", "record the calls again", "HAR file")
        )
        assert not any(word in said.lower() for word in ("delete", "remove", "re-record"))
    assert [each.name for each in tmp_path.iterdir()] == ["other.yaml"]
    assert path.read_text() == text


def test_words_of_other_programs_in_a_body(tmp_path):
    """A cassette of vcrpy whose bodies speak of other programs is a cassette of vcrpy."""
    path = tmp_path / "a.json"
    item = {
        "request": {"method": "GET", "uri": "http://h/", "body": GO, "headers": {}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": RUBY + PYDANTIC_AI}},
    }
    path.write_text(json.dumps({"version": 1, "interactions": [item]}))
    assert len(tk.Cassette(path, "none")) == 1
