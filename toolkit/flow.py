"""One flow for synchronous and asynchronous callers.

A flow is a generator that yields what it needs done and is sent the outcome, like httpx's own
`auth_flow`. It decides; the two drivers below do the I/O and differ only in `await`. What it yields:

- an `httpx.Request`: send it through the transport below; the outcome is its `httpx.Response`,
  whose body is unread;
- `Read(message)`: read the body of a request or response; the outcome is its bytes;
- `Wait(flight)`: wait for what another caller is fetching; the outcome is False when this caller must
  not wait, since the one it waits for could never go on.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from os import getpid
from threading import get_ident
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


@dataclass(slots=True)
class Flight:
    """A fetch that is under way, and that others wait for.

    Attributes:
        landed: done when the fetch has ended, well or not. It does not carry what was fetched: whoever
            waited looks again, since the outcome may be spent or stale by then.
        thread: the thread that fetches.
        process: the process that fetches. In one that was forked from it meanwhile it never lands.
    """

    landed: Future[bool] = field(default_factory=Future)
    thread: int = field(default_factory=get_ident)
    process: int = field(default_factory=getpid)

    def __post_init__(self) -> None:
        # A running future cannot be cancelled, so one cancelled waiter does not cancel it for all.
        self.landed.set_running_or_notify_cancel()


@dataclass(frozen=True, slots=True)
class Read:
    """Have the body of a message read."""

    message: httpx.Request | httpx.Response


@dataclass(frozen=True, slots=True)
class Wait:
    """Have a flight of another caller waited for."""

    flight: Flight


Effect = httpx.Request | Read | Wait
Flow = Generator[Effect, Any, T]


def run(flow: Flow[T], transport: httpx.BaseTransport) -> T:
    """Drive a flow to its end on this thread."""
    outcome: Any = None
    failure: BaseException | None = None
    while True:
        try:
            effect = flow.send(outcome) if failure is None else flow.throw(failure)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except BaseException:
            outcome = failure = None  # a token reply, which a traceback that shows local variables would show
            raise
        outcome = failure = None
        try:
            if isinstance(effect, httpx.Request):
                outcome = transport.handle_request(effect)
            elif isinstance(effect, Read):
                outcome = effect.message.read()
            elif effect.flight.thread == get_ident():
                # The one who fetches is a task of an event loop on this very thread.
                outcome = False
            else:
                outcome = effect.flight.landed.result()
        except BaseException as error:  # noqa: BLE001 - every failure is the flow's to handle or pass on
            failure = error


async def run_async(flow: Flow[T], transport: httpx.AsyncBaseTransport) -> T:
    """Drive a flow to its end in this task."""
    import asyncio  # noqa: PLC0415 - slow to load, for asynchronous callers only

    outcome: Any = None
    failure: BaseException | None = None
    while True:
        try:
            effect = flow.send(outcome) if failure is None else flow.throw(failure)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except BaseException:
            outcome = failure = None  # a token reply, which a traceback that shows local variables would show
            raise
        outcome = failure = None
        try:
            if isinstance(effect, httpx.Request):
                outcome = await transport.handle_async_request(effect)
            elif isinstance(effect, Read):
                outcome = await effect.message.aread()
            else:
                outcome = await asyncio.wrap_future(effect.flight.landed)
        except BaseException as error:  # noqa: BLE001 - every failure is the flow's to handle or pass on
            failure = error
