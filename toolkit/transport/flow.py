"""One flow for synchronous and asynchronous callers.

A flow is a generator that yields what it needs done and is sent the outcome, like httpx's own
`auth_flow`. It decides; the two drivers below do the I/O and differ only in `await`. What it yields:

- an `httpx.Request`: send it through the transport below; the outcome is its `httpx.Response`,
  whose body is unread;
- `Read(message)`: read the body of a request or response; the outcome is its bytes;
- `Pause(seconds, clock)`: let time pass; the outcome is None;
- `WhichLoop()`: the outcome is the event loop that drives this flow, or None on a thread of its own;
- `Shielded(flow)`: drive another flow to its end, in a task of its own where there are tasks, so that it goes on
  when this caller is cancelled; the outcome is what it returns;
- `Wait(flight)`: wait for what another caller is fetching; the outcome is False when there is no use in
  waiting, since the one who fetches cannot go on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from os import getpid
from threading import Event, get_ident
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx
from httpx import Request

from toolkit.core.clock import Clock, sleep, sleep_async
from toolkit.transport.tracebacks import without_frames

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock, Task

T = TypeVar("T")
_under_way: Final[set[Task[Any]]] = set()
_LONGEST_SILENCE: Final = 1.0  # seconds that an event loop may run nothing before it counts as stuck


@dataclass(slots=True)
class Flight:
    """A fetch that is under way, and that others wait for.

    Attributes:
        loop: the event loop that fetches, None when a thread of its own does.
        landed: done when the fetch has ended, well or not. It does not carry what was fetched: whoever
            waited looks again, since the outcome may be spent or stale by then.
        thread: the thread that fetches.
        process: the process that fetches. In one that was forked from it meanwhile it never lands.
        turns: by event loop, whose turn it is to go on when it has landed.
    """

    loop: AbstractEventLoop | None = None
    landed: Future[bool] = field(default_factory=Future)
    thread: int = field(default_factory=get_ident)
    process: int = field(default_factory=getpid)
    turns: dict[AbstractEventLoop, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A running future cannot be cancelled, so one cancelled waiter does not cancel it for all.
        self.landed.set_running_or_notify_cancel()

    @property
    def is_lost(self) -> bool:
        """Whether it never lands: the process that fetches forked this one, or the loop that fetches is closed."""
        return self.process != getpid() or (self.loop is not None and self.loop.is_closed())

    def sign_of_life(self) -> Callable[[], bool]:
        """Ask the loop that fetches for a sign of life; what is returned tells whether it gave one since.

        A loop gives none while it is stopped, closed, or blocked: by a call, say, that waits on a thread
        which in its turn waits for this very flight.
        """
        if self.loop is None:
            return lambda: True
        sign = Event()
        try:
            self.loop.call_soon_threadsafe(sign.set)
        except RuntimeError:  # closed
            return lambda: False
        return sign.is_set


@dataclass(frozen=True, slots=True)
class Read:
    """Have the body of a message read."""

    message: Request | httpx.Response


@dataclass(frozen=True, slots=True)
class Pause:
    """Have time pass, on a clock."""

    seconds: float
    clock: Clock


@dataclass(frozen=True, slots=True)
class WhichLoop:
    """Have it said which event loop drives this flow, if one does."""


@dataclass(slots=True)
class Shielded:
    """Have a flow driven to its end, whatever becomes of the caller.

    Attributes:
        flow: the flow.
        is_under_way: whether a driver has taken it over, and sees to its end.
    """

    flow: Flow[Any]
    is_under_way: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Have a flight of another caller waited for."""

    flight: Flight


Effect = Request | Read | Pause | WhichLoop | Shielded | Wait
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
            if isinstance(effect, Request):
                outcome = transport.handle_request(effect)
            elif isinstance(effect, Read):
                outcome = effect.message.read()
            elif isinstance(effect, Pause):
                sleep(effect.clock, effect.seconds)
            elif isinstance(effect, Shielded):
                effect.is_under_way = True
                outcome = run(effect.flow, transport)
            elif isinstance(effect, Wait):
                outcome = _landed(effect.flight)
        except BaseException as error:  # noqa: BLE001 - every failure is the flow's to handle or pass on
            without_frames(error)
            failure = error


async def run_async(flow: Flow[T], transport: httpx.AsyncBaseTransport) -> T:
    """Drive a flow to its end in this task."""
    import asyncio  # slow to load, for asynchronous callers only

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
            if isinstance(effect, Request):
                outcome = await transport.handle_async_request(effect)
            elif isinstance(effect, Read):
                outcome = await effect.message.aread()
            elif isinstance(effect, Pause):
                await sleep_async(effect.clock, effect.seconds)
            elif isinstance(effect, WhichLoop):
                outcome = asyncio.get_running_loop()
            elif isinstance(effect, Shielded):
                task = asyncio.create_task(run_async(effect.flow, transport))
                effect.is_under_way = True
                _under_way.add(task)  # the loop itself keeps a task by a weak reference only
                task.add_done_callback(_ended)
                outcome = await asyncio.shield(task)
            else:
                outcome = await _landed_async(effect.flight)
        except BaseException as error:  # noqa: BLE001 - every failure is the flow's to handle or pass on
            without_frames(error)
            failure = error


def _ended(task: Task[Any]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()  # else asyncio complains of one that the caller, cancelled meanwhile, never fetched


def _landed(flight: Flight) -> bool:
    """Wait on this thread until a flight has landed; False when it cannot."""
    if flight.thread == get_ident():
        # The one who fetches is a task of an event loop on this very thread.
        return False
    while True:
        alive = flight.sign_of_life()
        try:
            return flight.landed.result(None if flight.loop is None else _LONGEST_SILENCE)
        except TimeoutError:
            if not alive():
                return False


async def _landed_async(flight: Flight) -> bool:
    """Wait in this task until a flight has landed; False when it cannot."""
    import asyncio  # loaded by whoever runs a task

    loop = asyncio.get_running_loop()
    landed = asyncio.wrap_future(flight.landed)
    is_ours = flight.loop in (None, loop)
    while not landed.done():
        alive = flight.sign_of_life()
        done, _ = await asyncio.wait([landed], timeout=None if is_ours else _LONGEST_SILENCE)
        if not done and not alive():
            return False
    # One task a turn of the loop: a hundred that all sent their requests at once would hold it up.
    turn = flight.turns.setdefault(loop, asyncio.Lock())
    await turn.acquire()
    loop.call_soon(turn.release)
    return True
