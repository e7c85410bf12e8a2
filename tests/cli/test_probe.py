"""What is called when credentials are tried out, and what is made of the answers."""

from __future__ import annotations

import httpx
import pytest

from toolkit.cli.commands.probe import answered, try_out
from toolkit.core.clock import ManualClock
from toolkit.local.settings import Settings
from toolkit.session.session import Session


@pytest.fixture
def tried(service, settings, make_credentials):
    """Tries out credentials of an environment, by interface."""

    def try_credentials(environment, kind=None, settings=settings):
        credentials = make_credentials(environment, kind)
        with Session(credentials=credentials, settings=settings, transport=service, clock=ManualClock()) as session:
            return {each.interface: each for each in try_out(session)}

    return try_credentials


@pytest.mark.parametrize(
    ("environment", "kind", "calls"),
    [
        ("live", "basic", ["https://trading-live.example.com/v2/account", "https://market-data.example.com/"]),
        ("paper", None, ["https://trading-paper.example.com/v2/account", "https://market-data.example.com/"]),
        (
            "broker-live",
            "key",
            [
                "https://auth.example.com/v1/oauth2/token",
                "https://broker.example.com/v1/accounts",
                "https://market-data.example.com/",
            ],
        ),
    ],
)
def test_one_call_of_each_interface(tried, service, environment, kind, calls):
    """Paths that the document shows, and where it shows none the address itself; reads only."""
    trials = tried(environment, kind)
    assert [str(request.url) for request in service.requests] == calls
    assert {request.method for request in service.calls} == {"GET"}
    assert all(each.works for each in trials.values())
    assert all(each.elapsed is not None and each.elapsed >= 0 for each in trials.values())


def test_bodies_are_not_read(tried, service):
    """A page of a gigabyte at the address costs nothing."""
    bodies = []

    def answer(request):
        response = service.reply(b"x")
        bodies.append(response.stream)
        return response

    service.answer = answer
    tried("live")
    assert [(body.taken, body.closed) for body in bodies] == [(0, True), (0, True)]


@pytest.mark.parametrize(
    ("status", "shown", "root"),
    [
        (200, True, True),
        (204, True, True),
        (301, False, True),
        (400, False, True),
        (401, False, False),
        (403, False, False),
        (404, False, True),
        (429, False, True),
        (500, False, True),
        (503, False, True),
    ],
)
def test_what_a_status_means(status, shown, root):
    """Where the document shows the path, only success is good; elsewhere all that refuses nobody."""
    for is_shown, good in ((True, shown), (False, root)):
        works, meaning, next_step = answered(status, is_shown=is_shown)
        assert works is good
        assert meaning
        assert bool(next_step) is not good
        assert ("refused:" in meaning) is (status in (401, 403))


def test_a_good_token_that_is_refused(tried, service):
    """The token request works and the call does not: each is said of its own interface."""
    service.answer = lambda request: service.reply({}, status=401 if "broker" in request.url.host else 200)
    trials = tried("broker-sandbox")
    assert (trials["auth"].works, trials["auth"].status) == (True, 200)
    assert (trials["broker"].works, trials["broker"].status) == (False, 401)
    assert trials["market_data"].works


@pytest.mark.parametrize("broken", ["refuses", "is no token", "is not there"])
def test_without_a_token(tried, service, broken):
    """Whatever keeps a token from being had is said of the token endpoint, and nothing else is tried."""

    def drop(request):
        raise httpx.ConnectError("hush", request=request)

    service.answer_token = {
        "refuses": lambda request: service.reply({"error": "invalid_client", "error_description": "hush"}, status=401),
        "is no token": lambda request: service.reply({"access_token": 3}),
        "is not there": drop,
    }[broken]
    trials = tried("broker-live")
    assert trials["auth"].works is False
    assert {trials["broker"].works, trials["market_data"].works} == {None}
    assert service.calls == []
    if broken == "is no token":  # a refusal is remembered, and what is not there is tried again, whoever asks
        assert len(service.token_requests) == 1


def test_an_interface_that_is_not_there(tried, service):
    """It is said how it failed; the other interface is tried all the same."""

    def answer(request):
        if "trading" in request.url.host:
            raise httpx.ConnectTimeout("slow", request=request)
        return service.reply({})

    service.answer = answer
    trials = tried("paper")
    assert trials["trading"].works is False
    assert "no connection in time" in trials["trading"].meaning
    assert trials["trading"].status is None
    assert trials["market_data"].works


def test_addresses_that_are_not_set(tried, settings):
    """They are not tried, and it is said what to set; without that of the token endpoint there is no token."""

    def without(*names):
        addresses = {name: text for name, text in settings.addresses.items() if name not in names}
        return Settings(addresses, project=settings.project)

    trials = tried("broker-live", settings=without("broker"))
    assert trials["broker"].works is None
    assert "TOOLKIT_BROKER_URL" in trials["broker"].next_step
    assert (trials["auth"].works, trials["market_data"].works) == (True, True)
    trials = tried("broker-live", settings=without("auth"))
    assert trials["auth"].works is False
    assert "auth is not set" in trials["auth"].meaning
    trials = tried("broker-live", settings=without("broker", "market_data"))
    assert trials["auth"].works is None
