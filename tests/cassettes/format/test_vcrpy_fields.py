"""What vcrpy writes for each client loads: bodies, headers and contents in all their shapes, and nothing else."""

from __future__ import annotations

import base64
import gzip

import httpx
import pytest
import yaml
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.core.errors import CassetteMiss

ANSWER = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "x"}}


def written(body=None, headers=None, *, serializer=yamlserializer, response=None, method="POST", uri="http://h/a"):
    """Return the file that vcrpy writes for a request, as its client handed it over, and a response."""
    request = Request(method, uri, body, headers or {})
    interactions = {"requests": [request], "responses": [ANSWER if response is None else response]}
    return serialize(interactions, serializer).encode()


def read(data):
    """Return the only interaction of a file."""
    opened = contents.read(data, source="x.yaml")
    assert len(opened) == 1
    return opened.interaction(0)


def interaction_of(request, response):
    """Return the interaction with these fields."""
    return read(yaml.dump({"interactions": [{"request": request, "response": response}], "version": 1}).encode())


def replayed(tmp_path, file, *, match_on=("method", "uri", "body"), **arguments):
    """Return the response to a POST that is answered from these bytes of a file."""
    path = tmp_path / "foreign.yaml"
    path.write_bytes(file)
    with (
        tk.Cassette(path, "none", match_on=match_on) as cassette,
        httpx.Client(transport=cassette.transport()) as client,
    ):
        return client.post("http://h/a", **arguments)


@pytest.mark.parametrize("serializer", [yamlserializer, jsonserializer])
@pytest.mark.parametrize(
    "value", [{"a": {"b": [1, None, True, 2.5]}}, {"a": "b"}, {"a": 7}, ["x", "y"], [1, 2], [{}], [["a", "b"]], {}, []]
)
def test_json_of_aiohttp(tmp_path, serializer, value):
    """A value that aiohttp sent as JSON answers the same value, whatever its layout, and no other."""
    data = written(value, serializer=serializer)
    assert replayed(tmp_path, data, json=value).text == "x"
    with pytest.raises(CassetteMiss):
        replayed(tmp_path, data, json=[value])
    typed = written(value, {"Content-Type": "application/json; charset=utf-8"}, serializer=serializer)
    assert replayed(tmp_path, typed, json=value).text == "x"


def fields(body=None, headers=None):
    return {"method": "GET", "uri": "http://h/", "body": body, "headers": headers}


def response(**changes):
    return {
        **{key: value for key, value in ANSWER.items() if key not in changes},
        **{k: v for k, v in changes.items() if v is not ...},
    }


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (response(body={"string": None}), b""),
        (response(body={"string": b"\xff"}), b"\xff"),
        (response(body={"base64_string": base64.b64encode(b"\xff").decode()}), b"\xff"),
        (response(body={"base64_string": base64.b64encode(b"\xff"), "encoding": "utf-8"}), b"\xff"),
        (response(body=..., content="ü"), "ü".encode()),
        ({"status_code": 200, "headers": {}, "http_version": "HTTP/1.1", "content": b"\xff"}, b"\xff"),
        ({"status_code": 200, "headers": {}, "content": "/w==", "base64encoded": True}, b"\xff"),
        ({"status_code": 200, "headers": {}, "content": "/w==", "base64encoded": False}, b"/w=="),
        (response(status={"code": 302, "message": "Found"}, body={}), b""),
        (response(status={"code": 204, "message": ""}, body={}), b""),
    ],
)
def test_content(answer, body):
    """Content is read from each place where vcrpy, or a tool around it, wrote it."""
    assert interaction_of(fields(), answer).response.body == body


def test_body_recorded_decoded():
    """A compressed body keeps its header, also with bytes after its end; a decoded body loses it."""
    for headers, body, kept in (
        ({"Content-Encoding": ["gzip"]}, gzip.compress(b"a"), True),
        ({"Content-Encoding": ["gzip, gzip"]}, gzip.compress(gzip.compress(b"a")), True),
        ({"Content-Encoding": ["gzip"]}, b"plain", False),
        ({"Content-Encoding": ["deflate"]}, b"plain", False),
    ):
        answer = response(headers=headers, body={"string": body})
        names = [name for name, _ in interaction_of(fields(), answer).response.headers]
        assert names == (["Content-Encoding"] if kept else ["Content-Length"])
