"""The behaviours that vcrpy's integration tests for httpx require, required of our cassettes, over a socket.

Each test has the subject of one of vcrpy's. Where our behaviour differs, the docstring says how and why. vcrpy's
filters, persisters and serializers are left out, because we have rules and a single format instead; content, repeated
headers, compressed bodies, other parameters and redirects that are not followed, because `tests/cassettes` has these.
"""

from __future__ import annotations

import asyncio
import http.server
import json
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from recordings import serve

import toolkit as tk
from toolkit.core.errors import CassetteMiss


class Bin(http.server.BaseHTTPRequestHandler):
    """Answers as httpbin does, as far as these tests need it."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.body()
        self.server.paths.append(self.path)
        cookies = dict(pair.split("=", 1) for pair in (self.headers["Cookie"] or "").split("; ") if pair)
        content = json.dumps({"url": self.path, "body": body.decode("latin-1"), "cookies": cookies}).encode()
        status, headers = self.special()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *headers):
            self.send_header(name, value)
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
        return 200, []

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
    """An httpx client of either kind with the same interface.

    Args:
        is_async: which kind.
        cassette: what it records to or replays.
        options: of the client, and `inner`, the transport below the cassette.
    """

    def __init__(self, is_async, cassette, *, inner=None, **options):
        self._runner = asyncio.Runner() if is_async else None
        self.client = (httpx.AsyncClient if is_async else httpx.Client)(transport=cassette.transport(inner), **options)

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


@pytest.fixture(params=[True, False], ids=["async", "sync"])
def is_async(request):
    """Let the test run with a client of each kind in turn."""
    return request.param


@pytest.fixture
def make(is_async):
    """Return a function that makes a client with a cassette."""
    return lambda cassette, **options: AnyClient(is_async, cassette, **options)


def twice(make, path, url, method="GET", *, request=None, **options):
    """Record a call and replay it; return both responses and the cassette that replayed."""
    with make(tk.Cassette(path), **options) as call:
        live = call(method, url, **(request or {}))
    cassette = tk.Cassette(path)
    with make(cassette, **{name: value for name, value in options.items() if name != "inner"}) as call:
        return live, call(method, url, **(request or {})), cassette


@pytest.mark.parametrize("status", [302, 303, 308])
def test_redirects(make, bin_server, path, status):
    """Each step of relative redirects is recorded and replayed, and ends in the same request."""
    live, replayed, cassette = twice(make, path, f"{bin_server.url}/redirect/{status}/2", follow_redirects=True)
    for each in (live, replayed):
        assert [response.status_code for response in each.history] == [status] * 2
    assert len(cassette) == cassette.play_count == len(bin_server.paths) == 3
    assert replayed.request.url == live.request.url
    assert replayed.request.method == live.request.method
    assert replayed.request.headers.raw == live.request.headers.raw


def test_proxy(make, is_async, bin_server, path):
    """A call through a proxy is recorded under the requested URL; its replay needs no proxy."""
    proxied = (httpx.AsyncHTTPTransport if is_async else httpx.HTTPTransport)(proxy=bin_server.url)
    url = "http://service.svc.invalid/headers"
    live, replayed, _ = twice(make, path, url, inner=proxied)
    assert bin_server.paths == [url]
    assert replayed.request.url == live.request.url == url
    assert replayed.json() == live.json()


def test_cookies(make, bin_server, path):
    """A replay sets cookies under their names, also along a redirect.

    Their values are placeholders, because the value of a cookie is a credential; vcrpy replays the values.
    """
    url = f"{bin_server.url}/cookies/set?k1=v1&k2=v2"
    for first, second in (("v1", "v2"), ("<COOKIE>", "<COOKIE>")):
        with make(tk.Cassette(path), follow_redirects=True) as call:
            response = call("GET", url)
            assert list(response.history[0].cookies) == ["k1", "k2"]
            assert list(response.cookies) == []
            assert dict(call.client.cookies) == {"k1": first, "k2": second}
    assert len(bin_server.paths) == 2


UPLOADS = {
    "form": {"data": {"a": "1", "b": "two words"}},
    "JSON": {"json": {"a": [1, {"b": None}]}},
    "file": {"files": {"file": ("a.csv", b"1,2\n\xff\x00", "text/csv")}, "data": {"a": "1"}},
    "bytes": {"content": bytes(range(256))},
}


@pytest.mark.parametrize("kind", UPLOADS)
def test_uploads(make, bin_server, path, kind):
    """Bodies are matched, apart from the random boundary of a form; vcrpy ignores them by default."""
    live, replayed, _ = twice(make, path, f"{bin_server.url}/post", "POST", request=UPLOADS[kind])
    assert replayed.json() == live.json()
    with make(tk.Cassette(path)) as call, pytest.raises(CassetteMiss):
        call("POST", f"{bin_server.url}/post", content=b"something else")


def test_streamed_upload(make, is_async, bin_server, path):
    """A body that can be read only once is sent, recorded and matched like any other."""

    async def pieces():
        yield b"one "
        yield b"two"

    for _ in range(2):
        with make(tk.Cassette(path)) as call:
            response = call("PUT", f"{bin_server.url}/put", content=pieces() if is_async else iter([b"one ", b"two"]))
        assert response.json()["body"] == "one two"
    assert bin_server.paths == ["/put"]
