"""Options and fixtures of all tests.

The suite is organised like this:

- `tests/<room>/test_<module>.py` tests `toolkit/<room>/<module>.py`; base names are unique in the whole of `tests/`.
- Tests of the project as a whole stand beside this file: floors, public names, README, files of the notebooks.
- The gate's folders (`GATE_FOLDERS`) start browsers, Jupyter kernels, Node.js, clusters or interpreters, draw charts,
  or repeat at length what other tests do in short. They need the extra `gate` and run only with `pytest --gate`.
- All other tests need the extra `tests` and nothing else: no network, no kernel, no waiting.
- `canaries` plants secrets and looks for them in every form; `recordings` has a server on loopback, and interactions
  and bodies of any content; `notebook_files` writes notebooks; `key_forms` has keys in every form that people have;
  `bodies` notes how bodies are read, and `bombs` has data that becomes very large when it is decompressed;
  `pages` reads the HTML of rich displays; `forgetting` empties the process's register of secrets; `practice_process`
  runs a practice service in a process of its own, for the benchmarks; `plugin_projects` writes small
  projects whose tests use the pytest plugin; `stock_recordings` has everything that vcrpy's format can hold;
  `memory_keyring` is a keyring that works.
- `documentation` reads every page; `documented_blocks` says what its blocks of code are, and which of them run.
- `peers` asks of our recordings what vcrpy and pytest-recording ask of theirs; `processes` has processes that exit
  or are killed, and commands at a terminal; `compatibility` reads files that an earlier version wrote.
- hypothesis tries 10 examples. With `--hypothesis-profile=full`, as in the gate, it tries 60 in the rooms through
  which secrets and calls go (`ROOMS_OF_CALLS`), and 20 in the others.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import json
import os
import secrets
import sysconfig
from pathlib import Path

import httpx
import pytest
from bodies import body_class
from forgetting import forget_everything
from hypothesis import settings as hypothesis_settings

from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.core.document import ADDRESS_NAMES, TOKEN_PATH
from toolkit.core.ledger import SystemClock
from toolkit.local.settings import Settings

pytest_plugins = ["recordings"]

HERE = Path(__file__).parent
# As in an activated environment, so that messages name the toolkit without its path.
os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
NUMBERS = itertools.count()  # of the folders that `caches` gives
GATE_FOLDERS = [
    HERE / name
    for name in (
        "benchmarks",
        "browser",
        "cluster",
        "compatibility",
        "documentation/running",
        "documentation/site",
        "engines",
        "kernels",
        "notebooks",
        "oauth_server",
        "peers",
        "pipelines",
        "processes",
        "publishing",
        "pytest_plugin",
        "tables/charts",
    )
]

ROOMS_OF_CALLS = ("auth", "cassettes", "scrubbing", "session", "sweeps", "transport")

# No deadlines, since a slow machine is not a failure. If the variable CI is set, hypothesis derandomizes both profiles.
hypothesis_settings.register_profile("quick", deadline=None, max_examples=10)
hypothesis_settings.register_profile("full", deadline=None, max_examples=60)
hypothesis_settings.register_profile("full in other rooms", deadline=None, max_examples=20)
hypothesis_settings.load_profile("quick")  # the option --hypothesis-profile is applied later, and wins


def pytest_addoption(parser):
    parser.addoption("--gate", action="store_true", help="also run the tests that need the extra `gate`")


def pytest_configure(config):
    """Refuse to collect a folder of the gate by name without `--gate`."""
    config.addinivalue_line("markers", "gate: tests in the folders of the gate; set by the folder, not by hand")
    paths = [Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args]
    folders = [
        folder.relative_to(HERE) for folder in GATE_FOLDERS if any(path.is_relative_to(folder) for path in paths)
    ]
    if folders and not config.getoption("--gate"):
        names = ", ".join(f"tests/{name}" for name in folders)
        raise pytest.UsageError(f"These tests need the extra `gate` and the option --gate: {names}.")


def pytest_ignore_collect(collection_path, config):
    """Leave out the folders of the gate unless `--gate` is given."""
    return True if collection_path in GATE_FOLDERS and not config.getoption("--gate") else None


def pytest_collectstart(collector):
    """Load the hypothesis profile of the room before a module of tests is imported, if the full budget is asked for."""
    if isinstance(collector, pytest.Module) and collector.config.getoption("--hypothesis-profile") == "full":
        room = collector.path.relative_to(HERE).parts[0]
        hypothesis_settings.load_profile("full" if room in ROOMS_OF_CALLS else "full in other rooms")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items):
    """Mark the tests of the gate's folders, so that `-m gate` selects them."""
    for path, items_of_file in itertools.groupby(items, key=lambda item: item.path):
        if any(path.is_relative_to(folder) for folder in GATE_FOLDERS):
            for item in items_of_file:
                item.add_marker("gate")


def pytest_collection_finish():
    """Keep the collected tests out of garbage collection: there are thousands, and they stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_known():
    """Let the test begin in a process that knows no secret."""
    forget_everything()


@pytest.fixture(autouse=True)
def caches(tmp_path_factory):
    """Give the test cache and configuration folders of its own, which processes that it starts use too.

    They do not exist yet. No other fixture is needed for them, since thousands of tests need nothing else.
    """
    folder, number = tmp_path_factory.getbasetemp(), next(NUMBERS)
    os.environ["XDG_CACHE_HOME"] = str(folder / f"caches-{number}")
    os.environ["XDG_CONFIG_HOME"] = str(folder / f"config-{number}")
    return folder / f"caches-{number}" / "service-access-toolkit"


@pytest.fixture
def only_new_garbage():
    """Let gc.collect() look only at objects that the test makes; all earlier ones are kept out of it from here on."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_pauses(monkeypatch):
    """Let a session that uses the machine's clock repeat calls without a pause."""
    monkeypatch.setattr(SystemClock, "sleep", lambda self, seconds: None, raising=False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Give the test a home folder of its own."""
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    return folder


@pytest.fixture
def project(home):
    """Return an empty project folder, which lies in the home folder."""
    folder = home / "project"
    folder.mkdir()
    return folder


class FakeService(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The service within this process, as a transport for sync and async sessions.

    Bodies of requests are consumed, as by a socket; bodies of responses are unread.

    Attributes:
        requests: all requests that were sent.
        bodies: the bodies of these requests.
        issued: access tokens, in the order in which they were issued.
        expires_in: the lifetime in token responses, in seconds.
        answer: a function of the request that returns the response to a call. A test may replace it; it may raise,
            or be async.
        answer_token: the same for token requests.
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
        return httpx.Response(status, headers={**length, **(headers or {})}, stream=body_class(httpx)([content]))

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
    """Return a service within this process, to be given to a session as `transport`."""
    return FakeService()


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Return settings with all eight addresses and a cassettes folder of the test's own; the test is online."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    addresses = {name: f"https://{name.replace('_', '-')}.example.com" for name in ADDRESS_NAMES}
    return Settings(addresses, cassettes=tmp_path / "cassettes", project=tmp_path)


@pytest.fixture
def make_credentials():
    """Return a function that makes credentials of an environment.

    Its `kind` is "headers" or "basic" for account holders, and "secret" or "key" for broker partners.
    """

    def make(environment, kind=None, **changes):
        if environment in ("live", "paper"):
            options = {"scheme": kind or "headers", **changes}
            return KeyPair(secrets.token_hex(10), secrets.token_urlsafe(30), environment=environment, **options)
        if kind == "key":
            from cryptography.hazmat.primitives.asymmetric import ec

            return ClientKey("client-1", ec.generate_private_key(ec.SECP256R1()), environment=environment, **changes)
        return ClientSecret("client-1", secrets.token_urlsafe(30), environment=environment, **changes)

    return make
