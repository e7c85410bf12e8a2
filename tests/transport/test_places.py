"""Places for calls that are under way at once: who gets one, and when it is free again."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections import deque

import httpx
import pytest
from bodies import body_class
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

import toolkit as tk
from toolkit.cassettes.through import Outgoing, through
from toolkit.transport.flow import run, run_async
from toolkit.transport.network import Places


def takes(places):
    """Return True if there is a place at once, and take it."""
    try:
        return not run(places.enter(0), None)
    except httpx.PoolTimeout:
        return False


def test_first_come_first_served():
    """A free place goes to the thread that has waited longest, and to nobody who comes later."""
    places, order = Places(1), []
    assert takes(places)

    def work(number):
        run(places.enter(None), None)
        order.append(number)

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=work, args=[number]))
        threads[-1].start()
        while len(places._waiting) <= number:
            threading.Event().wait(0.001)
    for number in range(5):
        assert not takes(places)
        places.leave()
        threads[number].join()
    assert order == [0, 1, 2, 3, 4]


@given(st.integers(1, 4), st.integers(1, 30), st.sets(st.integers(0, 29)))
def test_tasks(count, tasks, cancelled):
    """Never more tasks than places; whoever is cancelled while waiting leaves no place unused, and stops nobody."""
    places, under_way, most, done = Places(count), 0, 0, []

    async def work(number):
        nonlocal under_way, most
        await run_async(places.enter(None), None)
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        done.append(number)
        places.leave()

    async def main():
        running = [asyncio.create_task(work(number)) for number in range(tasks)]
        await asyncio.sleep(0)
        waiting = [number for number in sorted(cancelled) if count <= number < tasks]
        for number in waiting:
            running[number].cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return [number for number in range(tasks) if number not in waiting]

    expected = asyncio.run(main())
    assert done == expected
    assert most <= count
    assert [takes(places) for _ in range(count + 1)] == [True] * count + [False]


def test_given_back_within():
    """A place may be given back in the midst of another method, as the garbage collector does it; nobody hangs."""
    places, waited = Places(1), []
    assert takes(places)

    class Reentrant(deque):
        def append(self, turn):
            places.leave()  # between the look at the free places and the entry in the queue
            super().append(turn)

        def popleft(self):
            places.leave()  # while a place is handed over
            return super().popleft()

    places._waiting = Reentrant()
    thread = threading.Thread(target=lambda: waited.append(run(places.enter(1), None)), daemon=True)
    thread.start()
    thread.join(60)
    assert (thread.is_alive(), waited) == (False, [False])
    places._waiting = deque()
    assert [takes(places), takes(places)] == [True, False]


def test_pool_timeout():
    """A call waits for a place as long as its client's timeout for the pool says."""
    with httpx.Client(timeout=httpx.Timeout(5, pool=0)) as client:
        outgoing = Outgoing(client.build_request("GET", "https://a.example"), ManualClock(), Places(0))
    with pytest.raises(httpx.PoolTimeout):
        run(through(None, outgoing), httpx.MockTransport(lambda _: httpx.Response(200)))


# Responses


class BreakingBody(body_class(httpx)):
    """A body that cannot be closed."""

    def close(self):
        raise httpx.CloseError("no")


def held(places, *, is_recorded, path, **options):
    """Return a response that holds a place."""
    outgoing = Outgoing(httpx.Request("GET", "https://a.example"), ManualClock(), places)
    below = httpx.MockTransport(lambda _: httpx.Response(200, **options))
    return run(through(tk.Cassette(path) if is_recorded else None, outgoing), below)


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.filterwarnings("ignore:The response to GET")
@pytest.mark.parametrize("is_recorded", [False, True], ids=["live", "recorded"])
@pytest.mark.parametrize("way", ["read", "read_async", "close", "break", "drop", "with its body"])
def test_a_response_holds_a_place(tmp_path, way, is_recorded):
    """The place is free again, once, when a response is read or closed, even in vain, or dropped while open."""
    places = Places(1)
    body = (BreakingBody if way == "break" else body_class(httpx))([b"body"])
    options = {"content": b"body"} if way == "with its body" else {"stream": body}
    response = held(places, is_recorded=is_recorded, path=tmp_path / "a.yaml", **options)
    if way != "with its body":
        assert not takes(places)
    if way == "read":
        response.read()
    elif way == "read_async":
        asyncio.run(response.aread())
    elif way in ("close", "break"):
        with contextlib.suppress(httpx.CloseError):
            response.close()
    elif way == "drop":
        next(iter(response.stream))
    del response
    gc.collect()
    assert [takes(places), takes(places)] == [True, False]
