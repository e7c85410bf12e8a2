"""The logic of a call as a generator, driven by synchronous and asynchronous callers alike.

A flow is a generator that yields effects and is sent their outcomes, like `auth_flow` of httpx. The flow decides;
the drivers `run` and `run_async` do the I/O and differ only in `await`. The effects are:

- an `httpx.Request`: send it through the transport; the outcome is the `httpx.Response` with its body unread;
- `Send(request)`: the same for a request of the other family, through a transport of that family (see `adapter`);
- `Read(message)`: read the body of a request or response; the outcome is its bytes;
- `SendAndRead(request, seconds, most)`: send a request and read the answer in so many seconds in all, and not much more
  than so many bytes of it; the outcome is the closed response and its undecoded body;
- `Discard(response)`: close a response that nobody reads, its body read to the end if it is short, which keeps the
  connection open for the next request; the outcome is None;
- `Enter(places, seconds)`: wait for a free place; the outcome is None;
- `Apart(function)`: call a function that computes for long, on another thread if an event loop waits; the outcome is
  its value;
- `Pause(seconds, clock)`: let time pass; the outcome is None;
- `WhichLoop()`: the outcome is the event loop that drives this flow, or None if no event loop does;
- `Shielded(flow)`: run another flow to its end, even if this caller is cancelled; the outcome is its return value;
- `Wait(flight)`: wait for another caller's fetch; the outcome is False if that fetch cannot go on, so that there is
  no point in waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from os import getpid
from threading import Event, get_ident
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from toolkit.core.clock import Clock, sleep, sleep_async
from toolkit.core.tracebacks import without_frames
from toolkit.transport.chunks import discard, discard_async, send_and_read, send_and_read_async
from toolkit.transport.family import httpx
from toolkit.transport.places import Places

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock, Task

T = TypeVar("T")
Request = httpx.Request
_under_way: Final[set[Task[Any]]] = set()
_LONGEST_SILENCE: Final = 1.0  # seconds without a response after which an event loop counts as stuck


@dataclass(slots=True)
class Flight:
    """A fetch in progress that other callers wait for.

    Attributes:
        loop: the event loop that fetches, or None for synchronous code.
        landed: done when the fetch has ended, successfully or not. It does not carry the result: waiters look again,
            because the result may be used up or stale by then.
        thread: ID of the thread that fetches.
        process: ID of the process that fetches. In a process forked from it, the flight never lands.
        turns: for each event loop a lock that lets its waiting tasks go on one at a time.
    """

    loop: AbstractEventLoop | None = None
    landed: Future[bool] = field(default_factory=Future)
    thread: int = field(default_factory=get_ident)
    process: int = field(default_factory=getpid)
    turns: dict[AbstractEventLoop, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A running future cannot be cancelled; otherwise one cancelled waiter would cancel it for all.
        self.landed.set_running_or_notify_cancel()

    @property
    def is_lost(self) -> bool:
        """True if it never lands: this process was forked from the one that fetches, or the loop is closed."""
        return self.process != getpid() or (self.loop is not None and self.loop.is_closed())

    def sign_of_life(self) -> Callable[[], bool]:
        """Ask the event loop that fetches to respond; return a function that returns True once it has.

        A loop does not respond while it is stopped, closed or blocked, for example by a call that waits for a thread
        that in turn waits for this flight.
        """
        if self.loop is None:
            return lambda: True
        responded = Event()
        try:
            self.loop.call_soon_threadsafe(responded.set)
        except RuntimeError:  # the loop is closed
            return lambda: False
        return responded.is_set


class Send(NamedTuple):
    """Send a request that is of the family of the transport, whichever that is."""

    request: Any


class Read(NamedTuple):
    """Read the body of a message, of either family."""

    message: Any


class SendAndRead(NamedTuple):
    """Send a request and read the answer within a limit of seconds in all and of bytes."""

    request: Any
    seconds: float
    most: int


class Discard(NamedTuple):
    """Close a response that nobody reads."""

    response: httpx.Response


class Enter(NamedTuple):
    """Wait for one of the places of a session, for so many seconds at most; None for no limit."""

    places: Places
    seconds: float | None


class Apart(NamedTuple):
    """Call a function that computes for long."""

    function: Callable[[], Any]


class Pause(NamedTuple):
    """Let time pass on a clock."""

    seconds: float
    clock: Clock


class WhichLoop(NamedTuple):
    """Ask which event loop drives this flow."""


class Shielded:
    """Run a flow to its end even if the caller is cancelled.

    Attributes:
        flow: the flow.
        is_under_way: True once a driver runs the flow.
    """

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.is_under_way = False


class Wait(NamedTuple):
    """Wait for another caller's flight."""

    flight: Flight


Effect = Request | Send | Read | SendAndRead | Discard | Enter | Apart | Pause | WhichLoop | Shielded | Wait
Flow = Generator[Effect, Any, T]


def run(flow: Flow[T], transport: httpx.BaseTransport) -> T:
    """Run a flow to its end on this thread and return its value."""
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
            if isinstance(effect, Request):
                outcome = transport.handle_request(effect)
            elif isinstance(effect, Read):
                outcome = effect.message.read()
            elif isinstance(effect, Send):
                outcome = transport.handle_request(effect.request)
            elif isinstance(effect, Shielded):
                effect.is_under_way = True
                outcome = run(effect.flow, transport)
            elif isinstance(effect, SendAndRead):
                outcome = send_and_read(transport, *effect)
            else:
                outcome = _outcome(effect)
        except BaseException as error:  # noqa: BLE001 - the flow handles every failure or passes it on
            without_frames(error)
            failure = error


async def run_async(flow: Flow[T], transport: httpx.AsyncBaseTransport) -> T:
    """Run a flow to its end in this task and return its value."""
    import asyncio

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
            if isinstance(effect, Request):
                outcome = await transport.handle_async_request(effect)
            elif isinstance(effect, Read):
                outcome = await effect.message.aread()
            elif isinstance(effect, Send):
                outcome = await transport.handle_async_request(effect.request)
            elif isinstance(effect, Shielded):
                task = asyncio.create_task(run_async(effect.flow, transport))
                effect.is_under_way = True
                _under_way.add(task)  # the loop only has a weak reference to it
                task.add_done_callback(_on_end)
                outcome = await asyncio.shield(task)
            elif isinstance(effect, SendAndRead):
                outcome = await send_and_read_async(transport, *effect)
            else:
                outcome = await _outcome_async(effect)
        except BaseException as error:  # noqa: BLE001 - the flow handles every failure or passes it on
            without_frames(error)
            failure = error


def _outcome(effect: Discard | Enter | Apart | Pause | WhichLoop | Wait) -> Any:
    """Return the outcome of an effect that needs no transport."""
    if isinstance(effect, Apart):
        return effect.function()
    if isinstance(effect, Pause):
        return sleep(effect.clock, effect.seconds)
    if isinstance(effect, Enter):
        return effect.places.wait(effect.seconds)
    if isinstance(effect, Discard):
        return discard(effect.response)
    return _wait(effect.flight) if isinstance(effect, Wait) else None


async def _outcome_async(effect: Discard | Enter | Apart | Pause | WhichLoop | Wait) -> Any:
    """Return the outcome of an effect that needs no transport."""
    import asyncio

    if isinstance(effect, Apart):
        return await call_apart(effect.function)
    if isinstance(effect, Pause):
        return await sleep_async(effect.clock, effect.seconds)
    if isinstance(effect, Enter):
        return await effect.places.wait_async(effect.seconds)
    if isinstance(effect, Discard):
        return await discard_async(effect.response)
    return await _wait_async(effect.flight) if isinstance(effect, Wait) else asyncio.get_running_loop()


async def call_apart(function: Callable[[], T]) -> T:
    """Call a function on a worker thread and return its value; it runs to its end even if the caller is cancelled."""
    from anyio.to_thread import run_sync  # works under trio as well

    return await run_sync(function)


def _on_end(task: Task[Any]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved here in case the caller was cancelled; otherwise asyncio would complain


def _wait(flight: Flight) -> bool:
    """Block this thread until a flight has landed; return False if it cannot land."""
    if flight.thread == get_ident():
        # A task of an event loop on this thread fetches, and cannot go on while the thread is blocked.
        return False
    while True:
        is_alive = flight.sign_of_life()
        try:
            return flight.landed.result(None if flight.loop is None else _LONGEST_SILENCE)
        except TimeoutError:
            if not is_alive():
                return False


async def _wait_async(flight: Flight) -> bool:
    """Suspend this task until a flight has landed; return False if it cannot land."""
    import asyncio

    loop = asyncio.get_running_loop()
    landed = asyncio.wrap_future(flight.landed)
    can_be_stuck = flight.loop not in (None, loop)
    while not landed.done():
        is_alive = flight.sign_of_life()
        done, _ = await asyncio.wait([landed], timeout=_LONGEST_SILENCE if can_be_stuck else None)
        if not done and not is_alive():
            return False
    # Let one task go on per iteration of the loop: hundreds of requests sent at once would block it.
    turn = flight.turns.setdefault(loop, asyncio.Lock())
    await turn.acquire()
    loop.call_soon(turn.release)
    return True
