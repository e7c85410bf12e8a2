"""Flights: fetches in progress that threads and tasks wait for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolkit.auth.tokens.single_flight import Flight
from toolkit.transport.flow import WhichLoop, run, run_async

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def drive(flow, *, is_async):
    return asyncio.run(run_async(flow, None)) if is_async else run(flow, None)


def waiting(flight):
    return (yield from flight.wait((yield WhichLoop())))


class LoopThread:
    """An event loop that runs in its own thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def flight(self):
        return Flight(self.loop, thread=self.thread.ident)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("toolkit.auth.tokens.single_flight._LONGEST_SILENCE", 0.05)


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_stuck(is_async):
    """A loop that is blocked, perhaps by a call that waits for this thread, is not waited for."""
    with LoopThread() as other:
        freed = threading.Event()
        other.loop.call_soon_threadsafe(freed.wait)
        assert drive(waiting(other.flight()), is_async=is_async) is False
        freed.set()
