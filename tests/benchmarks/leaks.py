"""How many of 20 planted secrets are in a recording's file afterwards, in any form.

Every recorder records the same twenty calls, each with a secret of its own. Ours has no configuration; of three of the
secrets, which stand where only a value can tell, it knows as a session knows its credentials. Beside it stock vcrpy,
vcrpy with all its filters set, and cassetter where it is installed.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.peers import version
from tests.canaries import found_in, new, planted
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

# What a call holds, by where: a request, and what the reply says. {} is the secret.
PLACES: dict[str, dict[str, Any]] = {
    "bearer token": {"headers": {"Authorization": "Bearer {}"}},
    "key header": {"headers": {"SVC-API-SECRET-KEY": "{}"}},
    "cookie": {"headers": {"Cookie": "session={}"}},
    "query": {"path": "/?api_key={}"},
    "path": {"path": "/keys/{}/orders"},
    "form": {"method": "POST", "data": {"client_secret": "{}"}},
    "form of a PUT": {"method": "PUT", "data": {"client_secret": "{}"}},
    "JSON": {"method": "POST", "json": {"client_secret": "{}"}},
    "JSON, deep": {"method": "POST", "json": {"a": [{"b": {"password": "{}"}}]}},
    "JSON with a charset": {
        "method": "POST",
        "content": '{"client_secret": "{}"}',
        "headers": {"Content-Type": "application/json; charset=utf-8"},
    },
    "multipart": {"method": "POST", "files": {"password": (None, "{}")}},
    "token reply": {"reply": '{"access_token": "{}"}'},
    "token reply, gzip": {"reply": '{"access_token": "{}"}', "coding": "gzip"},
    "echo in a reply": {"reply": '{"you_sent": "{}"}'},
    "echo in base64": {"reply": '{"you_sent": "{base64}"}'},
    "JSON in JSON": {"reply": '{"a": "{\\\\"access_token\\\\": \\\\"{}\\\\"}"}'},
    "Set-Cookie": {"reply_headers": {"Set-Cookie": "session={}; Path=/"}},
    "Location": {"reply_headers": {"Location": "https://h.example/cb#access_token={}"}},
    "XML reply": {"reply": "<r><access_token>{}</access_token></r>"},
    "event stream": {"reply": 'data: {"access_token": "{}"}\n\n'},
}
_BY_VALUE = {"path", "echo in a reply", "echo in base64"}  # only a session's own credentials can be known there
_NAMES = ["api_key", "client_secret", "password", "access_token"]


class Answering(BaseHTTPRequestHandler):
    """Says what `reply` of its server holds."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        """Reply to any method."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = self.server.place  # type: ignore[attr-defined]
        body = place.get("reply", "{}").encode()
        if place.get("coding"):
            body = gzip.compress(body)
        self.send_response(200)
        for name, value in place.get("reply_headers", {}).items():
            self.send_header(name, value)
        if place.get("coding"):
            self.send_header("Content-Encoding", place["coding"])
        self.send_header("Content-Type", "text/xml" if body[:1] == b"<" else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - names that http.server looks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(place: dict[str, Any]) -> Iterator[str]:
    """A server on loopback that replies as a place says."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.place = place  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def call(client: httpx.Client, address: str, place: dict[str, Any]) -> None:
    """Make the call of a place."""
    fields = {name: place[name] for name in ("headers", "data", "json", "content", "files") if name in place}
    client.request(place.get("method", "GET"), address + place.get("path", "/"), **fields)


def ours(path: Path, address: str, place: dict[str, Any], secret: str, *, is_credential: bool) -> None:
    """Ours, knowing the session's own credentials and nothing else."""
    known = KnownSecrets([("API_SECRET_KEY", Secret(secret))] if is_credential else [])
    with tk.Cassette(path, "all", scrubber=Scrubber(known)) as cassette:
        call(httpx.Client(transport=cassette.transport()), address, place)


def vcrpy(**options: Any) -> Callable[..., None]:
    """vcrpy, with these options."""

    def run(path: Path, address: str, place: dict[str, Any], secret: str, *, is_credential: bool) -> None:
        import vcr

        with vcr.use_cassette(str(path), record_mode="all", **options), httpx.Client() as client:
            call(client, address, place)

    return run


def cassetter(path: Path, address: str, place: dict[str, Any], secret: str, *, is_credential: bool) -> None:
    """cassetter, as it comes; it scrubs by default."""
    import cassetter as package

    with package.use_cassette(str(path), record_mode="all", ignore_localhost=False), httpx.Client() as client:
        call(client, address, place)


def survivors(record: Callable[..., None]) -> list[str]:
    """The places whose secret is in the file."""
    left = []
    for name, place in PLACES.items():
        secret = new()
        filled = planted(place, secret)
        with tempfile.TemporaryDirectory() as folder, served(filled) as address:
            path = Path(folder) / "a.yaml"
            record(path, address, filled, secret, is_credential=name in _BY_VALUE)
            if found_in(path, secret):
                left.append(name)
    return left


def main() -> None:
    """Print the figures."""
    filters = {
        "filter_headers": ["authorization", "cookie", "set-cookie", "svc-api-secret-key"],
        "filter_query_parameters": _NAMES,
        "filter_post_data_parameters": _NAMES,
        "decode_compressed_response": True,
    }
    recorders: dict[str, Callable[..., None]] = {"ours": ours, "vcrpy": vcrpy(), "vcrpy, all filters": vcrpy(**filters)}
    if version("cassetter") is None:
        print("cassetter is not installed, so it is left out.")
    else:
        recorders["cassetter"] = cassetter
    for name, record in recorders.items():
        left = survivors(record)
        print(f"{name:<20} {len(left):>2} of {len(PLACES)} left{': ' + ', '.join(left) if left else ''}")
    sys.exit(bool(survivors(ours)))


if __name__ == "__main__":
    main()
