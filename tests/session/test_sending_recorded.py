"""Requests of a session that are recorded and replayed."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from sender_calls import URL, Way, assert_clean, secrets_in, taped
from session_calls import BOTH, bearer

from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cassettes.cassette import Cassette
from toolkit.core.errors import (
    CredentialsMismatch,
    UnsafeAddress,
)
from toolkit.core.ledger import TRAFFIC
from toolkit.session import sending


def test_recording(make_credentials, service, tmp_path):
    """A recording shows placeholders where credentials were sent; the caller gets the answer as it came."""
    path = tmp_path / "one.yaml"
    way = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({"echo": bearer(request), "self": URL})
    response = way.send("POST", json={"n": 1})
    assert response.json() == {"echo": service.issued[0], "self": URL}
    text = path.read_text()
    assert secrets_in(text, way) == []
    assert "example.com" not in text
    for shown in ("Bearer <ACCESS_TOKEN>", "client_secret=<CLIENT_SECRET>", "client_id=<CLIENT_ID>"):
        assert shown in text
    assert text.index("/v1/oauth2/token") < text.index("/v1/accounts")


@BOTH
def test_replay(make_credentials, service, tmp_path, monkeypatch, is_async):
    """A replay sends nothing, makes no authorizer, and has the same ledger."""
    path = tmp_path / "one.yaml"
    live = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({"page": request.url.params["page"]}, 201)
    for page in (1, 2):
        live.clock.advance(500)
        live.send(url=f"{URL}?page={page}")
    sent = len(service.requests)
    again = taped(make_credentials, service, path, "none")
    monkeypatch.setattr(sending, "make_authorizer", lambda _: pytest.fail("a replay made an authorizer"))
    for page in (2, 1):
        response = again.send(url=f"{URL}?page={page}", is_async=is_async)
        assert (response.status_code, response.json()) == (201, {"page": str(page)})
    assert again.sender.ledger.calls() == live.sender.ledger.calls()
    assert len(service.requests) == sent


def test_recorded_again(make_credentials, service, tmp_path):
    """With mode all the first token has number 1, whatever the old file holds."""
    for _ in range(2):
        way = taped(make_credentials, service, tmp_path / "c.yaml", "all")
        way.send()
        way.sender.cassette.close()
        assert [call.authorized_by.token for call in way.sender.ledger.calls() if call.authorized_by] == [1]


def test_replay_is_unread(make_credentials, service, tmp_path):
    """A replayed response streams like a live response."""
    path = tmp_path / "one.yaml"
    taped(make_credentials, service, path, "once").send()
    again = taped(make_credentials, service, path, "none")
    with httpx.Client(transport=again.transport()) as client, client.stream("GET", URL) as response:
        assert not response.is_stream_consumed
        assert response.read() == b"{}"


def test_refused_in_replay(make_credentials, service, tmp_path):
    """A request that may not be sent is refused in a replay too."""
    path = tmp_path / "one.yaml"
    taped(make_credentials, service, path, "once").send()
    again = taped(make_credentials, service, path, "none")
    with pytest.raises(UnsafeAddress):
        again.send(url="https://elsewhere.example.com/v1/accounts")
    with pytest.raises(CredentialsMismatch):
        again.send(auth=("user", "QXZ"))


def test_shared_token_is_not_recorded(make_credentials, service, tmp_path):
    """A token that another session obtained is kept out of this session's recording."""
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    Way(credentials, service, store=store).send()
    service.answer = lambda request: service.reply(f"your token is {bearer(request)}".encode())
    way = taped(lambda environment: credentials, service, tmp_path / "one.yaml", "once", store=store)
    assert service.issued[0] in way.send().text
    assert service.issued[0] not in (tmp_path / "one.yaml").read_text()


def test_retry_is_recorded_once(make_credentials, service, tmp_path):
    """Of a call that was retried, recording and ledger have the answer that the caller got."""
    path = tmp_path / "one.yaml"
    way = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)
    way.send()
    again = taped(make_credentials, service, path, "none")
    assert again.send().status_code == 200
    assert [call.status for call in way.sender.ledger.calls()] == [200, 200, 200]
    used = [call.authorized_by.token for call in way.sender.ledger.calls() if call.authorized_by]
    assert used == [2]


@BOTH
def test_responses_that_are_already_read(make_credentials, tmp_path, is_async):
    """httpx.MockTransport, whose responses are already read, works below a session and is recorded."""

    def answer(request):
        reply = {"access_token": "QXZ-access-token", "expires_in": 890, "token_type": "Bearer"}
        return httpx.Response(200, json=reply if request.method == "POST" else {"path": request.url.path})

    for mode in ("once", "none"):
        way = taped(make_credentials, httpx.MockTransport(answer), tmp_path / "one.yaml", mode)
        assert way.send(is_async=is_async).json() == {"path": "/v1/accounts"}
        assert [call.elapsed for call in way.sender.ledger.calls()] == [timedelta(0)] * 2


@BOTH
@pytest.mark.parametrize("kind", ["paper", "secret"])
@pytest.mark.parametrize("failure", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_failure_is_replayed(make_credentials, service, tmp_path, failure, kind, is_async):
    """A call without an answer is recorded and fails in the same way in replay; both ledgers are equal."""

    def fail(request):
        way.clock.advance(2)
        raise failure("no answer", request=request)

    credentials = make_credentials("paper") if kind == "paper" else make_credentials("broker-sandbox", kind)
    stories = []
    for mode in ("all", "none"):
        cassette = Cassette(tmp_path / "c.yaml", mode)
        way = Way(credentials, service, cassette=cassette)
        service.answer = fail
        with cassette, pytest.raises(failure) as caught:
            way.send(is_async=is_async)
        cassette.close()
        assert str(caught.value.request.url) == URL
        assert_clean(caught.value, way)
        stories.append(way.sender.ledger.calls())
        sent = len(service.requests)
    assert len(service.requests) == sent
    assert stories[0] == stories[1]
    assert stories[0][-1].elapsed == timedelta(seconds=2)
    assert secrets_in((tmp_path / "c.yaml").read_text(), way) == []


def test_traffic(make_credentials, service, tmp_path):
    """The process counts the calls that were sent and those that were replayed."""
    sent, played = TRAFFIC.sent, TRAFFIC.played
    for mode in ("once", "none"):
        taped(make_credentials, service, tmp_path / "c.yaml", mode).send()
    assert (TRAFFIC.sent - sent, TRAFFIC.played - played) == (1, 1)
