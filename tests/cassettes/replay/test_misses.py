"""The errors of replay say what is missing, what comes nearest and how it differs, and what to do."""

from __future__ import annotations

import json

from toolkit.cassettes.replay.differences import differences, missing, no_match
from toolkit.cassettes.replay.matching import ANYONE, OURS, Identity, Matcher
from toolkit.scrubbing.messages import RecordedRequest

BASE = "https://broker.svc.invalid"


def request(method="GET", path="/v1/accounts", content_type=None, body=b"", **headers):
    listed = tuple(headers.items()) + ((("Content-Type", content_type),) if content_type else ())
    return RecordedRequest(method, BASE + path, listed, body)


def describe_nearest(recordings, incoming, *, match_on=OURS, identity=ANYONE):
    return no_match("x", Matcher(match_on), identity, incoming, recordings).nearest


def body_differences(interaction, recorded, incoming, content_type):
    """Return the differences between two bodies of a media type."""
    headers = (("Content-Type", content_type),)
    recording = interaction(request={"headers": headers, "body": recorded})
    return differences(Matcher(OURS), ANYONE, request(content_type=content_type, body=incoming), recording).get(
        "body", []
    )


def test_nearest(interaction, authorization):
    """The nearest recording is shown with the parts that differ and those that match."""
    recordings = [
        interaction("/v2/far", request={"method": "DELETE"}),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=2", authorized_by=authorization("mine")),
        interaction("/v1/orders?page=2"),
    ]
    incoming = request(path="/v1/accounts?page=2")
    [shown] = describe_nearest(recordings, incoming, identity=Identity("broker-sandbox", "yours"))
    assert shown == (
        f"GET {BASE}/v1/accounts?page=2\n"
        "  credentials: recorded by mine (broker-sandbox), requested by yours (broker-sandbox)\n"
        "  the same: method, scheme, host, port, path, query, body"
    )
    [shown] = describe_nearest(recordings[:2], incoming)
    assert shown.splitlines()[:2] == [f"GET {BASE}/v1/accounts?page=1", "  query: page: recorded 1, requested 2"]
    assert not describe_nearest([], request())


def test_json_by_path(interaction):
    """Each difference in JSON has its path, and missing values are shown too."""
    recorded = {"qty": 1, "legs": [{"side": "buy"}, 1], "odd key": True, "only": "x", "same": [1]}
    incoming = {"qty": 2, "legs": [{"side": "sell"}], "odd key": 1, "more": None, "same": [1]}
    assert body_differences(
        interaction, json.dumps(recorded).encode(), json.dumps(incoming).encode(), "application/json"
    ) == [
        '$["odd key"]: recorded true, requested 1',
        '$.only: recorded "x", not requested',
        "$.qty: recorded 1, requested 2",
        "$.legs[1]: recorded 1, not requested",
        '$.legs[0].side: recorded "buy", requested "sell"',
        "$.more: not recorded, requested null",
    ]


def test_missing(tmp_path):
    """The error for a missing file gives its full path, and says whether recording is possible now."""
    error = missing(tmp_path / "accounts.yaml", is_offline=True)
    assert error.what == f"The cassette {tmp_path / 'accounts.yaml'} does not exist."
    assert "TOOLKIT_OFFLINE" in error.next_step


def test_another_environment():
    """The error for a session of another environment names only the environments of the cassette."""
    miss = no_match(
        "tour.yaml",
        Matcher(OURS),
        Identity("paper", None),
        request(path="/v2/account"),
        [],
        environments=["broker-sandbox"],
    )
    assert miss.what == "tour.yaml holds calls of broker-sandbox, and this session is paper."
    assert "leave the environment out" in miss.next_step
