"""The behaviours that vcrpy's integration tests for httpx require, required of our cassettes, over a socket.

Each test has the subject of one of vcrpy's. Where our behaviour differs, the docstring says how and why. vcrpy's
filters, persisters and serializers are left out, because we have rules and a single format instead.
"""

from __future__ import annotations

import asyncio
import gzip
import http.server
import json
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
import vcr
from recordings import serve

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.core.errors import CassetteMiss


class Bin(http.server.BaseHTTPRequestHandler):
    """Answers as httpbin does, as far as these tests need it."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.body()
        self.server.paths.append(self.path)
        cookies = dict(pair.split("=", 1) for pair in (self.headers["Cookie"] or "").split("; ") if pair)
        echo = {
            "url": self.path,
            "headers": dict(self.headers),
            "body": body.decode("latin-1"),
            "cookies": cookies,
            "count": len(self.server.paths),
        }
        if urlsplit(self.path).path == "/v1/oauth2/token":
            echo = {"access_token": "fake-bin-token", "expires_in": 890, "token_type": "Bearer"}
        content = json.dumps(echo).encode()
        status, headers = self.special()
        if ("Content-Encoding", "gzip") in headers:
            content = gzip.compress(content, mtime=0)
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *headers):
            self.send_header(name, value)
        if ("Transfer-Encoding", "chunked") in headers:
            content = b"".join(b"40\r\n%b\r\n" % (bytes([number]) * 64) for number in range(8)) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def body(self):
        """Read the body of the request, in one piece or in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def special(self):
        """Return the status and the headers for a path."""
        url = urlsplit(self.path)
        if url.path.startswith("/redirect/"):
            status, _, left = url.path.removeprefix("/redirect/").partition("/")
            return int(status), [("Location", f"./{int(left) - 1}" if int(left) > 1 else "./../../get")]
        if url.path == "/cookies/set":
            cookies = [("Set-Cookie", f"{name}={value}; Path=/") for name, value in parse_qsl(url.query)]
            return 302, [("Location", "/cookies"), *cookies]
        headers = {
            "/gzip": [("Content-Encoding", "gzip")],
            "/repeats": [("X-Repeated", "one"), ("x-other", "between"), ("X-Repeated", "two")],
            "/stream": [("Transfer-Encoding", "chunked")],
        }
        return 200, headers.get(url.path, [])

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - names of http.server

    def log_message(self, *_):
        pass


@pytest.fixture
def bin_server():
    """Run a new server whose answers `Bin` describes."""
    with serve(Bin) as running:
        yield running


@pytest.fixture
def path(tmp_path):
    return tmp_path / "whatever.yaml"


class AnyClient:
    """An httpx client of either kind with the same interface; it reads the body of each response.

    Args:
        cassette: None to call without one.
        options: of the client, and `inner`, the transport below the cassette.
    """

    def __init__(self, is_async, cassette, *, inner=None, **options):
        if cassette is not None:
            options["transport"] = cassette.transport(inner)
        self._runner = asyncio.Runner() if is_async else None
        self.client = (httpx.AsyncClient if is_async else httpx.Client)(**options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._runner is None:
            self.client.close()
        else:
            self._runner.run(self.client.aclose())
            self._runner.close()

    def __call__(self, method, url, **request):
        if self._runner is None:
            return self.client.request(method, url, **request)
        return self._runner.run(self.client.request(method, url, **request))

    def stream(self, url):
        """Return the pieces of a streamed body."""
        if self._runner is None:
            with self.client.stream("GET", url) as response:
                return list(response.iter_bytes())

        async def pieces():
            async with self.client.stream("GET", url) as response:
                return [piece async for piece in response.aiter_bytes()]

        return self._runner.run(pieces())


@pytest.fixture(params=["async", "sync"])
def make(request):
    """Return a function that makes a client with a cassette, of each kind in turn."""
    return lambda cassette, **options: AnyClient(request.param == "async", cassette, **options)


def twice(make, path, url, method="GET", **request):
    """Record a call and replay it; return both responses and the cassette that replayed."""
    with make(tk.Cassette(path)) as call:
        live = call(method, url, **request)
    cassette = tk.Cassette(path)
    with make(cassette) as call:
        return live, call(method, url, **request), cassette


def test_content_and_json(make, bin_server, path):
    """Bytes and JSON of a replay are those of the live response."""
    live, replayed, _ = twice(make, path, f"{bin_server.url}/get")
    assert replayed.content == live.content
    assert replayed.json() == live.json()


def test_same_url_with_other_parameters(make, bin_server, path):
    """Another query is a miss, and nothing is sent; vcrpy refuses to overwrite the cassette."""
    url, params = f"{bin_server.url}/get", {"a": 1, "b": False, "c": "c"}
    live, replayed, _ = twice(make, path, url, params=params)
    assert replayed.request.url == live.request.url
    assert replayed.json() == live.json()
    with make(tk.Cassette(path)) as call, pytest.raises(CassetteMiss):
        call("GET", url, params={"other": "params"})
    assert len(bin_server.paths) == 1


@pytest.mark.parametrize("status", [302, 303, 308])
def test_redirects(make, bin_server, path, status):
    """Each step of relative redirects is recorded and replayed, and ends in the same request."""
    url = f"{bin_server.url}/redirect/{status}/2"
    with make(tk.Cassette(path), follow_redirects=True) as call:
        live = call("GET", url)
    cassette = tk.Cassette(path)
    with make(cassette, follow_redirects=True) as call:
        replayed = call("GET", url)
    assert (
        [response.status_code for response in replayed.history]
        == [response.status_code for response in live.history]
        == [status] * 2
    )
    assert len(cassette) == cassette.play_count == len(bin_server.paths) == 3
    assert replayed.request.url == live.request.url
    assert replayed.request.method == live.request.method
    assert replayed.request.headers.raw == live.request.headers.raw


def test_redirect_not_followed(make, bin_server, path):
    """A redirect that is not followed is a single response."""
    url = f"{bin_server.url}/redirect/308/5"
    for _ in range(2):
        cassette = tk.Cassette(path)
        with make(cassette, follow_redirects=False) as call:
            response = call("GET", url)
        assert str(response.url) == url
        assert response.status_code == 308
    assert (len(cassette), cassette.play_count) == (1, 1)


def test_gzip(make, bin_server, path):
    """A compressed body is recorded compressed and decoded by the client, as in vcrpy by default."""
    live, replayed, _ = twice(make, path, f"{bin_server.url}/gzip")
    assert replayed.headers["content-encoding"] == "gzip"
    assert replayed.json() == live.json()
    with vcr.use_cassette(str(path), record_mode="none") as theirs:
        assert theirs.responses[0]["body"]["string"][:2] == b"\x1f\x8b"


def test_gzip_with_something_to_scrub(make, bin_server, path):
    """A compressed body is decoded only if something in it was replaced.

    vcrpy decodes all bodies or none (`decode_compressed_response`); ours stay as they came where possible.
    """
    secret = "fake-secret-within-gzip"
    with make(tk.Cassette(path, secrets=secret)) as call:
        live = call("GET", f"{bin_server.url}/gzip", headers={"X-Echoed": secret})
    with make(tk.Cassette(path)) as call:
        replayed = call("GET", f"{bin_server.url}/gzip", headers={"X-Echoed": "<SECRET>"})
    assert live.json()["headers"]["X-Echoed"] == secret
    assert replayed.json()["headers"]["X-Echoed"] == "<SECRET>"
    assert "content-encoding" not in replayed.headers
    assert int(replayed.headers["content-length"]) == len(replayed.content)


def test_proxy(make, bin_server, path):
    """A call through a proxy is recorded under the requested URL; its replay needs no proxy."""
    kind = type(make(None).client)
    proxied = (httpx.AsyncHTTPTransport if kind is httpx.AsyncClient else httpx.HTTPTransport)(proxy=bin_server.url)
    url = "http://service.svc.invalid/headers"
    with make(tk.Cassette(path), inner=proxied) as call:
        live = call("GET", url)
    with make(tk.Cassette(path)) as call:
        replayed = call("GET", url)
    assert bin_server.paths == [url]
    assert replayed.request.url == live.request.url == url
    assert replayed.json() == live.json()


def test_cookies(make, bin_server, path):
    """A replay sets cookies under their names, also along a redirect.

    Their values are placeholders, because the value of a cookie is a credential; vcrpy replays the values.
    """
    url = f"{bin_server.url}/cookies/set?k1=v1&k2=v2"
    with make(tk.Cassette(path), follow_redirects=True) as call:
        assert list(call.client.cookies) == []
        live = call("GET", url)
        assert list(live.history[0].cookies) == ["k1", "k2"]
        assert list(live.cookies) == []
        assert live.json()["cookies"] == dict(call.client.cookies) == {"k1": "v1", "k2": "v2"}
    cassette = tk.Cassette(path)
    with make(cassette, follow_redirects=True) as call:
        replayed = call("GET", url)
        assert list(replayed.history[0].cookies) == ["k1", "k2"]
        assert list(replayed.cookies) == []
        assert dict(call.client.cookies) == {"k1": "<COOKIE>", "k2": "<COOKIE>"}
    assert cassette.play_count == 2


def test_stream(make, bin_server, path):
    """A streamed body is recorded completely."""
    with make(tk.Cassette(path)) as call:
        live = b"".join(call.stream(f"{bin_server.url}/stream"))
    cassette = tk.Cassette(path)
    with make(cassette) as call:
        replayed = b"".join(call.stream(f"{bin_server.url}/stream"))
    assert replayed == live
    assert (len(replayed), cassette.play_count) == (512, 1)


def test_repeated_headers(make, bin_server, path):
    """Repeated headers keep their order and case; vcrpy groups them by name."""
    live, replayed, _ = twice(make, path, f"{bin_server.url}/repeats")
    assert replayed.headers.raw == live.headers.raw
    assert replayed.headers.get_list("x-repeated") == ["one", "two"]


UPLOADS = {
    "form": {"data": {"a": "1", "b": "two words"}},
    "JSON": {"json": {"a": [1, {"b": None}]}},
    "file": {"files": {"file": ("a.csv", b"1,2\n\xff\x00", "text/csv")}, "data": {"a": "1"}},
    "bytes": {"content": bytes(range(256))},
}


@pytest.mark.parametrize("kind", UPLOADS)
def test_uploads(make, bin_server, path, kind):
    """Bodies are matched, apart from the random boundary of a form; vcrpy ignores them by default."""
    live, replayed, _ = twice(make, path, f"{bin_server.url}/post", "POST", **UPLOADS[kind])
    assert replayed.json() == live.json()
    with make(tk.Cassette(path)) as call, pytest.raises(CassetteMiss):
        call("POST", f"{bin_server.url}/post", content=b"something else")


def test_streamed_upload(make, bin_server, path):
    """A body that can be read only once is sent, recorded and matched like any other."""

    def body(is_async):
        async def pieces():
            yield b"one "
            yield b"two"

        return pieces() if is_async else iter((b"one ", b"two"))

    for _ in range(2):
        with make(tk.Cassette(path)) as call:
            response = call("PUT", f"{bin_server.url}/put", content=body(isinstance(call.client, httpx.AsyncClient)))
        assert response.json()["body"] == "one two"
    assert bin_server.paths == ["/put"]


OLD_FORMAT = """\
interactions:
- request:
    body: ''
    headers: {accept: ['*/*'], host: [service.svc.invalid]}
    method: GET
    uri: https://service.svc.invalid/old
  response:
    content: '{"method": "GET"}'
    headers: {content-type: [application/json]}
    http_version: HTTP/1.1
    status_code: 200
version: 1
"""


@pytest.fixture
def open_session(bin_server):
    """Return a function that opens a session with a cassette."""

    def open_one(path, *, is_async=False, **options):
        settings = tk.Settings({"broker_sandbox": bin_server.url, "auth_sandbox": bin_server.url})
        credentials = tk.ClientSecret("bin-client", "fake-bin-client-secret", environment="broker-sandbox")
        kind = tk.AsyncSession if is_async else tk.Session
        return kind(
            credentials=credentials, cassette=path, settings=settings, token_store=MemoryTokenStore(), **options
        )

    return open_one


def test_session(bin_server, path, open_session):
    """Redirects, cookies, compression, streams and uploads are replayed by a session, with one token request."""

    def story(session):
        client = session.broker
        yield client.get("/redirect/302/2", follow_redirects=True).json()["url"]
        yield list(client.get("/cookies/set?k1=v1", follow_redirects=True).history[0].cookies)
        yield client.get("/gzip").json()["count"]
        with client.stream("GET", "/stream") as response:
            yield b"".join(response.iter_bytes())
        yield client.post("/post", files={"file": ("a.csv", b"1,2")}).json()["url"]
        yield client.get("/repeats").headers.get_list("x-repeated")

    with open_session(path) as session:
        live = list(story(session))
    requested = list(bin_server.paths)
    assert requested.count("/v1/oauth2/token") == 1
    with open_session(path) as session:
        assert list(story(session)) == live
        assert session.cassette.unplayed == []
    assert bin_server.paths == requested
