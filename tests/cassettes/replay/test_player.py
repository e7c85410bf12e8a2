"""A player answers requests from a file, and remembers what it played."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
import yaml

from toolkit.cassettes.format import contents, interactions
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.cassettes.replay.matching import ANYONE
from toolkit.cassettes.replay.player import Player
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.secret import Secret
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber


@pytest.fixture
def play(interaction, authorization):
    """Return a function that makes a player with a token request and two calls of the same request."""
    caller = authorization()
    recorded = [
        interaction("/token", token_obtained=caller),
        *(interaction("/a", body, authorized_by=caller) for body in (b"first", b"second")),
    ]
    data = HEADER + b"".join(map(encode, recorded))

    def make(**options):
        opened = contents.read(data, source="x.yaml")
        return Player(opened, Scrubber(KnownSecrets()), file_name="x.yaml", **options), recorded

    return make


def test_foreign_recordings_are_scrubbed_before_matching():
    """A foreign recording with real addresses and secrets answers the request as it would be recorded."""
    item = {
        "request": {"method": "GET", "uri": "https://api.example/a?key=a-fake-secret", "body": None, "headers": {}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "x"}},
    }
    opened = contents.read(json.dumps({"version": 1, "interactions": [item]}).encode(), source="")
    known = KnownSecrets([("SECRET", Secret("a-fake-secret"))])
    scrubber = Scrubber(known, addresses={"broker": "https://api.example"})
    player = Player(opened, scrubber, file_name="x.json")
    assert player.play(RecordedRequest("GET", "https://broker.svc.invalid/a?key=%3CSECRET%3E"), ANYONE) is not None


@pytest.mark.parametrize("layout", ["ours", "ours, edited", "foreign", "foreign, JSON"])
@pytest.mark.parametrize("names", ["gzip", "gzip, gzip", ",".join(["gzip"] * 11)])
def test_decompression_bomb(monkeypatch, interaction, layout, names):
    """A body that would fill the memory when decompressed is refused by item, in every format; others are played."""
    monkeypatch.setattr(interactions, "MOST_BYTES", 1 << 20)
    body = bytes(2 << 20)
    for _ in names.split(","):
        body = gzip.compress(body)
    bomb = interaction("/bomb", response={"headers": (("content-encoding", names),), "body": body})
    recorded = [interaction("/a"), bomb]
    data = HEADER + b"".join(map(encode, recorded))
    if layout == "ours, edited":
        data = MARKER + yaml.safe_dump(yaml.safe_load(data), default_flow_style=True).encode()
    elif layout != "ours":
        items = [vcrpy_item(item) for item in recorded]
        if layout == "foreign":
            data = yaml.safe_dump({"interactions": items, "version": 1}).encode()
        else:
            for item in items:
                item["response"]["body"] = {
                    "base64_string": base64.b64encode(item["response"]["body"]["string"]).decode()
                }
            data = json.dumps({"interactions": items, "version": 1}).encode()
    opened = contents.read(data, source="x.yaml")
    player = Player(opened, Scrubber(KnownSecrets()), file_name="x.yaml")
    assert player.play(recorded[0].request, ANYONE) is not None
    for _ in range(2):
        with pytest.raises(
            CassetteCorrupt, match=r"^In x\.yaml, .* interaction 2 .*(1 MiB|11 content encodings)"
        ) as caught:
            player.play(bomb.request, ANYONE)
        line = str(data[: data.rindex(b"- request")].count(b"\n") + 1) if layout == "ours" else None
        assert line is None or f"(line {line})" in str(caught.value)


def vcrpy_item(interaction):
    request, response = interaction.request, interaction.response
    return {
        "request": {"body": None, "headers": {}, "method": request.method, "uri": request.uri},
        "response": {
            "body": {"string": response.body},
            "headers": {name: [value] for name, value in response.headers},
            "status": {"code": response.status, "message": response.reason},
        },
    }


def test_torn_encodings(interaction):
    """Data within data that cannot be decompressed is refused; a single torn body is left to the client."""
    for names, is_refused in (("gzip", False), ("gzip, gzip", True)):
        recorded = interaction(response={"headers": (("content-encoding", names),), "body": b"plain"})
        opened = contents.read(HEADER + encode(recorded), source="x.yaml")
        player = Player(opened, Scrubber(KnownSecrets()), file_name="x.yaml")
        if is_refused:
            with pytest.raises(CassetteCorrupt, match=r"interaction 1 \(line 4\) does not have the content encodings"):
                player.play(recorded.request, ANYONE)
        else:
            assert player.play(recorded.request, ANYONE) == recorded
