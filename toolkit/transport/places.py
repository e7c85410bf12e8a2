"""A queue in front of the network: only so many calls of a session are under way at once.

httpx's own pool of connections is no place to queue: whoever waits in it for longer than the timeout fails, and each
answer makes it look through all who wait (1,000 calls at once cost 50 seconds of computing; measured).

Whoever comes first is served first. No lock is ever waited for, so a place may be given back anywhere, even by the
garbage collector in the midst of another method of this class.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from toolkit.transport.family import httpx

MOST_AT_ONCE: Final = 100  # calls of one session; httpx has the same limit for connections


class Places:
    """Places for calls that are under way at the same time, shared by threads and tasks.

    Args:
        count: the number of places.
    """

    def __init__(self, count: int = MOST_AT_ONCE) -> None:
        self._free = deque([None] * count)
        self._waiting: deque[Future[None]] = deque()
        self._handing_over = Lock()  # never waited for

    def enter(self) -> bool:
        """Take a place if one is free and nobody waits; return False otherwise."""
        return not self._waiting and self._take()

    def leave(self) -> None:
        """Give a place back; it goes to whoever has waited longest."""
        self._free.append(None)
        self._hand_over()

    def wait(self, seconds: float | None) -> None:
        """Block this thread until it has a place.

        Raises:
            httpx.PoolTimeout: after so many seconds; None to wait as long as it takes.
        """
        with self._turn() as turn:
            turn.result(seconds)

    async def wait_async(self, seconds: float | None) -> None:
        """Suspend this task of asyncio or trio until it has a place; otherwise as `wait`."""
        from anyio import Event, fail_after

        is_over, soon = Event(), _from_any_thread()
        with self._turn() as turn, fail_after(seconds):
            turn.add_done_callback(lambda _: soon(is_over.set))
            await is_over.wait()

    def _take(self) -> bool:
        """Take a free place, which another thread may do at the same time; return False if there is none."""
        try:
            self._free.pop()
        except IndexError:
            return False
        return True

    @contextmanager
    def _turn(self) -> Iterator[Future[None]]:
        """Queue for a place, which the future announces; leave the queue if waiting for it fails."""
        turn: Future[None] = Future()
        self._waiting.append(turn)
        self._hand_over()
        try:
            yield turn
        except BaseException as error:
            if not turn.cancel():  # it was handed over in this very moment, and goes to the next
                self.leave()
            if isinstance(error, TimeoutError):
                raise _too_late() from None
            raise

    def _hand_over(self) -> None:
        """Hand free places to those who wait.

        Whoever finds the lock taken goes away: the holder looks again after releasing it.
        """
        while self._free and self._waiting and self._handing_over.acquire(blocking=False):
            try:
                if self._waiting and self._take():  # only the holder of the lock shortens the queue
                    turn = self._waiting.popleft()
                    if turn.set_running_or_notify_cancel():
                        turn.set_result(None)
                    else:
                        self._free.append(None)
            finally:
                self._handing_over.release()


def _from_any_thread() -> Callable[[Callable[[], None]], object]:
    """Return what any thread may call to have the running event loop, of asyncio or trio, call a function."""
    import asyncio

    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        call_soon: Callable[..., object] = sys.modules["trio"].lowlevel.current_trio_token().run_sync_soon
        return call_soon


def with_release(response: httpx.Response, on_close: Callable[[], None], on_drop: Callable[[], None]) -> httpx.Response:
    """Return a response that calls a function once: when its body is closed, or when it is dropped while open.

    A response that has its body already, as transports for tests make it, counts as closed.
    """
    if response.is_stream_consumed:
        on_close()
    else:
        response.stream = HeldStream(response.stream, on_close, on_drop)
    return response


class HeldStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that gives something back when it is closed, or dropped without being closed.

    Args:
        stream: the body.
        on_close: called once when the body is closed.
        on_drop: called instead if the body is garbage collected while it is open.
    """

    __slots__ = ("_is_open", "_on_close", "_on_drop", "_stream")

    def __init__(self, stream: Any, on_close: Callable[[], None], on_drop: Callable[[], None]) -> None:
        self._stream = stream
        self._on_close = on_close
        self._on_drop = on_drop
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._let_go()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._is_open:
            self._is_open = False
            self._on_close()

    def __del__(self) -> None:
        if self._is_open:
            self._is_open = False
            self._on_drop()


def pool_timeout(request: httpx.Request) -> float | None:
    """Return the seconds that a request may queue, by its timeouts; None for no limit."""
    seconds = request.extensions.get("timeout", {}).get("pool")
    return None if seconds is None else float(seconds)


def _too_late() -> httpx.PoolTimeout:
    return httpx.PoolTimeout(f"{MOST_AT_ONCE} calls of this session were under way, and none of them ended in time.")
