"""A player answers requests from a file, and remembers what it played."""

from __future__ import annotations

import json

import pytest

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.replay.matching import ANYONE, Identity
from toolkit.cassettes.replay.player import Player
from toolkit.core.secret import Secret
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber

CALLER = Identity("broker-sandbox", "default")


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


def test_last_recording_repeats(play):
    """Recordings of a request are played in order, and the last one repeats."""
    player, recorded = play()
    incoming = recorded[1].request
    assert [player.play(incoming, CALLER).response.body for _ in range(3)] == [b"first", b"second", b"second"]
    assert player.play_count == 3
    assert player.unplayed == ["GET https://broker.svc.invalid/token"]
    assert player.play(incoming, Identity("broker-live")) is None


def test_strict(play):
    """A strict player plays each recording once, and its error says so."""
    player, recorded = play(strict=True)
    incoming = recorded[1].request
    assert [player.play(incoming, CALLER) for _ in range(3)] == [*recorded[1:], None]
    assert "Each of the 2 recordings" in player.miss(incoming, CALLER).what


def test_token_request_is_played_once(play, authorization):
    """A token request is played with the first call that its token authorized."""
    player, recorded = play()
    assert player.token_request_of(authorization(token=2)) is None
    assert player.token_request_of(authorization()) == recorded[0]
    assert player.token_request_of(authorization()) is None
    assert player.unplayed == ["GET https://broker.svc.invalid/a"] * 2


def test_token_requests_are_not_near(play):
    """A miss compares the request with calls, not with token requests."""
    player, _ = play()
    miss = player.miss(RecordedRequest("GET", "https://broker.svc.invalid/token/x"), CALLER)
    assert len(miss.nearest) == 1
    assert miss.nearest[0].startswith("GET https://broker.svc.invalid/a\n")


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
