"""A certified OAuth server, which `npm install --prefix tests/oauth_server` installs.

Set TOOLKIT_TESTS_OAUTH_SERVER if its `node_modules` is in another folder. Without the server the tests are skipped, or
fail if TOOLKIT_TESTS_NEED_OAUTH_SERVER is set.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from manual_clock import ManualClock
from oidc_provider import HERE, Broker, OAuthServer

import toolkit as tk


@pytest.fixture(scope="module")
def server():
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
    return Broker()


@pytest.fixture
def open_session(server, broker, monkeypatch):
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    settings = tk.Settings({"auth_sandbox": server.issuer, "broker_sandbox": "https://broker.example.com"})
    opened = []

    def open_session(credentials, *, off=timedelta(0), **options):
        # A session with a clock of its own shares no tokens with the other sessions of the process.
        clock = ManualClock(datetime.now(UTC) + off)
        options = {"settings": settings, "clock": clock, "transport": broker, **options}
        opened.append(tk.Session(credentials=credentials, **options))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()
    assert server.other_refusals() == [], "the server refused more than the test expected"


@pytest.fixture
def client_key(server):
    def make(client_id="ES256", **options):
        given = {"environment": "broker-sandbox", "key_id": f"{client_id}-1", "algorithm": client_id, **options}
        return tk.ClientKey(client_id, server.keys[client_id], **given)

    return make


@pytest.fixture
def client_secret(server):
    def make(client_id="secret", secret=None, **options):
        return tk.ClientSecret(client_id, secret or server.client_secret, environment="broker-sandbox", **options)

    return make
