"""The run of a sweep: threads or tasks that take keys and request them, and one thread that writes.

There are `at_once` threads for a client of a Session, or tasks for one of an AsyncSession. Each takes its next key when
it is done with the previous one, and passes the outcome to the writer through a bounded queue. So there may be any
number of keys, and memory contains only what is in progress or not written yet.

On a Dask cluster, keys are distributed in shares, and a worker runs the same code for its share, with its own parts. It
may die at any time, and another may get its task; or it may seem dead and continue to write. So each attempt writes
files with its own name and skips the keys that earlier attempts have finished, and nothing is written once the sweep
has ended: then the file `run` beside the parts has been deleted, or names another run.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from secrets import token_hex
from types import SimpleNamespace
from typing import Any, Final

from toolkit.core.document import Interface
from toolkit.core.errors import ServiceError, SweepError, Unreachable
from toolkit.core.ledger import SystemClock
from toolkit.core.tracebacks import warn
from toolkit.sweeps.asking import Answered, Outcome, Plan
from toolkit.sweeps.folder import Folder, SweepPlace
from toolkit.sweeps.parts import Key, KeyedRows, KeyFailure, KeySource, failed_rows, joined
from toolkit.transport.flow import Flow, Pause, run, run_async

SECONDS: Final = 3.0  # between two writes
_TICK: Final = 0.25  # seconds between two checks of the clock
_FULL_PAUSE: Final = 0.01  # seconds to wait for a place in the queue
# Outcomes are written when there are this many, and a part is full at these sizes.
_BATCH_KEYS: Final = 1_000
_BATCH_BYTES: Final = 8 << 20
_PART_ROWS: Final = 50_000
_PART_BYTES: Final = 16 << 20
_PART_KEYS: Final = 25_000
_LEAST_IN_VAIN: Final = 32
_WARN_AT: Final = 100
RUN: Final = "run"
_SHARES_FOR_EACH: Final = 8  # shares per worker, so that all workers finish at about the same time
_LEAST, _MOST, _UNKNOWN = 20, 1000, 200  # keys of a share
_LATER: Final = (
    "The answers so far are kept. Run the sweep again when the service answers: it continues where it stopped."
)
_CHECK: Final = "The answers so far are kept. Check the credentials, then call .retry() on the result of a new run."


class Run:
    """One run through keys.

    The current part is kept in memory as a table and rewritten with more rows until it is full. So there are few files
    with many rows, and yet an interruption loses only what was answered in the last `SECONDS` and during one write.

    Args:
        folder: the folder, already loaded.
        name: distinguishes the files of several processes that sweep together.
        is_replay: True to write only by number of keys, so that the same responses give the same files.
        show: called a few times per second with the number of keys that are done, and a note about failures.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Folder,
        source: KeySource,
        *,
        at_once: int,
        name: str = "",
        is_replay: bool = False,
        show: Callable[..., None] = lambda *_: None,
    ) -> None:
        self.folder = folder
        self.source = source
        self.at_once = 1 if is_replay else at_once  # a cassette answers in the order of the keys
        self.show = show
        self.answered = self.failed = 0  # keys in this run
        self.notes: dict[str, None] = {}  # warnings for the end of the run
        self._plan = plan
        self._name = name
        self._is_replay = is_replay
        send = plan.client.send  # which authorizes and counts requests, where flows have a transport
        self._sending: Any = SimpleNamespace(handle_request=send, handle_async_request=send)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._noting = threading.Lock()
        self._in_vain = 0
        # What follows belongs to the thread that writes. Threads are daemons, because the interpreter would wait for
        # others after an interrupt.
        self._outcomes: queue.Queue[Outcome | None] = queue.Queue(max(64, 4 * at_once))
        self._writing = threading.Thread(target=self._write_all, name="sweep-writer", daemon=True)
        self._hint = ""  # what to warn of while the run goes on
        self._answers: list[Answered] = []
        self._failures: list[KeyFailure] = []
        self._bytes = 0
        self._due_at: float | None = None
        self._part: KeyedRows | None = None
        self._part_name = ""

    def on_threads(self) -> None:
        """Request the keys on threads. An interrupt drops the calls in progress."""
        self._writing.start()
        try:
            flows = map(self._work, range(self.at_once))
            threads = [threading.Thread(target=run, args=(flow, self._sending), daemon=True) for flow in flows]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive() and not self._stopped.is_set():
                    thread.join(_TICK)
                    self.look()
        finally:
            self._end()
        self._raise()

    async def in_tasks(self) -> None:
        """Request the keys in tasks of the running event loop."""
        self._writing.start()
        tasks = [asyncio.create_task(run_async(self._work(lane), self._sending)) for lane in range(self.at_once)]
        try:
            pending = set(tasks)
            while pending and not self._stopped.is_set():
                _, pending = await asyncio.wait(pending, timeout=_TICK)
                self.look()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self._end)
        self._raise()

    def _work(self, lane: int) -> Flow[None]:
        """Ask for one key after the other: what each thread or task does, on a connection of its own."""
        try:
            while not self._stopped.is_set() and (key := self.source.take()) is not None:
                outcome = yield from self._plan.asking(key, lane)
                while not self._hand_over(outcome):
                    yield Pause(_FULL_PAUSE, SystemClock())
                self._note(outcome)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - raised on the thread or in the task of the caller
            self._stop(error)

    def _hand_over(self, outcome: Outcome | None) -> bool:
        """Give an outcome to the writer; return False if the queue is full. After the end it is dropped."""
        try:
            if not self._stopped.is_set() or outcome is None:
                self._outcomes.put_nowait(outcome)
        except queue.Full:
            return False
        return True

    def _write_all(self) -> None:
        try:
            is_open = True
            while is_open:
                with suppress(queue.Empty):
                    outcome = self._outcomes.get(timeout=_TICK)
                    if outcome is None:
                        is_open = False
                    else:
                        self._add(outcome)
                is_late = not self._is_replay and self._due_at is not None and time.monotonic() >= self._due_at
                is_full = len(self._answers) >= _BATCH_KEYS or self._bytes >= _BATCH_BYTES
                if is_late or is_full or not is_open:
                    self._write()
            self._part = None
            self.notes |= dict.fromkeys((self._plan.more, self._plan.hint))
        except BaseException as error:  # noqa: BLE001 - raised on the thread of the caller
            self._stop(error)

    def _add(self, outcome: Outcome) -> None:
        if self._due_at is None:
            self._due_at = time.monotonic() + SECONDS
        if isinstance(outcome, KeyFailure):
            self._fail(outcome)
        else:
            self.answered += 1
            self._answers.append(outcome)
            self._bytes += outcome.size

    def _write(self) -> None:
        self.folder.kind = kind = self.source.kind
        rows, unfit = self._plan.rows_of(self._answers, kind)
        self.answered -= len(unfit)
        for failure in unfit:
            self._fail(failure)
        if self._failures:
            rows.append(failed_rows(self._failures, kind))
        self._answers, self._failures, self._bytes, self._due_at = [], [], 0, None
        if not rows:
            return
        if self._part is None:
            self._part_name = self.folder.next_name(self._name)
        part = self._part = joined(rows if self._part is None else [self._part, *rows])
        self.folder.write_part(self._part_name, part)
        if part.table.num_rows >= _PART_ROWS or part.table.nbytes >= _PART_BYTES or len(part.keys) >= _PART_KEYS:
            self._part = None

    def _fail(self, failure: KeyFailure) -> None:
        self.failed += 1
        self._failures.append(failure)
        if self.failed == _WARN_AT and not self.answered:
            self._hint = (
                f"The first {_WARN_AT} keys all failed: {failure.reason.rstrip('.')}. If that is not what you expect, "
                "interrupt the sweep and check call(key); .retry() asks for failures again."
            )

    def _end(self) -> None:
        """Let the writer write what it has, even after an interrupt or an error."""
        self._stopped.set()
        while self._writing.is_alive() and not self._hand_over(None):
            time.sleep(_FULL_PAUSE)
        self._writing.join()

    def _raise(self) -> None:
        self.look()
        if self._error is not None:
            raise self._error

    def _stop(self, error: BaseException) -> None:
        self._error = self._error or error
        self._stopped.set()

    def look(self) -> None:
        """Show the progress and warn, on the thread of the caller, so that a warning points at the user's line."""
        hint, self._hint = self._hint, ""
        if hint:
            warn(hint)
        self.show(self.source.done + self.answered + self.failed, f"{self.failed:,} failed" if self.failed else "")

    def _note(self, outcome: Outcome) -> None:
        """Raise an error after too many keys in a row without an answer, or with 401, 408, 429 or 5xx."""
        with self._noting:
            is_in_vain = isinstance(outcome, KeyFailure) and (not outcome.is_final or outcome.status == 401)
            self._in_vain = self._in_vain + 1 if is_in_vain else 0
            if isinstance(outcome, KeyFailure) and self._in_vain >= max(_LEAST_IN_VAIN, 2 * self.at_once):
                what = f"The last {self._in_vain} keys all failed ({outcome.reason}), so the sweep has stopped."
                if outcome.status is None:
                    raise Unreachable(what, _LATER)
                raise ServiceError(what, _CHECK if outcome.status == 401 else _LATER, status=outcome.status)


@dataclass(frozen=True, slots=True)
class Spread:
    """What all tasks of a sweep share; it is sent to the workers, without a secret."""

    plan: Plan  # without its client
    lent: Any  # the handle of the session
    interface: Interface  # the one that is called
    place: SweepPlace
    run: str  # name of this run


def spread_keys(cluster: Any, spread: Spread, run: Run) -> None:
    """Let the workers of a cluster request the keys of a run. Errors of workers are raised.

    Each worker has one share at a time; if it dies, Dask gives its share to another worker.
    """
    from distributed import as_completed

    numbers, futures, source = count(1), set[Any](), run.source

    def submitted() -> list[Any]:
        workers = min(max(1, len(cluster.nthreads())), run.at_once)
        more = []
        share = max(source.total // (workers * _SHARES_FOR_EACH), _LEAST) if source.total else _UNKNOWN
        while len(futures) < workers and (keys := list(islice(iter(source.take, None), min(share, _MOST)))):
            arguments = (spread, next(numbers), keys, run.at_once // workers)
            more.append(cluster.submit(ask_share, *arguments, pure=False))
            futures.add(more[-1])
        return more

    completed = as_completed(submitted())  # type: ignore[no-untyped-call]
    try:
        for future in completed:
            futures.discard(future)
            answered, failed, notes = future.result()
            run.answered, run.failed = run.answered + answered, run.failed + failed
            run.notes |= dict.fromkeys(notes)
            completed.update(submitted())  # type: ignore[no-untyped-call]
            run.look()
    finally:
        cluster.cancel(list(futures))


def ask_share(spread: Spread, number: int, keys: Sequence[Key], at_once: int) -> tuple[int, int, tuple[str, ...]]:
    """Request the keys of a share on a worker; return how many did not fail, how many failed, and the warnings."""
    check = partial(check_run, spread.place, spread.run)
    check()
    folder = Folder(spread.place, spread.plan.definition, before_write=check)
    name = f"{spread.run}-{number:05}"
    folder.load(f"-{name}-")  # what earlier attempts at this share have finished
    source = KeySource(keys, kind=None, is_done=folder.is_done)
    plan = replace(spread.plan, client=getattr(spread.lent, str(spread.interface)))
    run = Run(plan, folder, source, at_once=min(at_once, len(keys)), name=f"{name}-{token_hex(4)}")
    run.on_threads()
    return len(keys) - run.failed, run.failed, tuple(run.notes)


def check_run(place: SweepPlace, run: str) -> None:
    """Check that a run has not ended; SweepError if it has, or if the folder is not that of the run."""
    with suppress(OSError), place.open("beside", RUN) as file:
        if file.read(64) == run.encode():
            return
    raise SweepError(
        "A worker cannot find the sweep in its folder: either the sweep has ended, or the worker has another folder "
        "with this name.",
        "Sweep into a folder that all workers share, such as one on a network file system or an address of fsspec.",
        about="into",
    )
