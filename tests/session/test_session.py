"""Sessions: who may call what, how a session opens and closes, and the same story live, recorded and replayed."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import parse_qs

import canaries
import httpx
import pytest
from manual_clock import ManualClock
from pandas.testing import assert_frame_equal
from session_calls import BOTH, CLIENTS, PATHS, bearer, call, finished, own_client

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cassettes import selection
from toolkit.core.document import ADDRESS_NAMES
from toolkit.practice_service import practice
from toolkit.transport.network import Network

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
MOVING = ["equity", "buying_power", "positions"]  # columns of accounts that move with the clock of the service

# Section 1 of the service document, rules 1 to 4: who may call what.
MAY_CALL = {
    "live": {"trading": "trading_live", "market_data": "market_data"},
    "paper": {"trading": "trading_paper", "market_data": "market_data"},
    "broker-live": {"broker": "broker", "market_data": "market_data", "auth": "auth"},
    "broker-sandbox": {"broker": "broker_sandbox", "market_data": "market_data_sandbox", "auth": "auth_sandbox"},
}


# Section 1: who may call what


@pytest.mark.parametrize("environment", MAY_CALL)
@BOTH
def test_interfaces(open_session, service, environment, is_async):
    """An environment has the interfaces that section 1 gives it, at their own addresses, and no others."""
    session = open_session(environment, is_async=is_async)
    allowed = [client for client in CLIENTS if client in MAY_CALL[environment]]
    assert [client for client in CLIENTS if hasattr(session, client)] == allowed
    assert [client for client in CLIENTS if client in dir(session)] == allowed
    for client in CLIENTS:
        if client in allowed:
            opened = getattr(session, client)
            assert isinstance(opened, httpx.AsyncClient if is_async else httpx.Client)
            assert str(opened.base_url) == session.settings.addresses[MAY_CALL[environment][client]]
            assert getattr(session, client) is opened
        else:
            with pytest.raises(tk.InterfaceNotAllowed, match=f"{environment} has no {client} interface") as caught:
                getattr(session, client)
            assert all(other in caught.value.next_step for other in allowed)
    assert service.requests == []


@pytest.mark.parametrize("environment", MAY_CALL)
@BOTH
def test_addresses(open_session, service, environment, is_async):
    """Each client calls its own address; to the other seven nothing is sent, token requests included."""
    session = open_session(environment, is_async=is_async)
    for client in CLIENTS:
        for address in ADDRESS_NAMES if client in MAY_CALL[environment] else ():
            service.requests.clear()
            url = f"{session.settings.addresses[address]}{PATHS[client]}"
            if MAY_CALL[environment][client] == address:
                assert call(session, url, client).status_code == 200
                assert service.calls[0].url == url
            else:
                with pytest.raises(tk.UnsafeAddress):
                    call(session, url, client)
                assert service.requests == []


@pytest.mark.parametrize("environment", MAY_CALL)
def test_credentials_of_another_environment(open_session, make_credentials, environment):
    """Credentials of one environment are not accepted by another (section 1, rule 5)."""
    for owner in MAY_CALL:
        credentials = make_credentials(owner)
        if environment == owner:
            assert open_session(environment=environment, credentials=credentials).environment == owner
        else:
            with pytest.raises(tk.CredentialsMismatch, match=f"for {owner}, not for {environment}"):
                open_session(environment=environment, credentials=credentials)


# Opening


@pytest.mark.parametrize("environment", [None, "sandbox", "LIVE", ""])
def test_no_environment(open_session, environment):
    """A live session without a valid environment is refused; the error lists the environments."""
    with pytest.raises(tk.ConfigurationError, match=r"(?s)environment.*broker-sandbox"):
        open_session(environment=environment, credentials=None)


@BOTH
def test_credentials_in_place_of_the_environment(settings, make_credentials, is_async):
    """Credentials as the first argument are refused without being shown; the error says where they belong."""
    kind = tk.AsyncSession if is_async else tk.Session
    with pytest.raises(tk.ConfigurationError, match="first argument") as caught:
        kind(make_credentials("paper"), settings=settings)
    assert "tk.Session(credentials=...)" in caught.value.next_step
    assert "paper" not in str(caught.value)
    with pytest.raises(tk.ConfigurationError, match="credentials must be a KeyPair"):
        kind("paper", 3, settings=settings)


def test_nested_addresses(open_session, service, tmp_path):
    """If one address lies below another, each client keeps to its own, in whatever spelling."""
    addresses = {
        "broker_sandbox": "https://api.example.com",
        "auth_sandbox": "https://api.example.com/auth",
        "market_data_sandbox": "https://api.example.com/data",
    }
    session = open_session(settings=tk.Settings(addresses, project=tmp_path))
    assert call(session, "/v2/quotes", "market_data").request.url == "https://api.example.com/data/v2/quotes"
    assert service.token_requests[0].url == "https://api.example.com/auth/v1/oauth2/token"
    service.requests.clear()
    for path in (
        "/auth",
        "/auth/v1",
        "//auth/v1",
        "/%61uth/v1",
        "/x/%2e%2e/auth/v1",
        "/auth;x/v1",
        "/%2e/auth",
        "/data/v2",
    ):
        for address in ("https://api.example.com", "https://broker-sandbox.svc.invalid"):
            with pytest.raises(tk.UnsafeAddress):
                call(session, f"{address}{path}")
    with pytest.raises(tk.UnsafeAddress):
        call(session, "/../v1/accounts", "market_data")
    assert service.requests == []


def test_timeouts(open_session, service):
    """The session's timeout holds for every call that has no timeout of its own."""
    session = open_session("paper", timeout=5)
    call(session)
    call(session, timeout=httpx.Timeout(1, read=60))
    assert [request.extensions["timeout"]["read"] for request in service.calls] == [5, 60]
    call(open_session("paper"))
    assert service.calls[-1].extensions["timeout"]["read"] == 30.0


# Offline, cassettes and modes


@pytest.mark.parametrize("how", ["variable", "function"])
def test_offline_without_cassette(open_session, monkeypatch, how):
    """While offline a session without a cassette raises CassetteMiss, whatever its mode."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1" if how == "variable" else "")
    if how == "function":
        tk.offline()
    for mode in (None, "once", "all"):
        with pytest.raises(tk.CassetteMiss, match="OFFLINE"):
            open_session(mode=mode)


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all"])
def test_offline_with_cassette(open_session, service, monkeypatch, mode):
    """While offline every mode only replays, and nothing is sent."""
    with open_session(cassette="one") as session:
        call(session)
    service.requests.clear()
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    session = open_session(cassette="one", mode=mode)
    assert session.replays_only
    assert call(session).status_code == 200
    with pytest.raises(tk.CassetteMiss):
        call(session, "/v1/other")
    assert service.requests == []
    with pytest.raises(tk.CassetteMiss):
        open_session(cassette="never recorded", mode=mode)


def test_open_cassette(open_session, tmp_path):
    """A cassette that is already open keeps its mode, and the session does not close it."""
    cassette = tk.Cassette(tmp_path / "one.yaml", "all")
    assert open_session(cassette=cassette, mode="all").cassette is cassette
    with pytest.raises(tk.ConfigurationError, match="mode all, not once"):
        open_session(cassette=cassette, mode="once")
    for path in ("/v2/one", "/v2/two"):
        with open_session("paper", cassette=cassette) as session:
            call(session, path)
    assert not cassette.path.exists()
    cassette.close()
    assert len(tk.Cassette(cassette.path, "none")) == 2


def test_cassette_of_several_environments(open_session):
    """To replay a cassette with calls of several environments, the user must choose the environment."""
    for environment in ("live", "paper"):
        with open_session(environment, cassette="both", mode="new_episodes") as session:
            call(session)
    with pytest.raises(tk.ConfigurationError, match="live, paper"):
        open_session(cassette="both", mode="none", credentials=None)
    for environment in ("live", "paper"):
        assert call(open_session(environment=environment, cassette="both", mode="none", credentials=None))


def test_recordings_of_other_profiles(open_session, service, make_credentials):
    """A call of one profile is not answered from the recording of another; without credentials any profile's is."""
    for name in ("one", "two"):
        service.answer = lambda request, name=name: service.reply({"name": name})
        credentials = make_credentials("paper", name=name)
        with open_session(credentials=credentials, cassette="c", mode="new_episodes") as session:
            call(session)
    for name in ("one", "two"):
        session = open_session(environment="paper", credentials=name, cassette="c", mode="none")
        assert call(session).json() == {"name": name}
    assert call(open_session(cassette="c", mode="none", credentials=None)).json() == {"name": "one"}
    with pytest.raises(tk.CassetteMiss, match="recorded by one"):
        call(open_session(environment="paper", credentials="three", cassette="c", mode="none"))


@BOTH
def test_new_episodes(open_session, replayed, service, is_async):
    """Recorded calls are replayed without a token request; new calls are sent and recorded."""
    with open_session(cassette="c") as session:
        call(session, "/v1/one")
    service.requests.clear()
    service.answer = lambda request: service.reply({"live": True})
    session = open_session(cassette="c", mode="new_episodes", is_async=is_async)
    assert call(session, "/v1/one").json() == {}
    assert service.requests == []
    assert call(session, "/v1/two").json() == {"live": True}
    assert [request.url.path for request in service.requests] == ["/v1/oauth2/token", "/v1/two"]
    assert bearer(service.calls[0]) == service.issued[-1]
    replay = replayed()
    assert [call(replay, path).json() for path in ("/v1/two", "/v1/one")] == [{"live": True}, {}]
    assert list(replay.tokens().index) == [1, 2]


@BOTH
def test_cassette_of_a_cell(open_session, replayed, service, tmp_path, is_async):
    """A session without a cassette uses that of the running cell, which learns its secrets, old and new."""
    service.answer = lambda request: service.reply({"echo": bearer(request), "path": request.url.path})
    clock = ManualClock(START)
    session = open_session(is_async=is_async, clock=clock)
    file = tmp_path / "cell.yaml"
    call(session, "/v1/before")
    selection.put_in_place(tk.Cassette(file, "once"))
    try:
        call(session, "/v1/one")
        clock.advance(1000)
        call(session, "/v1/two")
    finally:
        selection.take_away(well=True)
    call(session, "/v1/after")
    assert len(service.issued) == 2
    canaries.assert_absent(file, [*service.issued, *canaries.secrets_of(session.credentials), "example.com"])
    replay = replayed(file)
    assert [call(replay, path).json()["path"] for path in ("/v1/one", "/v1/two")] == ["/v1/one", "/v1/two"]
    for path in ("/v1/before", "/v1/after"):
        with pytest.raises(tk.CassetteMiss):
            call(replay, path)


def test_links_in_replayed_bodies(open_session, service, settings):
    """A link in a replayed body is symbolic; it is replayed if recorded, else sent to the configured address."""
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
    assert call(session, second).json() == {"next": f"{page}?page=3"}
    assert service.calls[0].url == f"{page}?page=2"
    with pytest.raises(tk.UnsafeAddress):
        call(session, second.replace("broker-sandbox", "broker"))


# Closing


@BOTH
def test_close(open_session, service, is_async):
    """Closing closes the clients and the transport, used before or not; closing again does no harm."""
    session = open_session("paper", is_async=is_async)
    client = session.trading
    call(session)
    assert not service.closed
    finished(session.close())
    finished(session.close())
    assert client.is_closed
    assert service.closed
    assert session.is_closed
    assert repr(session).endswith("live calls, closed>")
    for interface in ("trading", "market_data"):
        with pytest.raises(tk.ConfigurationError, match="This session is closed"):
            call(session, client=interface)
    assert len(session.calls()) == 1


@BOTH
def test_close_ends_a_recording(open_session, replayed, service, is_async):
    """With mode `all` the old recording is replaced if the session ends well, and kept if it ends with an error."""

    def record(answer, *, well=True):
        service.answer = lambda request: service.reply({"answer": answer})
        session = open_session("paper", cassette="c", mode="all", is_async=is_async)

        async def with_session():
            async with session:
                await session.trading.get("/v2/account")
                assert well

        if is_async:
            asyncio.run(with_session())
        else:
            with session:
                call(session)
                assert well
        return session

    def recorded():
        return call(replayed()).json()["answer"]

    _kept = record("first")  # else the garbage collector would end the recording
    assert recorded() == "first"
    with pytest.raises(AssertionError):
        record("second", well=False)
    with pytest.warns(UserWarning, match="interrupted"):
        assert recorded() == "first"
    with pytest.warns(UserWarning, match="interrupted"):
        record("third")
    assert recorded() == "third"


# Against the practice service: live, recorded, replayed


@pytest.fixture(scope="module")
def served():
    """A practice service on real sockets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        with practice(accounts=7) as service:
            yield service


class Watched(Network):
    """The network, which collects the secrets that pass: credential headers and fields."""

    def __init__(self, *, is_async):
        super().__init__(is_async=is_async)
        self.secrets = set()

    def watch(self, request, body):
        for name in ("authorization", "svc-api-key-id", "svc-api-secret-key"):
            if name in request.headers:
                self.secrets.add(request.headers[name].rpartition(" ")[2])
        fields = parse_qs(body.decode()) if request.url.path.endswith("/token") else {}
        self.secrets |= {value for name in ("client_secret", "client_assertion") for value in fields.get(name, ())}

    def handle_request(self, request):
        self.watch(request, request.read())
        return super().handle_request(request)

    async def handle_async_request(self, request):
        self.watch(request, await request.aread())
        return await super().handle_async_request(request)


ORDER = {"symbol": "ALFA", "side": "buy"}


async def take_tour(session):
    """Make calls, at the same time if they are async; return tables, responses and the environment."""

    async def settled(value):
        return await value if inspect.isawaitable(value) else value

    client = getattr(session, own_client(session))
    path = f"/v{2 if session.environment in ('live', 'paper') else 1}/practice/orders"
    tables = [await settled(session.accounts()), await settled(session.accounts(status="open"))]
    quotes = await settled(session.market_data.get("/v2/practice/quotes", params={"symbols": "ALFA,BRVO"}))
    orders = (client.post(path, json={**ORDER, "quantity": str(number)}) for number in range(1, 6))
    responses = await asyncio.gather(*map(settled, orders), settled(client.get("/v9/unknown")))
    await settled(session.close())
    return [*tables, session.tokens(), session.calls()], [quotes, *responses], session.environment


@pytest.mark.parametrize(
    ("name", "is_async"),
    [
        ("live", False),
        ("live-basic", True),
        ("paper", True),
        ("broker-key", True),
        ("sandbox-secret", False),
    ],
)
def test_live_recorded_replayed(served, tmp_path, caplog, name, is_async):
    """The same code runs live, records, and replays without credentials or network, with equal results."""
    credentials = served.credentials[name.removesuffix("-basic")]
    if name.endswith("-basic"):
        keys = credentials.key_id, credentials.secret_key
        credentials = tk.KeyPair(*keys, environment=credentials.environment, name=credentials.name, scheme="basic")
    settings = tk.Settings(served.settings.addresses, cassettes=tmp_path / "cassettes", project=tmp_path)
    caplog.set_level(logging.DEBUG)

    def take(**options):
        watched = Watched(is_async=is_async)
        options = {"credentials": credentials, "settings": settings, "token_store": MemoryTokenStore(), **options}
        session = (tk.AsyncSession if is_async else tk.Session)(transport=watched, **options)
        return finished(take_tour(session)), watched.secrets

    (live, live_responses, _), _ = take()
    (recorded, recorded_responses, _), secrets = take(cassette="tour")
    for left, right in zip(live[:2], recorded[:2], strict=True):
        assert_frame_equal(left.drop(columns=MOVING, errors="ignore"), right.drop(columns=MOVING, errors="ignore"))
    assert [response.status_code for response in live_responses] == [
        response.status_code for response in recorded_responses
    ]
    sent = served.stats.calls, served.stats.token_requests

    bare = tk.Settings(cassettes=settings.cassettes, project=tmp_path)
    for options in ({"credentials": None, "settings": bare}, {"credentials": None}, {}):
        (tables, responses, environment), leaked = take(cassette="tour", mode="none", **options)
        for left, right in zip(recorded, tables, strict=True):
            assert_frame_equal(left, right)
        for left, right in zip(recorded_responses, responses, strict=True):
            assert (left.status_code, left.content, left.http_version) == (
                right.status_code,
                right.content,
                right.http_version,
            )
            assert left.headers.multi_items() == right.headers.multi_items()
        assert environment == credentials.environment
        assert leaked == set()
    assert (served.stats.calls, served.stats.token_requests) == sent

    secrets |= set(canaries.secrets_of(credentials))
    assert len(secrets) >= 2
    canaries.assert_absent([settings.cassettes, caplog.text], secrets, layers=0)
    canaries.assert_absent(settings.cassettes, "127.0.0.1", layers=0)


def test_replayed_outage(tmp_path):
    """The error of a replayed call without an answer says that it is a replay, and how to send the call again."""
    with practice() as service:
        settings = replace(service.settings, cassettes=tmp_path, project=tmp_path)
        credentials = service.credentials["paper"]
    failures, clock = [], ManualClock()
    advice = f"This error was replayed from down.yaml (recorded on {clock.now():%Y-%m-%d}). To send the call again, "
    for _ in range(2):
        with tk.Session(credentials=credentials, settings=settings, cassette="down", clock=clock) as session:
            for ask in (session.accounts, lambda: call(session)):
                with pytest.raises((tk.Unreachable, httpx.ConnectError)) as caught:
                    ask()
                failures.append(caught.value)
    live, raw_live, replayed, raw_replayed = failures
    assert replayed.what == live.what.replace(settings.addresses["trading_paper"], "https://trading-paper.svc.invalid")
    assert str(raw_replayed) == str(raw_live)
    assert live.next_step.startswith("Check the address and its port")
    assert replayed.next_step == raw_replayed.__notes__[0]
    assert replayed.next_step == f'{advice}record it with mode="all".'
    assert not hasattr(raw_live, "__notes__")


@BOTH
def test_trace_extension_does_not_see_credentials(open_session, service, is_async):
    """A trace of httpcore's events gets no request, whose headers would hold the token."""
    events = []

    async def note_async(event, info):
        events.append((event, info))

    def note(event, info):
        events.append((event, info))

    def answer(request):
        traced = request.extensions["trace"]("http11.send_request_headers.started", {"request": request, "n": 1})
        if is_async:
            with pytest.raises(StopIteration):
                traced.send(None)
        return service.reply({})

    service.answer = answer
    session = open_session(is_async=is_async)
    call(session, "/v1/one", extensions={"trace": note_async if is_async else note})
    assert events == [("http11.send_request_headers.started", {"n": 1})]


@BOTH
def test_names_that_a_session_does_not_have(open_session, is_async):
    """A resource is answered with what to write, and a private name as by any object; hasattr works for both."""
    session = open_session(is_async=is_async)
    with pytest.raises(tk.UnknownName, match="no attribute 'positions'") as caught:
        session.positions  # noqa: B018 - the attribute is what fails
    assert f'session.{session.environment.rules.accounts[0]}.get("/v' in caught.value.next_step
    assert caught.value.next_step.endswith('/positions").')
    assert not hasattr(session, "positions")
    assert not hasattr(session, "_repr_png_")
