"""Flows driven by both drivers; flows themselves are driven by hand in test_tokens and test_calling."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.clock import ManualClock, SystemClock
from toolkit.transport.flow import Flight, Pause, Read, Shielded, Wait, WhichLoop, run, run_async

URL = "https://service.example.com/"


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers by path: /ok with an unread body, anything else with a failure."""

    def handle_request(self, request):
        if request.url.path != "/ok":
            raise httpx.ConnectError("no connection")
        return httpx.Response(200, stream=httpx.ByteStream(b"answer"))

    async def handle_async_request(self, request):
        await asyncio.sleep(0)
        return self.handle_request(request)


def drive(flow, *, is_async):
    return asyncio.run(run_async(flow, Transport())) if is_async else run(flow, Transport())


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@BOTH
def test_outcomes(is_async):
    """A flow is sent the response for a request and the bytes for a Read; its return value comes back."""

    def flow():
        response = yield httpx.Request("GET", f"{URL}ok")
        assert not response.is_stream_consumed
        body = yield Read(response)
        sent = yield Read(httpx.Request("POST", URL, content=b"question"))
        return response.status_code, body, sent

    assert drive(flow(), is_async=is_async) == (200, b"answer", b"question")


@BOTH
def test_failure_is_handled(is_async):
    """A failure is raised where the flow waits for its outcome, which may handle it and go on."""

    def flow():
        try:
            yield httpx.Request("GET", URL)
        except httpx.ConnectError:
            response = yield httpx.Request("GET", f"{URL}ok")
        return response.status_code

    assert drive(flow(), is_async=is_async) == 200


@BOTH
def test_failure_is_passed_on(is_async):
    """A failure that a flow does not handle comes out of the driver, and drags no other failure along."""

    def flow():
        with pytest.raises(httpx.ConnectError):
            yield httpx.Request("GET", URL)
        raise ValueError("the flow's own")

    with pytest.raises(ValueError, match="the flow's own") as caught:
        drive(flow(), is_async=is_async)
    assert caught.value.__context__ is None


@BOTH
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, asyncio.CancelledError, SystemExit])
def test_interrupts_reach_the_flow(interrupt, is_async):
    """An interrupt or a cancellation while a request is out is raised in the flow, which can clean up."""
    seen = []

    class Interrupted(Transport):
        def handle_request(self, request):
            raise interrupt

    def flow():
        try:
            yield httpx.Request("GET", URL)
        except BaseException as error:
            seen.append(type(error))
            raise

    async def in_loop():
        # Caught inside: asyncio.run has its own ways with these.
        with pytest.raises(interrupt):
            await run_async(flow(), Interrupted())

    if is_async:
        asyncio.run(in_loop())
    else:
        with pytest.raises(interrupt):
            run(flow(), Interrupted())
    assert seen == [interrupt]


@given(st.lists(st.sampled_from(["ok", "fails", "read"]), max_size=30))
def test_drivers_agree(steps):
    """Whatever a flow asks for, the synchronous and the asynchronous driver give it the same outcomes."""

    def flow():
        seen = []
        for step in steps:
            try:
                if step == "read":
                    seen.append((yield Read(httpx.Request("POST", URL, content=b"question"))))
                else:
                    seen.append((yield httpx.Request("GET", f"{URL}{step}")).status_code)
            except httpx.ConnectError as error:
                seen.append(str(error))
        return seen

    assert drive(flow(), is_async=False) == drive(flow(), is_async=True)
    assert len(drive(flow(), is_async=False)) == len(steps)


def test_long_flow():
    """A flow of very many effects needs no stack for them."""

    def flow():
        for _ in range(5000):
            yield httpx.Request("GET", f"{URL}ok")
        return "done"

    assert run(flow(), Transport()) == "done"


def waiting(flight):
    return (yield Wait(flight))


def test_wait_in_another_thread():
    """A thread that waits for another's flight goes on when it has landed, and not before."""
    flight = Flight()
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run(waiting(flight), Transport())))
    thread.start()
    thread.join(0.05)
    assert outcomes == []
    flight.landed.set_result(True)
    thread.join()
    assert outcomes == [True]


def test_wait_on_own_thread():
    """A synchronous caller does not wait for a flight of its own thread: it would wait forever."""
    assert run(waiting(Flight()), Transport()) is False


def test_wait_in_a_task():
    """A task waits for another task of its loop, and for a thread."""

    async def main():
        mine, other = Flight(), Flight(thread=0)
        tasks = [asyncio.create_task(run_async(waiting(flight), Transport())) for flight in (mine, other)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        mine.landed.set_result(True)
        threading.Thread(target=lambda: other.landed.set_result(True)).start()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [True, True]


def test_cancelled_waiter():
    """A cancelled waiter leaves the flight to the others who wait for it."""

    async def main():
        flight = Flight()
        cancelled, waiter = (asyncio.create_task(run_async(waiting(flight), Transport())) for _ in range(2))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert not flight.landed.cancelled()
        flight.landed.set_result(True)
        return await waiter

    assert asyncio.run(main()) is True


def test_flight_cannot_be_cancelled():
    """Nobody can cancel a flight that others wait for."""
    flight = Flight()
    assert not flight.landed.cancel()
    flight.landed.set_result(True)
    try:
        assert flight.landed.result(0)
    except CancelledError:  # pragma: no cover - what the assertion above rules out
        pytest.fail("the flight was cancelled")


@BOTH
def test_pause(is_async):
    """A pause on a clock that is moved by hand is over at once, and moves it on."""
    clock = ManualClock()

    def flow():
        yield Pause(20.0, clock)
        return clock.monotonic()

    assert drive(flow(), is_async=is_async) == 20.0


@BOTH
def test_pause_on_the_machines_clock(is_async):
    """A pause on the machine's clock takes the time that it names."""
    clock = SystemClock()

    def flow():
        before = clock.monotonic()
        yield Pause(0.02, clock)
        return clock.monotonic() - before

    assert drive(flow(), is_async=is_async) >= 0.019


def test_which_loop():
    """A flow learns the loop that drives it; a thread of its own has none, even inside a running loop."""

    def flow():
        return (yield WhichLoop())

    async def main():
        assert run(flow(), Transport()) is None
        return await run_async(flow(), Transport()) is asyncio.get_running_loop()

    assert run(flow(), Transport()) is None
    assert asyncio.run(main())


class LoopThread:
    """An event loop that runs on a thread of its own."""

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
    monkeypatch.setattr("toolkit.transport.flow._LONGEST_SILENCE", 0.05)


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_stuck(is_async):
    """Nobody waits forever for a loop that is blocked, perhaps by a call that waits for this very thread."""
    with LoopThread() as other:
        freed = threading.Event()
        other.loop.call_soon_threadsafe(freed.wait)
        assert drive(waiting(other.flight()), is_async=is_async) is False
        freed.set()


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_closed(is_async):
    """A flight of a loop that is closed never lands, and is not waited for."""
    with LoopThread() as other:
        flight = other.flight()
    assert drive(waiting(flight), is_async=is_async) is False


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_slow(is_async):
    """A loop that runs is waited for, however long its fetch takes."""
    with LoopThread() as other:
        flight = other.flight()
        other.loop.call_soon_threadsafe(other.loop.call_later, 0.3, flight.landed.set_result, True)
        assert drive(waiting(flight), is_async=is_async) is True


@BOTH
def test_shielded(is_async):
    """What a shielded flow returns or raises is what its caller gets."""

    def inner(path):
        return (yield httpx.Request("GET", f"{URL}{path}")).status_code

    def flow():
        assert (yield Shielded(inner("ok"))) == 200
        with pytest.raises(httpx.ConnectError):
            yield Shielded(inner("fails"))
        return "done"

    assert drive(flow(), is_async=is_async) == "done"


def test_shielded_from_cancellation():
    """A shielded flow goes on when its caller is cancelled, and says nothing when it then fails."""
    ended = []

    def inner(path):
        yield Pause(0.01, SystemClock())
        try:
            ended.append((yield httpx.Request("GET", f"{URL}{path}")).status_code)
        except httpx.ConnectError:
            ended.append("failed")
            raise

    def flow(path):
        shielded = Shielded(inner(path))
        try:
            yield shielded
        finally:
            assert shielded.is_under_way

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: ended.append(context["message"]))
        for path in ("ok", "fails"):
            task = asyncio.create_task(run_async(flow(path), Transport()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(ended) == ("ok", "fails").index(path)
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert ended == [200, "failed"]
