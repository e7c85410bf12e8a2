"""A worker's share of a sweep on a cluster: the keys of one task, asked for there, in parts of its own.

A worker may die in the middle, and another may get its task; or it may seem dead and go on writing. So each attempt
writes files of its own name, an attempt skips the keys that earlier ones have finished, and nobody writes once the
sweep has ended: then the file `run` beside the parts is gone, or names another run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, BinaryIO, Final

from toolkit.core.document import Interface
from toolkit.core.errors import SweepError
from toolkit.core.ledger import message_of
from toolkit.sweeps.definition import Definition, facts_of
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import Key, KeyKind, KeySource
from toolkit.sweeps.outcomes import KeyFailure
from toolkit.sweeps.parts import ForeignFile, read_part
from toolkit.sweeps.places import place_of
from toolkit.sweeps.plan import Plan
from toolkit.sweeps.recorder import OutcomeRecorder
from toolkit.sweeps.rows import batch_maker
from toolkit.sweeps.running import Run
from toolkit.sweeps.storage import Area, SweepPlace
from toolkit.transport.next_page import Cursor

_RUN: Final = "run"
_LOOK_EVERY: Final = 1.0  # seconds between two looks whether the sweep goes on


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


@dataclass(frozen=True, slots=True)
class Share:
    """The keys of one task.

    Attributes:
        number: number of the task in its run.
        keys: the keys, all of one kind.
        kind: the kind of the keys.
        at_once: number of keys to ask for at the same time.
        earlier: failures of earlier runs among these keys, to whose tries the new ones are added.
    """

    number: int
    keys: Sequence[Key]
    kind: KeyKind
    at_once: int
    earlier: Sequence[KeyFailure]


def ask_share(spread: Spread, share: Share) -> tuple[int, int, tuple[str, ...]]:
    """Ask for the keys of a share on a worker; return how many were answered, how many failed, and what to warn of.

    Raises:
        SweepError: if the sweep has ended, or its folder is not shared with this worker.
        ToolkitError: as `sweep`.
    """
    client = getattr(spread.lent, str(spread.interface))
    facts = facts_of(client)
    place = RunPlace(place_of(spread.into), spread.run)
    place.check()
    folder = Folder(place, spread.definition)
    folder.kind = share.kind
    folder.failures = {failure.key: failure for failure in share.earlier}
    writer = f"{spread.run}-{share.number:05}"
    finished = finished_before(place, writer)
    source = KeySource(share.keys, kind=share.kind, finished=finished.__contains__)
    make_batch = batch_maker(spread.definition, spread.schema, facts.known)
    recorder = OutcomeRecorder(folder, make_batch, writer=f"{writer}-{token_hex(4)}")
    plan = Plan(client, spread.call, pages=spread.definition.pages, cursor=spread.cursor)
    run = Run(
        plan,
        source,
        recorder,
        message_of=lambda response: message_of(response, facts.known.scrub_text),
        at_once=min(share.at_once, len(share.keys)),
        watch=lambda *_: place.check_now_and_then(),
    )
    run.on_threads(client.send)
    return recorder.answered + len(finished), recorder.failed, tuple(filter(None, (plan.more, recorder.hint)))


def finished_before(place: SweepPlace, writer: str) -> set[Key]:
    """Return the keys that earlier attempts at a task have finished."""
    keys: set[Key] = set()
    for name in place.names("parts"):
        if f"-{writer}-" in name:
            with suppress(ForeignFile, OSError), place.open("parts", name) as file:
                keys.update(read_part(name, file).note.keys)
    return keys


class RunPlace:
    """The place of a sweep for as long as a run of it lasts.

    Args:
        place: the place.
        run: name of the run.
    """

    def __init__(self, place: SweepPlace, run: str) -> None:
        self._place = place
        self._run = run
        self._looked = time.monotonic()

    def names(self, area: Area) -> list[str]:
        return self._place.names(area)

    def open(self, area: Area, name: str) -> BinaryIO:
        return self._place.open(area, name)

    def write(self, area: Area, name: str, data: bytes) -> None:
        self.check()
        self._place.write(area, name, data)

    def remove(self, area: Area, name: str) -> None:
        self._place.remove(area, name)

    def lock(self) -> Callable[[], None]:
        return self._place.lock()

    def check_now_and_then(self) -> None:
        """Check about once a second."""
        if time.monotonic() - self._looked >= _LOOK_EVERY:
            self._looked = time.monotonic()
            self.check()

    def check(self) -> None:
        """Check whether the run goes on.

        Raises:
            SweepError: if it does not, or the folder is not the one of the run.
        """
        try:
            with self._place.open("beside", _RUN) as file:
                goes_on = file.read(64).decode("ascii", "replace") == self._run
        except OSError:
            goes_on = False
        if not goes_on:
            raise SweepError(
                "A worker does not see the sweep in its folder: either the sweep has ended, or the worker has another "
                "folder of this name.",
                "Sweep into a folder that all workers share, such as one on a network file system or an address of "
                "fsspec.",
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
