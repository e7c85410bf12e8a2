"""`sweep`: one call for each of many keys, and a folder of Parquet files with all rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

import httpx

from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.user_code import warn
from toolkit.core.words import count_text
from toolkit.session.answers import message_of
from toolkit.session.lending import lendable, session_of
from toolkit.session.sending import InterfaceFacts, facts_of
from toolkit.sweeps.definition import Definition
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import Key, KeySource
from toolkit.sweeps.places import absolute, place_of
from toolkit.sweeps.plan import Plan
from toolkit.sweeps.recorder import OutcomeRecorder
from toolkit.sweeps.result import SweepResult
from toolkit.sweeps.rows import batch_maker
from toolkit.sweeps.running import Run
from toolkit.sweeps.status import SweepProgress
from toolkit.sweeps.storage import SweepPlace
from toolkit.transport.next_page import Cursor

if TYPE_CHECKING:
    import pyarrow as pa

    from toolkit.tables.arrow_text import Numbers


@overload
def sweep(
    client: httpx.Client,
    keys: Iterable[Any],
    call: Callable[[Any], Any],
    *,
    into: str | Path,
    at_once: int = ...,
    records: str | None = ...,
    key: str | None = ...,
    schema: Any = ...,
    numbers: str = ...,
    resume: bool = ...,
    pages: bool = ...,
    cursor: Cursor | None = ...,
    cluster: Any = ...,
) -> SweepResult: ...


@overload
def sweep(
    client: httpx.AsyncClient,
    keys: Iterable[Any],
    call: Callable[[Any], Any],
    *,
    into: str | Path,
    at_once: int = ...,
    records: str | None = ...,
    key: str | None = ...,
    schema: Any = ...,
    numbers: str = ...,
    resume: bool = ...,
    pages: bool = ...,
    cursor: Cursor | None = ...,
    cluster: Any = ...,
) -> Coroutine[Any, Any, SweepResult]: ...


def sweep(
    client: httpx.Client | httpx.AsyncClient,
    keys: Iterable[Any],
    call: Callable[[Any], Any],
    *,
    into: str | Path,
    at_once: int = 16,
    records: str | None = None,
    key: str | None = None,
    schema: Any = None,
    numbers: str = "float",
    resume: bool = True,
    pages: bool = True,
    cursor: Cursor | None = None,
    cluster: Any = None,
) -> SweepResult | Coroutine[Any, Any, SweepResult]:
    """Ask for each of many keys and write the rows of all answers into a folder of Parquet files.

    >>> result = tk.sweep(session.broker, ids, lambda id: f"/v1/accounts/{id}/positions", into="sweeps/positions")
    >>> result.table()

    With a client of an AsyncSession, `await` it. Run it again after an interrupt, a crash or an error: it goes on where
    it stopped, and every key is in the table once. Keys may be added. What was answered in the last three seconds or so
    before an interruption is asked for again.

    The column `key` says which key a row belongs to; it is `sweep_key` if the answers have a `key` of their own. The
    folder holds nothing but Parquet files with the same columns, which pandas, Polars, DuckDB and Dask read as one
    dataset, such as `pandas.read_parquet("sweeps/positions")`. Without `schema`, types are those that fit all answers.

    A key is finished when it was answered with anything but 408, 429 and 5xx. Those, and keys without an answer, are
    asked for again by the next run, other failures by `result.retry()`. A finished key is not asked for again, even if
    `call` has changed: another path needs another folder, or `resume=False`.

    Failures stand in `result.failures()` and in `<into>.sweep/failures.parquet`, beside the lock that keeps a second
    process out. An answer that has no rows where `records` says is a failure of its key.

    In replay the answers come from the cassette, in the order of the keys.

    Args:
        client: an interface of a session, such as `session.broker`.
        keys: texts, integers, dates or datetimes, all of one type; any iterable. A key that comes twice is asked once.
        call: a function that returns what to ask for a key: a path, `(path, params)` or an httpx.Request. GET and HEAD
            only, because a resumed sweep may repeat a request.
        into: the folder, as a path or, with the extra `remote`, as an address of fsspec such as `s3://bucket/positions`.
        at_once: number of keys that are asked for at the same time, on a cluster by all workers together.
        records, key, numbers, schema: as in `tabulate`. The schema is that of the answers; it may begin with the column
            of keys, as `tk.schema(earlier.table())` does.
        resume: False to remove what an earlier sweep wrote into this folder and to begin anew.
        pages: False to read only the first page of each key.
        cursor: as in `pages`, for a cursor that is not recognized.
        cluster: a `dask.distributed.Client` whose workers ask and write into the folder, which all of them must
            share. The session is lent to them as by `tk.lend`, and `call` goes there too. What a worker that dies has
            finished is not lost.

    Raises:
        ConfigurationError: if an argument is wrong, or the folder holds a sweep of another origin, environment,
            `records`, `numbers` or `schema`.
        TabulationError: if `records`, `key` or `schema` is of a wrong type.
        SweepBusy: if another process sweeps into this folder.
        SweepError: if the folder cannot be written, such as on a full disk.
        ServiceError, Unreachable: if key after key fails, so that going on makes no sense.
        ToolkitError: if the session refuses or cannot send a request, as the client would raise it.
    """
    from toolkit.tables.source import check_names

    check_names(records, key)
    if not hasattr(keys, "__iter__") or isinstance(keys, str | bytes):
        raise ConfigurationError(
            f"keys is a single {type(keys).__name__}, not a list or another iterable of keys.",
            "For example keys=accounts['id'].",
            about="keys",
        )
    facts, columns = facts_of(client), _schema(schema)
    job = Job(
        client=client,
        facts=facts,
        plan=Plan(client, call, pages=pages, cursor=cursor),
        place=place_of(into),
        into=str(into),
        definition=Definition(
            origin=facts.origin,
            environment=str(facts.environment),
            records=records,
            key=key,
            numbers=_numbers(numbers),
            pages=pages,
            schema=None if columns is None else tuple((column.name, str(column.type)) for column in columns),
        ),
        at_once=_count(at_once),
        schema=columns,
        call=call,
        cluster=None if facts.replays_only else cluster,
    )
    if isinstance(client, httpx.AsyncClient):
        return job.run_async(keys, resume=resume)
    return job.run(keys, resume=resume)


@dataclass(frozen=True)
class Job:
    """A sweep as it was asked for; each run goes through keys.

    Attributes:
        client: sends the requests.
        facts: what the client says about itself.
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

    @property
    def environment(self) -> Environment:
        """The environment that is called."""
        return self.facts.environment

    @property
    def source(self) -> str:
        """Where the answers come from, in words."""
        return self.facts.source

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
        if self.facts.environment.rules.real_account and not self.facts.replays_only and not folder.parts:
            warn(
                f"The folder {self.into} receives data of a real account ({self.facts.environment}): keep it out of "
                "version control, and share it with care."
            )
        return folder

    def _result(self, folder: Folder, source: KeySource, order: Collection[Key] | None) -> SweepResult:
        if source.finished and not folder.answered:
            warn(
                f"{count_text(source.finished, 'key')} failed in an earlier run and so nothing was requested for them. "
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
            message_of=lambda response: message_of(response, self.facts.known),
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


def _numbers(numbers: Any) -> Numbers:
    from toolkit.tables.arrow_text import Numbers

    choices: tuple[Numbers, ...] = get_args(Numbers)
    for choice in choices:
        if numbers == choice:
            return choice
    raise ConfigurationError(f"numbers is one of {', '.join(choices)}, not {numbers!r}.", about="numbers")


def _schema(schema: Any) -> pa.Schema | None:
    if schema is None:
        return None
    from toolkit.sweeps.parts import stored
    from toolkit.tables.schema import schema as schema_of

    return stored(schema_of(schema))


def _count(at_once: int) -> int:
    if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:
        raise ConfigurationError("at_once is a number of keys, 1 or more.", "For example at_once=16.", about="at_once")
    return at_once
