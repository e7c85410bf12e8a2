"""Flights: fetches in progress that threads and tasks wait for."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from manual_clock import ManualClock

from toolkit.auth.tokens.single_flight import Flight, TokenSource
from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.transport.flow import run, run_async


def test_wait_for_a_loop_that_is_stuck(monkeypatch):
    """A loop that is closed, or blocked, perhaps by a call that waits for this thread, is not waited for."""
    monkeypatch.setattr("toolkit.auth.tokens.single_flight._LONGEST_SILENCE", 0.05)
    loop, freed = asyncio.new_event_loop(), threading.Event()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    loop.call_soon_threadsafe(freed.wait)
    flight = Flight(loop, thread=thread.ident)
    assert run(flight.wait(None), None) is False
    loop.call_soon_threadsafe(loop.stop)
    freed.set()
    thread.join()
    loop.close()
    assert flight.is_lost
    assert run(flight.wait(None), None) is False
    assert run(Flight().wait(None), None) is False  # which a task of this very thread would have to land


def test_waiting_tasks_go_on_one_after_the_other():
    """Each has a turn of the event loop of its own, so that other tasks do not wait for all; a cancelled one passes."""

    async def main():
        flight, turn, turns = Flight(asyncio.get_running_loop()), 0, []

        async def wait():
            assert await run_async(flight.wait(flight.loop), None)
            turns.append(turn)

        tasks = [asyncio.create_task(wait()) for _ in range(20)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        flight.land()
        for turn in range(200):  # noqa: B007 - the tasks read it
            await asyncio.sleep(0)
        assert len(set(turns)) == 19

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("is_deciding", [False, True], ids=["requesting", "deciding"])
def test_fork_while_another_thread_asks(is_deciding):
    """A forked child asks for a token of its own: it waits neither for a request of its parent nor for its lock."""
    start = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
    source, clock, is_held, go_on = TokenSource(), ManualClock(start), threading.Event(), threading.Event()
    source.token = Token(Secret("expired"), start, start)

    def hold():
        is_held.set()
        go_on.wait(30)
        return clock.monotonic()

    def fetch(*, patiently):
        yield from ()
        return Token(Secret("new"), start, start + timedelta(seconds=890))

    def slow_fetch(*, patiently):
        hold()
        return (yield from fetch(patiently=patiently))

    held = SimpleNamespace(now=clock.now, monotonic=hold)
    flow = source.obtain(held, fetch) if is_deciding else source.obtain(clock, slow_fetch)
    other = threading.Thread(target=run, args=(flow, None))
    other.start()
    assert is_held.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits for ever
        os._exit(run(source.obtain(clock, fetch), None).access_token != Secret("new"))
    status = os.waitpid(child, 0)[1]
    go_on.set()
    other.join(30)
    assert os.waitstatus_to_exitcode(status) == 0
