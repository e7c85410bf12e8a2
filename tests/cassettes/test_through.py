"""Calls through a cassette: the same response live and replayed, streams, failures, transports below."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
import threading
import warnings
import zlib
from urllib.parse import quote

import canaries
import httpx
import httpx as stock_httpx
import pytest
import vcr
from bodies import body_class, first_pieces

import toolkit as tk
from toolkit.cassettes.format.interactions import FAILURES
from toolkit.core.errors import CassetteError, CassetteMiss, SecretLeak, UnsafeAddress

URL = "https://h.example/a"
Chunks = body_class(httpx)


def reply(body=b"body", headers=(), status=200, **extensions):
    """Return the response of a server, unread."""
    stream = body if isinstance(body, Chunks) else Chunks([body])
    return httpx.Response(status, headers=list(headers), stream=stream, extensions=extensions)


def served(make):
    return httpx.MockTransport(lambda request: make() if callable(make) else make)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


async def call_async(transport, url, reads):
    async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", url) as response:
        if reads(response):
            await response.aread()
        return response


def call(transport, url=URL, *, is_async=False, reads=lambda _: True):
    """Return the response to a call, which is closed unread if `reads` says so."""
    if is_async:
        return asyncio.run(call_async(transport, url, reads))
    with httpx.Client(transport=transport) as client, client.stream("GET", url) as response:
        if reads(response):
            response.read()
        return response


def replay(path, url=URL):
    return call(tk.Cassette(path, "none").transport(), url)


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_an_empty_recording_sends_nothing(path, monkeypatch, size):
    """A replay without interactions sends nothing; a large request is searched for secrets on another thread."""
    path.write_text("interactions: []\nversion: 1\n")
    cassette, threads = tk.Cassette(path, "none"), []
    monkeypatch.setattr(cassette.scrubber, "lookup_request", lambda it: threads.append(threading.get_ident()) or it)

    async def post():
        async with httpx.AsyncClient(transport=cassette.transport(served(reply()))) as client:
            await client.post(URL, content=bytes(size))

    with pytest.raises(CassetteMiss):
        asyncio.run(post())
    assert (threads[0] == threading.get_ident()) == (size == 1)


# The same, live and replayed


def without_cookies(headers):
    """Return headers without the values of cookies, which are secrets and differ in a replay."""
    return [(name, value.partition(b"=")[0] if name.lower() == b"set-cookie" else value) for name, value in headers]


def shown(response):
    """Return all that a caller sees of a response."""
    return (
        response.status_code,
        response.reason_phrase,
        response.http_version,
        without_cookies(response.headers.raw),
        response.content,
        response.text,
        list(response.cookies),
    )


@pytest.mark.parametrize("path_of_url", ["/a", "/gzip", "/cookies", "/binary", "/teapot?x=%20y"])
def test_over_a_socket(server, path, path_of_url):
    """A replayed response is the live one to the byte: status, reason, version, header order and repeats, body."""
    with httpx.Client(transport=tk.Cassette(path).transport()) as client:
        live = client.get(server.url + path_of_url)
    server.shutdown()
    assert tk.Cassette(path, "none").table()["elapsed"].notna().all()
    assert shown(replay(path, server.url + path_of_url)) == shown(live)


def test_compressed_body_that_is_scrubbed(path):
    """A compressed body in which something is replaced is replayed decoded, and its headers say so."""
    secret = secrets.token_urlsafe(20)
    answer = reply(gzip.compress(secret.encode()), [("Content-Encoding", "gzip"), ("Content-Length", "60")])
    with httpx.Client(transport=tk.Cassette(path, secrets=secret).transport(served(answer))) as client:
        assert client.get(URL).text == secret
    replayed = replay(path)
    assert (replayed.text, replayed.headers.raw) == ("<SECRET>", [(b"Content-Length", b"8")])


def test_replayed_redirect_to_another_origin(path):
    """What follows a replayed redirect to another origin is not sent, unless the caller asks there without it."""
    answers = {"h.example": "https://i.example/b", "i.example": "/c"}
    seen = []

    def service(request):
        seen.append(str(request.url))
        target = answers.get(request.url.host)
        return httpx.Response(302, headers={"Location": target}) if target else httpx.Response(200)

    def client(mode, **options):
        transport = tk.Cassette(path, mode).transport(httpx.MockTransport(service))
        return httpx.Client(transport=transport, headers={"X-Api-Key": "of-h.example"}, **options)

    client("once").get(URL)
    other = client("new_episodes")
    other.get("https://i.example/b")
    answers.clear()
    seen.clear()
    following = client("new_episodes", follow_redirects=True)
    with pytest.raises(UnsafeAddress, match=r"tour\.yaml leads from https://h\.example to https://i\.example"):
        following.get(URL)  # is redirected twice, from https://i.example/b to /c
    assert not seen
    assert following.get("https://i.example/b").url == "https://i.example/c"
    assert seen == ["https://i.example/c"]


# Streams


@pytest.mark.parametrize("is_async", [False, True])
def test_error_that_nobody_reads(path, is_async):
    """SDKs close a response with an error status unread before another try; each try is recorded and replayed."""
    answers = [reply(b'{"error": 1}\n', status=status) for status in (429, 503, 200)]

    for mode in ("all", "none"):
        transport = tk.Cassette(path, mode).transport(served(lambda: answers.pop(0)))
        got = [call(transport, is_async=is_async, reads=lambda answer: answer.is_success) for _ in range(3)]
        assert [answer.status_code for answer in got] == [429, 503, 200]
    with pytest.raises(CassetteMiss, match="GET /a ends here: this response was closed early"):
        replay(path)


# Failures


def fails(path, mode, error, *, is_async=False, url=URL, secret=()):
    """Return the error that the caller of a failing service gets."""

    def fail(request):
        raise error

    transport = tk.Cassette(path, mode, secrets=secret).transport(httpx.MockTransport(fail))

    with pytest.raises(httpx.RequestError) as caught:
        call(transport, url, is_async=is_async)
    return caught.value


@pytest.mark.parametrize(
    ("name", "is_async"), [(name, number % 2 == 1) for number, name in enumerate(sorted(FAILURES))]
)
def test_failure_below(path, name, is_async):
    """An error of the network reaches the caller unchanged, and is replayed with the same class, text and request."""
    error = getattr(httpx, name)("no route\n  complete: true")
    assert fails(path, "once", error, is_async=is_async) is error
    replayed = fails(path, "none", error, is_async=is_async)
    assert (type(replayed), str(replayed), replayed.request.url) == (type(error), str(error), URL)


def test_failure_holds_no_secret(path):
    """The message of a failure is scrubbed; stock vcrpy loads the file and answers with status 599."""
    secret = secrets.token_urlsafe(20)
    error = fails(path, "once", httpx.ConnectError(f"no way to {quote(secret)} and {secret}"), secret=secret)
    assert secret in str(error)
    canaries.assert_absent(path, secret)
    assert str(fails(path, "none", None)) == "no way to <SECRET> and <SECRET>"
    with vcr.use_cassette(str(path), record_mode="none"), stock_httpx.Client() as client:
        response = client.get(URL)
    assert (response.status_code, response.reason_phrase, response.content) == (599, "No Answer", b"")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_read_already", [False, True])
def test_leak(path, is_async, is_read_already):
    """A response that cannot be recorded safely is not recorded; the error carries it, so the caller can use it."""
    raw = gzip.compress(b"one") + gzip.compress(b"two")
    headers = [("Content-Encoding", "gzip"), ("X-A", "1"), ("X-A", "2")]

    def answer():
        if is_read_already:
            return httpx.Response(201, headers=headers, content=raw)
        return reply(Chunks([raw[:10], raw[10:]]), headers, 201, reason_phrase=b"Made")

    transport = tk.Cassette(path).transport(served(answer))

    with pytest.raises(SecretLeak, match="nothing was written") as caught:
        call(transport, is_async=is_async)
    assert not path.exists()
    live = caught.value.response
    assert (live.status_code, live.content, live.text) == (201, b"one", "one")
    assert live.headers.get_list("X-A") == ["1", "2"]
    assert is_read_already or (live.reason_phrase, str(live.request.url)) == ("Made", URL)
    assert live.is_closed


@pytest.mark.parametrize("body", [b"a b", b"a b " * 20_000], ids=["small", "large"])
def test_recording_does_not_hold_up_an_event_loop(tmp_path, monkeypatch, body):
    """A large answer of an asynchronous call is searched for secrets on another thread."""
    cassette = tk.Cassette(tmp_path / "c.yaml", "all")
    threads = set()
    append = cassette.recorder.append

    def noted(*arguments):
        threads.add(threading.get_ident())
        return append(*arguments)

    monkeypatch.setattr(cassette.recorder, "append", noted)

    async def post():
        for answer in (reply(body), httpx.Response(200, content=body)):
            async with httpx.AsyncClient(transport=cassette.transport(served(answer))) as client:
                await client.post(URL, content=b"c d")

    asyncio.run(post())
    assert (threading.get_ident() in threads) == (len(body) < 1 << 16)
    assert len(cassette) == 2


@pytest.mark.parametrize(("pieces_read", "is_async"), [(0, False), (1, True), (3, False), (3, True)])
def test_abandoned_stream(path, pieces_read, is_async):
    """A stream that is closed before its end is not recorded, with one warning; its connection is closed."""
    body = Chunks([b"one", b"two", b"three"])
    cassette = tk.Cassette(path)
    transport = cassette.transport(served(lambda: reply(body)))

    with pytest.warns(UserWarning, match=r"The response to GET /a was closed early") as caught:
        first_pieces(transport, f"{URL}?key=1", pieces_read, is_async=is_async, reading="raw")
    assert len(caught) == 1
    assert body.closed
    assert (path.exists(), len(cassette)) == (False, 0)


@pytest.mark.parametrize("is_async", [False, True])
def test_stream_that_breaks_off(path, is_async):
    """A stream of events that breaks off is not recorded, although one that is closed early is."""
    transport = tk.Cassette(path).transport(
        served(lambda: reply(Chunks(TICKS[:1], httpx.ReadError("gone")), EVENTS.items()))
    )
    with pytest.warns(UserWarning, match="so it was not recorded"), pytest.raises(httpx.ReadError):
        call(transport, is_async=is_async)
    assert not path.exists()


def test_an_error_of_the_recorder(path, monkeypatch):
    """An error that may quote the answer is put into other words and carries the answer; a failure stays."""
    cassette = tk.Cassette(path)
    monkeypatch.setattr(cassette.recorder, "append", lambda _: int("a part of the answer"))
    with pytest.raises(CassetteError, match=r"GET /a could not be recorded: ValueError\.") as caught:
        call(cassette.transport(served(reply())))
    assert caught.value.response.text == "body"

    def failing(request):
        raise httpx.ConnectError("gone")

    with pytest.warns(UserWarning, match="The failed GET request was not recorded"), pytest.raises(httpx.ConnectError):
        call(cassette.transport(httpx.MockTransport(failing)))


# Streams of events are recorded as far as they were read

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
TICKS = [f'event: tick\ndata: {{"n": {number}}}\n\n'.encode() for number in range(6)]


def streamed(chunks, headers=EVENTS):
    """Return a service whose answer goes on for ever: nobody may read more than is there."""
    body = Chunks(chunks, AssertionError("read too far"))
    return served(lambda: reply(body, headers.items()))


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
        live = first_pieces(tk.Cassette(path).transport(streamed(chunks, headers)), URL, 8, is_async=is_async)
    assert live[:3] == ["event: tick", 'data: {"n": 0}', ""]
    cassette = tk.Cassette(path, "none")
    assert len(cassette) == 1
    assert first_pieces(cassette.transport(), URL, 8, is_async=is_async) == live
    with pytest.raises(CassetteMiss, match="The recording of GET /a ends here") as caught:
        first_pieces(cassette.transport(), URL, 10_000, is_async=is_async)
    assert 'mode="all"' in caught.value.next_step
    with vcr.use_cassette(str(path), record_mode="none"), stock_httpx.Client() as client:
        assert client.get(URL).text.splitlines()[:8] == live


def test_half_a_line_is_left_out(path):
    """The beginning of a line is not recorded: it may be the first half of a secret."""
    secret = secrets.token_urlsafe(24)
    line = json.dumps({"access_token": secret}).encode()
    chunks = [b'{"n": 1}\n' + line[:30]]
    transport = tk.Cassette(path, secrets=secret).transport(streamed(chunks, {"Content-Type": "application/x-ndjson"}))
    assert first_pieces(transport, URL, 1, is_async=False, reading="bytes") == chunks
    assert first_pieces(tk.Cassette(path, "none").transport(), URL, 1, is_async=False) == ['{"n": 1}']
    assert secret[:8] not in path.read_text()


def test_stream_that_cannot_be_checked(path):
    """A stream whose encoding nobody knows is not recorded, and the warning says so; the caller's data is theirs."""
    chunks = [b"\x00\x01\n" * 5]
    transport = tk.Cassette(path).transport(streamed(chunks, EVENTS | {"Content-Encoding": "unknown"}))
    with pytest.warns(UserWarning, match="could not be recorded: A stream in an unknown content encoding"):
        assert first_pieces(transport, URL, 1, is_async=False, reading="raw") == chunks
    assert not path.exists()
