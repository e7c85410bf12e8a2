"""Recorded reads are repeated live, and only reads; what changed is tabulated, and no value is shown."""

from __future__ import annotations

import dataclasses

import canaries
import httpx
import pytest

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.core.errors import ConfigurationError


@pytest.fixture
def record(service, settings, make_credentials):
    """Return a function that records calls, given as methods and paths, and returns the live session for later."""

    def run(*calls):
        credentials = make_credentials("broker-sandbox")
        arguments = {"settings": settings, "transport": service, "token_store": MemoryTokenStore()}
        with tk.Session(credentials=credentials, cassette="story", **arguments) as session:
            for method, path, *body in calls:
                session.broker.request(method, path, json=body[0] if body else None)
        service.requests.clear()
        service.bodies.clear()
        return tk.Session(credentials=credentials, retry=False, **arguments)

    return run


def test_changes(service, record):
    """Status, members, types and media types that changed are listed; values are not compared, and not shown."""
    service.answer = lambda request: service.reply({"cash": "1.50", "id": 1, "old": True})
    session = record(("GET", "/v1/same"), ("GET", "/v1/other?page=2"), ("GET", "/v1/gone"), ("GET", "/v1/text"))
    secret = canaries.new()
    answers = {
        "/v1/same": service.reply({"cash": "9.75", "id": 2, "old": False}),
        "/v1/other": service.reply({"cash": 1.5, "id": 1, "new": secret}),
        "/v1/gone": service.reply({"error": secret}, status=404),
        "/v1/text": service.reply(b"hello", headers={"Content-Type": "text/plain"}),
    }
    service.answer = lambda request: answers[request.url.path]
    drift = tk.drift("story", session)
    rows = {tuple(row) for row in drift.table()[["number", "kind", "place"]].itertuples(index=False)}
    assert {(3, "type", "$.cash"), (3, "added", "$.new"), (3, "removed", "$.old")} <= rows
    assert (4, "status", "status") in rows
    assert (5, "type", "body") in rows
    assert not any(number == 2 for number, _, _ in rows)
    assert (drift.repeated, [each.number for each in drift.not_repeated]) == (4, [1])
    assert [str(call.url) for call in service.calls][1] == "https://broker-sandbox.example.com/v1/other?page=2"
    shown = [repr(drift), drift.table().to_string()]
    canaries.assert_absent(shown, secret)


def test_writes_are_never_sent(service, record):
    """Calls of other methods or with a placeholder are listed and not sent; so are later takes of the same request."""
    token = canaries.new()
    calls = ("GET", "/v1/a"), ("POST", "/v1/orders", {"qty": 1}), ("DELETE", "/v1/orders/1"), ("GET", "/v1/a")
    session = record(*calls, ("GET", f"/v1/a?access_token={token}"))
    drift = tk.drift("story", session)
    assert [(call.method, call.url.path) for call in service.calls] == [("GET", "/v1/a")]
    assert drift.repeated == 1
    reasons = {each.number: each.reason for each in drift.not_repeated}
    assert sorted(reasons) == [1, 3, 4, 5, 6]  # the first is the token request
    assert "token request" in reasons[1]
    assert "recorded before" in reasons[5]
    assert reasons[3].startswith("POST may change something")
    assert "placeholder" in reasons[6]
    canaries.assert_absent([repr(drift.not_repeated), drift.table().to_string()], token)


def test_unreadable_interactions(service, record, settings):
    """An interaction that cannot be read is listed, and the others are repeated."""
    session = record(("GET", "/v1/a"), ("GET", "/v1/b"))
    file = settings.cassettes_folder / "story.yaml"
    start = file.read_bytes().index(b"/v1/a")
    file.write_bytes(file.read_bytes()[:start] + file.read_bytes()[start:].replace(b"code: 200", b"code: ok", 1))
    drift = tk.drift("story", session)
    assert [call.url.path for call in service.calls] == ["/v1/b"]
    assert "status code is not a number" in {each.number: each.reason for each in drift.not_repeated}[2]


def test_pseudonyms_are_never_sent(service, settings, make_credentials):
    """A call with a pseudonym of the recording in its path is listed and not sent."""
    service.answer = lambda request: service.reply({"account_number": "AC-778899-17", "level": 3})
    rules = dataclasses.replace(settings, scrubbing={"pseudonyms": ["account_number"], "names": ["level"]})
    arguments = {"credentials": make_credentials("paper"), "settings": rules, "transport": service}
    with tk.Session(cassette="story", **arguments) as session:
        number = session.trading.get("/v2/account").json()["account_number"]
        session.trading.get(f"/v2/orders/{number}")
    service.requests.clear()
    drift = tk.drift("story", tk.Session(**arguments))
    assert [call.url.path for call in service.calls] == ["/v2/account"]
    assert [(each.number, "pseudonym" in each.reason) for each in drift.not_repeated] == [(2, True)]
    assert number not in repr(drift.not_repeated)
    assert drift.changes == ()  # what the rules replace is replaced in the new answer, too


def test_services_that_do_not_answer(service, record):
    """If no call gets an answer, nothing is known about changes."""
    session = record(("GET", "/v1/a"), ("GET", "/v1/b"))

    def fail(request):
        raise httpx.ConnectError("refused", request=request)

    service.answer = fail
    with pytest.raises(tk.Unreachable, match="broker-sandbox do not answer"):
        tk.drift("story", session)


def test_own_headers_are_repeated(service, record, settings, make_credentials):
    """Headers that the caller set are sent again, credentials are those of the session."""
    credentials = make_credentials("paper")
    arguments = {"settings": settings, "transport": service}
    with tk.Session(credentials=credentials, cassette="story", **arguments) as session:
        session.trading.request("GET", "/v2/account", content=b"[]", headers={"X-Report": "7", "Cookie": "a=b"})
    service.requests.clear()
    drift = tk.drift("story", tk.Session(credentials=credentials, **arguments))
    (request,) = service.calls
    assert (request.headers["x-report"], b"".join(request.stream)) == ("7", b"[]")
    assert request.headers["svc-api-key-id"] == credentials.secrets()[0][1].reveal()
    assert "cookie" not in request.headers
    assert (drift.repeated, drift.changes) == (1, ())


def test_other_addresses_and_environments(service, record, settings, make_credentials):
    """Calls of another environment, to other hosts and to the token endpoint are not sent."""
    ours = record(("GET", "/v1/a"))
    session = tk.Session(credentials=make_credentials("paper"), settings=settings, transport=service)
    drift = tk.drift("story", session)
    assert service.calls == []
    assert {each.reason for each in drift.not_repeated if each.number > 1} == {"it was made in broker-sandbox"}
    with tk.Cassette("story", "new_episodes", settings=settings) as cassette:
        cassette.scrubber.use_addresses(settings.addresses, settings.header_prefix)
        client = httpx.Client(transport=cassette.transport(httpx.MockTransport(lambda _: httpx.Response(200))))
        for address in (settings.addresses["auth_sandbox"], "https://elsewhere.example.com"):
            client.get(f"{address}/v1/b")
    drift = tk.drift("story", ours)
    assert [call.url.path for call in service.calls] == ["/v1/a"]
    assert [each.reason for each in drift.not_repeated[1:]] == ["its address does not belong to broker-sandbox"] * 2


def test_only_live_sessions(record, settings):
    """A session that replays is refused."""
    record(("GET", "/v1/a"))
    with pytest.raises(ConfigurationError, match="live"):
        tk.drift("story", tk.Session(cassette="story", mode="none", settings=settings))
    with pytest.raises(ConfigurationError, match=r"live tk\.Session"):
        tk.drift("story", httpx.Client())
