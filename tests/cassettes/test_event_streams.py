"""Streams of events: recorded as far as they were read."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
import warnings
import zlib

import httpx
import httpx as stock_httpx
import pytest
import vcr
from bodies import body_class

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


def read(transport, count, *, is_async, reading="lines"):
    """Return the first pieces of a stream, which is then closed."""

    def sync():
        with httpx.Client(transport=transport) as client, client.stream("GET", URL) as response:
            pieces = getattr(response, f"iter_{reading}")()
            return [next(pieces) for _ in range(count)]

    async def async_():
        async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", URL) as response:
            pieces = getattr(response, f"aiter_{reading}")()
            return [await anext(pieces) for _ in range(count)]

    return asyncio.run(async_()) if is_async else sync()


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
        live = read(tk.Cassette(path).transport(served(chunks, headers)), 8, is_async=is_async)
    assert live[:3] == ["event: tick", 'data: {"n": 0}', ""]
    cassette = tk.Cassette(path, "none")
    assert len(cassette) == 1
    assert read(cassette.transport(), 8, is_async=is_async) == live
    with pytest.raises(CassetteMiss, match="The recording of GET /events ends here") as caught:
        read(cassette.transport(), 10_000, is_async=is_async)
    assert 'mode="all"' in caught.value.next_step
    with vcr.use_cassette(str(path), record_mode="none"), stock_httpx.Client() as client:
        assert client.get(URL).text.splitlines()[:8] == live


def test_half_a_line_is_left_out(path):
    """The beginning of a line is not recorded: it may be the first half of a secret."""
    secret = secrets.token_urlsafe(24)
    line = json.dumps({"access_token": secret}).encode()
    chunks = [b'{"n": 1}\n' + line[:30]]
    transport = tk.Cassette(path, secrets=secret).transport(served(chunks, {"Content-Type": "application/x-ndjson"}))
    assert read(transport, 1, is_async=False, reading="bytes") == chunks
    assert read(tk.Cassette(path, "none").transport(), 1, is_async=False) == ['{"n": 1}']
    assert secret[:8] not in path.read_text()


def test_secret_in_an_early_part(path):
    """A secret in the part that was read is replaced, compressed or not."""
    secret = secrets.token_urlsafe(24)
    body = b'data: {"n": 1}\n\n' + f"data: {secret}\n\n".encode() + b"data: x\n\n" * 2_000
    headers = EVENTS | {"Content-Encoding": "gzip"}
    transport = tk.Cassette(path, secrets=secret).transport(served([gzip.compress(body)[:-12]], headers))
    assert read(transport, 3, is_async=False)[2] == f"data: {secret}"
    assert read(tk.Cassette(path, "none").transport(), 3, is_async=False)[2] == "data: <SECRET>"


def test_stream_that_cannot_be_checked(path):
    """A stream whose encoding nobody knows is not recorded, and the warning says so; the caller's data is theirs."""
    chunks = [b"\x00\x01\n" * 5]
    transport = tk.Cassette(path).transport(served(chunks, EVENTS | {"Content-Encoding": "unknown"}))
    with pytest.warns(UserWarning, match="could not be recorded: A stream in an unknown content encoding"):
        assert read(transport, 1, is_async=False, reading="raw") == chunks
    assert not path.exists()
