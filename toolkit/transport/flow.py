"""The logic of a call as a generator, driven by synchronous or asynchronous callers.

A flow is a generator that yields effects and is sent their outcomes, like httpx's `auth_flow`. The flow decides; the
drivers `run` and `run_async` do the I/O and differ only in `await`. An `httpx.Request` is an effect too: it is sent
through the transport, and the outcome is the `httpx.Response` with its body unread.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import httpx

from toolkit.core.ledger import Clock
from toolkit.core.tracebacks import causes

if TYPE_CHECKING:
    from asyncio import Task

T = TypeVar("T")
Request = httpx.Request
_under_way: Final[set[Task[Any]]] = set()


class Read(NamedTuple):
    """Read the body of a message; the outcome is its bytes."""

    message: httpx.Request | httpx.Response


class ReadAndClose(NamedTuple):
    """Close a response after reading its undecoded body; the outcome is the body, up to about `most` bytes.

    It is worth reading a short body even if the response is discarded, since that keeps the connection open.
    """

    response: httpx.Response
    most: int = 1 << 16  # bytes; opening a new connection is cheaper than reading more than this to discard it


class Apart(NamedTuple):
    """Call a slow function, on another thread if it would block an event loop; the outcome is its return value."""

    function: Callable[[], Any]


class Pause(NamedTuple):
    """Pause for a length of time, using the clock's `sleep` method if it has one."""

    seconds: float
    clock: Clock


class Wait(NamedTuple):
    """Wait for a future, at most for a number of seconds; the outcome is True if it is done."""

    future: Future[Any]
    seconds: float | None = None


class WhichLoop(NamedTuple):
    """Ask which event loop drives this flow; the outcome is None if there is none."""


class Shielded:
    """Run a flow to its end even if the caller is cancelled; the outcome is its return value."""

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.is_under_way = False  # True once a driver runs the flow


Effect = Request | Read | ReadAndClose | Apart | Pause | Wait | WhichLoop | Shielded
Flow = Generator[Effect, Any, T]


def run(flow: Flow[T], transport: httpx.BaseTransport) -> T:
    """Run a flow to its end on this thread and return its value."""
    driver = _drive(flow, transport, _outcome)
    try:
        driver.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError


async def run_async(flow: Flow[T], transport: httpx.AsyncBaseTransport) -> T:
    """Run a flow to its end in this task and return its value."""
    return await _drive(flow, transport, _outcome_async)


async def _drive(flow: Flow[T], transport: Any, outcome_of: Callable[[Any, Any], Any]) -> T:
    outcome: Any = None
    failure: BaseException | None = None
    while True:
        try:
            effect = flow.send(outcome) if failure is None else flow.throw(failure)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except BaseException:
            outcome = failure = None  # verbose tracebacks show local variables, and this may be a token reply
            raise
        outcome = failure = None
        try:
            outcome = await outcome_of(effect, transport)
        except BaseException as error:  # noqa: BLE001 - the flow handles every failure or passes it on
            without_frames(error)
            failure = error


def without_frames(error: BaseException) -> None:
    """Remove the tracebacks and requests of an error that a transport raised, and of all errors linked to it.

    Types, messages, notes and the exception chain are kept. An error that the caller was already handling keeps its
    traceback. An authorized request contains credentials; an httpx client attaches its own request to the error
    instead. Call this where the error is caught.
    """
    above = {frame for frame, _ in walk_stack(error.__traceback__.tb_frame.f_back)} if error.__traceback__ else set()
    for linked in causes(error, above):
        linked.with_traceback(None)  # assigning __traceback__ fails for frozen dataclasses
        for holder in (linked, vars(linked).get("response")):
            # The property `request` raises an error if it is not set.
            if getattr(holder, "_request", None) is not None:
                holder._request = None  # type: ignore[union-attr] # noqa: SLF001


async def _outcome(effect: Effect, transport: httpx.BaseTransport) -> Any:  # never suspends
    match effect:
        case Request():
            return transport.handle_request(effect)
        case Read(message):
            return message.read()
        case ReadAndClose(response, most):
            return _beginning(response, most)
        case Shielded():
            effect.is_under_way = True
            return run(effect.flow, transport)
        case Apart(function):
            return function()
        case Pause(seconds, clock):
            return getattr(clock, "sleep", time.sleep)(seconds)
        case Wait(future, seconds):
            with suppress(TimeoutError):
                future.result(seconds)
            return future.done()
    return None


async def _outcome_async(effect: Effect, transport: httpx.AsyncBaseTransport) -> Any:
    import asyncio

    match effect:
        case Request():
            return await transport.handle_async_request(effect)
        case Read(message):
            return await message.aread()
        case ReadAndClose(response, most):
            return await _beginning_async(response, most)
        case Shielded(flow=flow):
            task = asyncio.create_task(run_async(flow, transport))
            effect.is_under_way = True
            _under_way.add(task)  # the loop only has a weak reference to it
            task.add_done_callback(_on_end)
            await asyncio.wait([task])  # shield would log an error of the task if the caller is cancelled
            return task.result()
        case Apart(function):
            return await call_apart(function)
        case Pause(seconds, clock) if hasattr(clock, "sleep"):
            return clock.sleep(seconds)
        case Pause(seconds):
            return await asyncio.sleep(seconds)
        case Wait(future, limit):  # any thread may complete the future; cancelling this task does not cancel it
            await asyncio.wait([asyncio.wrap_future(future)], timeout=limit)
            return future.done()
        case WhichLoop():
            return asyncio.get_running_loop()


async def call_apart(function: Callable[[], T]) -> T:
    """Call a function on a worker thread and return its value; it runs to its end even if the caller is cancelled."""
    from anyio.to_thread import run_sync  # works under trio as well

    return await run_sync(function)


def chunks_of(stream: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
    """Return a context manager that provides an iterator over an asynchronous body's chunks, and closes it on exit.

    Otherwise, a generator that is not consumed to its end is closed only when it is garbage collected. Until then it
    may hold a connection, and under trio it can no longer wait for anything.
    """
    chunks = aiter(stream)
    return aclosing(chunks) if isinstance(chunks, AsyncGenerator) else nullcontext(chunks)


def _on_end(task: Task[Any]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved here in case the caller was cancelled; otherwise asyncio would complain


def _beginning(response: httpx.Response, most: int) -> bytes:
    """Read an undecoded body until it ends or exceeds the limit; close the response."""
    stream: Any = () if response.is_stream_consumed else response.stream
    body = bytearray()
    try:
        for chunk in stream:
            body += chunk
            if len(body) > most:
                break
    finally:
        response.close()
    return bytes(body)


async def _beginning_async(response: httpx.Response, most: int) -> bytes:
    body = bytearray()
    try:
        if not response.is_stream_consumed:
            async with chunks_of(response.stream) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) > most:
                        break
    finally:
        await response.aclose()
    return bytes(body)
