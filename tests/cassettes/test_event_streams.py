"""Streams of events: recorded as far as they were read."""

from __future__ import annotations

import gzip
import json
import secrets
import warnings
import zlib

import httpx
import httpx as stock_httpx
import pytest
import vcr
from bodies import body_class, first_pieces

import toolkit as tk
from toolkit.core.errors import CassetteMiss

URL = "https://h.example/events"
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
TICKS = [f'event: tick\ndata: {{"n": {number}}}\n\n'.encode() for number in range(6)]


def endless(chunks, error=None):
    """Return a body of which nobody may read more than is there."""
    return body_class(httpx)(chunks, error or AssertionError("read too far"))


def served(chunks, headers=EVENTS, error=None):
    return httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, stream=endless(chunks, error)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.yaml"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("compress", [None, gzip.compress, zlib.compress], ids=["plain", "gzip", "deflate"])
def test_stream_closed_early(path, compress, is_async):
    """A stream closed early replays as far as it was read, here and in stock vcrpy; reading on is a miss."""
    chunks, headers = TICKS[:3], EVENTS
    if compress is not None:
        packed = compress(b"".join(TICKS * 50))
        chunks, headers = [packed], EVENTS | {"Content-Encoding": {gzip.compress: "gzip"}.get(compress, "deflate")}
        chunks = [packed[:-20]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live = first_pieces(tk.Cassette(path).transport(served(chunks, headers)), URL, 8, is_async=is_async)
    assert live[:3] == ["event: tick", 'data: {"n": 0}', ""]
    cassette = tk.Cassette(path, "none")
    assert len(cassette) == 1
    assert first_pieces(cassette.transport(), URL, 8, is_async=is_async) == live
    with pytest.raises(CassetteMiss, match="The recording of GET /events ends here") as caught:
        first_pieces(cassette.transport(), URL, 10_000, is_async=is_async)
    assert 'mode="all"' in caught.value.next_step
    with vcr.use_cassette(str(path), record_mode="none"), stock_httpx.Client() as client:
        assert client.get(URL).text.splitlines()[:8] == live


def test_half_a_line_is_left_out(path):
    """The beginning of a line is not recorded: it may be the first half of a secret."""
    secret = secrets.token_urlsafe(24)
    line = json.dumps({"access_token": secret}).encode()
    chunks = [b'{"n": 1}\n' + line[:30]]
    transport = tk.Cassette(path, secrets=secret).transport(served(chunks, {"Content-Type": "application/x-ndjson"}))
    assert first_pieces(transport, URL, 1, is_async=False, reading="bytes") == chunks
    assert first_pieces(tk.Cassette(path, "none").transport(), URL, 1, is_async=False) == ['{"n": 1}']
    assert secret[:8] not in path.read_text()


def test_stream_that_cannot_be_checked(path):
    """A stream whose encoding nobody knows is not recorded, and the warning says so; the caller's data is theirs."""
    chunks = [b"\x00\x01\n" * 5]
    transport = tk.Cassette(path).transport(served(chunks, EVENTS | {"Content-Encoding": "unknown"}))
    with pytest.warns(UserWarning, match="could not be recorded: A stream in an unknown content encoding"):
        assert first_pieces(transport, URL, 1, is_async=False, reading="raw") == chunks
    assert not path.exists()
