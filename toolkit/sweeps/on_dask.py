"""A sweep on a Dask cluster: keys are handed out in shares, and a worker asks for its own, in parts of its own.

A worker may die in the middle, and another may get its task; or it may seem dead and go on writing. So each attempt
writes files of its own name, an attempt skips the keys that earlier ones have finished, and nobody writes once the
sweep has ended: then the file `run` beside the parts is gone, or names another run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Any, Final

from toolkit.core.document import Interface
from toolkit.core.errors import SweepError
from toolkit.core.ledger import Traffic
from toolkit.session.sending import transport_of
from toolkit.sweeps.alike import RowMaker
from toolkit.sweeps.asking import Plan
from toolkit.sweeps.cluster import count_workers
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.parts import Definition, Key, KeyFailure, KeySource
from toolkit.sweeps.places import SweepPlace, place_of
from toolkit.sweeps.running import Run, Writer
from toolkit.transport.next_page import Cursor

_RUN: Final = "run"
_LOOK_EVERY: Final = 1.0  # seconds between two looks whether the sweep goes on
_SHARES_FOR_EACH: Final = 8  # shares of a sweep for each worker, so that all end at about the same time
_LEAST, _MOST, _UNKNOWN = 20, 1000, 200  # keys of a share


@dataclass(frozen=True, slots=True)
class Spread:
    """The part that all tasks of a sweep share; it goes to the workers, without a secret.

    Attributes:
        lent: the handle of the session.
        interface: the interface that is called.
        call: the user's function.
        into: the folder, as an absolute path or an address of fsspec.
        definition: what all rows have in common.
        schema: the requested schema, or None.
        run: name of this run.
        cursor: as in `toolkit.session.pages.pages`.
    """

    lent: Any
    interface: Interface
    call: Callable[[Any], Any]
    into: str
    definition: Definition
    schema: Any
    run: str
    cursor: Cursor | None = None


class Counts(Traffic):
    """The counts of the workers so far.

    Attributes:
        answered: number of keys that were answered.
        failed: number of keys that failed.
        notes: what to warn of, each once, in its order.
    """

    def __init__(self) -> None:
        self.answered = 0
        self.failed = 0
        self.notes: dict[str, None] = {}

    def add(self, answered: int, failed: int, notes: Iterable[str]) -> None:
        """Add the outcomes of a share."""
        self.answered += answered
        self.failed += failed
        self.sent += answered + failed
        self.notes |= dict.fromkeys(filter(None, notes))


def spread_keys(
    cluster: Any,
    spread: Spread,
    source: KeySource,
    *,
    at_once: int,
    earlier: Mapping[Key, KeyFailure],
    counts: Counts,
    watch: Callable[[], None],
) -> None:
    """Let the workers of a cluster ask for keys. Each has one share at a time.

    Args:
        cluster: a connected `distributed.Client`. Dask gives the task of a worker that dies to another.
        spread: what all tasks share.
        source: the keys.
        at_once: number of keys that all workers together ask for at the same time.
        earlier: failures of earlier runs.
        counts: kept up to date.
        watch: called after each share.

    Raises:
        ToolkitError: what a worker raised.
    """
    from distributed import as_completed

    numbers = count(1)
    futures: set[Any] = set()

    def submitted() -> list[Any]:
        workers = min(count_workers(cluster), at_once)
        more = []
        while len(futures) < workers and (keys := _taken(source, workers)):
            known = {key: earlier[key] for key in keys if key in earlier}
            share = (next(numbers), keys, at_once // workers, known)
            more.append(cluster.submit(ask_share, spread, *share, pure=False))
            futures.add(more[-1])
        return more

    completed = as_completed(submitted())  # type: ignore[no-untyped-call]
    try:
        for future in completed:
            futures.discard(future)
            counts.add(*future.result())
            completed.update(submitted())  # type: ignore[no-untyped-call]
            watch()
    finally:
        cluster.cancel(list(futures))


def _taken(source: KeySource, workers: int) -> list[Key]:
    """Return the keys of the next share."""
    size = _UNKNOWN if source.total is None else min(max(source.total // (workers * _SHARES_FOR_EACH), _LEAST), _MOST)
    keys: list[Key] = []
    while len(keys) < size and (key := source.take()) is not None:
        keys.append(key)
    return keys


def ask_share(
    spread: Spread, number: int, keys: Sequence[Key], at_once: int, earlier: Mapping[Key, KeyFailure]
) -> tuple[int, int, tuple[str, ...]]:
    """Ask for the keys of a share on a worker; return how many were answered, how many failed, and what to warn of.

    Args:
        spread: what all tasks share.
        number: number of the share in its run.
        keys: its keys.
        at_once: number of keys to ask for at the same time.
        earlier: failures of earlier runs among these keys, to whose tries the new ones are added.

    Raises:
        SweepError: if the sweep has ended, or its folder is not shared with this worker.
        ToolkitError: as `sweep`.
    """
    client = getattr(spread.lent, str(spread.interface))
    known = transport_of(client).sender.known
    place = place_of(spread.into)
    check = RunCheck(place, spread.run)
    check()
    folder = Folder(place, spread.definition, before_write=check)
    name = f"{spread.run}-{number:05}"
    folder.load(f"-{name}-")  # what earlier attempts at this share have finished
    finished = len(folder.finished)
    folder.failures = dict(earlier)
    source = KeySource(keys, kind=None, is_done=folder.finished.__contains__)
    make_rows = RowMaker(spread.definition, spread.schema, known)
    writer = Writer(folder, make_rows, source, name=f"{name}-{token_hex(4)}")
    pages = bool(spread.definition["pages"])
    plan = Plan(client, spread.call, pages=pages, cursor=spread.cursor, known=known)
    Run(plan, source, writer, at_once=min(at_once, len(keys)), watch=check.now_and_then).on_threads(client.send)
    return writer.answered + finished, writer.failed, (plan.more, make_rows.hint)


class RunCheck:
    """Checks whether a run goes on.

    Args:
        place: the place of the sweep.
        run: name of the run.
    """

    def __init__(self, place: SweepPlace, run: str) -> None:
        self._place = place
        self._run = run
        self._looked = time.monotonic()

    def now_and_then(self) -> None:
        """Check about once a second."""
        if time.monotonic() - self._looked >= _LOOK_EVERY:
            self()

    def __call__(self) -> None:
        """Check whether the run goes on.

        Raises:
            SweepError: if it does not, or the folder is not the one of the run.
        """
        self._looked = time.monotonic()
        with suppress(OSError), self._place.open("beside", _RUN) as file:
            if file.read(64).decode("ascii", "replace") == self._run:
                return
        raise SweepError(
            "A worker does not see the sweep in its folder: either the sweep has ended, or the worker has another "
            "folder of this name.",
            "Sweep into a folder that all workers share, such as one on a network file system or an address of fsspec.",
            about="into",
        )


def begin_run(place: SweepPlace) -> str:
    """Begin a run in a place that is locked; return its name. Workers of earlier runs write no more."""
    run = token_hex(4)
    place.write("beside", _RUN, run.encode())
    return run


def end_run(place: SweepPlace) -> None:
    """End the run of a place."""
    place.remove("beside", _RUN)
