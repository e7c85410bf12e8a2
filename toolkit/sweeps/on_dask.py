"""A sweep on a Dask cluster: keys are handed out in shares, and a worker asks for its own, in parts of its own.

A worker may die in the middle, and another may get its task; or it may seem dead and go on writing. So each attempt
writes files of its own name, an attempt skips the keys that earlier ones have finished, and nobody writes once the
sweep has ended: then the file `run` beside the parts is gone, or names another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from secrets import token_hex
from typing import Any, Final

from toolkit.core.document import Interface
from toolkit.core.errors import SweepError
from toolkit.sweeps.asking import Plan
from toolkit.sweeps.folder import Folder, SweepPlace
from toolkit.sweeps.lend import count_workers
from toolkit.sweeps.parts import Key, KeySource
from toolkit.sweeps.running import Run

RUN: Final = "run"
_SHARES_FOR_EACH: Final = 8  # shares of a sweep for each worker, so that all end at about the same time
_LEAST, _MOST, _UNKNOWN = 20, 1000, 200  # keys of a share


@dataclass(frozen=True, slots=True)
class Spread:
    """The part that all tasks of a sweep share; it goes to the workers, without a secret."""

    plan: Plan  # without its client
    lent: Any  # the handle of the session
    interface: Interface  # the one that is called
    place: SweepPlace
    run: str  # name of this run


def spread_keys(cluster: Any, spread: Spread, run: Run) -> dict[str, None]:
    """Let the workers of a cluster ask for the keys of a run; return what to warn of. What a worker raises is raised.

    Each worker has one share at a time, and Dask gives the share of a worker that dies to another.
    """
    from distributed import as_completed

    numbers, futures, notes = count(1), set[Any](), dict[str, None]()
    source, done, failed = run.source, 0, 0

    def submitted() -> list[Any]:
        workers = min(count_workers(cluster), run.at_once)
        more = []
        while len(futures) < workers and (keys := _taken(source, workers)):
            share = (next(numbers), keys, run.at_once // workers)
            more.append(cluster.submit(ask_share, spread, *share, pure=False))
            futures.add(more[-1])
        return more

    completed = as_completed(submitted())  # type: ignore[no-untyped-call]
    try:
        for future in completed:
            futures.discard(future)
            more_done, more_failed, more_notes = future.result()
            done, failed = done + more_done, failed + more_failed
            notes |= dict.fromkeys(more_notes)
            completed.update(submitted())  # type: ignore[no-untyped-call]
            run.show(source.skipped + done, f"{failed:,} failed" if failed else "")
    finally:
        cluster.cancel(list(futures))
    return notes


def _taken(source: KeySource, workers: int) -> list[Key]:
    size = _UNKNOWN if source.total is None else min(max(source.total // (workers * _SHARES_FOR_EACH), _LEAST), _MOST)
    keys: list[Key] = []
    while len(keys) < size and (key := source.take()) is not None:
        keys.append(key)
    return keys


def ask_share(spread: Spread, number: int, keys: Sequence[Key], at_once: int) -> tuple[int, int, tuple[str, ...]]:
    """Ask for the keys of a share on a worker; return how many these are, how many failed, and what to warn of."""
    check = partial(check_run, spread.place, spread.run)
    check()
    folder = Folder(spread.place, spread.plan.definition, before_write=check)
    name = f"{spread.run}-{number:05}"
    folder.load(f"-{name}-")  # what earlier attempts at this share have finished
    source = KeySource(keys, kind=None, is_done=folder.is_done)
    plan = replace(spread.plan, client=getattr(spread.lent, str(spread.interface)))
    run = Run(plan, folder, source, at_once=min(at_once, len(keys)), name=f"{name}-{token_hex(4)}")
    run.on_threads()
    return len(keys), run.writer.failed, tuple(run.notes)


def check_run(place: SweepPlace, run: str) -> None:
    """Check that a run goes on in its place; SweepError if not, or if the folder is not the one of the run."""
    with suppress(OSError), place.open("beside", RUN) as file:
        if file.read(64) == run.encode():
            return
    raise SweepError(
        "A worker does not see the sweep in its folder: either the sweep has ended, or the worker has another folder "
        "of this name.",
        "Sweep into a folder that all workers share, such as one on a network file system or an address of fsspec.",
        about="into",
    )
