"""Flights: fetches in progress that threads and tasks wait for."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from datetime import UTC, datetime, timedelta

import pytest
from manual_clock import ManualClock

from toolkit.auth.tokens.single_flight import Flight, TokenSource
from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.transport.flow import run


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


class HeldClock(ManualClock):
    """A clock whose reading waits until it is let go."""

    def __init__(self, start):
        super().__init__(start)
        self.is_read, self.go_on = threading.Event(), threading.Event()

    def monotonic(self):
        self.is_read.set()
        self.go_on.wait(30)
        return super().monotonic()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("is_deciding", [False, True], ids=["requesting", "deciding"])
def test_fork_while_another_thread_asks(is_deciding):
    """A forked child asks for a token of its own: it waits neither for a request of its parent nor for its lock."""
    start = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
    source, clock, held = TokenSource(), ManualClock(start), HeldClock(start)
    source.token = Token(Secret("expired"), start, start)

    def fetch(*, patiently):
        yield from ()
        return Token(Secret("new"), start, start + timedelta(seconds=890))

    def slow_fetch(*, patiently):
        held.monotonic()
        return (yield from fetch(patiently=patiently))

    arguments = (source.obtain(held, fetch) if is_deciding else source.obtain(clock, slow_fetch), None)
    other = threading.Thread(target=run, args=arguments)
    other.start()
    assert held.is_read.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits for ever
        os._exit(run(source.obtain(clock, fetch), None).access_token != Secret("new"))
    status = os.waitpid(child, 0)[1]
    held.go_on.set()
    other.join(30)
    assert os.waitstatus_to_exitcode(status) == 0
