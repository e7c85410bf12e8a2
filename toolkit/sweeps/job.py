"""A sweep with its arguments, which can run more than once: on this machine or on the workers of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.errors import ToolkitError
from toolkit.core.ledger import message_of
from toolkit.core.user_code import warn
from toolkit.core.words import REAL_ACCOUNT, count_text
from toolkit.loans.lending import lendable, session_of
from toolkit.sweeps.definition import Definition, InterfaceFacts
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import Key, KeySource
from toolkit.sweeps.places import absolute
from toolkit.sweeps.plan import Plan
from toolkit.sweeps.recorder import OutcomeRecorder
from toolkit.sweeps.result import SweepResult
from toolkit.sweeps.rows import batch_maker
from toolkit.sweeps.running import Run
from toolkit.sweeps.status import SweepProgress
from toolkit.sweeps.storage import SweepPlace

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Job:
    """A sweep with its arguments; each run goes through keys.

    Attributes:
        client: sends the requests.
        facts: the facts about the client.
        plan: makes the requests.
        place: where the files are.
        into: the folder as the user names it.
        definition: what all rows have in common.
        at_once: number of keys that are asked for at the same time.
        schema: the requested schema, or None.
        call: the user's function.
        cluster: a `distributed.Client` whose workers ask, or None to ask here.
    """

    client: Any  # an httpx.Client for `run`, an httpx.AsyncClient for `run_async`
    facts: InterfaceFacts
    plan: Plan
    place: SweepPlace
    into: str
    definition: Definition
    at_once: int
    schema: pa.Schema | None
    call: Callable[[Any], Any]
    cluster: Any = None

    def run(
        self, keys: Iterable[Any] | None, *, resume: bool = True, order: Collection[Key] | None = None
    ) -> SweepResult:
        """Ask for keys with a synchronous client; None for those that failed, in the order of an earlier result."""
        release = self.place.lock()
        try:
            folder = self._opened(resume=resume)
            source = _source(keys, folder)
            if self.cluster is not None:
                folder = self._spread(folder, source)
            else:
                with self._recording(folder, source) as run:
                    if self.facts.replays_only:
                        run.in_turn(self.client.send)
                    else:
                        run.on_threads(self.client.send)
                folder.unify()
        finally:
            release()
        return self._result(folder, source, order)

    async def run_async(
        self, keys: Iterable[Any] | None, *, resume: bool = True, order: Collection[Key] | None = None
    ) -> SweepResult:
        """Ask for keys with an asynchronous client; see `run`."""
        if self.cluster is not None:
            return await asyncio.to_thread(self.run, keys, resume=resume, order=order)
        release = self.place.lock()
        try:
            folder = await asyncio.to_thread(self._opened, resume=resume)
            source = _source(keys, folder)
            with self._recording(folder, source) as run:
                if self.facts.replays_only:
                    await run.in_turn_async(self.client.send)
                else:
                    await run.in_tasks(self.client.send)
                await asyncio.to_thread(folder.unify)
        finally:
            release()
        return self._result(folder, source, order)

    def folder(self) -> Folder:
        """Return the folder as it is now."""
        folder = Folder(self.place, self.definition)
        folder.load()
        return folder

    def _opened(self, *, resume: bool) -> Folder:
        folder = Folder(self.place, self.definition)
        if not resume:
            folder.clear()
        folder.load()
        folder.repair()
        if self.facts.account == REAL_ACCOUNT and not folder.parts:
            warn(
                f"The folder {self.into} receives data of a real account ({self.facts.environment}): keep it out of "
                "version control, and share it with care."
            )
        return folder

    def _result(self, folder: Folder, source: KeySource, order: Collection[Key] | None) -> SweepResult:
        if source.finished and not folder.answered:
            warn(
                f"{count_text(source.finished, 'key')} failed in an earlier run, so nothing was requested for them. "
                ".retry() of the result requests them, also with another path; resume=False begins anew."
            )
        return SweepResult(self, folder, source.order if order is None else order, earlier=source.finished)

    def _spread(self, folder: Folder, source: KeySource) -> Folder:
        """Let the workers of the cluster ask for keys; return the folder as it is afterwards."""
        from toolkit.loans.lend import Loan
        from toolkit.sweeps.dask_pool import DaskPool
        from toolkit.sweeps.shares import Spread, begin_run
        from toolkit.sweeps.spreading import Counts, spread_keys

        session, counts = session_of(self.client), Counts()
        progress = SweepProgress(Path(self.into).name, is_replay=False, traffic=counts)
        with Loan(lendable(session), self.cluster) as lent:
            spread = Spread(
                lent=lent,
                interface=self.facts.interface,
                call=self.call,
                into=absolute(self.into),
                definition=self.definition,
                schema=self.schema,
                cursor=self.plan.cursor,
                run=begin_run(self.place),
            )
            try:
                with progress.shown(counts, source):
                    spread_keys(
                        spread,
                        source,
                        DaskPool(self.cluster),
                        at_once=self.at_once,
                        earlier=folder.failures,
                        counts=counts,
                        watch=lambda: progress.watch(counts, source),
                    )
            except BaseException:
                with suppress(ToolkitError):
                    self._gathered()
                raise
            _warn(counts.notes)
            return self._gathered()

    def _gathered(self) -> Folder:
        """Return the folder with what workers wrote, each key once."""
        from toolkit.sweeps.shares import end_run

        end_run(self.place)
        folder = self.folder()
        folder.repair()
        folder.unify()
        return folder

    @contextmanager
    def _recording(self, folder: Folder, source: KeySource) -> Iterator[Run]:
        make_batch = batch_maker(self.definition, self.schema, self.facts.known)
        recorder = OutcomeRecorder(folder, make_batch, is_replay=self.facts.replays_only)
        progress = SweepProgress(Path(self.into).name, is_replay=self.facts.replays_only)
        run = Run(
            self.plan,
            source,
            recorder,
            message_of=lambda response: message_of(response, self.facts.known.scrub_text),
            at_once=self.at_once,
            watch=progress.watch,
        )
        with progress.shown(recorder, source):
            try:
                yield run
            except BaseException:
                with suppress(ToolkitError):
                    self.folder().unify()  # as it is on the disk, whatever failed
                raise
        _warn((self.plan.more, recorder.hint))


def _source(keys: Iterable[Any] | None, folder: Folder) -> KeySource:
    """Return the keys to ask for; None stands for all that failed."""
    if keys is None:
        return KeySource(list(folder.failures), kind=folder.kind, finished=folder.is_answered)
    return KeySource(keys, kind=folder.kind, finished=folder.is_finished)


def _warn(notes: Iterable[str]) -> None:
    for note in filter(None, notes):
        warn(note)
