from __future__ import annotations

import gc
import inspect
import json
import secrets
from pathlib import Path

import httpx
import pytest
from hypothesis import settings as hypothesis_settings

from toolkit.auth.credentials import ClientKey, ClientSecret, KeyPair
from toolkit.core.document import ADDRESS_NAMES, TOKEN_PATH
from toolkit.local.settings import Settings

pytest_plugins = ["recordings"]

HERE = Path(__file__).parent

# A slow machine is not a failure: no test of ours is timed, and hypothesis's deadline is a timer.
hypothesis_settings.register_profile("quick", deadline=None, max_examples=20)
hypothesis_settings.register_profile("full", deadline=None, max_examples=100)
hypothesis_settings.load_profile("quick")  # `--hypothesis-profile=full` for the full budget

# Folders whose tests need more than the extra `tests`: a browser, Jupyter kernels, Node.js.
GATE_FOLDERS = {"browser", "kernels", "notebooks", "oauth_server"}


def pytest_addoption(parser):
    parser.addoption("--gate", action="store_true", help="also run the tests that need the extra `gate`")


def pytest_ignore_collect(collection_path, config):
    """Leave out the folders of the gate unless they are asked for."""
    is_for_gate = collection_path.parent == HERE and collection_path.name in GATE_FOLDERS
    return True if is_for_gate and not config.getoption("--gate") else None


def pytest_collection_finish():
    """Thousands of tests stay to the end: no collection of garbage is to look through them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    """The user's cache folder during a test, in processes of its own too."""
    folder = tmp_path.with_name(f"{tmp_path.name}-caches")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "service-access-toolkit"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder of the test's own; projects are made in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    return folder


@pytest.fixture
def project(home):
    """A project folder; the test puts its settings there."""
    folder = home / "project"
    folder.mkdir()
    return folder


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in pieces that tells how many were taken, and whether it was closed."""

    def __init__(self, pieces):
        self.pieces = pieces
        self.taken = 0
        self.closed = False

    def __iter__(self):
        for piece in self.pieces:
            self.taken += 1
            yield piece

    async def __aiter__(self):
        for piece in self:
            yield piece

    def close(self):
        self.closed = True

    async def aclose(self):
        self.close()


class FakeService(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The service within this process, below the toolkit, as a transport of both kinds.

    Bodies of requests are consumed as a socket would; bodies of answers are unread.

    Attributes:
        requests: as they went out, and `bodies` theirs.
        issued: access tokens handed out.
        expires_in: what a token reply says.
        answer: what answers a call, and `answer_token` a token request; a test puts its own there,
            which may raise, or be async.
        closed: whether the transport was closed.
    """

    def __init__(self):
        self.requests, self.bodies, self.issued = [], [], []
        self.expires_in = 890
        self.answer = lambda request: self.reply({})
        self.answer_token = lambda request: self.token_reply()
        self.closed = False

    @property
    def token_requests(self):
        return [request for request in self.requests if request.url.path.endswith(TOKEN_PATH)]

    @property
    def calls(self):
        return [request for request in self.requests if not request.url.path.endswith(TOKEN_PATH)]

    @staticmethod
    def reply(value, status=200, headers=None):
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        length = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        return httpx.Response(status, headers={**length, **(headers or {})}, stream=Body([content]))

    def token_reply(self):
        self.issued.append(secrets.token_urlsafe(24))
        fields = {"access_token": self.issued[-1], "expires_in": self.expires_in, "token_type": "Bearer"}
        return self.reply(fields)

    def handle_request(self, request):
        return self._respond(request, b"".join(request.stream))

    async def handle_async_request(self, request):
        response = self._respond(request, b"".join([piece async for piece in request.stream]))
        return await response if inspect.isawaitable(response) else response

    def _respond(self, request, body):
        self.requests.append(request)
        self.bodies.append(body)
        is_token_request = request.url.path.endswith(TOKEN_PATH)
        return self.answer_token(request) if is_token_request else self.answer(request)

    def close(self):
        self.closed = True

    async def aclose(self):
        self.close()


@pytest.fixture
def service():
    """The service within this process; hand it to a session as `transport`."""
    return FakeService()


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Settings with all eight addresses, and cassettes in a folder of the test's own; online."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    addresses = {name: f"https://{name.replace('_', '-')}.example.com" for name in ADDRESS_NAMES}
    return Settings(addresses, cassettes=tmp_path / "cassettes", project=tmp_path)


@pytest.fixture
def make_credentials():
    """Makes credentials of an environment: `kind` is "headers" or "basic", "secret" or "key"."""

    def make(environment, kind=None, **changes):
        if environment in ("live", "paper"):
            given = {"scheme": kind or "headers", **changes}
            return KeyPair(secrets.token_hex(10), secrets.token_urlsafe(30), environment=environment, **given)
        if kind == "key":
            from cryptography.hazmat.primitives.asymmetric import ec

            return ClientKey("client-1", ec.generate_private_key(ec.SECP256R1()), environment=environment, **changes)
        return ClientSecret("client-1", secrets.token_urlsafe(30), environment=environment, **changes)

    return make
