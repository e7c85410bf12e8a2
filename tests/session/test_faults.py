"""The fault matrix: each fault of the practice service, for each kind of credentials, in sync and async sessions.

What each fault gives, whether it passes, and that nothing hangs, leaks, or loses a token that was still good.
"""

from __future__ import annotations

import asyncio
import itertools
import traceback
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.core.clock import SystemClock

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
KINDS = ["paper", "live", "paper-basic", "broker-secret", "broker-key", "sandbox-secret", "sandbox-key"]
TOKEN_KINDS = KINDS[3:]


class HastyClock(SystemClock):
    """The machine's clock, on which pauses are over at once and count as if they had been made."""

    def __init__(self):
        self.paused = 0.0

    def monotonic(self):
        return super().monotonic() + self.paused

    def sleep(self, seconds):
        self.paused += seconds


@dataclass
class Fault:
    """A fault, and what it gives.

    Attributes:
        name: of the test.
        of: what the practice service is told.
        error: what our own call raises while the fault lasts.
        says: what its first line says.
        passes: whether a single one goes unnoticed.
        requests: to the token endpoint for one call while the fault lasts, when it is the token's.
        remembered: whether the next call is told so without a request.
    """

    name: str
    of: dict[str, Any]
    error: type[tk.ToolkitError]
    says: str
    passes: bool = False
    requests: int = 1
    remembered: bool = False


TOKEN_FAULTS = [
    *(
        Fault(
            f"{status} {body}", {"status": status, "body": body}, tk.TokenRefused, f"refused the credentials.*{status}"
        )
        for status, body in itertools.product((400, 401, 403), ("json", "malformed", "html"))
    ),
    *(
        Fault(code, {"status": 400, "error": code}, tk.TokenRefused, code, remembered=True)
        for code in ("invalid_client", "unauthorized_client", "invalid_scope")
    ),
    Fault(
        "busy",
        {"status": 400, "error": "temporarily_unavailable"},
        tk.TokenRefused,
        "temporarily_unavailable.*4 tries",
        passes=True,
        requests=4,
    ),
    *(
        Fault(
            f"{status} {body}",
            {"status": status, "body": body},
            tk.TokenRefused,
            f"gave no token: status {status}.*4 tries",
            passes=True,
            requests=4,
        )
        for status, body in itertools.product((429, 500, 503), ("json", "html"))
    ),
    Fault(
        "429 in a while",
        {"status": 429, "retry_after": 5},
        tk.TokenRefused,
        "status 429.*4 tries",
        passes=True,
        requests=4,
    ),
    Fault("429 in an hour", {"status": 429, "retry_after": 3600}, tk.TokenRefused, "status 429", remembered=True),
    Fault("dropped", {"dropped": True}, tk.Unreachable, "dropped.*4 tries", passes=True, requests=4),
    *(
        Fault(f"200 {body}", {"status": 200, "body": body}, tk.TokenResponseInvalid, "reply is no|no JSON")
        for body in ("json", "malformed", "html")
    ),
    Fault("redirect", {"status": 302}, tk.TokenRefused, "gave no token: status 302"),
]
CALL_FAULTS = [
    *(
        Fault(f"{status} {body}", {"status": status, "body": body}, tk.ServiceError, str(status))
        for status, body in itertools.product((400, 403, 404, 429, 500, 503), ("json", "malformed", "html"))
    ),
    Fault("dropped", {"dropped": True}, tk.Unreachable, "dropped"),
    Fault("200 malformed", {"status": 200, "body": "malformed"}, tk.TabulationError, ""),
    Fault("200 html", {"status": 200, "body": "html"}, tk.TabulationError, ""),
]


@pytest.fixture(scope="module")
def served():
    with tk.practice(accounts=2) as service:
        yield service


@pytest.fixture(autouse=True)
def well(served):
    served.faults.clear()
    served.stats.reset()
    yield
    served.faults.clear()


class Caller:
    """A session of one kind of credentials whose calls are made on one event loop, or without."""

    def __init__(self, served, kind, *, is_async):
        self.is_async = is_async
        self.clock = HastyClock()
        credentials = served.credentials[kind.removesuffix("-basic")]
        if kind.endswith("-basic"):
            credentials = tk.KeyPair(credentials.key_id, credentials.secret_key, environment="paper", scheme="basic")
        self.credentials = credentials
        self.has = 2 if kind in TOKEN_KINDS else 1  # accounts
        make = tk.AsyncSession if is_async else tk.Session
        self.session = make(
            credentials=credentials,
            settings=served.settings,
            clock=self.clock,
            token_store=MemoryTokenStore(),
            timeout=10,
        )
        self.runner = asyncio.Runner() if is_async else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        done = self.session.close()
        if self.runner:
            self.runner.run(done)
            self.runner.close()

    def accounts(self):
        table = self.session.accounts()
        return self.runner.run(table) if self.runner else table

    def fails(self, fault):
        """Our own call fails as the fault says, in two lines, and shows nothing secret."""
        with pytest.raises(fault.error, match=fault.says or None) as caught:
            self.accounts()
        error = caught.value
        assert error.next_step
        shown = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
        secrets = [secret.reveal() for _, secret in self.credentials.secrets()]
        if self.session.token:
            secrets.append(self.session.token.access_token.reveal())
        assert [secret for secret in secrets if secret in shown] == []
        return error


def matrix(faults, kinds):
    return pytest.mark.parametrize(
        ("fault", "kind"),
        [pytest.param(fault, kind, id=f"{fault.name}-{kind}") for fault in faults for kind in kinds],
    )


@BOTH
@matrix(TOKEN_FAULTS, TOKEN_KINDS)
def test_token_fault(served, fault, kind, is_async):
    """A token endpoint that fails gives its error, in bounded tries, and the next call after it is well succeeds."""
    with Caller(served, kind, is_async=is_async) as caller:
        served.faults.inject("token", times=None, **fault.of)
        caller.fails(fault)
        assert served.stats.token_requests == fault.requests
        assert served.stats.calls == 0
        caller.fails(fault)
        assert served.stats.token_requests <= 2 * fault.requests
        if fault.remembered:
            assert served.stats.token_requests == fault.requests
        served.faults.clear()
        caller.clock.sleep(61)
        assert len(caller.accounts()) == caller.has


@BOTH
@matrix(TOKEN_FAULTS, TOKEN_KINDS)
def test_single_token_fault(served, fault, kind, is_async):
    """A single fault that may pass is not noticed; any other is told, and the next call asks again."""
    with Caller(served, kind, is_async=is_async) as caller:
        served.faults.inject("token", **fault.of)
        if not fault.passes:
            caller.fails(fault)
            caller.clock.sleep(61)
        assert len(caller.accounts()) == caller.has
        assert served.stats.token_requests == 2


@BOTH
@matrix(TOKEN_FAULTS, ["sandbox-secret", "broker-key"])
def test_token_fault_at_renewal(served, fault, kind, is_async):
    """A token that is due for renewal but still good serves on through any fault of the token endpoint."""
    with Caller(served, kind, is_async=is_async) as caller:
        caller.accounts()
        token = caller.session.token
        remaining = token.expires_monotonic - caller.clock.monotonic()
        caller.clock.sleep(remaining - 8)
        assert caller.session.token is None
        served.faults.inject("token", times=None, **fault.of)
        assert len(caller.accounts()) == caller.has
        assert caller.session.tokens()["calls"].tolist() == [2]


@BOTH
@matrix(CALL_FAULTS, KINDS)
def test_call_fault(served, fault, kind, is_async):
    """A call that fails gives its error once, is not repeated, and the token in hand serves the next one."""
    with Caller(served, kind, is_async=is_async) as caller:
        caller.accounts()
        token, calls = caller.session.token, served.stats.calls
        served.faults.inject("interfaces", times=None, **fault.of)
        caller.fails(fault)
        assert served.stats.calls == calls + 1
        served.faults.clear()
        assert len(caller.accounts()) == caller.has
        assert caller.session.token is token
        assert served.stats.token_requests == (kind in TOKEN_KINDS)


@BOTH
@matrix(CALL_FAULTS, ["paper", "sandbox-key"])
def test_call_fault_by_client(served, fault, kind, is_async):
    """The httpx client itself answers with the status that came, or raises what httpx raises."""
    with Caller(served, kind, is_async=is_async) as caller:
        served.faults.inject("interfaces", times=None, **fault.of)
        interface, path = caller.session.environment.rules.accounts
        client = getattr(caller.session, interface)

        def get():
            return caller.runner.run(client.get(path)) if caller.runner else client.get(path)

        if fault.error is tk.Unreachable:
            with pytest.raises(httpx.RemoteProtocolError) as caught:
                get()
            assert "Authorization" not in caught.value.request.headers
        else:
            assert get().status_code == fault.of["status"]


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_unauthorized(served, kind, is_async):
    """A single 401 costs a token's holder one renewal and is not noticed; a key pair has nothing to renew."""
    with Caller(served, kind, is_async=is_async) as caller:
        caller.accounts()
        served.faults.inject("interfaces", 401)
        if kind in TOKEN_KINDS:
            assert len(caller.accounts()) == caller.has
            assert served.stats.token_requests == 2
        else:
            caller.fails(Fault("401", {}, tk.ServiceError, "401"))


@BOTH
@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_always_unauthorized(served, kind, is_async):
    """A service that refuses every token is asked for one more, and not for one a call."""
    with Caller(served, kind, is_async=is_async) as caller:
        served.faults.inject("interfaces", 401, times=None)
        for _ in range(3):
            caller.fails(Fault("401", {}, tk.ServiceError, "401"))
        assert served.stats.token_requests == 2
        assert served.stats.calls == 4


@BOTH
@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_unauthorized_and_no_new_token(served, kind, is_async):
    """A 401 while the token endpoint is down is told as what it is; a token that was good after all is not lost."""
    with Caller(served, kind, is_async=is_async) as caller:
        caller.accounts()
        token = caller.session.token
        served.faults.inject("interfaces", 401)
        served.faults.inject("token", 503, times=None)
        caller.fails(Fault("503", {}, tk.TokenRefused, "503"))
        assert caller.session.token is token
        assert len(caller.accounts()) == caller.has


@BOTH
@pytest.mark.parametrize("kind", TOKEN_KINDS)
def test_revoked(served, kind, is_async):
    """Tokens that the service has forgotten are replaced by one new one, unnoticed."""
    with Caller(served, kind, is_async=is_async) as caller:
        caller.accounts()
        served.revoke_tokens()
        for _ in range(3):
            assert len(caller.accounts()) == caller.has
        assert served.stats.token_requests == 2
