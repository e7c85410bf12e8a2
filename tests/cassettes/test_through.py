"""Calls through a cassette: the same response live and replayed, streams, failures, transports below."""

from __future__ import annotations

import asyncio
import copy
import gc
import gzip
import json
import secrets
import tempfile
import threading
import traceback
import warnings
from pathlib import Path
from urllib.parse import quote

import canaries
import httpx
import httpx as stock_httpx
import pytest
import vcr
from bodies import body_class
from forgetting import forget_everything
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import FAILURES, HEADER, encode
from toolkit.cassettes.through import CassetteTransport
from toolkit.core.clock import ManualClock
from toolkit.core.errors import (
    CassetteCorrupt,
    CassetteError,
    CassetteMiss,
    ConfigurationError,
    SecretLeak,
    UnsafeAddress,
)

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


def record(path, make, url=URL, *, mode="once", secret=(), **request):
    """Record a call; return the response that the caller got."""
    cassette = tk.Cassette(path, mode, secrets=secret)
    with httpx.Client(transport=cassette.transport(served(make))) as client:
        return client.request(request.pop("method", "GET"), url, **request)


def replay(path, url=URL, **request):
    with httpx.Client(transport=tk.Cassette(path, "none").transport()) as client:
        return client.request(request.pop("method", "GET"), url, **request)


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
    assert shown(replay(path, server.url + path_of_url)) == shown(live)


def test_over_a_socket_asynchronously(server, path):
    """An async client replays its own recording and that of a sync client."""

    async def call(cassette, url):
        async with httpx.AsyncClient(transport=cassette.transport()) as client:
            return await client.get(url)

    live = asyncio.run(call(tk.Cassette(path), server.url + "/gzip"))
    assert shown(asyncio.run(call(tk.Cassette(path, "none"), server.url + "/gzip"))) == shown(live)
    assert shown(replay(path, server.url + "/gzip")) == shown(live)


RAW = [(b"Date", b"x"), (b"X-A", b"1"), (b"set-cookie", b"a=1"), (b"X-A", b"\xff\xc3\xa9"), (b"Set-Cookie", b"b=2")]


@pytest.mark.parametrize(
    "extensions",
    [
        {"reason_phrase": b"Quite OK", "http_version": b"HTTP/1.1"},
        {"reason_phrase": b"", "http_version": b"HTTP/1.1"},
        {"reason_phrase": b"caf\xe9", "http_version": b"HTTP/1.0"},
        {"http_version": b"HTTP/2"},
        {},
    ],
)
def test_order_and_bytes_of_headers(path, extensions):
    """Headers keep their order, case, repeats and bytes; reason and version are as httpx shows them."""
    live = record(path, lambda: reply(gzip.compress(b"x"), [*RAW, (b"Content-Encoding", b"gzip")], 201, **extensions))
    assert shown(replay(path)) == shown(live)
    assert without_cookies(replay(path).headers.raw[:5]) == without_cookies(RAW)


@given(st.data())
def test_any_response(bodies, data):
    """Any body and any header bytes come back as they were."""
    body = data.draw(bodies())
    values = data.draw(
        st.lists(st.binary(max_size=10).filter(lambda raw: b"\n" not in raw and b"\r" not in raw), max_size=3)
    )
    headers = [(b"X-%d" % (number % 2), value) for number, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tour.yaml"
        live = record(path, lambda: reply(body, headers))
        assert replay(path).headers.raw == live.headers.raw == headers
        assert replay(path).content == body


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("DELETE", 204), ("GET", 304), ("HEAD", 500)])
def test_no_body(path, method, status):
    """A response without a body is recorded and replayed like any other."""
    live = record(path, lambda: reply(b"", [("Content-Length", "100")], status), method=method)
    assert shown(replay(path, method=method)) == shown(live)


def test_redirects(path):
    """Each response of a redirect is recorded, and the replay is redirected in the same way."""
    answers = {"/a": lambda: reply(b"", [("Location", "/b")], 302), "/b": lambda: reply(b"there")}
    transport = httpx.MockTransport(lambda request: answers[request.url.path]())
    for mode in ("once", "none"):
        cassette = tk.Cassette(path, mode)
        with httpx.Client(transport=cassette.transport(transport), follow_redirects=True) as client:
            response = client.get(URL)
            assert (response.content, len(response.history)) == (b"there", 1)
        answers.clear()


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
    with pytest.raises(UnsafeAddress, match=r"tour\.yaml replayed leads from https://h\.example to https://i\.example"):
        following.get(URL)  # is redirected twice, from https://i.example/b to /c
    assert not seen
    assert following.get("https://i.example/b").url == "https://i.example/c"
    assert seen == ["https://i.example/c"]


def test_live_redirect_after_a_replayed_one(path):
    """A replayed redirect within an origin is followed, and so is where the live service leads from there."""
    answers = {"/a": "/b", "/b": "https://i.example/c"}

    def service(request):
        target = answers.get(request.url.path)
        return httpx.Response(302, headers={"Location": target}) if target else httpx.Response(200)

    record(path, lambda: reply(b"", [("Location", "/b")], 302))
    transport = tk.Cassette(path, "new_episodes").transport(httpx.MockTransport(service))
    assert httpx.Client(transport=transport, follow_redirects=True).get(URL).url == "https://i.example/c"


def test_what_is_noted(path):
    """A recording notes when a call was sent and how long it took to the end of its body."""
    clock = ManualClock()

    class Slow(Chunks):
        def __iter__(self):
            clock.advance(2)
            yield b"x"

    cassette = tk.Cassette(path)

    def answer(request):
        clock.advance(0.5)
        return reply(Slow([]))

    with httpx.Client(transport=CassetteTransport(cassette, httpx.MockTransport(answer), clock=clock)) as client:
        sent_at = clock.now()
        client.get(URL)
    noted = contents.read(path.read_bytes(), source="").interaction(0)
    assert (noted.recorded_at, noted.elapsed.total_seconds(), noted.authorized_by) == (sent_at, 2.5, None)


# Requests


def test_streamed_request(path):
    """A request body that can be read only once is recorded, sent, and matched by its content."""
    sent = []
    transport = httpx.MockTransport(lambda request: (sent.append(request.content), reply())[1])

    def pieces():
        yield b"one "
        yield b"two"

    with httpx.Client(transport=tk.Cassette(path).transport(transport)) as client:
        client.post(URL, content=pieces())
    assert sent == [b"one two"]
    assert contents.read(path.read_bytes(), source="").interaction(0).request.body == b"one two"
    assert replay(path, method="POST", content=pieces()).content == b"body"
    with pytest.raises(CassetteMiss, match="body: recorded one two, requested three"):
        replay(path, method="POST", content=b"three")


def test_request_as_the_inner_transport_gets_it(path):
    """The inner transport gets the request as the caller made it, credentials and extensions included."""
    seen = []
    transport = httpx.MockTransport(lambda request: (seen.append(request), reply())[1])
    token = secrets.token_urlsafe(20)
    with httpx.Client(transport=tk.Cassette(path).transport(transport), timeout=7) as client:
        request = client.build_request("POST", URL, headers={"Authorization": f"Bearer {token}"}, json={"a": token})
        client.send(request)
    assert seen == [request]
    assert json.loads(request.content) == {"a": token}
    assert request.extensions["timeout"]["read"] == 7
    assert token.encode() not in path.read_bytes()
    assert replay(path, method="POST", json={"a": "<AUTHORIZATION>"}).content == b"body"


def test_token_request_of_a_replayed_call(path, interaction, authorization):
    """For a plain client too, a token request counts as played with the first call that it authorized."""
    by = authorization()
    items = interaction("/v1/oauth2/token", token_obtained=by), interaction("/a", b"a", authorized_by=by)
    path.write_bytes(HEADER + b"".join(map(encode, items)))
    with (
        tk.Cassette(path, "none", strict=True) as cassette,
        httpx.Client(transport=cassette.transport(), base_url="https://broker.svc.invalid") as client,
    ):
        assert client.get("/a").text == "a"
        assert cassette.unplayed == []


# Streams


def test_chunks_pass_as_they_come(path):
    """A streamed body reaches its reader piece by piece, and is recorded when the reader has read its end."""
    body = Chunks([b"one", b"two", b"three"])
    cassette = tk.Cassette(path)
    with (
        httpx.Client(transport=cassette.transport(served(lambda: reply(body)))) as client,
        client.stream("GET", URL) as response,
    ):
        assert body.taken == 0
        for number, piece in enumerate(response.iter_raw(), start=1):
            assert (piece, body.taken, path.exists()) == (body.pieces[number - 1], number, False)
        assert len(cassette) == 1
    assert body.closed
    assert replay(path).content == b"onetwothree"


def test_chunks_pass_as_they_come_asynchronously(path):
    """An async body reaches its reader piece by piece as well."""
    body = Chunks([b"one", b"two", b"three"])

    async def call():
        transport = tk.Cassette(path).transport(served(lambda: reply(body)))
        async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", URL) as response:
            number = 0
            async for piece in response.aiter_raw():
                number += 1
                assert (piece, body.taken, path.exists()) == (body.pieces[number - 1], number, False)

    asyncio.run(call())
    assert replay(path).content == b"onetwothree"


@pytest.mark.parametrize(("pieces_read", "is_async"), [(0, False), (1, True), (3, False), (3, True)])
def test_abandoned_stream(path, pieces_read, is_async):
    """A stream that is closed before its end is not recorded, with one warning; its connection is closed."""
    body = Chunks([b"one", b"two", b"three"])
    cassette = tk.Cassette(path)
    transport = cassette.transport(served(lambda: reply(body)))

    def read():
        with httpx.Client(transport=transport) as client, client.stream("GET", URL + "?key=1") as response:
            pieces = response.iter_raw()
            for _ in range(pieces_read):
                next(pieces)

    async def read_async():
        async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", URL + "?key=1") as response:
            pieces = response.aiter_raw()
            for _ in range(pieces_read):
                await anext(pieces)

    with pytest.warns(UserWarning, match=r"The response to GET /a was closed before its end") as caught:
        asyncio.run(read_async()) if is_async else read()
    assert len(caught) == 1
    assert body.closed
    assert (path.exists(), len(cassette)) == (False, 0)


@pytest.mark.parametrize("is_async", [False, True])
def test_error_that_nobody_reads(path, is_async):
    """SDKs close a response with an error status unread before another try; each try is recorded and replayed."""
    answers = [reply(b'{"error": 1}\n', status=status) for status in (429, 503, 200)]

    def statuses(transport):
        got = []
        with httpx.Client(transport=transport) as client:
            while 200 not in got:
                with client.stream("GET", URL) as response:
                    got.append(response.status_code)
                    if response.is_success:
                        response.read()
        return got

    async def statuses_async(transport):
        got = []
        async with httpx.AsyncClient(transport=transport) as client:
            while 200 not in got:
                async with client.stream("GET", URL) as response:
                    got.append(response.status_code)
                    if response.is_success:
                        await response.aread()
        return got

    for mode in ("all", "none"):
        transport = tk.Cassette(path, mode).transport(served(lambda: answers.pop(0)))
        assert (asyncio.run(statuses_async(transport)) if is_async else statuses(transport)) == [429, 503, 200]
    with pytest.raises(CassetteMiss, match="GET /a ends here: this response was closed early"):
        replay(path)


def test_error_that_is_read_in_part(path):
    """A response with an error status whose reader stops in the middle is not recorded, like any other body."""
    transport = tk.Cassette(path).transport(served(lambda: reply(Chunks([b"one", b"two"]), status=503)))
    with (
        pytest.warns(UserWarning, match="closed before its end"),
        httpx.Client(transport=transport) as client,
        client.stream("GET", URL) as response,
    ):
        next(response.iter_raw())
    assert not path.exists()


def test_broken_stream(path):
    """A body that breaks off raises the error that broke it, and is not recorded."""
    with (
        pytest.warns(UserWarning, match="closed before its end"),
        pytest.raises(httpx.ReadError, match="gone"),
    ):
        record(path, lambda: reply(Chunks([b"one"], httpx.ReadError("gone"))))
    assert not path.exists()


@pytest.mark.parametrize(
    ("reading", "is_async"), [("lines", False), ("text", True), ("raw", False), ("nothing", True), ("nothing", False)]
)
def test_consumer_that_fails(path, reading, is_async):
    """If the reader of a stream fails, its error is raised; the stream is not recorded, with a warning."""
    body = Chunks([b"one\n", b"two\n", b"three\n"])
    cassette = tk.Cassette(path)
    transport = cassette.transport(served(lambda: reply(body)))

    def read():
        with httpx.Client(transport=transport) as client, client.stream("GET", URL) as response:
            for _ in getattr(response, f"iter_{reading}")() if reading != "nothing" else [1]:
                raise ZeroDivisionError

    async def read_async():
        async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", URL) as response:
            if reading == "nothing":
                raise ZeroDivisionError
            async for _ in getattr(response, f"aiter_{reading}")():
                raise ZeroDivisionError

    with pytest.warns(UserWarning, match="closed before its end") as caught, pytest.raises(ZeroDivisionError):
        asyncio.run(read_async()) if is_async else read()
    assert len(caught) == 1
    assert (path.exists(), len(cassette), bool(body.closed)) == (False, 0, True)


@pytest.mark.parametrize("reading", ["raw", "bytes", "lines", "text"])
def test_whole_stream(path, reading):
    """A stream that is read to its end in any way is recorded once."""
    body = [b"one\n", b"two\n", b"three"]
    cassette = tk.Cassette(path)
    transport = cassette.transport(served(lambda: reply(Chunks(body))))
    with httpx.Client(transport=transport) as client, client.stream("GET", URL) as response:
        list(getattr(response, f"iter_{reading}")())
        assert len(cassette) == 1
    assert len(cassette) == 1
    assert replay(path).content == b"".join(body)


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize("pieces_read", [0, 1])
def test_dropped_stream(path, pieces_read):
    """A stream that is never closed is not recorded; a warning says so when it is collected."""
    transport = tk.Cassette(path).transport(served(lambda: reply(Chunks([b"one", b"two"]))))
    client = httpx.Client(transport=transport)

    def drop():
        response = client.send(client.build_request("GET", URL), stream=True)
        pieces = response.iter_raw()
        for _ in range(pieces_read):
            next(pieces)
        del response, pieces
        gc.collect()

    with pytest.warns(UserWarning, match=r"GET /a was closed before its end, so it is not recorded"):
        drop()
    assert not path.exists()


def test_streamed_replay(path):
    """A replayed body can be streamed, whole or in part, without a warning."""
    record(path, lambda: reply(b"one two"))
    with warnings.catch_warnings(), httpx.Client(transport=tk.Cassette(path, "none").transport()) as client:
        warnings.simplefilter("error")
        with client.stream("GET", URL) as response:
            assert b"".join(response.iter_raw()) == b"one two"
        with client.stream("GET", URL) as response:
            assert next(response.iter_raw(chunk_size=3)) == b"one"


def test_body_that_is_there_already(path):
    """A transport for tests may answer with a body that was read already."""
    assert record(path, lambda: httpx.Response(200, json={"a": 1})).json() == {"a": 1}
    assert replay(path).json() == {"a": 1}


# Failures


def fails(path, mode, error, *, is_async=False, url=URL, secret=()):
    """Return the error that the caller of a failing service gets."""

    def fail(request):
        raise error

    transport = tk.Cassette(path, mode, secrets=secret).transport(httpx.MockTransport(fail))

    async def call():
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(url)

    with pytest.raises(httpx.RequestError) as caught, httpx.Client(transport=transport) as client:
        asyncio.run(call()) if is_async else client.get(url)
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


def test_failure_of_a_class_of_a_transports_own(path):
    """A class derived from one of httpx's errors is recorded as httpx's."""

    class Refused(httpx.ConnectError):
        pass

    fails(path, "once", Refused("refused"))
    assert type(fails(path, "none", None)) is httpx.ConnectError


def test_failure_then_answer(path):
    """A call that failed and then succeeded replays both, in that order."""
    answers = [httpx.ReadTimeout("too slow"), None]

    def answer(request):
        error = answers.pop(0)
        if error is not None:
            raise error
        return reply(b"there")

    for mode in ("once", "none"):
        transport = tk.Cassette(path, mode).transport(httpx.MockTransport(answer))
        with httpx.Client(transport=transport) as client:
            with pytest.raises(httpx.ReadTimeout, match="too slow"):
                client.get(URL)
            assert client.get(URL).content == b"there"


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


def test_failure_is_noted(path):
    """A recording notes when a request was sent and how long it took to fail."""
    clock = ManualClock()

    def fail(request):
        clock.advance(30)
        raise httpx.ConnectTimeout("timed out")

    transport = CassetteTransport(tk.Cassette(path), httpx.MockTransport(fail), clock=clock)
    sent_at = clock.now()
    with pytest.raises(httpx.ConnectTimeout), httpx.Client(transport=transport) as client:
        client.get(URL)
    noted = contents.read(path.read_bytes(), source="").interaction(0)
    assert (noted.recorded_at, noted.elapsed.total_seconds()) == (sent_at, 30)


def test_failure_that_cannot_be_recorded(tmp_path):
    """If the disk fails too, the caller gets the error of the network, and a warning about the disk."""
    error = httpx.ConnectTimeout("timed out")

    def fail(request):
        (tmp_path / "cassettes").write_text("a file", encoding="utf-8")
        raise error

    transport = tk.Cassette(tmp_path / "cassettes" / "tour.yaml").transport(httpx.MockTransport(fail))
    with (
        pytest.warns(UserWarning, match=r"The failed GET is not recorded\. Cannot record to"),
        pytest.raises(httpx.ConnectTimeout) as caught,
        httpx.Client(transport=transport) as client,
    ):
        client.get(URL)
    assert caught.value is error


@pytest.mark.parametrize("name", ["HTTPStatusError", "Client", "__class__", "TransportError"])
def test_only_failures_of_a_request_are_raised(path, name):
    """A file cannot choose which class is made: a name that is not a failure's makes the file invalid."""
    fails(path, "once", httpx.ConnectError("no"))
    path.write_bytes(path.read_bytes().replace(b"type: ConnectError", b"type: " + name.encode()))
    with pytest.raises(CassetteCorrupt, match=name):
        replay(path)


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

    async def call():
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(URL)

    with pytest.raises(SecretLeak, match="nothing was written") as caught, httpx.Client(transport=transport) as client:
        asyncio.run(call()) if is_async else client.get(URL)
    assert not path.exists()
    live = caught.value.response
    assert (live.status_code, live.content, live.text) == (201, b"one", "one")
    assert live.headers.get_list("X-A") == ["1", "2"]
    assert is_read_already or (live.reason_phrase, str(live.request.url)) == ("Made", URL)
    assert live.is_closed


def test_leak_of_what_nobody_can_decode(path):
    """A body that cannot be decoded is not recorded, whether it is read raw or decoded."""
    transport = tk.Cassette(path).transport(served(lambda: reply(b"plain", [("Content-Encoding", "gzip")])))
    with httpx.Client(transport=transport) as client:
        with (
            pytest.raises(SecretLeak, match="cannot be decompressed") as caught,
            client.stream("GET", URL) as response,
        ):
            b"".join(response.iter_raw())
        assert caught.value.response.status_code == 200
        with pytest.warns(UserWarning, match="closed before its end"), pytest.raises(httpx.DecodingError):
            client.get(URL)
    assert not path.exists()


def test_recording_goes_on_after_a_failure(path, monkeypatch):
    """A call that could not be recorded does not end the recording."""
    cassette = tk.Cassette(path)
    bodies = iter([b"one", b"\x00\x01\xff", b"three"])
    answers = {"/1": [], "/2": [("Content-Encoding", "unheard-of")], "/3": []}
    transport = httpx.MockTransport(lambda request: reply(next(bodies), answers[request.url.path]))
    with httpx.Client(transport=cassette.transport(transport), base_url="https://h.example") as client:
        client.get("/1")
        with pytest.raises(SecretLeak):
            client.get("/2")
        client.get("/3")
    assert [replay(path, f"https://h.example/{number}").content for number in (1, 3)] == [b"one", b"three"]


@pytest.mark.parametrize("error", [TypeError("fake-secret"), ConfigurationError("No folder.", "Set it.")])
def test_any_error_while_recording(path, monkeypatch, error):
    """Whatever goes wrong while an answer is recorded, the error is typed, carries it and quotes no foreign text."""

    def fail(*_):
        raise error

    transport = tk.Cassette(path).transport(served(lambda: reply(b"body")))
    monkeypatch.setattr("toolkit.cassettes.recording.recorder.Recorder.append", fail)
    with pytest.raises(CassetteError) as caught, httpx.Client(transport=transport) as client:
        client.get(URL)
    assert caught.value.response.text == "body"
    assert caught.value.what in ("GET /a could not be recorded: TypeError.", "No folder.")
    assert "The call was made" in caught.value.next_step
    assert "fake-secret" not in "".join(traceback.format_exception(caught.value))


def test_status_of_an_enumeration(path):
    """A transport for tests may answer with a member of `httpx.codes`."""
    get = httpx.Client(transport=tk.Cassette(path).transport(served(lambda: httpx.Response(httpx.codes.OK)))).get
    assert get(URL).status_code == replay(path).status_code == 200


def test_impossible_port(path):
    """A call that no recording could hold is not recorded, failed or not, and the rest of the recording replays."""
    cassette, impossible = tk.Cassette(path, "new_episodes"), "http://127.0.0.1:70000/a"

    def answer(request):
        if str(request.url) == impossible:
            raise httpx.ConnectError("no such port")
        return httpx.Response(200)

    with httpx.Client(transport=cassette.transport(httpx.MockTransport(answer))) as client:
        client.get(URL)
        with pytest.warns(UserWarning, match="GET is not recorded"), pytest.raises(httpx.ConnectError):
            client.get(impossible)
        with pytest.raises(CassetteError, match="a URI is not valid") as caught:
            client.get("http://127.0.0.1:70000/b")
    assert caught.value.response.status_code == 200
    assert "this error's `response`" in caught.value.next_step
    assert len(tk.Cassette(path, "none").table()) == 1
    with pytest.raises(CassetteMiss):
        replay(path, impossible)


@pytest.mark.parametrize("is_async", [False, True])
def test_disk_full(path, monkeypatch, is_async):
    """A full disk raises an error at the call that could not be recorded; the error carries the response."""

    def full(*_):
        raise OSError(28, "No space left on device")

    cassette = tk.Cassette(path)
    transport = cassette.transport(served(lambda: reply(gzip.compress(b"body"), [("Content-Encoding", "gzip")])))

    async def call():
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(URL)

    with monkeypatch.context() as patch:
        patch.setattr("toolkit.cassettes.recording.recorder.Recorder._write", full)
        with (
            pytest.raises(CassetteError, match=r"tour\.yaml: No space left on device") as caught,
            httpx.Client(transport=transport) as client,
        ):
            asyncio.run(call()) if is_async else client.get(URL)
    assert (caught.value.response.status_code, caught.value.response.text) == (200, "body")
    assert copy.copy(caught.value).response is None  # nor does it travel with a pickle
    with httpx.Client(transport=transport) as client:
        client.get(URL)
    assert replay(path).text == "body"


def test_folder_in_the_place_of_the_file(path):
    """A folder in place of the file is an error that names it; the folder stays."""
    transport = tk.Cassette(path).transport(served(reply))
    path.mkdir()
    with (
        pytest.raises(CassetteError, match=r"Cannot record to .*tour\.yaml") as caught,
        httpx.Client(transport=transport) as client,
    ):
        client.get(URL)
    assert "nothing was sent" in caught.value.what
    assert caught.value.response is None
    assert path.is_dir()


# Transports below


def test_one_transport_for_both_kinds_of_client(server, path):
    """One transport serves a sync and an async client, each with an httpx transport of its own."""
    transport = tk.Cassette(path, "new_episodes").transport()

    async def call():
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.get(server.url + "/two")

    with httpx.Client(transport=transport) as client:
        assert client.get(server.url + "/one").status_code == 200
        assert asyncio.run(call()).status_code == 200
        assert client.get(server.url + "/three").status_code == 200
    assert server.paths == ["/one", "/two", "/three"]
    assert len(tk.Cassette(path, "none")) == 3


def test_proxy_of_the_environment(server, path, monkeypatch):
    """Without an inner transport, requests go through the proxy of the environment, as without a cassette."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", server.url)
    with httpx.Client(transport=tk.Cassette(path).transport()) as client:
        assert client.get("http://service.svc.invalid/a").status_code == 200
    assert server.paths == ["http://service.svc.invalid/a"]


def test_replay_makes_no_transport(path, monkeypatch):
    """A replay makes no transport that could reach a network."""
    record(path, reply)
    for name in ("HTTPTransport", "AsyncHTTPTransport"):
        monkeypatch.setattr(httpx, name, None)
    transport = tk.Cassette(path, "none").transport()
    assert transport.handle_request(httpx.Request("GET", URL)).read() == b"body"
    with pytest.raises(CassetteMiss):
        transport.handle_request(httpx.Request("GET", URL + "/b"))
    transport.close()
    asyncio.run(transport.aclose())


def test_close(path):
    """Closing closes the inner transport, sync or async."""
    closed = []

    class Below(httpx.BaseTransport):
        def close(self):
            closed.append("sync")

    class BelowAsync(httpx.AsyncBaseTransport):
        async def aclose(self):
            closed.append("async")

    for below in (Below(), BelowAsync()):
        transport = tk.Cassette(path).transport(below)
        transport.close()
        asyncio.run(transport.aclose())
    assert closed == ["sync", "async"]


def test_threads(path):
    """Calls of several threads are all recorded; in replay each recording plays once, then the last one repeats."""
    count = iter(range(1000))
    lock = threading.Lock()

    def answer(request):
        with lock:
            return reply(str(next(count)).encode())

    def calls(cassette, got):
        with httpx.Client(transport=cassette.transport(httpx.MockTransport(answer))) as client:
            got.extend(client.get(URL).content for _ in range(10))

    def all_calls(cassette):
        got = []
        threads = [threading.Thread(target=calls, args=(cassette, got)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return got

    live = all_calls(tk.Cassette(path))
    cassette = tk.Cassette(path, "none")
    assert sorted(all_calls(cassette)) == sorted(live) == sorted(str(number).encode() for number in range(60))
    assert cassette.unplayed == []
    last = contents.read(path.read_bytes(), source="").interaction(59).response.body
    assert set(all_calls(cassette)) == {last}
    assert cassette.play_count == 120


# Nothing secret

SECRETS = st.lists(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=30).map("".join)


@given(SECRETS.filter(lambda text: len(set(text)) > 4))
def test_planted_secret(secret):
    """A live response keeps a secret in every place; the file holds it in none."""
    forget_everything()  # the secrets of other examples may differ from this one in quotes alone
    coded = quote(secret, safe="")
    body = gzip.compress(json.dumps({"a": [secret], "b": json.dumps({"c": secret})}).encode())
    headers = [
        ("Content-Encoding", "gzip"),
        ("Location", f"/?t={coded}"),
        ("X-Echo", secret),
        ("Set-Cookie", f"s={coded}"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tour.yaml"
        live = record(
            path,
            lambda: reply(body, headers),
            f"https://h.example/{coded}?q={coded}",
            method="POST",
            secret=secret,
            headers={"X-Asked": secret, "Authorization": f"Bearer {secret}"},
            data={"field": secret, "json": json.dumps({"a": secret})},
        )
        assert live.json()["a"] == [secret]
        assert live.headers["X-Echo"] == secret
        assert live.request.headers["Authorization"] == f"Bearer {secret}"
        canaries.assert_absent(path, secret, layers=3)
        assert tk.scan(path, secrets=secret) == []
        request = {"method": "POST", "data": {"field": "<SECRET>", "json": '{"a": "<SECRET>"}'}}
        assert replay(path, "https://h.example/<SECRET>?q=<SECRET>", **request).json()["a"] == ["<SECRET>"]


@pytest.mark.parametrize("size", [1 << 10, 1 << 18])
@pytest.mark.parametrize("direction", ["sent", "received", "at hand"])
def test_large_bodies_do_not_hold_up_an_event_loop(tmp_path, monkeypatch, size, direction):
    """A large body is searched for secrets on another thread; a small one is not worth the change of thread."""
    cassette = tk.Cassette(tmp_path / "c.yaml", "all")
    threads = set()
    record = cassette.record

    def noted(*arguments):
        threads.add(threading.get_ident())
        return record(*arguments)

    monkeypatch.setattr(cassette, "record", noted)

    async def post():
        body = b"a b " * (size // 4)
        answer = {"sent": reply(b""), "received": reply(body), "at hand": httpx.Response(200, content=body)}[direction]
        transport = cassette.transport(served(answer))
        async with httpx.AsyncClient(transport=transport) as client:
            await client.post(URL, content=b"c d " * (size // 4) if direction == "sent" else b"")

    asyncio.run(post())
    assert (threading.get_ident() in threads) is (size < 1 << 16)
    assert len(cassette) == 1
