"""Differences between a request and its nearest recordings are described briefly and completely."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from recordings import JSON

from toolkit.cassettes.replay.differences import differences, json_differences, nearest
from toolkit.cassettes.replay.matching import ANYONE, OURS, Identity, Matcher
from toolkit.scrubbing.messages import RecordedRequest

BASE = "https://broker.svc.invalid"


def request(method="GET", path="/v1/accounts", content_type=None, body=b"", **headers):
    listed = tuple(headers.items()) + ((("Content-Type", content_type),) if content_type else ())
    return RecordedRequest(method, BASE + path, listed, body)


def describe_nearest(recordings, incoming, *, match_on=OURS, identity=ANYONE):
    heads = [(number, item.request) for number, item in enumerate(recordings)]
    return nearest(Matcher(match_on), identity, incoming, heads, recordings.__getitem__)


def body_differences(interaction, recorded, incoming, content_type):
    """Return the differences between two bodies of a media type."""
    headers = (("Content-Type", content_type),)
    recording = interaction(request={"headers": headers, "body": recorded})
    return differences(Matcher(OURS), ANYONE, request(content_type=content_type, body=incoming), recording)["body"]


def test_nearest(interaction, authorization):
    """The nearest recordings come first, each request once, with the parts that differ and those that match."""
    recordings = [
        interaction("/v2/far", request={"method": "DELETE"}),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=2", authorized_by=authorization("mine")),
        interaction("/v1/orders?page=2"),
    ]
    shown = describe_nearest(
        recordings, request(path="/v1/accounts?page=2"), identity=Identity("broker-sandbox", "yours")
    )
    assert len(shown) == 3
    assert shown[0] == (
        f"GET {BASE}/v1/accounts?page=2\\n"
        "  credentials: recorded by mine (broker-sandbox), requested by yours (broker-sandbox)\\n"
        "  the same: method, scheme, host, port, path, query, body"
    ).replace("\\n", "\n")
    assert shown[1].splitlines()[:2] == [f"GET {BASE}/v1/accounts?page=1", "  query: page: recorded 1, requested 2"]
    assert shown[2].splitlines()[1] == "  path: recorded /v1/orders, requested /v1/accounts"
    assert describe_nearest([], request()) == []


def test_fewest_differences_come_first(interaction):
    """Of recordings that differ in the same part, the one with fewer differences comes first."""
    bodies = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 3}]
    headers = (("Content-Type", "application/json"),)
    recordings = [
        interaction(f"/v1/accounts?n={n}", request={"headers": headers, "body": json.dumps(body).encode()})
        for n, body in enumerate(bodies)
    ]
    incoming = request(path="/v1/accounts?n=9", content_type="application/json", body=b'{"a": 2, "b": 1}')
    assert [text.splitlines()[0][-3:] for text in describe_nearest(recordings, incoming)] == ["n=1", "n=0", "n=2"]


@given(JSON, JSON)
def test_json_differences(first, second):
    """Differences are found if, and only if, the values differ."""
    texts = list(json_differences(first, second))
    assert bool(texts) == (json.dumps(first, sort_keys=True) != json.dumps(second, sort_keys=True))
    assert not list(json_differences(first, first))
    assert all(line.startswith("$") and "recorded" in line and "requested" in line for line in texts)


def test_json_by_path(interaction):
    """Each difference in JSON has its path, and missing values are shown too."""
    recorded = {"qty": 1, "legs": [{"side": "buy"}, 1], "odd key": True, "only": "x", "same": [1]}
    incoming = {"qty": 2, "legs": [{"side": "sell"}], "odd key": 1, "more": None, "same": [1]}
    assert body_differences(
        interaction, json.dumps(recorded).encode(), json.dumps(incoming).encode(), "application/json"
    ) == [
        "$.qty: recorded 1, requested 2",
        '$.legs[0].side: recorded "buy", requested "sell"',
        "$.legs[1]: recorded 1, not requested",
        '$["odd key"]: recorded true, requested 1',
        '$.only: recorded "x", not requested',
        "$.more: not recorded, requested null",
    ]


def test_deep_and_wide_json(interaction):
    """Descriptions of deep and wide bodies are short."""
    deep = b'{"a":' * 900 + b"%d" + b"}" * 900
    (line,) = body_differences(interaction, deep % 1, deep % 2, "application/json")
    assert line.endswith("recorded 1, requested 2")
    wide = [json.dumps([number] * 50_000).encode() for number in range(2)]
    headers = (("Content-Type", "application/json"),)
    (shown,) = describe_nearest(
        [interaction(request={"headers": headers, "body": wide[0]})],
        request(content_type="application/json", body=wide[1]),
    )
    assert len(shown) < 600
    assert "; and 996 more" in shown


def test_forms_and_queries_by_name(interaction):
    """Form fields and query parameters are compared by name, with all values of a name together."""
    texts = body_differences(interaction, b"a=1&b=2&b=3", b"a=1&b=2&c=%20x", "application/x-www-form-urlencoded")
    assert texts == ["b: recorded 2, 3, requested 2", "c: not recorded, requested x"]
    recording = interaction("/v1/accounts?a=1&a=2")
    assert differences(Matcher(["query"]), ANYONE, request(path="/v1/accounts?b="), recording) == {
        "query": ["a: recorded 1, 2, not requested", "b: not recorded, requested empty"]
    }


@pytest.mark.parametrize(
    ("recorded", "incoming", "message"),
    [
        (b"one two", b"three", "recorded one two, requested three"),
        (b"", b"x", "recorded none, requested x"),
        (b"a b", b"a  b", "recorded …a b, requested …a  b"),
        (b"\xff\xfe", b"\xff\xfd", "other bytes"),
        (b"\xff\xfe", b"x", "recorded 2 bytes, requested x"),
        (b"x" * 500 + b"1" + b"y" * 500, b"x" * 500 + b"2" + b"y" * 500, "recorded …xxxxxxxxxx1yyyy"),
        (b"a", b"\x1b[31ma", "recorded a, requested [31ma"),
        (b"a", b"a\x00", r"requested …a\x00"),
    ],
)
def test_other_bodies(interaction, recorded, incoming, message):
    """Other text bodies are shown around the difference, printable; for binary bodies only the size is shown."""
    (line,) = body_differences(interaction, recorded, incoming, "text/plain")
    assert message in line
    assert line.isprintable()
    assert len(line) < 200


def test_encoded_bodies_are_not_shown(interaction):
    """Only the size of a body with a Content-Encoding is shown, because it was not scrubbed."""
    secret = b"an-obviously-fake-token"
    incoming = request(body=secret, **{"Content-Encoding": "unheard-of"})
    (shown,) = describe_nearest([interaction(request={"body": b"plain"})], incoming)
    assert f"body: recorded plain, requested {len(secret)} bytes" in shown
    json_asked = request(body=b'{"a": "%s"}' % secret, content_type="application/json", **{"Content-Encoding": "odd"})
    headers = (("Content-Type", "application/json"),)
    (shown,) = describe_nearest([interaction(request={"body": b'{"a": 1}', "headers": headers})], json_asked)
    assert secret.decode() not in shown


def test_every_part(interaction):
    """The difference in each part shows the recorded and the requested value."""
    recorded = interaction("/a?x=1", request={"method": "POST", "headers": (("Accept", "x"),), "body": b"b"})
    names = ["method", "scheme", "host", "port", "path", "query", "headers", "body", "raw_body", "uri"]
    incoming = RecordedRequest("PUT", "http://i.example:1/b")
    by_part = differences(Matcher(names), ANYONE, incoming, recorded)
    assert set(by_part) == set(names)
    assert by_part["port"] == ["recorded 443, requested 1"]
    assert by_part["headers"] == ["accept: recorded x, not requested"]
    assert by_part["method"] == ["recorded POST, requested PUT"]
