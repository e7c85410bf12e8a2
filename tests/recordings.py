"""Shared helpers of tests about recordings: a server on loopback, and interactions with any content."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st

import toolkit
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import FAILURES, HEADER, Interaction, RecordedFailure, encode
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse


@pytest.fixture(autouse=True)
def _online():
    os.environ.pop("TOOLKIT_OFFLINE", None)  # without `monkeypatch`, which thousands of tests would need for this alone


@pytest.fixture
def python(tmp_path):
    """Return a function that runs Python in a new process, in the test's folder, and returns its output.

    `status` is the expected exit status; other keywords are environment variables.
    """

    def run(*arguments, status=0, **variables):
        variables = {"PYTHONPATH": str(Path(toolkit.__file__).parents[1]), "TOOLKIT_OFFLINE": "", **variables}
        process = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == status, process.stdout + process.stderr
        return process.stdout

    return run


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by path: /count counts, /gzip is compressed, /cookies repeats headers, others echo the request."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.paths.append(self.path)
        headers = {"Content-Type": "application/json"}
        content = json.dumps({"path": self.path, "body": body.decode("latin-1"), "text": "añb\x00"}).encode()
        if self.path.startswith("/count"):
            content = json.dumps({"count": len(self.server.paths)}).encode()
        elif self.path.startswith("/gzip"):
            content, headers["Content-Encoding"] = gzip.compress(content), "gzip"
        elif self.path.startswith("/binary"):
            content, headers["Content-Type"] = bytes(range(256)), "application/octet-stream"
        self.send_response(418 if self.path.startswith("/teapot") else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.path.startswith("/cookies"):
            for cookie in ("a=1", "b=2"):
                self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer  # noqa: N815 - names of http.server

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(handler):
    """Run a server on loopback; `url` is its address, and the handler adds the requested paths to `paths`."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.daemon_threads = True
        running.paths = []
        running.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def server():
    """Run a new server whose answers `Handler` describes."""
    with serve(Handler) as running:
        yield running


def make_interaction(path="/v1/accounts", body=b'{"id": 1}', *, at=0, **changes):
    """Return an interaction of a plain client, recorded `at` seconds after a fixed instant."""
    request = {"method": "GET", "uri": f"https://broker.svc.invalid{path}", **changes.pop("request", {})}
    response = {
        "status": 200,
        "reason": "OK",
        "headers": (("Content-Type", "application/json"),),
        "body": body,
        "http_version": "HTTP/1.1",
        **changes.pop("response", {}),
    }
    return Interaction(
        RecordedRequest(**request),
        RecordedResponse(**response),
        recorded_at=datetime(2026, 5, 12, 9, 30, tzinfo=UTC) + timedelta(seconds=at),
        elapsed=timedelta(microseconds=12_345),
        **changes,
    )


def as_recorded(scrubber, interaction):
    """Return an interaction as a scrubber lets it be recorded."""
    request, response = scrubber.exchange(interaction.request, interaction.response)
    return interaction._replace(request=request, response=response)


@pytest.fixture(scope="session")
def interaction():
    """Return the function `make_interaction`."""
    return make_interaction


@pytest.fixture
def old_recording(tmp_path):
    """Return the path of a cassette with an old recording."""
    path = tmp_path / "tour.yaml"
    path.write_bytes(HEADER + encode(make_interaction(body=b"old")))
    return path


def make_authorization(profile="default", environment=Environment.BROKER_SANDBOX, token=1):
    """Return the authorization of a call of a broker partner."""
    start = datetime(2026, 5, 12, 9, 29, tzinfo=UTC)
    return Authorization(
        CredentialKind.CLIENT_SECRET, environment, profile, token, start, start + timedelta(seconds=899)
    )


@pytest.fixture(scope="session")
def authorization():
    """Return the function `make_authorization`."""
    return make_authorization


def paths_in(path):
    """Return the last parts of the recorded paths in a cassette."""
    opened = contents.read(path.read_bytes(), source="")
    return [opened.interaction(number).request.uri.rpartition("/")[2] for number in range(len(opened))]


# Texts that YAML, or a reader of our layout, could misinterpret.
# fmt: off
ODD_TEXTS = st.sampled_from([
    "", " ", "\n", "\n\n", "a\n", "a\n\n", " a", "a ", "a \nb", "\ta", "a\tb", "a\r\nb", "\r", "a\nb", "a\n b\n",
    "null", "~", "yes", "ON", "123", "1e3", "0x1f", "2026-01-01", "=", "<<", "- a", "? a", "a: b", "#a", "a #b",
    "---", "...", "%YAML 1.1", "&a", "*a", "!!python/object/apply:os.getcwd []", "|", ">-", "@", "`", "'", '"',
    "- request:\n    method: GET\n", "  complete: true\n", "a\n  complete: true\n", "interactions:\n",
    "  recorded_at: '2026-01-01T00:00:00Z'\n", "x\n  token_obtained:\n    token: 7\n", "\\", "\\n", "a\\\nb",
    "\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\xa0", "\xad", "é", "\u2028", "\u202e", "\ufeff", "\ufffe", "😀",
])
# fmt: on
TEXTS = st.text(max_size=60) | ODD_TEXTS | st.lists(ODD_TEXTS | st.text(max_size=5), max_size=4).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.binary(max_size=80) | TEXTS.map(lambda text: text.encode("utf-8"))
HEADER_NAMES = st.sampled_from(["Date", "Link", "link", "Set-Cookie", "ETag", "X-Y", "null", "On", "12", "=", "~"])
HEADER_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=20) | st.sampled_from(
    ["", "a\tb", "null", "yes", "12", "'", "a: b", "a #b", "ÿ", "\x85"]
)
HEADERS = st.lists(st.tuples(HEADER_NAMES, HEADER_VALUES), max_size=6).map(tuple)
PATHS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=20)
INSTANTS = st.datetimes(datetime(2001, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis asks
AUTHORIZATIONS = st.builds(
    Authorization,
    kind=st.sampled_from(CredentialKind),
    environment=st.sampled_from(Environment),
    profile=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    token=st.none() | st.integers(1, 99),
    issued_at=st.none() | INSTANTS,
    expires_at=st.none() | INSTANTS,
)
INTERACTIONS = st.builds(
    Interaction,
    request=st.builds(
        RecordedRequest,
        method=st.sampled_from(["GET", "POST", "DELETE", "ON", "NULL", "M-SEARCH"]),
        uri=PATHS.map(lambda path: "https://broker.svc.invalid/" + path),
        headers=HEADERS,
        body=BODIES,
    ),
    response=st.builds(
        RecordedResponse,
        status=st.integers(100, 599),
        reason=TEXTS,
        headers=HEADERS,
        body=BODIES,
        http_version=st.sampled_from(["", "HTTP/1.0", "HTTP/1.1", "HTTP/2"]),
    ),
    recorded_at=st.none() | INSTANTS,
    elapsed=st.none() | st.timedeltas(timedelta(0), timedelta(days=1)),
    authorized_by=st.none() | AUTHORIZATIONS,
    token_obtained=st.none() | AUTHORIZATIONS,
    failure=st.none() | st.builds(RecordedFailure, type=st.sampled_from(sorted(FAILURES)), message=TEXTS),
    tries=st.just(1) | st.integers(1, 10**9 - 1),
    pseudonyms=st.just(()) | st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
)


@pytest.fixture(scope="session")
def interactions():
    """Return a function that returns a strategy of interactions with any content: `data.draw(interactions())`."""
    return lambda: INTERACTIONS  # hypothesis prints a function in one line, and the strategy in many


def recorded_bodies(path):
    """Return the bodies in a cassette and the bodies in its part; None in place of a missing file."""

    def bodies_in(file):
        if not file.exists():
            return None
        opened = contents.read(file.read_bytes(), source="")
        return [opened.interaction(number).response.body.decode() for number in range(len(opened))]

    return bodies_in(path), bodies_in(path.with_name(f"{path.stem}.part.yaml"))
