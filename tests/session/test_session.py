from __future__ import annotations

import asyncio
import base64
import logging
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, quote

import httpx
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cassettes import cell_cassette
from toolkit.core.clock import ManualClock
from toolkit.core.document import ADDRESS_NAMES, Environment, Interface
from toolkit.practice_service import practice
from toolkit.transport.network import Network

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
CLIENTS = ("trading", "market_data", "broker")
PATHS = {"trading": "/v2/account", "market_data": "/v2/quotes", "broker": "/v1/accounts"}

# Section 1 of the service document, rules 1 to 4: who may call what.
MAY_CALL = {
    "live": {"trading": "trading_live", "market_data": "market_data"},
    "paper": {"trading": "trading_paper", "market_data": "market_data"},
    "broker-live": {"broker": "broker", "market_data": "market_data", "auth": "auth"},
    "broker-sandbox": {"broker": "broker_sandbox", "market_data": "market_data_sandbox", "auth": "auth_sandbox"},
}


@pytest.fixture
def open_session(settings, service, make_credentials):
    """Opens a session on the service within this process, by default with credentials and a store of its own."""

    def opened(of="broker-sandbox", kind=None, *, is_async=False, **changes):
        given = {"settings": settings, "transport": service, "token_store": MemoryTokenStore(), **changes}
        given.setdefault("credentials", make_credentials(of, kind))
        return (tk.AsyncSession if is_async else tk.Session)(**given)

    return opened


def bearer(request):
    return request.headers["Authorization"].removeprefix("Bearer ")


# Section 1: who may call what


@pytest.mark.parametrize("environment", MAY_CALL)
@pytest.mark.parametrize("client", CLIENTS)
@BOTH
def test_interfaces(open_session, service, environment, client, is_async):
    """An environment has the interfaces that section 1 gives it, at their own addresses, and no others."""
    session = open_session(environment, is_async=is_async)
    settings = session.settings
    name = MAY_CALL[environment].get(client)
    assert hasattr(session, client) is (name is not None)
    assert (client in dir(session)) is (name is not None)
    if name is None:
        with pytest.raises(tk.InterfaceNotAllowed, match=f"{environment} has no {client} interface") as caught:
            getattr(session, client)
        allowed = [one for one in CLIENTS if one in MAY_CALL[environment]]
        assert all(one in caught.value.next_step for one in allowed)
    else:
        opened = getattr(session, client)
        assert isinstance(opened, httpx.AsyncClient if is_async else httpx.Client)
        assert str(opened.base_url) == settings.addresses[name]
        assert getattr(session, client) is opened
    assert service.requests == []


@pytest.mark.parametrize("environment", MAY_CALL)
@pytest.mark.parametrize("address", ADDRESS_NAMES)
@BOTH
def test_addresses(open_session, service, environment, address, is_async):
    """Each client calls its own address of the eight; at any other nothing is sent, token requests included."""
    session = open_session(environment, is_async=is_async)
    settings = session.settings
    for client in CLIENTS:
        if client not in MAY_CALL[environment]:
            continue
        service.requests.clear()
        url = f"{settings.addresses[address]}{PATHS[client]}"
        if MAY_CALL[environment][client] == address:
            assert call(session, client, url).status_code == 200
            assert service.calls[0].url == url
        else:
            with pytest.raises(tk.UnsafeAddress):
                call(session, client, url)
            assert service.requests == []


def call(session, client=None, path=None, **request):
    """A call of either kind of session, by default the accounts call; without closing anything."""
    client = client or next(one for one in ("trading", "broker") if hasattr(session, one))
    sent = getattr(session, client).get(path or PATHS[client], **request)
    return sent if isinstance(session, tk.Session) else asyncio.run(_awaited(sent))


async def _awaited(awaitable):
    return await awaitable


@pytest.mark.parametrize("environment", MAY_CALL)
@pytest.mark.parametrize("of", MAY_CALL)
def test_credentials_of_another_environment(open_session, make_credentials, service, environment, of):
    """Credentials of one environment are not accepted by another (section 1, rule 5)."""
    credentials = make_credentials(of)
    if environment == of:
        assert open_session(environment=environment, credentials=credentials).environment == of
    else:
        with pytest.raises(tk.CredentialsMismatch, match=f"for {of}, not for {environment}"):
            open_session(environment=environment, credentials=credentials)
    assert service.requests == []


@pytest.mark.parametrize(
    ("environment", "kind"),
    [("live", "headers"), ("paper", "basic"), ("broker-live", "secret"), ("broker-sandbox", "key")],
)
@BOTH
def test_each_flow(open_session, service, environment, kind, is_async):
    """Every interface takes its caller's own flow: key pairs go on each call, tokens are asked for once."""
    header = "SVC-API-SECRET-KEY" if kind == "headers" else "Authorization"
    session = open_session(environment, kind, is_async=is_async)
    for client in CLIENTS:
        if client in MAY_CALL[environment]:
            call(session, client)
    assert len(service.calls) == 2
    assert all(header in request.headers for request in service.calls)
    assert len(service.token_requests) == (1 if kind in ("secret", "key") else 0)


def test_header_prefix(open_session, service, settings):
    """The key headers carry the prefix of the settings."""
    own = tk.Settings(settings.addresses, header_prefix="ACME", project=settings.project)
    call(open_session("paper", settings=own))
    assert "ACME-API-KEY-ID" in service.calls[0].headers


# Opening


def test_environment_of_the_credentials(open_session, make_credentials):
    """Without an environment it is that of the credentials."""
    for environment in MAY_CALL:
        assert open_session(credentials=make_credentials(environment)).environment is Environment(environment)


def test_no_environment(open_session):
    """A live session must know its environment."""
    with pytest.raises(tk.ConfigurationError, match="environment"):
        open_session(credentials=None)


@pytest.mark.parametrize("environment", ["sandbox", "LIVE", ""])
def test_unknown_environment(open_session, environment):
    """A name that is no environment is refused with those there are."""
    with pytest.raises(tk.ConfigurationError, match="broker-sandbox"):
        open_session(environment=environment, credentials=None)


@BOTH
def test_credentials_in_the_place_of_the_environment(settings, make_credentials, is_async):
    """Credentials that are given first are told where they belong, and what is in them is not shown."""
    kind = tk.AsyncSession if is_async else tk.Session
    with pytest.raises(tk.ConfigurationError, match="not credentials") as caught:
        kind(make_credentials("paper"), settings=settings)
    assert "tk.Session(credentials=...)" in caught.value.next_step
    assert "paper" not in str(caught.value)


@pytest.mark.parametrize("credentials", [("key", "secret"), {"key_id": "QXZ"}, 7])
def test_no_credentials_at_all(open_session, credentials):
    """What is no credentials is refused by its type, not repeated."""
    with pytest.raises(tk.ConfigurationError, match="KeyPair") as caught:
        open_session(environment="paper", credentials=credentials)
    assert "QXZ" not in str(caught.value)


def test_saved_credentials(settings, service, monkeypatch):
    """Credentials are also given by the name of a profile, or by none for the only one of the environment."""
    monkeypatch.setenv("TOOLKIT_PAPER__TESTS_KEY_ID", "QXZ-key-id")
    monkeypatch.setenv("TOOLKIT_PAPER__TESTS_SECRET_KEY", "QXZ-secret-key")
    for name in ("tests", None):
        session = tk.Session("paper", name, settings=settings, transport=service)
        assert session.credentials.name == "tests"
        call(session)
    assert {request.headers["SVC-API-KEY-ID"] for request in service.calls} == {"QXZ-key-id"}


@pytest.mark.parametrize("environment", MAY_CALL)
def test_missing_address(open_session, tmp_path, environment):
    """A missing address names the setting, the variable and the file looked at, before anything is sent."""
    file = tmp_path / "toolkit.toml"
    file.write_text("")
    session = open_session(environment, settings=tk.Settings.load(file))
    client = "trading" if "trading" in MAY_CALL[environment] else "broker"
    name = MAY_CALL[environment][client]
    with pytest.raises(tk.ConfigurationError) as caught:
        getattr(session, client)
    for named in (name, f"TOOLKIT_{name.upper()}_URL", str(file)):
        assert named in str(caught.value)


def test_missing_auth_address(open_session, settings, service):
    """Without the auth address nothing is sent: the call says which setting is missing."""
    addresses = {name: address for name, address in settings.addresses.items() if name != "auth_sandbox"}
    session = open_session(settings=tk.Settings(addresses, project=settings.project))
    with pytest.raises(tk.ConfigurationError, match="auth_sandbox"):
        call(session)
    assert service.requests == []


def test_nested_addresses(open_session, service, tmp_path):
    """Where addresses lie below one another, each client keeps to its own."""
    addresses = {
        "broker_sandbox": "https://api.example.com",
        "auth_sandbox": "https://api.example.com/auth",
        "market_data_sandbox": "https://api.example.com/data",
    }
    session = open_session(settings=tk.Settings(addresses, project=tmp_path))
    assert call(session, "market_data", "/v2/quotes").request.url == "https://api.example.com/data/v2/quotes"
    assert service.token_requests[0].url == "https://api.example.com/auth/v1/oauth2/token"
    service.requests.clear()
    for path in ("/auth/v1/oauth2/token", "/data/v2/quotes", "/%64ata/v2/quotes"):
        with pytest.raises(tk.UnsafeAddress):
            call(session, "broker", path)
    with pytest.raises(tk.UnsafeAddress):
        call(session, "market_data", "/../v1/accounts")
    assert service.requests == []


def test_given_things_are_used(open_session, service, settings):
    """A transport or token store that counts as empty is used all the same; nothing else goes to the network."""

    class Empty(type(service)):
        def __len__(self):
            return 0

    class EmptyStore(MemoryTokenStore):
        def __len__(self):
            return 0

    transport, store = Empty(), EmptyStore()
    call(open_session(transport=transport, token_store=store))
    assert len(transport.requests) == 2
    assert len(store._slots) == 1


def test_timeouts(open_session, service):
    """The session's timeout is that of every call, unless a call has its own."""
    session = open_session("paper", timeout=5)
    call(session)
    call(session, timeout=httpx.Timeout(1, read=60))
    assert [request.extensions["timeout"]["read"] for request in service.calls] == [5, 60]
    call(open_session("paper"))
    assert service.calls[-1].extensions["timeout"]["read"] == 30.0


@pytest.mark.parametrize("timeout", ["5", -1, True])
@BOTH
def test_no_timeout(open_session, timeout, is_async):
    """A timeout that is none is refused when the session is made, not at its first call."""
    with pytest.raises(tk.ConfigurationError, match="timeout"):
        open_session("paper", timeout=timeout, is_async=is_async)


def test_unverified(make_credentials, settings):
    """verify=False does not reach beyond this machine: nothing is sent."""
    session = tk.Session(credentials=make_credentials("paper"), settings=settings, verify=False)
    with session, pytest.raises(tk.UnsafeAddress, match="verify"):
        call(session)


# Offline, modes


def test_offline_without_cassette(open_session, service, monkeypatch):
    """While offline a session without a cassette is a CassetteMiss, and stays one whatever the mode."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    for mode in (None, "once", "all"):
        with pytest.raises(tk.CassetteMiss, match="OFFLINE"):
            open_session(mode=mode)


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all"])
def test_offline_with_cassette(open_session, service, monkeypatch, mode):
    """While offline every mode replays only; there is nothing that a call could reach."""
    with open_session(cassette="one") as session:
        call(session)
    service.requests.clear()
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    session = open_session(cassette="one", mode=mode)
    assert session.replays_only
    assert call(session).status_code == 200
    with pytest.raises(tk.CassetteMiss):
        call(session, "broker", "/v1/other")
    assert service.requests == []
    with pytest.raises(tk.CassetteMiss):
        open_session(cassette="never recorded", mode=mode)


def test_offline_from_here(settings, monkeypatch):
    """tk.offline() does the same for the rest of the process."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "")
    tk.offline()
    with pytest.raises(tk.CassetteMiss):
        tk.Session("paper", settings=settings)


def test_mode_without_cassette(open_session):
    """A mode without a cassette means nothing."""
    with pytest.raises(tk.ConfigurationError, match="needs a cassette"):
        open_session(mode="once")
    with pytest.raises(tk.ConfigurationError, match="record mode"):
        open_session(mode="sometimes")


def test_open_cassette(open_session, settings, tmp_path):
    """A cassette that is open already keeps its own mode."""
    cassette = tk.Cassette(tmp_path / "one.yaml", "new_episodes")
    assert open_session(cassette=cassette).cassette is cassette
    assert open_session(cassette=cassette, mode="new_episodes").cassette is cassette
    with pytest.raises(tk.ConfigurationError, match="new_episodes, not all"):
        open_session(cassette=cassette, mode="all")


def test_replay_takes_the_environment_of_the_cassette(open_session, settings):
    """In replay the environment is that of the cassette, and neither credentials nor addresses are needed."""
    for environment in MAY_CALL:
        with open_session(environment, cassette=environment) as session:
            call(session)
        bare = tk.Settings(cassettes=settings.cassettes, project=settings.project)
        replay = tk.Session(cassette=environment, mode="none", settings=bare)
        assert (replay.environment, replay.credentials) == (environment, None)
        assert call(replay).status_code == 200


def test_cassette_of_several_environments(open_session):
    """A cassette with calls of several environments leaves the choice to its user."""
    for environment in ("live", "paper"):
        with open_session(environment, cassette="both", mode="new_episodes") as session:
            call(session)
    with pytest.raises(tk.ConfigurationError, match="live, paper"):
        open_session(cassette="both", mode="none", credentials=None)
    for environment in ("live", "paper"):
        assert call(open_session(environment=environment, cassette="both", mode="none", credentials=None))


def test_foreign_cassette(open_session, settings, tmp_path):
    """A cassette of another tool does not say whose calls it holds; told, it is replayed."""
    body = '{string: \'{"id": "1"}\'}'
    file = tmp_path / "foreign.yaml"
    request = "{method: GET, uri: 'https://trading-paper.example.com/v2/account', body: null, headers: {}}"
    response = f"{{status: {{code: 200, message: OK}}, headers: {{}}, body: {body}}}"
    file.write_text(f"version: 1\ninteractions:\n- request: {request}\n  response: {response}\n")
    with pytest.raises(tk.ConfigurationError, match="does not say"):
        open_session(cassette=file, mode="none", credentials=None)
    session = open_session(environment="paper", cassette=file, mode="none", credentials=None)
    assert call(session).json() == {"id": "1"}


def test_profiles_apart(open_session, service, make_credentials):
    """One profile's call is not answered by another's recording; without credentials any profile's is."""
    for name in ("one", "two"):
        service.answer = lambda request, name=name: service.reply({"name": name})
        with open_session(
            credentials=make_credentials("paper", name=name), cassette="c", mode="new_episodes"
        ) as session:
            call(session)
    for name in ("one", "two"):
        session = open_session(environment="paper", credentials=name, cassette="c", mode="none")
        assert call(session).json() == {"name": name}
    assert call(open_session(cassette="c", mode="none", credentials=None)).json() == {"name": "one"}
    with pytest.raises(tk.CassetteMiss, match="recorded by one"):
        call(open_session(environment="paper", credentials="three", cassette="c", mode="none"))


@BOTH
def test_new_episodes(open_session, service, is_async):
    """Recorded calls are replayed, new ones go out and are added; replayed ones need no token."""
    with open_session(cassette="c") as session:
        call(session, path="/v1/one")
    service.requests.clear()
    service.answer = lambda request: service.reply({"live": True})
    session = open_session(cassette="c", mode="new_episodes", is_async=is_async)
    assert call(session, path="/v1/one").json() == {}
    assert service.requests == []
    assert call(session, path="/v1/two").json() == {"live": True}
    assert [str(request.url.path) for request in service.requests] == ["/v1/oauth2/token", "/v1/two"]
    assert bearer(service.calls[0]) == service.issued[-1]
    replay = open_session(cassette="c", mode="none", credentials=None)
    assert [call(replay, path=path).json() for path in ("/v1/two", "/v1/one")] == [{"live": True}, {}]
    assert list(replay.tokens().index) == [1, 2]


@BOTH
def test_cassette_of_a_cell(open_session, service, tmp_path, is_async):
    """A session without a cassette uses the one of the running cell, which learns its secrets, old and new."""
    service.answer = lambda request: service.reply({"echo": bearer(request), "path": request.url.path})
    clock = ManualClock(START)
    session = open_session(is_async=is_async, clock=clock)
    call(session, path="/v1/before")
    cell_cassette.put_in_place(tk.Cassette(tmp_path / "cell.yaml", "once"))
    try:
        call(session, path="/v1/one")
        clock.advance(1000)
        call(session, path="/v1/two")
    finally:
        cell_cassette.take_away(well=True)
    call(session, path="/v1/after")
    text = (tmp_path / "cell.yaml").read_text()
    secrets = [*service.issued, *(secret.reveal() for _, secret in session.credentials.secrets())]
    assert len(secrets) == 3
    assert not [secret for secret in secrets if secret in text]
    assert "example.com" not in text
    replay = open_session(cassette=tmp_path / "cell.yaml", mode="none", credentials=None)
    assert [call(replay, path=path).json()["path"] for path in ("/v1/one", "/v1/two")] == ["/v1/one", "/v1/two"]
    for path in ("/v1/before", "/v1/after"):
        with pytest.raises(tk.CassetteMiss):
            call(replay, path=path)


def test_replayed_links_work_live(open_session, service, settings):
    """Links in replayed bodies are symbolic, and work: replayed where recorded, else live at the configured address."""
    page = f"{settings.addresses['broker_sandbox']}/v1/accounts"
    service.answer = lambda request: service.reply(
        {"next": f"{page}?page={int(request.url.params.get('page', 1)) + 1}"}
    )
    with open_session(cassette="c") as session:
        call(session)
    service.requests.clear()
    session = open_session(cassette="c", mode="new_episodes")
    second = call(session).json()["next"]
    assert second == "https://broker-sandbox.svc.invalid/v1/accounts?page=2"
    assert call(session, "broker", second).json() == {"next": f"{page}?page=3"}
    assert service.calls[0].url == f"{page}?page=2"
    with pytest.raises(tk.UnsafeAddress):
        call(session, "broker", second.replace("broker-sandbox", "broker"))


# One token


class Slow:
    """A token endpoint that answers after others had their chance to ask as well; fails as often as it is told to."""

    def __init__(self, service, *, failures=0, status=400):
        self.service, self.failures, self.status = service, failures, status

    def __call__(self, request):
        fails = len(self.service.token_requests) <= self.failures
        threading.Event().wait(0.1)
        return self.service.reply({}, self.status) if fails else self.service.token_reply()

    async def awaited(self, request):
        fails = len(self.service.token_requests) <= self.failures
        await asyncio.sleep(0.1)
        return self.service.reply({}, self.status) if fails else self.service.token_reply()


def in_threads(count, work):
    """What `work` gives or raises in that many threads that start together."""
    start = threading.Barrier(count)

    def run(number):
        start.wait()
        try:
            return work(number)
        except tk.ToolkitError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("sessions", [1, 4])
def test_threads(open_session, make_credentials, service, sessions):
    """32 threads take one token request, on one session or on several with the same credentials."""
    service.answer_token = Slow(service)
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    opened = [open_session(credentials=credentials, token_store=store) for _ in range(sessions)]
    responses = in_threads(32, lambda number: call(opened[number % sessions]))
    assert [response.status_code for response in responses] == [200] * 32
    assert len(service.token_requests) == 1
    assert {bearer(request) for request in service.calls} == set(service.issued)


def test_threads_after_expiry(open_session, service):
    """When the token has expired, 32 threads take one more."""
    clock = ManualClock(START)
    session = open_session(clock=clock)
    call(session)
    clock.advance(1000)
    service.answer_token = Slow(service)
    in_threads(32, lambda number: call(session))
    assert len(service.token_requests) == 2


def test_threads_after_revocation(open_session, service):
    """When the token was revoked, 32 threads take one more, and each call is answered."""
    session = open_session()
    call(session)
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)
    service.answer_token = Slow(service)
    assert {response.status_code for response in in_threads(32, lambda number: call(session))} == {200}
    assert len(service.token_requests) == 2


def test_failing_leaders(open_session, service):
    """A failed token request is the failure of the one who made it; the next one who waited makes the next."""
    service.answer_token = Slow(service, failures=2)
    session = open_session()
    outcomes = in_threads(8, lambda number: call(session))
    assert sum(isinstance(outcome, tk.TokenRefused) for outcome in outcomes) == 2
    assert sum(isinstance(outcome, httpx.Response) for outcome in outcomes) == 6
    assert len(service.token_requests) == 3


def test_leader_in_trouble(open_session, service):
    """While a service in trouble is tried again, everybody waits for the one who tries."""
    service.answer_token = Slow(service, failures=2, status=503)
    session = open_session(clock=ManualClock())
    assert [each.status_code for each in in_threads(8, lambda number: call(session))] == [200] * 8
    assert len(service.token_requests) == 3


def test_tasks(open_session, service):
    """100 tasks take one token request."""
    service.answer_token = Slow(service).awaited

    async def main():
        session = open_session(is_async=True)
        return await asyncio.gather(*(session.broker.get("/v1/accounts") for _ in range(100)))

    assert [response.status_code for response in asyncio.run(main())] == [200] * 100
    assert len(service.token_requests) == 1


def test_cancelled_leader(open_session, service):
    """When the task that asks is cancelled, its request goes on for the others; waiters take nobody with them."""
    service.answer_token = Slow(service).awaited

    async def main():
        session = open_session(is_async=True)
        tasks = [asyncio.create_task(session.broker.get("/v1/accounts")) for _ in range(10)]
        await asyncio.sleep(0.02)
        assert len(service.token_requests) == 1
        for cancelled in (tasks[0], tasks[5]):
            cancelled.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(main())
    assert [type(outcomes[number]) for number in (0, 5)] == [asyncio.CancelledError] * 2
    assert sum(isinstance(outcome, httpx.Response) for outcome in outcomes) == 8
    assert len(service.token_requests) == 1


@pytest.mark.parametrize("calls", [1, 5])
def test_time_limits_shorter_than_the_endpoint_takes(open_session, service, calls):
    """Callers who give up before the token is there find it later: nobody's request is in vain."""
    service.answer_token = Slow(service).awaited

    async def main():
        session = open_session(is_async=True)
        outcomes = []
        for _ in range(4):
            several = (asyncio.wait_for(session.broker.get("/v1/accounts"), 0.06) for _ in range(calls))
            outcomes.append(await asyncio.gather(*several, return_exceptions=True))
        return outcomes

    first, *_, last = asyncio.run(main())
    assert all(isinstance(outcome, TimeoutError) for outcome in first)
    assert all(isinstance(outcome, httpx.Response) for outcome in last)
    assert len(service.token_requests) == 1


@pytest.mark.parametrize(("timeout", "seconds"), [(2.5, 2.5), (httpx.Timeout(7, connect=1), 7), (None, 30)])
def test_timeout_of_token_requests(open_session, service, timeout, seconds):
    """A session's timeout is that of its token requests as well, which are never without one."""
    session = open_session(timeout=timeout)
    call(session)
    assert service.token_requests[0].extensions["timeout"]["read"] == seconds


def test_closed_loop(open_session, service):
    """A loop that ends while its task asks for a token leaves nobody waiting."""
    store = MemoryTokenStore()
    service.answer_token = Slow(service).awaited
    session = open_session(is_async=True, token_store=store)

    async def main():
        asyncio.create_task(session.broker.get("/v1/accounts"))  # noqa: RUF006 - dropped on purpose
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert call(session).status_code == 200
    assert len(service.token_requests) == 2


def test_sync_call_on_the_loops_thread(open_session, make_credentials, service):
    """A synchronous call on the thread of the loop whose task asks for a token asks for itself, and does not hang."""
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    fake = type(service)()

    async def main():
        session = open_session(is_async=True, credentials=credentials, token_store=store)
        service.answer_token = Slow(service).awaited
        task = asyncio.create_task(session.broker.get("/v1/accounts"))
        await asyncio.sleep(0.02)
        response = open_session(credentials=credentials, token_store=store, transport=fake).broker.get("/v1/accounts")
        return response, await task

    assert [response.status_code for response in asyncio.run(main())] == [200, 200]
    assert (len(service.token_requests), len(fake.token_requests)) == (1, 1)


def test_threads_beside_a_loop(open_session, make_credentials, service):
    """Threads wait for the token that a task is asking for, and the loop goes on meanwhile."""
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    fake = type(service)()

    async def main():
        session = open_session(is_async=True, credentials=credentials, token_store=store)
        service.answer_token = Slow(service).awaited
        task = asyncio.create_task(session.broker.get("/v1/accounts"))
        await asyncio.sleep(0.02)
        beside = open_session(credentials=credentials, token_store=store, transport=fake)
        threads = [asyncio.to_thread(beside.broker.get, "/v1/accounts") for _ in range(4)]
        return await asyncio.gather(task, *threads)

    assert [response.status_code for response in asyncio.run(main())] == [200] * 5
    assert (len(service.token_requests), len(fake.token_requests)) == (1, 0)


def test_shared_in_process(settings, service, make_credentials):
    """Sessions share tokens in this process unless they have a store or a clock of their own."""
    credentials = make_credentials("broker-sandbox")
    shape = {"credentials": credentials, "settings": settings, "transport": service}
    for session in (tk.Session(**shape), tk.Session(**shape), tk.AsyncSession(**shape)):
        call(session)
    assert len(service.token_requests) == 1
    call(tk.Session(**shape, clock=ManualClock(START)))
    call(tk.Session(**shape, token_store=MemoryTokenStore()))
    assert len(service.token_requests) == 3
    other = type(credentials)("client-1", "QXZ-other-secret", environment="broker-sandbox")
    call(tk.Session(**{**shape, "credentials": other}))
    assert len(service.token_requests) == 4


# What a session tells


def test_token(open_session, service):
    """The current token is told while it is usable, its text as a Secret; a key pair has none."""
    clock = ManualClock(START)
    session = open_session(clock=clock)
    assert session.token is None
    call(session)
    assert session.token.access_token.reveal() == service.issued[0]
    assert (session.token.issued_at, session.token.expires_at) == (START, START + timedelta(seconds=890))
    assert service.issued[0] not in repr(session.token)
    clock.advance(1000)
    assert session.token is None
    paper = open_session("paper")
    call(paper)
    assert paper.token is None


def test_token_in_replay(open_session):
    """In replay the token is that of the call played last, as of then; its text is the placeholder."""
    clock = ManualClock(START)
    with open_session(cassette="c", clock=clock) as live:
        for path in ("/v1/one", "/v1/two"):
            call(live, path=path)
            clock.advance(1000)
    replay = open_session(cassette="c", mode="none", credentials=None)
    assert replay.token is None
    call(replay, path="/v1/one")
    assert replay.token.access_token.reveal() == "<ACCESS_TOKEN>"
    assert replay.token.expires_at == START + timedelta(seconds=890)
    call(replay, path="/v1/two")
    assert replay.token.issued_at == START + timedelta(seconds=1000)


def test_token_that_expired_during_a_call(open_session, service):
    """A token that expired before the answer was there is no current one, live as in replay."""
    clock = ManualClock(START)

    def slow(request):
        clock.advance(1000)
        return service.reply({})

    service.answer = slow
    with open_session(cassette="c", clock=clock) as live:
        call(live)
        assert live.token is None
    replay = open_session(cassette="c", mode="none", credentials=None)
    call(replay)
    assert replay.token is None
    assert list(replay.tokens()["state"]) == ["expired"]


def test_now(open_session, service):
    """A live session lives now; a replay where it stands in its recording, and it never goes back."""
    clock = ManualClock(START)

    def answer(request):
        clock.advance(0.5)
        return service.reply({})

    service.answer = answer
    with open_session("paper", cassette="c", clock=clock) as live:
        for path in ("/v2/one", "/v2/two"):
            call(live, path=path)
            assert live.now() == clock.now()
            clock.advance(60)
    replay = open_session(cassette="c", mode="none", credentials=None)
    assert replay.now() == START
    seen = [replay.now()]
    for path in ("/v2/two", "/v2/one", "/v2/two"):
        call(replay, path=path)
        seen.append(replay.now())
    assert seen == [START, *[START + timedelta(seconds=61)] * 3]


def test_tables(open_session, service):
    """calls() has a row for each call, token requests included; tokens() one for each token."""
    clock = ManualClock(START)
    session = open_session(clock=clock)
    assert (len(session.calls()), len(session.tokens())) == (0, 0)
    call(session, "market_data")
    call(session, "broker", "/v1/accounts/7?page=2")
    calls = session.calls()
    assert list(calls["path"]) == ["/v1/oauth2/token", "/v2/quotes", "/v1/accounts/7"]
    assert list(calls["interface"]) == ["auth", "market_data", "broker"]
    assert list(calls["token"]) == [pd.NA, 1, 1]
    tokens = session.tokens()
    assert list(tokens["calls"]) == [2]
    assert list(tokens["expires"]) == [pd.Timestamp(START + timedelta(seconds=890))]


def test_tables_are_as_of_the_last_call(open_session):
    """The remaining lifetime is as of the end of the last call, and does not run on, live as in replay."""
    clock = ManualClock(START)
    with open_session(clock=clock, cassette="c") as session:
        call(session)
        clock.advance(500)
        assert list(session.tokens()["remaining"]) == [890.0]
    replay = open_session(cassette="c", mode="none", credentials=None)
    call(replay)
    assert list(replay.tokens()["remaining"]) == [890.0]


def test_secret_in_a_path(open_session, make_credentials):
    """A secret that a caller put into a path is not shown in the table of calls."""
    credentials = make_credentials("broker-sandbox")
    session = open_session(credentials=credentials)
    call(session, path=f"/v1/{credentials.client_secret.reveal()}/x")
    assert list(session.calls()["path"])[-1] == "/v1/<CLIENT_SECRET>/x"


def test_repr(open_session, make_credentials):
    """A session shows environment, profile, whether it is a real account, and live or recording; no secret."""
    session = open_session(credentials=make_credentials("live", name="mine"))
    assert repr(session) == "<Session live as 'mine', real account: live calls>"
    recording = repr(open_session(cassette="c", is_async=True))
    assert recording.startswith("<AsyncSession broker-sandbox as 'default': recording")
    assert "c.yaml" in recording


def test_no_secret_is_shown(open_session, make_credentials, service, caplog):
    """repr, attributes, clients, tables and logs at DEBUG hold no secret; nothing of a session is pickled with one."""
    caplog.set_level(logging.DEBUG)
    for environment, kind in (
        ("live", "headers"),
        ("paper", "basic"),
        ("broker-live", "secret"),
        ("broker-live", "key"),
    ):
        session = open_session(environment, kind)
        response = call(session)
        shown = [session, vars(session), response, response.request, response.request.headers, session.token]
        shown += [session.calls().to_string(), session.tokens().to_string(), session.settings]
        shown += [getattr(session, client) for client in CLIENTS if hasattr(session, client)]
        text = caplog.text + "".join(f"{one} {one!r}" for one in shown)
        secrets = {secret.reveal() for _, secret in session.credentials.secrets()} | set(service.issued)
        assert not any(secret in text for secret in secrets)
        for one in (session.credentials, session.token):
            if one is not None:
                with pytest.raises(TypeError):
                    pickle.dumps(one)


# The accounts call


@BOTH
@pytest.mark.parametrize("environment", MAY_CALL)
def test_accounts(open_session, service, environment, is_async):
    """accounts() makes the accounts call that section 4.2 shows for its holder, parameters included, as a table."""
    service.answer = lambda request: service.reply([{"id": "1", "cash": "2.50"}])
    session = open_session(environment, is_async=is_async)
    frame = session.accounts(status="open")
    frame = asyncio.run(_awaited(frame)) if is_async else frame
    assert frame.to_dict("list") == {"id": ["1"], "cash": [2.5]}
    (sent,) = service.calls
    assert (
        sent.url.raw_path.decode()
        == ("/v2/account" if "broker" not in environment else "/v1/accounts") + "?status=open"
    )


def accounts(session):
    return finished(session.accounts)


def finished(method, **arguments):
    """What a method of a session gives, awaited if need be."""
    given = method(**arguments)
    return given if isinstance(given, pd.DataFrame) else asyncio.run(_awaited(given))


@BOTH
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_accounts_refused(open_session, service, status, is_async):
    """An error status is a ServiceError that has it, the answer, and what the answer says about it."""
    service.answer = lambda request: service.reply({"message": "QXZ is a whole number"}, status)
    with pytest.raises(tk.ServiceError) as caught:
        accounts(open_session("paper", is_async=is_async))
    assert caught.value.status == status
    assert caught.value.what.endswith("It says: QXZ is a whole number")
    assert caught.value.response.json() == {"message": "QXZ is a whole number"}
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here
    assert (again.status, again.response) == (status, None)


@pytest.mark.parametrize("body", [b"", b"<html>", [], {}, {"message": 7}, {"detail": " "}, "QXZ", b"[" * 9_999])
def test_accounts_refused_without_a_word(open_session, service, body):
    """An answer that says nothing in a usual place is not quoted."""
    service.answer = lambda request: service.reply(body, 400)
    with pytest.raises(tk.ServiceError) as caught:
        accounts(open_session("paper"))
    assert caught.value.what == "The service answered with status 400, so there is no table."


@BOTH
@pytest.mark.parametrize(
    "failure", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.ProxyError]
)
@pytest.mark.parametrize("place", ["answer", "answer_token"])
def test_accounts_unreachable(open_session, service, failure, place, is_async):
    """A service that cannot be reached is Unreachable from methods of ours, the token endpoint included."""

    def fail(request):
        raise failure("QXZ")

    setattr(service, place, fail)
    with pytest.raises(tk.Unreachable) as caught:
        accounts(open_session(is_async=is_async))
    assert "QXZ" not in str(caught.value)


@BOTH
def test_accounts_unreadable(open_session, service, is_async):
    """An answer that cannot be decoded, or is no JSON, is an error of ours as well."""
    service.answer = lambda request: service.reply(b"no gzip", headers={"Content-Encoding": "gzip"})
    with pytest.raises(tk.ServiceError, match="read"):
        accounts(open_session("paper", is_async=is_async))
    service.answer = lambda request: service.reply(b"<html>")
    with pytest.raises(tk.TabulationError):
        accounts(open_session("paper", is_async=is_async))


# Closing


def test_close(open_session, service):
    """Closing closes the clients and what is below; closing again does no harm."""
    session = open_session("paper")
    client = session.trading
    call(session)
    assert not service.closed
    session.close()
    session.close()
    assert client.is_closed
    assert service.closed
    with pytest.raises(RuntimeError):
        call(session)


def test_close_async(open_session, service):
    """The asynchronous session is closed by awaiting."""

    async def main():
        async with open_session("paper", is_async=True) as session:
            client = session.trading
            await client.get("/v2/account")
        await session.close()
        return client

    assert asyncio.run(main()).is_closed
    assert service.closed


def test_closing_a_client(open_session, service):
    """A client that its user closes takes nothing away from the others: the session owns what is below."""
    session = open_session("paper")
    with session.trading as client:
        client.get("/v2/account")
    assert not service.closed
    assert call(session, "market_data").status_code == 200


@BOTH
def test_close_ends_a_recording(open_session, service, settings, is_async):
    """With mode `all` the old recording is replaced when the session ends well, and kept when it ends with an error."""

    def record(answer, *, well=True):
        service.answer = lambda request: service.reply({"answer": answer})

        def sync():
            with open_session("paper", cassette="c", mode="all") as session:
                call(session)
                assert well

        async def awaited():
            async with open_session("paper", cassette="c", mode="all", is_async=True) as session:
                await session.trading.get("/v2/account")
                assert well

        asyncio.run(awaited()) if is_async else sync()

    def recorded():
        return call(open_session(cassette="c", mode="none", credentials=None)).json()["answer"]

    record("first")
    assert recorded() == "first"
    with pytest.raises(AssertionError):
        record("second", well=False)
    with pytest.warns(UserWarning, match="interrupted"):
        assert recorded() == "first"
    with pytest.warns(UserWarning, match="interrupted"):
        record("third")
    assert recorded() == "third"


def test_failed_recording_at_exit(open_session, settings):
    """A recording that ended with an error is not put in place at the end of the process either."""
    with open_session("paper", cassette="c") as session:
        call(session)
    code = """
import sys, httpx, toolkit as tk
answer = httpx.MockTransport(lambda request: httpx.Response(200, json={"answer": "of the failed one"}))
settings = tk.Settings({"trading_paper": "https://paper.example.com"}, cassettes=sys.argv[1])
pair = tk.KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper")
try:
    with tk.Session(credentials=pair, settings=settings, transport=answer, cassette="c", mode="all") as session:
        session.trading.get("/v2/account")
        raise ValueError
except ValueError:
    print("recorded", len(session.cassette))
"""
    root = Path(tk.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, str(settings.cassettes)], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "recorded 1"
    with pytest.warns(UserWarning, match="interrupted"):
        assert call(open_session(cassette="c", mode="none", credentials=None)).json() == {}


def test_open_cassette_is_not_closed(open_session, tmp_path):
    """A cassette that was open before outlives the session: its owner ends it."""
    cassette = tk.Cassette(tmp_path / "c.yaml", "all")
    for path in ("/v2/one", "/v2/two"):
        with open_session("paper", cassette=cassette) as session:
            call(session, path=path)
    assert not cassette.path.exists()
    cassette.close()
    assert len(tk.Cassette(cassette.path, "none")) == 2


# Against the practice service: live, recorded, replayed

KINDS = {
    "live": {},
    "live-basic": {"scheme": "basic"},
    "paper": {},
    "broker-secret": {},
    "broker-key": {},
    "sandbox-secret": {},
    "sandbox-key": {},
}


@pytest.fixture(scope="module")
def served():
    """A practice service on real sockets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        with practice(accounts=7) as service:
            yield service


class Watched(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The network, and what of secrets went through it: every credential header and field that was sent."""

    def __init__(self, *, is_async):
        self.network = Network(is_async=is_async)
        self.secrets = set()

    def watch(self, request, body):
        for name in ("authorization", "svc-api-key-id", "svc-api-secret-key"):
            if name in request.headers:
                self.secrets.add(request.headers[name].rpartition(" ")[2])
        fields = parse_qs(body.decode()) if request.url.path.endswith("/token") else {}
        self.secrets |= {value for name in ("client_secret", "client_assertion") for value in fields.get(name, ())}

    def handle_request(self, request):
        self.watch(request, request.read())
        return self.network.handle_request(request)

    async def handle_async_request(self, request):
        self.watch(request, await request.aread())
        return await self.network.handle_async_request(request)

    def close(self):
        self.network.close()

    async def aclose(self):
        await self.network.aclose()


def forms(secret):
    """A secret as it is, percent-encoded, in hex, and in base64 at each offset."""
    data = secret.encode()
    yield data
    yield quote(secret, safe="").encode()
    yield "".join(f"%{byte:02x}" for byte in data).encode()
    yield from (data.hex().encode(), data.hex().upper().encode())
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data)[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
        yield from (encoded, encoded.translate(bytes.maketrans(b"+/", b"-_")))


def written(folder):
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    return b"".join(file.name.encode() + file.read_bytes() for file in files)


def tour(session):
    """The session code of which the same runs live, recorded and replayed; what it saw."""
    seen = [session.accounts(), session.accounts(status="open") if hasattr(session, "broker") else None]
    quotes = session.market_data.get("/v2/practice/quotes", params={"symbols": "ALFA,BRVO"})
    orders = next(getattr(session, name) for name in ("broker", "trading") if hasattr(session, name))
    order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
    path = f"/v{1 if hasattr(session, 'broker') else 2}/practice/orders"
    answers = [quotes, orders.post(path, json=order), orders.get("/v9/unknown")]
    with orders.stream("POST", path, json={**order, "side": "sell"}) as streamed:
        streamed.read()
    return seen, [*answers, streamed]


async def tour_async(session):
    """The same, awaited, and with calls side by side."""
    seen = [await session.accounts(), await session.accounts(status="open") if hasattr(session, "broker") else None]
    quotes = await session.market_data.get("/v2/practice/quotes", params={"symbols": "ALFA,BRVO"})
    orders = next(getattr(session, name) for name in ("broker", "trading") if hasattr(session, name))
    order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
    path = f"/v{1 if hasattr(session, 'broker') else 2}/practice/orders"
    answers = await asyncio.gather(
        *(orders.post(path, json={**order, "quantity": str(number)}) for number in range(1, 6)),
        orders.get("/v9/unknown"),
    )
    return seen, [quotes, *answers]


def take(*, is_async, **shape):
    """Run the tour in a session of its own; what it saw, its tables, and the session."""
    if not is_async:
        with tk.Session(**shape) as session:
            return *tour(session), session.tokens(), session.calls(), session

    async def main():
        async with tk.AsyncSession(**shape) as session:
            return *(await tour_async(session)), session.tokens(), session.calls(), session

    return asyncio.run(main())


def the_same(one, other):
    """Whether two runs saw the same: accounts, answers, and the tables of calls and tokens."""
    for left, right in zip(one[0], other[0], strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            assert_frame_equal(left, right)
    for left, right in zip(one[1], other[1], strict=True):
        assert (left.status_code, left.content) == (right.status_code, right.content)
        assert left.headers.multi_items() == right.headers.multi_items()
        assert left.http_version == right.http_version
    assert_frame_equal(one[2], other[2])
    assert_frame_equal(one[3], other[3])


@pytest.mark.parametrize("name", KINDS)
@BOTH
def test_live_recorded_replayed(served, tmp_path, caplog, name, is_async):
    """The same session code runs live, records, and replays with nothing at hand, and tells the same each time."""
    credentials = served.credentials[name.removesuffix("-basic")]
    if name.endswith("-basic"):
        keys = credentials.key_id, credentials.secret_key
        credentials = tk.KeyPair(*keys, environment=credentials.environment, name=credentials.name, scheme="basic")
    cassettes = tmp_path / "cassettes"
    settings = tk.Settings(served.settings.addresses, cassettes=cassettes, project=tmp_path)
    caplog.set_level(logging.DEBUG)

    def session(**shape):
        watched = Watched(is_async=is_async)
        shape = {"credentials": credentials, "settings": settings, "token_store": MemoryTokenStore(), **shape}
        return take(is_async=is_async, transport=watched, **shape), watched.secrets

    live, _ = session()
    recorded, secrets = session(cassette="tour")
    for left, right in zip(live[0], recorded[0], strict=True):
        assert (left is None and right is None) or left.equals(right)
    assert [answer.content for answer in live[1]] == [answer.content for answer in recorded[1]]
    stats = served.stats.calls, served.stats.token_requests

    bare = tk.Settings(cassettes=cassettes, project=tmp_path)
    for shape in ({"credentials": None, "settings": bare}, {"credentials": None}, {}):
        replayed, sent = session(cassette="tour", mode="none", **shape)
        the_same(recorded, replayed)
        assert replayed[4].environment == credentials.environment
        assert sent == set()
    assert (served.stats.calls, served.stats.token_requests) == stats

    secrets |= {secret.reveal() for _, secret in credentials.secrets()}
    data = written(tmp_path) + caplog.text.encode()
    assert len(secrets) >= 2
    assert not [form for secret in secrets for form in forms(secret) if form in data]
    assert "127.0.0.1" not in written(tmp_path).decode()


def test_pasted_secrets(served, tmp_path):
    """Secrets that a caller puts into a query, a body or a header do not reach the recording in any form."""
    credentials = served.credentials["sandbox-secret"]
    settings = tk.Settings(served.settings.addresses, cassettes=tmp_path / "cassettes", project=tmp_path)
    watched = Watched(is_async=False)
    secret = credentials.client_secret.reveal()
    with tk.Session(
        credentials=credentials, settings=settings, cassette="c", transport=watched, token_store=MemoryTokenStore()
    ) as session:
        session.accounts()
        token = session.token.access_token.reveal()
        for value in (secret, token, base64.b64encode(f"x{token}:{secret}".encode()).decode(), secret.encode().hex()):
            session.market_data.get("/v2/practice/quotes", params={"note": value}, headers={"X-Note": value})
            session.broker.post("/v1/practice/orders", json={"note": value, "nested": [f'"{value}"']})
            session.broker.post("/v1/practice/orders", files={"file": ("note", value.encode())})
    data = written(tmp_path)
    for value in {secret, token} | watched.secrets:
        assert not [form for form in forms(value) if form in data]


def test_practice_threads(served, settings):
    """32 threads on real sockets take one token request."""
    with practice(token_delay=0.2) as service:
        session = tk.Session(credentials=service.credentials["broker-secret"], settings=service.settings)
        frames = in_threads(32, lambda number: session.accounts())
        assert service.stats.token_requests == 1
        assert service.stats.calls == 32
        session.close()
    assert all(frame.equals(frames[0]) for frame in frames)


def test_practice_tasks(settings):
    """100 tasks on real sockets take one token request."""

    async def main():
        async with tk.AsyncSession(
            credentials=service.credentials["sandbox-key"], settings=service.settings
        ) as session:
            await asyncio.gather(*(session.accounts() for _ in range(100)))
            return session.calls()

    with practice(token_delay=0.2) as service:
        calls = asyncio.run(main())
        assert (service.stats.token_requests, service.stats.calls) == (1, 100)
    assert len(calls) == 101


@pytest.mark.parametrize("name", ["broker-secret", "sandbox-key"])
def test_practice_revocation(settings, name):
    """Revoked tokens go unnoticed: each is renewed once, the call sent once more."""
    with practice() as service:
        with tk.Session(credentials=service.credentials[name], settings=service.settings) as session:
            for _ in range(3):
                assert len(session.accounts()) == 25
                service.revoke_tokens()
        assert service.stats.token_requests == 3


def test_practice_down(settings):
    """A service that has gone is Unreachable, for a call as for a token request, and tells no secret."""
    with practice() as service:
        sessions = [
            tk.Session(credentials=service.credentials[name], settings=service.settings)
            for name in ("paper", "sandbox-key")
        ]
    for session in sessions:
        with pytest.raises(tk.Unreachable, match="no connection"):
            session.accounts()
        client, error = (
            ("trading", httpx.ConnectError) if session.environment == "paper" else ("broker", tk.Unreachable)
        )
        with pytest.raises(error):
            call(session, client)
        session.close()


@pytest.mark.parametrize("name", ["live", "paper", "broker-secret", "sandbox-secret"])
def test_practice_counts_no_refused_call(served, name):
    """What section 1 forbids does not arrive at a real service either."""
    before = served.stats.calls, served.stats.token_requests
    credentials = served.credentials[name]
    with tk.Session(credentials=credentials, settings=served.settings, token_store=MemoryTokenStore()) as session:
        for address in served.settings.addresses.values():
            for client in CLIENTS:
                if not hasattr(session, client):
                    continue
                own = str(getattr(session, client).base_url).rstrip("/")
                if own != address:
                    with pytest.raises(tk.UnsafeAddress):
                        call(session, client, f"{address}/v1/accounts")
    assert (served.stats.calls, served.stats.token_requests) == before


def test_recorded_file_tells_its_profile(served, tmp_path):
    """A recording notes beside each call whose it was: kind, environment and profile."""
    settings = tk.Settings(served.settings.addresses, cassettes=tmp_path, project=tmp_path)
    credentials = served.credentials["sandbox-key"]
    with tk.Session(credentials=credentials, settings=settings, cassette="c") as session:
        session.accounts()
    text = (tmp_path / "c.yaml").read_text()
    noted = re.search(r"authorized_by:\n    kind: (.+)\n    environment: (.+)\n    profile: (.+)\n", text)
    assert noted.groups() == ("client key", "broker-sandbox", "sandbox-key")
    assert set(Interface) >= {Interface.AUTH, Interface.BROKER}


@BOTH
@pytest.mark.parametrize("name", ["numbers", "dtypes", "records"])
def test_what_is_for_the_table_is_no_query(open_session, service, name, is_async):
    """An argument of `tabulate` would go to the service unnoticed; the error says where it belongs."""
    session = open_session("paper", is_async=is_async)
    with pytest.raises(tk.ConfigurationError, match="go to the service") as caught:
        finished(session.accounts, **{name: "decimal"})
    assert f"tk.tabulate(response, {name}=...)" in caught.value.next_step
    assert service.requests == []


@pytest.mark.parametrize("settings", ["toolkit.toml", {"addresses": {}}, 3])
def test_settings_that_are_none(settings):
    """What is no Settings is told at once, with how to make some."""
    with pytest.raises(tk.ConfigurationError, match="settings must be") as caught:
        tk.Session("paper", settings=settings)
    assert "tk.Settings.load(" in caught.value.next_step


@pytest.mark.parametrize("last", [0, 1, 3, 4, 9])
def test_the_last_calls(open_session, service, last):
    """The same rows under the same numbers as in the table of all."""
    session = open_session("paper")
    for number in range(4):
        call(session, path=f"/v2/{number}")
    pd.testing.assert_frame_equal(session.calls(last=last), session.calls().iloc[max(0, 4 - last) :])


def test_a_secret_that_an_invisible_character_divides(open_session, service):
    """What an error says is taken out after what cannot be seen of it."""
    session = open_session("paper")
    secret = session.credentials.secret_key.reveal()
    service.answer = lambda request: service.reply({"message": f"{secret[:5]}\u200b{secret[5:]} is wrong"}, 400)
    with pytest.raises(tk.ServiceError) as caught:
        accounts(session)
    assert secret not in caught.value.what
    assert "is wrong" in caught.value.what
