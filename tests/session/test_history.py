"""What a session remembers: its token, its present, its tables of calls and tokens."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import httpx
import pandas as pd
import pytest
from manual_clock import ManualClock
from session_calls import call

from toolkit.tables.tabulation import tabulate

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


@pytest.fixture
def clock():
    return ManualClock(START)


def test_token(open_session, service, clock):
    """The current token is shown while it is usable, its text as a Secret; a key pair has no token."""
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


def test_token_in_replay(open_session, replayed, clock):
    """In replay the token is that of the last played call, with a placeholder for its text."""
    with open_session(cassette="c", clock=clock) as live:
        for path in ("/v1/one", "/v1/two"):
            call(live, path)
            clock.advance(1000)
    replay = replayed()
    assert replay.token is None
    call(replay, "/v1/one")
    assert replay.token.access_token.reveal() == "<ACCESS_TOKEN>"
    assert replay.token.expires_at == START + timedelta(seconds=890)
    call(replay, "/v1/two")
    assert replay.token.issued_at == START + timedelta(seconds=1000)


def test_now(open_session, replayed, service, clock):
    """A live session is in the present; a replay stands where its recording stood, and never goes back."""

    def answer(request):
        clock.advance(0.5)
        return service.reply({})

    service.answer = answer
    with open_session("paper", cassette="c", clock=clock) as live:
        for path in ("/v2/one", "/v2/two"):
            call(live, path)
            assert live.now() == clock.now()
            clock.advance(60)
    replay = replayed()
    instants = [replay.now()]
    for path in ("/v2/two", "/v2/one", "/v2/two"):
        call(replay, path)
        instants.append(replay.now())
    assert instants == [START, *[START + timedelta(seconds=61)] * 3]


def test_tables(open_session, clock):
    """calls() has a row for each call, token requests included; tokens() has a row for each token."""
    session = open_session(clock=clock)
    assert (len(session.calls()), len(session.tokens())) == (0, 0)
    call(session, client="market_data")
    call(session, "/v1/accounts/7?page=2")
    clock.advance(500)
    calls = session.calls()
    assert list(calls["path"]) == ["/v1/oauth2/token", "/v2/quotes", "/v1/accounts/7"]
    assert list(calls["interface"]) == ["auth", "market_data", "broker"]
    assert list(calls["token"]) == [pd.NA, 1, 1]
    tokens = session.tokens()
    assert list(tokens["calls"]) == [2]
    assert list(tokens["remaining"]) == [890.0]  # at the end of the last call
    assert list(tokens["expires"]) == [pd.Timestamp(START + timedelta(seconds=890))]
    assert calls.attrs["source"].startswith("broker-sandbox · live calls, as of 12 May 2026")


def test_source_of_answers(open_session, replayed, service, clock):
    """A table that is made of a session's answer knows its source, as accounts() does; other tables know none."""
    service.answer = lambda request: service.reply([{"id": "a", "cash": "5.50"}])
    with open_session(cassette="c", clock=clock) as live:
        response = live.broker.get("/v1/accounts")
        source = live.accounts().attrs["source"]
        assert tabulate(response).attrs["source"] == source
        assert source.startswith("broker-sandbox · live calls, recorded, as of 12 May 2026")
    again = replayed().broker.get("/v1/accounts")
    assert tabulate(again).attrs["source"].startswith("broker-sandbox · replayed, recorded")
    assert tabulate(iter([again])).attrs["source"].startswith("broker-sandbox · replayed, recorded")
    assert "source" not in tabulate(pickle.loads(pickle.dumps(again))).attrs  # noqa: S301 - our own
    assert "source" not in tabulate(httpx.Response(200, json=[{"id": 1}])).attrs
