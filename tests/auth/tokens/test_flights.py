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


def test_wait_in_another_thread():
    """A thread that waits for another thread's flight goes on only when it has landed."""
    flight = Flight()
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run(waiting(flight), None)))
    thread.start()
    thread.join(0.05)
    assert outcomes == []
    flight.landed.set_result(True)
    thread.join()
    assert outcomes == [True]


def test_wait_in_a_task():
    """A task can wait for another task of its loop, and for a thread."""

    async def main():
        mine, other = Flight(), Flight(thread=0)
        tasks = [asyncio.create_task(run_async(waiting(flight), None)) for flight in (mine, other)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        mine.landed.set_result(True)
        threading.Thread(target=lambda: other.landed.set_result(True)).start()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [True, True]


def test_cancelled_waiter():
    """A cancelled waiter does not cancel the flight for the others."""

    async def main():
        flight = Flight()
        cancelled, waiter = (asyncio.create_task(run_async(waiting(flight), None)) for _ in range(2))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert not flight.landed.cancelled()
        flight.landed.set_result(True)
        return await waiter

    assert asyncio.run(main()) is True


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
