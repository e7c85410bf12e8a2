"""One token for all: however many threads, tasks and sessions share credentials, and whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import gzip
import threading
from datetime import UTC, datetime

import canaries
import httpx
import pytest
from bodies import body_class
from manual_clock import ManualClock
from session_calls import BOTH, bearer, call, in_threads

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
PATH = "/v1/accounts"


@pytest.fixture
def slow(service):
    """Let the token endpoint answer after others had time to ask as well."""

    async def later():
        await asyncio.sleep(0.05)
        return service.token_reply()

    def answer(request):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            threading.Event().wait(0.05)
            return service.token_reply()
        return later()

    service.answer_token = answer
    return service


@pytest.mark.parametrize("sessions", [1, 4])
def test_threads(open_session, make_credentials, slow, sessions):
    """32 threads make one token request, on one session or on several with the same credentials."""
    options = {"credentials": make_credentials("broker-sandbox"), "token_store": MemoryTokenStore()}
    opened = [open_session(**options) for _ in range(sessions)]
    responses = in_threads(32, lambda number: call(opened[number % sessions]))
    assert [response.status_code for response in responses] == [200] * 32
    assert len(slow.token_requests) == 1
    assert {bearer(request) for request in slow.calls} == set(slow.issued)
    assert all(list(session.tokens().index) == [1] for session in opened)


def test_cancelled_tasks(open_session, slow):
    """If the task that asks is cancelled, its request goes on for the others; a cancelled waiter cancels nobody."""

    async def main():
        session = open_session(is_async=True)
        tasks = [asyncio.create_task(session.broker.get(PATH)) for _ in range(10)]
        await asyncio.sleep(0.02)
        assert len(slow.token_requests) == 1
        for task in (tasks[0], tasks[5]):
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(main())
    assert [type(outcomes[number]) for number in (0, 5)] == [asyncio.CancelledError] * 2
    assert sum(isinstance(outcome, httpx.Response) for outcome in outcomes) == 8
    assert len(slow.token_requests) == 1


@pytest.mark.parametrize("count", [1, 5])
def test_time_limits_below_the_time_of_a_token_request(open_session, slow, count):
    """If callers give up before the token arrives, later callers use it: the request was not in vain."""

    async def main():
        session = open_session(is_async=True)
        outcomes = []
        for _ in range(4):
            calls = (asyncio.wait_for(session.broker.get(PATH), 0.03) for _ in range(count))
            outcomes.append(await asyncio.gather(*calls, return_exceptions=True))
        return outcomes

    first, *_, last = asyncio.run(main())
    assert all(isinstance(outcome, TimeoutError) for outcome in first)
    assert all(isinstance(outcome, httpx.Response) for outcome in last)
    assert len(slow.token_requests) == 1


@pytest.mark.parametrize(("timeout", "seconds"), [(2.5, 2.5), (httpx.Timeout(7, connect=1), 7), (None, 30)])
def test_timeout(open_session, service, timeout, seconds):
    """The session's timeout holds for token requests too, which are never without one."""
    call(open_session(timeout=timeout))
    assert service.token_requests[0].extensions["timeout"]["read"] == seconds


def test_a_new_token_is_known_first(open_session, service):
    """The text of a token is replaced by scrubbing before anything notes or records its request."""
    session, seen = open_session(), []
    ledger, known = session._sender.ledger, session._sender.known
    ledger.add = lambda call: seen.append(known.scrub_text(service.issued[-1])) or type(ledger).add(ledger, call)
    call(session)
    assert seen[0] == "<ACCESS_TOKEN>"


def test_form_fields_are_known_without_a_token_request(open_session, service, settings, make_credentials):
    """A secret among the form fields is in no recording, also of a session that uses another's token."""
    text, store = canaries.new(), MemoryTokenStore()
    credentials = make_credentials("broker-sandbox", form_fields={"resource_key": text})
    service.answer = lambda request: service.reply({"note": text})
    for cassette in (None, "c"):
        with open_session(credentials=credentials, token_store=store, cassette=cassette) as session:
            call(session)
    assert len(service.token_requests) == 1
    canaries.assert_absent(settings.cassettes / "c.yaml", text)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@BOTH
def test_a_reply_that_is_too_large(open_session, service, is_async, coding):
    """Of a long reply little more than 1 MiB is read, and a small one is not decompressed to a large one."""
    pieces = [b" " * (1 << 16)] * 1000 if coding == "identity" else [gzip.compress(b" " * (8 << 20))]
    body = body_class(httpx)(pieces)
    service.answer_token = lambda request: httpx.Response(200, headers={"Content-Encoding": coding}, stream=body)
    with pytest.raises(tk.TokenResponseInvalid, match="larger than 1 MiB"):
        call(open_session(is_async=is_async))
    assert body.taken == min(len(pieces), 17)
    assert body.closed == 1


def test_loop_that_ends_during_a_token_request(open_session, slow):
    """If an event loop ends while its task asks for a token, nobody waits for that token forever."""
    session = open_session(is_async=True)

    async def main():
        asyncio.create_task(session.broker.get(PATH))  # noqa: RUF006 - dropped on purpose
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert call(session).status_code == 200
    assert len(slow.token_requests) == 2


def test_sessions_of_a_process(settings, service, make_credentials):
    """Sessions share tokens in this process unless they have a token store or a clock of their own."""
    credentials = make_credentials("broker-sandbox")
    options = {"credentials": credentials, "settings": settings, "transport": service}
    for session in (tk.Session(**options), tk.Session(**options), tk.AsyncSession(**options)):
        call(session)
    assert len(service.token_requests) == 1
    call(tk.Session(**options, clock=ManualClock(START)))
    call(tk.Session(**options, token_store=MemoryTokenStore()))
    assert len(service.token_requests) == 3
    other = tk.ClientSecret("client-1", "QXZ-other-secret", environment="broker-sandbox")
    call(tk.Session(**{**options, "credentials": other}))
    assert len(service.token_requests) == 4
