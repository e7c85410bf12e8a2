"""Cassettes in words."""

from __future__ import annotations

from datetime import UTC, datetime

from recordings import make_interaction

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.cell_cassette import source_text
from toolkit.cassettes.format.interactions import HEADER, encode

ENDED = datetime(2026, 5, 12, 9, 30, 7, tzinfo=UTC)
FOREIGN = """version: 1
interactions:
- request: {method: GET, uri: "https://a.example/", body: null, headers: {}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: ""}}
"""


def test_source_text(tmp_path):
    """The source tells live, recorded, replayed and added to, and that a foreign recording has no day."""
    ours, foreign = tmp_path / "ours.yaml", tmp_path / "foreign.yaml"
    ours.write_bytes(HEADER + encode(make_interaction()))
    foreign.write_text(FOREIGN, encoding="utf-8")
    assert source_text(None, None) == "live calls, no call yet"
    assert source_text(Cassette(ours, "new_episodes"), ENDED) == "replayed and added to, recorded 12 May 2026"
    recording = Cassette(tmp_path / "new.yaml")
    assert source_text(recording, ENDED) == "live calls, recorded, as of 12 May 2026, 09:30:07 UTC"
    assert source_text(Cassette(foreign, "none"), None) == "replayed, recorded on an unknown day"
