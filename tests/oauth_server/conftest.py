"""A certified OAuth server, and a broker that remembers the tokens it receives.

`npm install --prefix tests/oauth_server` installs the server. Set TOOLKIT_TESTS_OAUTH_SERVER if its `node_modules`
is in another folder. Without the server the tests are skipped, or fail if TOOLKIT_TESTS_NEED_OAUTH_SERVER is set.
"""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from oidc_provider import HERE, OAuthServer

import toolkit as tk
from toolkit.core.clock import ManualClock


@dataclass
class Broker:
    """Answers every call with an empty list.

    Attributes:
        bearers: the token of each call.
    """

    address: str = ""
    bearers: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def server():
    """The server, one for all tests."""
    installed = Path(os.environ.get("TOOLKIT_TESTS_OAUTH_SERVER") or HERE)
    node = shutil.which("node")
    if node is None or not (installed / "node_modules" / "oidc-provider").is_dir():
        how = "install Node.js, then npm install --prefix tests/oauth_server"
        assert not os.environ.get("TOOLKIT_TESTS_NEED_OAUTH_SERVER"), how
        pytest.skip(f"no OAuth server: {how}")
    running = OAuthServer(node, installed)
    yield running
    running.close()


@pytest.fixture
def broker():
    """A broker on loopback."""
    broker = Broker()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            broker.bearers.append(self.headers["Authorization"].removeprefix("Bearer "))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        broker.address = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield broker
        listening.shutdown()
        thread.join()


@pytest.fixture
def open_session(server, broker, monkeypatch):
    """Return a function that opens a session with its own tokens and a clock that is wrong by `off`."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    settings = tk.Settings({"auth_sandbox": server.issuer, "broker_sandbox": broker.address})
    opened = []

    def open_session(credentials, *, off=timedelta(0), **options):
        # A session with a clock of its own shares no tokens with the other sessions of the process.
        clock = ManualClock(datetime.now(UTC) + off)
        opened.append(tk.Session(credentials=credentials, settings=settings, clock=clock, **options))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()
    assert server.other_refusals() == [], "the server refused more than the test expected"


@pytest.fixture
def client_key(server):
    """Return a function that makes credentials with a key, for a client named like its algorithm."""

    def make(client_id="ES256", *, key=None, **options):
        given = {"environment": "broker-sandbox", "key_id": f"{client_id}-1", "algorithm": client_id, **options}
        return tk.ClientKey(client_id, key or server.keys[client_id], **given)

    return make


@pytest.fixture
def client_secret(server):
    """Return a function that makes credentials of a client with a secret."""

    def make(client_id="secret", secret=None, **options):
        return tk.ClientSecret(client_id, secret or server.client_secret, environment="broker-sandbox", **options)

    return make
