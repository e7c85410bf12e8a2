from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.clock import ManualClock, SystemClock
from toolkit.transport.family import httpx
from toolkit.transport.flow import Apart, Flight, Pause, Read, Shielded, Wait, WhichLoop, run, run_async

URL = "https://service.example.com/"


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers /ok with an unread body, and fails for any other path."""

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
    """A flow is sent the response to a request and the bytes of a Read; the driver returns its value."""

    def flow():
        response = yield httpx.Request("GET", f"{URL}ok")
        assert not response.is_stream_consumed
        body = yield Read(response)
        sent = yield Read(httpx.Request("POST", URL, content=b"question"))
        return response.status_code, body, sent

    assert drive(flow(), is_async=is_async) == (200, b"answer", b"question")


@BOTH
def test_failure_is_handled(is_async):
    """A failure is raised in the flow, which may handle it and go on."""

    def flow():
        try:
            yield httpx.Request("GET", URL)
        except httpx.ConnectError:
            response = yield httpx.Request("GET", f"{URL}ok")
        return response.status_code

    assert drive(flow(), is_async=is_async) == 200


@BOTH
def test_failure_is_passed_on(is_async):
    """A failure that a flow does not handle is raised by the driver, without other failures as its context."""

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
    """An interrupt or a cancellation during a request is raised in the flow, which can clean up."""
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
        # Caught inside the loop: asyncio.run treats these exceptions specially.
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
    """The synchronous and the asynchronous driver give a flow the same outcomes."""

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
    """The number of effects is not limited by the stack."""

    def flow():
        for _ in range(2000):
            yield httpx.Request("GET", f"{URL}ok")
        return "done"

    assert run(flow(), Transport()) == "done"


def waiting(flight):
    return (yield Wait(flight))


def test_wait_in_another_thread():
    """A thread that waits for another thread's flight goes on only when it has landed."""
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
    """A synchronous caller does not wait for a flight of its own thread, which would take forever."""
    assert run(waiting(Flight()), Transport()) is False


def test_wait_in_a_task():
    """A task can wait for another task of its loop, and for a thread."""

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
    """A cancelled waiter does not cancel the flight for the others."""

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
    """A flight cannot be cancelled."""
    flight = Flight()
    assert not flight.landed.cancel()
    flight.landed.set_result(True)
    try:
        assert flight.landed.result(0)
    except CancelledError:  # pragma: no cover - ruled out by the first assertion
        pytest.fail("the flight was cancelled")


@BOTH
def test_pause(is_async):
    """A pause on a manual clock is over at once and moves the clock."""
    clock = ManualClock()

    def flow():
        yield Pause(20.0, clock)
        return clock.monotonic()

    assert drive(flow(), is_async=is_async) == 20.0


@BOTH
def test_pause_on_the_system_clock(is_async):
    """A pause on the system's clock takes real time."""
    clock = SystemClock()

    def flow():
        started = clock.monotonic()
        yield Pause(0.02, clock)
        return clock.monotonic() - started

    assert drive(flow(), is_async=is_async) >= 0.019


def test_which_loop():
    """A flow learns which loop drives it; the synchronous driver gives None, even inside a running loop."""

    def flow():
        return (yield WhichLoop())

    async def main():
        assert run(flow(), Transport()) is None
        return await run_async(flow(), Transport()) is asyncio.get_running_loop()

    assert run(flow(), Transport()) is None
    assert asyncio.run(main())


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
    monkeypatch.setattr("toolkit.transport.flow._LONGEST_SILENCE", 0.05)


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_stuck(is_async):
    """A loop that is blocked, perhaps by a call that waits for this thread, is not waited for."""
    with LoopThread() as other:
        freed = threading.Event()
        other.loop.call_soon_threadsafe(freed.wait)
        assert drive(waiting(other.flight()), is_async=is_async) is False
        freed.set()


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_closed(is_async):
    """A loop that is closed is not waited for."""
    with LoopThread() as other:
        flight = other.flight()
    assert drive(waiting(flight), is_async=is_async) is False


@BOTH
@pytest.mark.usefixtures("impatient")
def test_wait_for_a_loop_that_is_slow(is_async):
    """A loop that responds is waited for, however long its fetch takes."""
    with LoopThread() as other:
        flight = other.flight()
        other.loop.call_soon_threadsafe(other.loop.call_later, 0.15, flight.landed.set_result, True)
        assert drive(waiting(flight), is_async=is_async) is True


@BOTH
def test_shielded(is_async):
    """The caller gets what a shielded flow returns or raises."""

    def inner(path):
        return (yield httpx.Request("GET", f"{URL}{path}")).status_code

    def flow():
        assert (yield Shielded(inner("ok"))) == 200
        with pytest.raises(httpx.ConnectError):
            yield Shielded(inner("fails"))
        return "done"

    assert drive(flow(), is_async=is_async) == "done"


def test_shielded_from_cancellation():
    """A shielded flow goes on if its caller is cancelled, and asyncio does not complain if it then fails."""
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


@BOTH
def test_apart(is_async):
    """Long work runs on another thread where an event loop waits, and its failure reaches the flow."""
    threads = []

    def work():
        threads.append(threading.get_ident())
        if len(threads) == 2:
            raise ValueError("failed")
        return "done"

    def flow():
        outcome = yield Apart(work)
        with pytest.raises(ValueError, match="failed"):
            yield Apart(work)
        return outcome

    assert drive(flow(), is_async=is_async) == "done"
    assert len(threads) == 2
    assert all((thread == threading.get_ident()) is not is_async for thread in threads)
