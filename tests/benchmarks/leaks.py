"""Count how many of 20 planted secrets are in a recording's file, in any form.

Every recorder records the same twenty calls, each with a secret of its own. The toolkit is not configured. Three of the
secrets stand where only their value gives them away; it knows those as a session knows its own credentials. Stock
vcrpy, and vcrpy with all its filters, record the same calls.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.measuring import Table
from tests.benchmarks.peers import version
from tests.canaries import found_in, new, planted
from tests.recordings import serve
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

# Calls by the place of the secret: parts of the request and of the response. {} is the secret.
CALLS: dict[str, dict[str, Any]] = {
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
    "token reply, gzip": {"reply": '{"access_token": "{}"}', "encoding": "gzip"},
    "echo in a reply": {"reply": '{"you_sent": "{}"}'},
    "echo in base64": {"reply": '{"you_sent": "{base64}"}'},
    "JSON in JSON": {"reply": '{"a": "{\\\\"access_token\\\\": \\\\"{}\\\\"}"}'},
    "Set-Cookie": {"reply_headers": {"Set-Cookie": "session={}; Path=/"}},
    "Location": {"reply_headers": {"Location": "https://h.example/cb#access_token={}"}},
    "XML reply": {"reply": "<r><access_token>{}</access_token></r>"},
    "event stream": {"reply": 'data: {"access_token": "{}"}\n\n'},
}
KNOWN_BY_VALUE = {"path", "echo in a reply", "echo in base64"}  # no name marks these as secrets
NAMES = ["api_key", "client_secret", "password", "access_token"]


class Handler(BaseHTTPRequestHandler):
    """Responds as `call` of its server says."""

    protocol_version = "HTTP/1.1"

    def respond(self) -> None:
        """Respond to a request of any method."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        call = self.server.call  # type: ignore[attr-defined]
        body = call.get("reply", "{}").encode()
        if "encoding" in call:
            body = gzip.compress(body)
        self.send_response(200)
        for name, value in call.get("reply_headers", {}).items():
            self.send_header(name, value)
        if "encoding" in call:
            self.send_header("Content-Encoding", call["encoding"])
        self.send_header("Content-Type", "text/xml" if body[:1] == b"<" else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = respond  # noqa: N815 - names that http.server looks for

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def make_call(client: httpx.Client, address: str, call: dict[str, Any]) -> None:
    """Make a call."""
    arguments = {name: call[name] for name in ("headers", "data", "json", "content", "files") if name in call}
    client.request(call.get("method", "GET"), address + call.get("path", "/"), **arguments)


def record_with_toolkit(path: Path, address: str, call: dict[str, Any], credential: str | None) -> None:
    """Record a call with the toolkit, which knows the session's own credential and nothing else."""
    known = KnownSecrets([("API_SECRET_KEY", Secret(credential))] if credential else [])
    with tk.Cassette(path, "all", scrubber=Scrubber(known)) as cassette:
        make_call(httpx.Client(transport=cassette.transport()), address, call)


def vcrpy_recorder(**options: Any) -> Callable[..., None]:
    """Return a function that records a call with vcrpy and these options."""

    def record(path: Path, address: str, call: dict[str, Any], _: str | None) -> None:
        import vcr

        with vcr.use_cassette(str(path), record_mode="all", **options), httpx.Client() as client:
            make_call(client, address, call)

    return record


def leaks(record: Callable[..., None]) -> list[str]:
    """Record all calls, and return the places from which a secret reached the file."""
    places = []
    for place, template in CALLS.items():
        secret = new()
        call = planted(template, secret)
        with tempfile.TemporaryDirectory() as folder, serve(Handler) as server:
            server.call = call
            path = Path(folder) / "recorded.yaml"
            record(path, server.url, call, secret if place in KNOWN_BY_VALUE else None)
            if found_in(path, secret):
                places.append(place)
    return places


def main() -> None:
    """Count the leaks of each recorder; exit with status 1 if the toolkit has one."""
    filters = {
        "filter_headers": ["authorization", "cookie", "set-cookie", "svc-api-secret-key"],
        "filter_query_parameters": NAMES,
        "filter_post_data_parameters": NAMES,
        "decode_compressed_response": True,
    }
    recorders: dict[str, Callable[..., None]] = {
        "toolkit": record_with_toolkit,
        f"vcrpy {version('vcrpy')}": vcrpy_recorder(),
        f"vcrpy {version('vcrpy')}, all filters": vcrpy_recorder(**filters),
    }
    places = {name: leaks(record) for name, record in recorders.items()}
    table = Table("recorder", f"secrets of {len(CALLS)} in the file", label_width=28)
    for name, leaked in places.items():
        table.print_row(name, str(len(leaked)))
        if leaked:
            print(f"    {'; '.join(leaked)}")
    sys.exit(bool(places["toolkit"]))


if __name__ == "__main__":
    main()
