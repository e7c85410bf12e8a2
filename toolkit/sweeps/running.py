"""A sweep run: threads or tasks that take keys and request them, and one thread that writes.

There are `at_once` threads if the client belongs to a Session, or tasks if it belongs to an AsyncSession. Each takes
the next key when it has finished the previous one, and adds the outcome to a batch under a lock. Full batches go to the
writer; while two of them are waiting, all threads or tasks wait too, so memory use stays bounded.

On a Dask cluster, the keys are divided into shares, and a worker runs the same code for its share, with its own parts.
If a worker dies, another gets its task; a worker that seems dead may keep on writing. Each attempt therefore writes
files with its own name and skips the keys that earlier attempts have finished. Workers write nothing once the sweep has
ended: each checks that the file `run` beside the parts still exists and contains its run's name.
"""

from __future__ import annotations

import asyncio
import queue
import threading
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
from toolkit.sweeps.asking import Batch, Outcome, Plan
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
    "The responses so far were kept. Run the sweep again when the service answers: it continues where it stopped."
)
_CHECK: Final = "The responses so far were kept. Check the credentials, then call .retry() on the result of a new run."


class Run:
    """One pass over the keys of a sweep.

    The current part is kept in memory as a table and rewritten with more rows until it is full. This gives few files
    with many rows, yet an interruption loses only the responses from the last `SECONDS` and from one write.

    Args:
        folder: the folder, already loaded.
        name: distinguishes the files of several processes that sweep together.
        is_replay: True to write only full batches, so that the same responses give the same files.
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
        send = plan.client.send  # takes the place of a flow's transport, so that requests are authorized and counted
        self._sending: Any = SimpleNamespace(handle_request=send, handle_async_request=send)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        # The lock guards the counts above and what follows: the threads and the writer change them.
        self._lock = threading.Lock()
        self._batch = Batch(plan)
        self._in_vain = 0
        self._hint = ""  # a warning to show during the run
        # Batches for the writer, and None after the last one. Threads are daemons, because after an interrupt the
        # interpreter would wait for other threads.
        self._ready: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._writing = threading.Thread(target=self._write_all, name="sweep-writer", daemon=True)
        self._part: KeyedRows | None = None  # only the writer uses this and its name
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
        """Request the keys in tasks on the running event loop."""
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
        """Request one key after another. Each thread or task runs this, on its own connection."""
        try:
            while not self._stopped.is_set() and (key := self.source.take()) is not None:
                outcome = yield from self._plan.asking(key, lane)
                self._add(outcome)
                while self._ready.qsize() > 1 and not self._stopped.is_set():  # the folder is slower than the service
                    yield Pause(_FULL_PAUSE, SystemClock())
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - raised on the thread or in the task of the caller
            self._stop(error)

    def _add(self, outcome: Outcome) -> None:
        with self._lock:
            self._batch.add(outcome)
            if len(self._batch) >= _BATCH_KEYS or self._batch.size >= _BATCH_BYTES:
                self._ready.put(self._taken())
            self._count(outcome)

    def _taken(self) -> Batch:
        batch, self._batch = self._batch, Batch(self._plan)
        return batch

    def _next(self) -> Batch | None:
        """Return a full batch or, after a few seconds, a partial one; return None at the end."""
        with suppress(queue.Empty):
            return self._ready.get(timeout=None if self._is_replay else SECONDS)
        with self._lock:
            return self._taken()

    def _write_all(self) -> None:
        try:
            for batch in filter(len, iter(self._next, None)):
                self._write(batch)
            self._part = None
            self.notes |= dict.fromkeys((self._plan.more, self._plan.hint))
        except BaseException as error:  # noqa: BLE001 - raised on the thread of the caller
            self._stop(error)

    def _write(self, batch: Batch) -> None:
        self.folder.kind = kind = self.source.kind
        rows, unfit = batch.rows(kind)
        with self._lock:
            self.answered -= len(unfit)
            for failure in unfit:
                self._count(failure)
        if failures := [*batch.failures, *unfit]:
            rows.append(failed_rows(failures, kind))
        if self._part is None:
            self._part_name = self.folder.next_name(self._name)
        part = self._part = joined(rows if self._part is None else [self._part, *rows])
        self.folder.write_part(self._part_name, part)
        if part.table.num_rows >= _PART_ROWS or part.table.nbytes >= _PART_BYTES or len(part.keys) >= _PART_KEYS:
            self._part = None

    def _count(self, outcome: Outcome) -> None:
        """Count an outcome; raise an error if too many keys in a row got no response, or a 401, 408, 429 or 5xx."""
        if not isinstance(outcome, KeyFailure):
            self.answered += 1
            self._in_vain = 0
            return
        self.failed += 1
        if self.failed == _WARN_AT and not self.answered:
            self._hint = (
                f"The first {_WARN_AT} keys all failed: {outcome.reason.rstrip('.')}. If that is not what you expect, "
                "interrupt the sweep and check call(key); .retry() requests the failed keys again."
            )
        self._in_vain = 0 if outcome.is_final and outcome.status != 401 else self._in_vain + 1
        if self._in_vain >= max(_LEAST_IN_VAIN, 2 * self.at_once):
            what = f"The last {self._in_vain} keys all failed ({outcome.reason}), so the sweep has stopped."
            if outcome.status is None:
                raise Unreachable(what, _LATER)
            raise ServiceError(what, _CHECK if outcome.status == 401 else _LATER, status=outcome.status)

    def _end(self) -> None:
        """Write the outcomes so far, even after an interrupt or an error; outcomes that arrive later are dropped."""
        self._stopped.set()
        with self._lock:
            self._ready.put(self._taken())
        self._ready.put(None)
        self._writing.join()

    def _raise(self) -> None:
        self.look()
        if self._error is not None:
            raise self._error

    def _stop(self, error: BaseException) -> None:
        self._error = self._error or error
        self._stopped.set()

    def look(self) -> None:
        """Show progress and warnings. Called on the caller's thread, so that a warning points at the user's line."""
        with self._lock:
            hint, self._hint = self._hint, ""
        if hint:
            warn(hint)
        self.show(self.source.done + self.answered + self.failed, f"{self.failed:,} failed" if self.failed else "")


@dataclass(frozen=True, slots=True)
class Spread:
    """Data that all tasks of a sweep share. It is sent to the workers and contains no secret."""

    plan: Plan  # without its client
    lent: Any  # the handle of the session
    interface: Interface  # the one that is called
    place: SweepPlace
    run: str  # name of this run


def spread_keys(cluster: Any, spread: Spread, run: Run) -> None:
    """Let a cluster's workers request the keys of a run, and raise the errors that workers raise.

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
    """Request a share's keys on a worker; return how many did not fail, how many failed, and the warnings."""
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
    """Check that a run has not ended; raise SweepError if it has ended or if the folder belongs to another run."""
    with suppress(OSError), place.open("beside", RUN) as file:
        if file.read(64) == run.encode():
            return
    raise SweepError(
        "A worker cannot find the sweep in the sweep's folder: either the sweep has ended, or the path leads to "
        "another folder on the worker.",
        "Sweep into a folder that all workers share, such as one on a network file system or one at an fsspec address.",
        about="into",
    )
