from __future__ import annotations

import asyncio
import threading

import httpx
import pytest
from bodies import body_class
from manual_clock import ManualClock

from toolkit.core.ledger import SystemClock
from toolkit.transport.flow import Apart, Pause, ReadAndClose, Shielded, run, run_async

URL = "https://service.example.com/"


def answer(request):
    """Answer /ok, and fail for any other path."""
    if request.url.path != "/ok":
        raise httpx.ConnectError("no connection")
    return httpx.Response(200)


TRANSPORT = httpx.MockTransport(answer)


def drive(flow, *, is_async):
    return asyncio.run(run_async(flow, TRANSPORT)) if is_async else run(flow, TRANSPORT)


BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


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


def test_an_interrupt_reaches_the_flow():
    """An interrupt during a request is raised in the flow, which can clean up, as a cancellation is."""
    seen = []

    def fail(request):
        raise KeyboardInterrupt

    def flow():
        try:
            yield httpx.Request("GET", URL)
        except BaseException as error:
            seen.append(type(error))
            raise

    with pytest.raises(KeyboardInterrupt):
        run(flow(), httpx.MockTransport(fail))
    assert seen == [KeyboardInterrupt]


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
        assert not shielded.is_under_way
        try:
            yield shielded
        finally:
            assert shielded.is_under_way

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: ended.append(context["message"]))
        for path in ("ok", "fails"):
            task = asyncio.create_task(run_async(flow(path), TRANSPORT))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(ended) == ("ok", "fails").index(path)
            await asyncio.sleep(0.05)

    asyncio.run(main())
    run(flow("ok"), TRANSPORT)
    assert ended == [200, "failed", 200]


@BOTH
@pytest.mark.parametrize(("limit", "read"), [((), 3), ((1,), 2), ((0,), 1)])
def test_the_beginning_of_a_body(is_async, limit, read):
    """A short body is read as a whole, which keeps the connection; a longer one little beyond the limit."""
    body = body_class(httpx)([b"x"] * 3)

    def flow():
        return (yield ReadAndClose(httpx.Response(200, stream=body), *limit))

    assert drive(flow(), is_async=is_async) == b"x" * read
    assert (body.taken, body.closed) == (read, 1)


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


@BOTH
def test_pause(is_async):
    """A pause moves a clock that can be moved; by another one real time passes."""

    def flow(clock):
        started = clock.monotonic()
        yield Pause(0.001, clock)
        return clock.monotonic() - started

    assert drive(flow(ManualClock()), is_async=is_async) == 0.001
    assert drive(flow(SystemClock()), is_async=is_async) >= 0.00095
