"""The run of a sweep: workers that take keys, ask for them and hand on the outcomes.

Workers are threads for a client of a Session, tasks for one of an AsyncSession. There are `at_once` of them, and each
takes its next key when it is done with the last: so the keys may be endless, no request waits for a connection for
long, and memory holds what is in flight and what is not written yet.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

import httpx

from toolkit.core.errors import ToolkitError
from toolkit.core.user_code import warn
from toolkit.sweeps.asking import Asking, Outcome, ask, ask_async, asking
from toolkit.sweeps.keys import Key, KeySource
from toolkit.sweeps.plan import Plan
from toolkit.sweeps.recorder import OutcomeRecorder
from toolkit.sweeps.streak import Streak

_TICK: Final = 0.25  # seconds between two looks at the clock


class Run:
    """One run through keys.

    Args:
        plan: makes the requests.
        source: the keys.
        recorder: takes the outcomes.
        message_of: returns the message of an error answer, without secrets.
        at_once: number of keys that are asked for at the same time.
        watch: called a few times a second.
    """

    def __init__(
        self,
        plan: Plan,
        source: KeySource,
        recorder: OutcomeRecorder,
        *,
        message_of: Callable[[httpx.Response], str],
        at_once: int,
        watch: Callable[[OutcomeRecorder, KeySource], None],
    ) -> None:
        self._plan = plan
        self._source = source
        self._recorder = recorder
        self._message_of = message_of
        self._at_once = at_once
        self._watch = watch
        self._streak = Streak(at_once)
        self._error: BaseException | None = None
        self._stopped = threading.Event()
        self._noting = threading.Lock()

    def in_turn(self, send: Callable[[httpx.Request], httpx.Response]) -> None:
        """Ask for one key after the other on this thread."""
        with _written(self._recorder):
            while (key := self._source.take()) is not None:
                self._note(ask(self._asking(key), send))
                self._tell()
                self._recorder.write_if_due()

    async def in_turn_async(self, send: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> None:
        """Ask for one key after the other in this task."""
        with _written(self._recorder):
            while (key := self._source.take()) is not None:
                self._note(await ask_async(self._asking(key), send))
                self._tell()
                self._recorder.write_if_due()

    def on_threads(self, send: Callable[[httpx.Request], httpx.Response]) -> None:
        """Ask for the keys on `at_once` threads.

        An interrupt does not wait for requests in flight; their answers are dropped.
        """
        running = self._at_once
        finished = threading.Condition()

        def work() -> None:
            nonlocal running
            try:
                while not self._stopped.is_set() and (key := self._source.take()) is not None:
                    outcome = ask(self._asking(key), send)
                    if not self._stopped.is_set():
                        self._note(outcome)
                        self._recorder.write_if_due()
            except BaseException as error:  # noqa: BLE001 - raised on the thread of the caller
                self._error = self._error or error
                self._stopped.set()
            with finished:
                running -= 1
                finished.notify()

        with _written(self._recorder):
            try:
                for number in range(self._at_once):
                    threading.Thread(target=work, name=f"sweep-{number}", daemon=True).start()
                with finished:
                    while running and self._error is None:
                        finished.wait(_TICK)
                        self._tell()
                        self._watch(self._recorder, self._source)
                        self._recorder.write_if_due()
            finally:
                self._stopped.set()
            self._tell()
            if self._error is not None:
                raise self._error

    async def in_tasks(self, send: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> None:
        """Ask for the keys in `at_once` tasks of the running event loop; what takes long is done off the loop."""
        loop = asyncio.get_running_loop()
        recorder = self._recorder

        async def work() -> None:
            while (key := self._source.take()) is not None:
                self._note(await ask_async(self._asking(key), send))
                if recorder.is_due():
                    await loop.run_in_executor(writer, recorder.write_if_due)

        with _written(recorder), ThreadPoolExecutor(1, "sweep-writer") as writer:
            workers = {asyncio.create_task(work()) for _ in range(self._at_once)}
            pending = workers
            try:
                while pending:
                    done, pending = await asyncio.wait(pending, timeout=_TICK, return_when=asyncio.FIRST_EXCEPTION)
                    for task in done:
                        task.result()
                    self._tell()
                    self._watch(recorder, self._source)
                    if recorder.is_due():
                        await loop.run_in_executor(writer, recorder.write_if_due)
            finally:
                for task in workers:
                    task.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    def _asking(self, key: Key) -> Asking:
        return asking(self._plan, key, message_of=self._message_of)

    def _note(self, outcome: Outcome) -> None:
        failure = self._recorder.add(outcome, self._source.kind)
        with self._noting:
            self._streak.note(failure)

    def _tell(self) -> None:
        """Warn on the thread of the caller, so that the warning points at the user's line."""
        hint, self._streak.hint = self._streak.hint, None
        if hint is not None:
            warn(hint)


@contextmanager
def _written(recorder: OutcomeRecorder) -> Iterator[None]:
    """Write what was collected, also after an interrupt or an error, which then goes on."""
    try:
        yield
    except BaseException:
        with suppress(ToolkitError):
            recorder.write()
        raise
    recorder.write()
