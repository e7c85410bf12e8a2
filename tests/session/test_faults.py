"""Faults of the service: what a session raises, which faults it does not notice, and which tokens it keeps.

Each fault meets one kind of credentials in a sync or async session, in turn: how an endpoint fails does not depend
on who calls.
"""

from __future__ import annotations

import asyncio
import itertools
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from canaries import secrets_of
from manual_clock import ManualClock
from session_calls import finished

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore

KINDS = ["paper", "sandbox-secret", "live", "broker-key", "paper-basic", "broker-secret", "sandbox-key"]
TOKEN_KINDS = ["broker-secret", "sandbox-key", "sandbox-secret", "broker-key"]


class HastyClock(ManualClock):
    """A clock whose pauses are over at once; the time of day is that of the service."""

    def now(self):
        return datetime.now(UTC)


@dataclass
class Fault:
    """A fault, and its consequences.

    Attributes:
        injected: arguments for the practice service.
        error: what `accounts()` raises while the fault lasts.
        message: pattern of the first line of the error.
        passes: whether a single fault is not noticed.
        requests: requests to the failing endpoint for one call while the fault lasts.
        is_remembered: whether the next call fails without a token request.
    """

    injected: dict[str, Any]
    error: type[tk.ToolkitError]
    message: str
    passes: bool = False
    requests: int = 1
    is_remembered: bool = False

    def __str__(self):
        return " ".join(map(str, self.injected.values()))


def refused(message, **injected):
    return Fault(injected, tk.TokenRefused, message)


def passing(message, **injected):
    return Fault(injected, tk.TokenRefused, f"{message}.*4 tries", passes=True, requests=4)


def remembered(message, **injected):
    return Fault(injected, tk.TokenRefused, message, is_remembered=True)


TOKEN_FAULTS = [
    refused("refused the credentials.*400", status=400, body="json"),
    refused("refused the credentials.*401", status=401, body="malformed"),
    refused("refused the credentials.*403", status=403, body="html"),
    refused("gave no token: status 302", status=302),
    remembered("invalid_client", status=400, error="invalid_client"),
    remembered("unauthorized_client", status=400, error="unauthorized_client"),
    remembered("invalid_scope", status=400, error="invalid_scope"),
    remembered("status 429", status=429, retry_after=3600),
    passing("temporarily_unavailable", status=400, error="temporarily_unavailable"),
    passing("gave no token: status 429", status=429, body="json"),
    passing("gave no token: status 500", status=500, body="html"),
    passing("gave no token: status 503", status=503, body="json"),
    passing("status 429", status=429, retry_after=5),
    Fault({"dropped": True}, tk.Unreachable, "dropped.*4 tries", passes=True, requests=4),
    Fault({"status": 200, "body": "json"}, tk.TokenResponseInvalid, ""),
    Fault({"status": 200, "body": "malformed"}, tk.TokenResponseInvalid, ""),
    Fault({"status": 200, "body": "html"}, tk.TokenResponseInvalid, ""),
]
CALL_FAULTS = [
    *(
        Fault({"status": status, "body": body}, tk.ServiceError, str(status), requests=4 if status in (429, 503) else 1)
        for status, body in zip((400, 403, 404, 429, 500, 503), itertools.cycle(["json", "malformed", "html"]))
    ),
    Fault({"status": 503, "retry_after": 3600}, tk.ServiceError, "503"),
    Fault({"dropped": True}, tk.Unreachable, "dropped", requests=4),
    Fault({"status": 200, "body": "malformed"}, tk.TabulationError, ""),
    Fault({"status": 200, "body": "html"}, tk.TabulationError, ""),
]
UNAUTHORIZED = Fault({"status": 401}, tk.ServiceError, "401")


def in_turn(faults, kinds):
    """Each fault with one kind of credentials, sync or async in turn."""
    params = []
    for number, (fault, kind) in enumerate(zip(faults, itertools.cycle(kinds), strict=False)):
        is_async = (number + number // len(kinds)) % 2 == 1
        params.append(pytest.param(fault, kind, is_async, id=f"{fault}-{kind}-{'async' if is_async else 'sync'}"))
    return pytest.mark.parametrize(("fault", "kind", "is_async"), params)


EACH_TOKEN_KIND = pytest.mark.parametrize(("kind", "is_async"), list(zip(TOKEN_KINDS, itertools.cycle([False, True]))))


@pytest.fixture(scope="module")
def served():
    with tk.practice(accounts=2) as service:
        yield service


@pytest.fixture(autouse=True)
def no_faults(served):
    served.faults.clear()
    served.stats.reset()
    yield
    served.faults.clear()


class Calls:
    """A session whose calls are made on one event loop if it is async."""

    def __init__(self, served, kind, *, is_async):
        self.clock = HastyClock()
        self.credentials = served.credentials[kind.removesuffix("-basic")]
        if kind.endswith("-basic"):
            pair = self.credentials.key_id, self.credentials.secret_key
            self.credentials = tk.KeyPair(*pair, environment="paper", scheme="basic")
        self.count = 2 if kind in TOKEN_KINDS else 1  # accounts
        options = {"settings": served.settings, "clock": self.clock, "token_store": MemoryTokenStore(), "timeout": 30}
        self.session = (tk.AsyncSession if is_async else tk.Session)(credentials=self.credentials, **options)
        self.runner = asyncio.Runner() if is_async else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.finish(self.session.close())
        if self.runner:
            self.runner.close()

    def finish(self, value):
        """Return a value, or what an awaitable gives."""
        return finished(value, self.runner and self.runner.run)

    def accounts(self):
        return self.finish(self.session.accounts())

    def fail(self, fault):
        """Check that `accounts()` fails as the fault says, with advice and without secrets."""
        with pytest.raises(fault.error, match=fault.message or None) as caught:
            self.accounts()
        error = caught.value
        assert error.next_step
        text = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
        secrets = secrets_of(self.credentials)
        if self.session.token:
            secrets.append(self.session.token.access_token.reveal())
        assert [secret for secret in secrets if secret in text] == []


@in_turn(TOKEN_FAULTS, TOKEN_KINDS)
def test_token_fault(served, fault, kind, is_async):
    """A failing token endpoint gives an error after few tries; when it recovers, the next call succeeds."""
    with Calls(served, kind, is_async=is_async) as calls:
        served.faults.inject("token", times=None, **fault.injected)
        calls.fail(fault)
        assert served.stats.token_requests == fault.requests
        assert served.stats.calls == 0
        calls.fail(fault)
        assert served.stats.token_requests <= 2 * fault.requests
        if fault.is_remembered:
            assert served.stats.token_requests == fault.requests
        served.faults.clear()
        calls.clock.sleep(61)
        assert len(calls.accounts()) == calls.count


@in_turn(CALL_FAULTS, KINDS)
def test_call_fault(served, fault, kind, is_async):
    """A call that fails gives its error, after four tries at most; the current token serves the next call."""
    with Calls(served, kind, is_async=is_async) as calls:
        calls.accounts()
        token, sent = calls.session.token, served.stats.calls
        served.faults.inject("interfaces", times=None, **fault.injected)
        calls.fail(fault)
        assert served.stats.calls == sent + fault.requests
        assert calls.session.calls()["tries"].iloc[-1] == fault.requests
        served.faults.clear()
        assert len(calls.accounts()) == calls.count
        assert calls.session.token is token
        assert served.stats.token_requests == (kind in TOKEN_KINDS)


@in_turn([UNAUTHORIZED] * len(KINDS), KINDS)
def test_unauthorized(served, fault, kind, is_async):
    """After a single 401 a token is renewed and nothing noticed; a key pair has nothing to renew."""
    with Calls(served, kind, is_async=is_async) as calls:
        calls.accounts()
        served.faults.inject("interfaces", 401)
        if kind in TOKEN_KINDS:
            assert len(calls.accounts()) == calls.count
            assert served.stats.token_requests == 2
        else:
            calls.fail(fault)


@EACH_TOKEN_KIND
def test_always_unauthorized(served, kind, is_async):
    """If the service refuses every token, a second token is requested, but not one for each call."""
    with Calls(served, kind, is_async=is_async) as calls:
        served.faults.inject("interfaces", 401, times=None)
        for _ in range(3):
            calls.fail(UNAUTHORIZED)
        assert served.stats.token_requests == 2
        assert served.stats.calls == 4
