"""Which calls test credentials, and how their answers are explained."""

from __future__ import annotations

import httpx
import pytest

from toolkit.core.clock import ManualClock
from toolkit.local.settings import Settings
from toolkit.session.probing import explain_status, probe
from toolkit.session.session import Session


@pytest.fixture
def results_of(service, settings, make_credentials):
    """Return a function that tests credentials of an environment and returns the results by interface."""

    def try_credentials(environment, kind=None, settings=settings):
        credentials = make_credentials(environment, kind)
        with Session(credentials=credentials, settings=settings, transport=service, clock=ManualClock()) as session:
            return {result.interface: result for result in probe(session)}

    return try_credentials


@pytest.mark.parametrize(
    ("status", "shown", "root"),
    [
        (200, True, True),
        (401, False, False),
        (403, False, False),
        (404, False, True),
        (429, False, True),
        (500, False, True),
    ],
)
def test_explain_status(status, shown, root):
    """On documented paths only success counts; elsewhere every answer that does not refuse the caller does."""
    for is_documented, good in ((True, shown), (False, root)):
        works, meaning, next_step = explain_status(status, is_documented=is_documented, call="GET /v2/account")
        assert (works, bool(meaning), bool(next_step)) == (good, True, not good)


def test_refused_token(results_of, service):
    """If the token request works and the call does not, each interface gets its own result."""
    service.answer = lambda request: service.reply({}, status=401 if "broker" in request.url.host else 200)
    results = results_of("broker-sandbox")
    assert (results["auth"].works, results["auth"].status) == (True, 200)
    assert (results["broker"].works, results["broker"].status) == (False, 401)
    assert results["market_data"].works


@pytest.mark.parametrize("broken", ["refuses", "is no token", "is not there"])
def test_failed_token_request(results_of, service, broken):
    """A failed token request is reported for the token endpoint, and nothing else is called."""

    def drop(request):
        raise httpx.ConnectError("hush", request=request)

    service.answer_token = {
        "refuses": lambda request: service.reply({"error": "invalid_client", "error_description": "hush"}, status=401),
        "is no token": lambda request: service.reply({"access_token": 3}),
        "is not there": drop,
    }[broken]
    results = results_of("broker-live")
    assert results["auth"].works is False
    assert {results["broker"].works, results["market_data"].works} == {None}
    assert service.calls == []
    if broken == "is no token":  # a refusal is remembered; an unreachable address is tried again by every caller
        assert len(service.token_requests) == 1


def test_missing_addresses(results_of, settings):
    """Interfaces without an address are not called, and the result says what to set."""

    def without(*names):
        addresses = {name: text for name, text in settings.addresses.items() if name not in names}
        return Settings(addresses, project=settings.project)

    results = results_of("broker-live", settings=without("broker"))
    assert results["broker"].works is None
    assert "TOOLKIT_BROKER_URL" in results["broker"].next_step
    assert (results["auth"].works, results["market_data"].works) == (True, True)
    results = results_of("broker-live", settings=without("auth"))
    assert results["auth"].works is False
    assert "auth is not set" in results["auth"].meaning
    results = results_of("broker-live", settings=without("broker", "market_data"))
    assert results["auth"].works is None
