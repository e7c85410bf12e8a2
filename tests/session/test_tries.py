"""The tries of a call: what is sent again, when, with which credentials, and what is remembered of it."""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from manual_clock import ManualClock
from session_calls import BOTH, bearer, call, finished

import toolkit as tk

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
BROKEN = [httpx.ConnectError, httpx.ConnectTimeout, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError]


@pytest.fixture
def steady(open_session):
    """Return a function that opens a session whose pauses take their full length; it begins at `START`."""

    def opened(*, is_async=False, **options):
        session = open_session(clock=ManualClock(START), is_async=is_async, **options)
        session._sender.jitter = lambda: 1.0
        return session

    return opened


def answers(service, *outcomes):
    """Let the service give these outcomes, one after the other; the last repeats."""
    left = list(outcomes)

    def answer(request):
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, type):
            raise outcome("QXZ")
        status, headers = outcome if isinstance(outcome, tuple) else (outcome, {})
        return service.reply({"try": len(service.calls)}, status, headers)

    service.answer = answer


def ends_in(session, outcome, **request):
    """Make a call and check its status, or its error."""
    if isinstance(outcome, int):
        assert call(session, **request).status_code == outcome
    else:
        with pytest.raises(outcome):
            call(session, **request)


# What is sent again


@BOTH
@pytest.mark.parametrize("outcome", [429, 503, *BROKEN], ids=str)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_passing(steady, service, outcome, method, is_async):
    """A read that failed in passing is sent again, after growing pauses; the caller sees the last answer."""
    answers(service, outcome, outcome, 200)
    session = steady(is_async=is_async)
    assert call(session, method=method).status_code == 200
    assert len(service.calls) == 3
    assert session.now() == START + timedelta(seconds=0.5 + 1.0)


@BOTH
@pytest.mark.parametrize("outcome", [429, 503, httpx.ConnectError], ids=str)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_writes_are_never_repeated(open_session, service, outcome, method, is_async):
    """Anything but a read is sent once, whatever happens."""
    answers(service, outcome)
    ends_in(open_session(is_async=is_async), outcome, method=method)
    assert len(service.calls) == 1


@BOTH
def test_limits(open_session, service, is_async):
    """The number of tries and the time are limited; then the caller gets the last answer or the last error."""
    answers(service, 503)
    session = open_session(clock=ManualClock(), is_async=is_async, retry=tk.Retry(tries=2))
    assert call(session).status_code == 503
    assert len(service.calls) == 2
    answers(service, httpx.ReadError)
    with pytest.raises(httpx.ReadError) as caught:
        call(session)
    assert len(service.calls) == 4
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, httpx.ReadError)
    assert len(service.token_requests) == 1  # a call that fails does not cost the token
    once = open_session(clock=ManualClock(), is_async=is_async, retry=False)
    with pytest.raises(httpx.ReadError):
        call(once)
    assert len(service.calls) == 5


# Pauses


def test_retry_after(steady, service):
    """The service says how long to wait; one beyond the limit gives its answer at once."""
    answers(service, (429, {"Retry-After": "7"}), 200)
    session = steady()
    call(session)
    assert session.now() == START + timedelta(seconds=7.5)
    answers(service, (503, {"Retry-After": "31"}), 200)
    assert call(session).status_code == 503
    assert session.now() == START + timedelta(seconds=7.5)


def test_cancelled_while_pausing(open_session, service):
    """A task can be cancelled while its call waits for the next try; nothing is sent after that."""
    answers(service, (503, {"Retry-After": "29"}))

    async def main():
        session = open_session(is_async=True)  # on the machine's clock, whose pauses are real
        task = asyncio.create_task(session.broker.get("/v1/accounts"))
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(service.calls) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(service.calls) == 1


# Credentials


@BOTH
def test_token_that_expires_while_waiting(steady, service, is_async):
    """A token that expires during a pause is replaced before the next try."""
    service.expires_in = 5
    answers(service, (429, {"Retry-After": "10"}), 200)
    assert call(steady(is_async=is_async)).status_code == 200
    assert [bearer(request) for request in service.calls] == service.issued
    assert len(service.issued) == 2


@BOTH
@pytest.mark.parametrize("outcomes", [(401, 429, 200), (429, 401, 200), (429, 401, 503, 200)], ids=str)
def test_renewal_and_retry(steady, service, outcomes, is_async):
    """A renewal after a 401 and tries after 429 go together, in any order."""
    answers(service, *outcomes)
    session = steady(is_async=is_async)
    assert call(session).status_code == 200
    assert len(service.calls) == len(outcomes)
    assert len(service.issued) == 2
    assert session.calls()["tries"].iloc[-1] == len(outcomes)


# What is remembered


def test_token_request_tries(open_session, service):
    """A token request that was repeated says so in its row, live and replayed."""
    left = [service.reply({}, 503)]
    service.answer_token = lambda request: left.pop() if left else service.token_reply()
    with open_session(clock=ManualClock(START), cassette="tries") as session:
        call(session)
    assert session.calls()[["path", "tries"]].values.tolist() == [["/v1/oauth2/token", 2], ["/v1/accounts", 1]]


@BOTH
@pytest.mark.parametrize("outcomes", [(429, 200), (503, httpx.ReadError, 404), (503,), (httpx.ConnectError,)], ids=str)
def test_recorded_and_replayed(open_session, replayed, service, settings, outcomes, is_async):
    """Only the last outcome is recorded, as one interaction; the replay shows the same table and tries nothing."""
    answers(service, *outcomes)
    live = open_session(clock=ManualClock(START), cassette="tries", is_async=is_async)
    ends_in(live, outcomes[-1])
    finished(live.close())
    sent = len(service.calls)
    again = replayed("tries")
    ends_in(again, outcomes[-1])
    assert again.calls().equals(live.calls())
    expected = len(outcomes) if outcomes[-1] in (200, 404) else 4
    assert live.calls()["tries"].tolist() == [1, expected]
    assert len(service.calls) == sent == expected
    with tk.Cassette("tries", "none", settings=settings) as cassette:
        assert len(cassette) == 2


# A limited rate


@BOTH
def test_rate(open_session, service, is_async):
    """N calls at a rate r take (N - 1) / r seconds, each from the end of its pause; token requests do not count."""
    clock = ManualClock(START)
    service.answer_token = lambda request: clock.advance(3) or service.token_reply()
    session = open_session(clock=clock, is_async=is_async, per_second=2, retry=tk.Retry(tries=2, within=100))

    async def tasks():
        await session.broker.get("/v1/accounts")  # alone, since the order in which waiting tasks go on is not promised
        await asyncio.gather(*(session.broker.get("/v1/accounts") for _ in range(4)))

    if is_async:
        asyncio.run(tasks())
    else:
        for _ in range(5):
            call(session)
    assert clock.monotonic() == pytest.approx(5.0)
    assert len(service.token_requests) == 1
    calls = session.calls().iloc[1:]
    assert (calls["when"] - START).dt.total_seconds().tolist() == pytest.approx([3.0, 3.5, 4.0, 4.5, 5.0], abs=1e-3)
    assert set(calls["elapsed"]) == {0.0}


@pytest.mark.usefixtures("only_new_garbage")
def test_sessions_share_the_rate(open_session, make_credentials, service):
    """All who share the credentials are spaced, also those that name no rate, until the session that does is closed."""
    credentials, clock = make_credentials("paper"), ManualClock()
    plain, fast, slow = (
        open_session(credentials=credentials, clock=clock, per_second=rate) for rate in (None, 10, 0.5)
    )
    other = open_session("paper", clock=clock)
    for session in (plain, fast, slow):
        call(session)
    assert clock.monotonic() == pytest.approx(4.0)
    call(other)
    assert clock.monotonic() == pytest.approx(4.0)
    slow.close()
    for session in (plain, fast):
        call(session)
    assert clock.monotonic() == pytest.approx(4.2, abs=0.11)
    del fast, session
    gc.collect()
    for _ in range(5):
        call(plain)
    assert clock.monotonic() == pytest.approx(4.2, abs=0.11)


def test_replay_is_not_slowed_down(open_session, replayed, service):
    """A replay waits for nothing, and names no rate for others."""
    with open_session("paper", cassette="fast") as session:
        call(session)
    session = replayed("fast", per_second=0.001)
    for _ in range(3):
        call(session)
    assert len(session.calls()) == 3
