"""`sweep`: one call for each of many keys, and a folder of Parquet files with all rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, overload

import httpx

from toolkit.cassettes.cell_cassette import kind_text
from toolkit.core.arguments import as_choice, as_count
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.text import REAL_ACCOUNT, count_text
from toolkit.core.tracebacks import warn
from toolkit.session.sending import InterfaceTransport, transport_of
from toolkit.sweeps.alike import RowMaker
from toolkit.sweeps.asking import Plan
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.parts import Definition, Key, KeySource, stored
from toolkit.sweeps.places import SweepPlace, absolute, place_of
from toolkit.sweeps.result import About, SweepProgress, SweepResult
from toolkit.sweeps.running import Run, Writer
from toolkit.transport.next_page import Cursor

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_AT_ONCE: Final = 1_000  # each is a thread or a task


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

    Failures stand in `result.failures()` and, when the sweep has ended, in `<into>.sweep/failures.parquet`, beside the
    lock that keeps a second process out. An address has no lock: only one process may sweep into it at a time. An
    answer that has no rows where `records` says is a failure of its key.

    In replay the answers come from the cassette, in the order of the keys.

    Args:
        client: an interface of a session, such as `session.broker`.
        keys: texts, integers, dates or datetimes, all of one type; any iterable. A key that comes twice is asked once.
        call: a function that returns what to ask for a key: a path, `(path, params)` or an httpx.Request. GET and HEAD
            only, because a resumed sweep may repeat a request.
        into: the folder, as a path or, with the extra `remote`, as an address of fsspec such as `s3://bucket/positions`.
        at_once: number of keys that are asked for at the same time, on a cluster by all workers together; at most
            1,000. A session sends a hundred calls at a time, whatever the number here.
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
            `records`, `numbers` or `schema`, or of an earlier version.
        TabulationError: if `records`, `key` or `schema` is of a wrong type.
        SweepBusy: if another process sweeps into this folder of a disk.
        SweepError: if the folder cannot be written, such as on a full disk.
        ServiceError, Unreachable: if key after key fails, so that going on makes no sense.
        ToolkitError: if the session refuses or cannot send a request, as the client would raise it.
    """
    from toolkit.tables.conversion import Numbers
    from toolkit.tables.tabulation import check_names

    check_names(records, key)
    if not hasattr(keys, "__iter__") or isinstance(keys, str | bytes):
        raise ConfigurationError(
            f"keys is a single {type(keys).__name__}, not a list or another iterable of keys.",
            "For example keys=accounts['id'].",
            about="keys",
        )
    transport, columns = transport_of(client), _schema(schema)
    cassette = transport.sender.cassette_in_use()
    # With a cassette, the address that stands for the interface in recordings, so that replays are of the same origin.
    origin = str(client.base_url).rstrip("/") if cassette is None else transport.scope.symbolic_text
    is_replay = cassette is not None and not cassette.records
    job = Job(
        client=client,
        transport=transport,
        source=kind_text(cassette),
        is_replay=is_replay,
        plan=Plan(client, call, pages=pages, cursor=cursor, known=transport.sender.known),
        place=place_of(into),
        into=str(into),
        definition={
            "origin": origin,
            "environment": str(transport.sender.environment),
            "records": records,
            "key": key,
            "numbers": as_choice(numbers, get_args(Numbers), about="numbers"),
            "pages": pages,
            "schema": None if columns is None else [[column.name, str(column.type)] for column in columns],
        },
        at_once=as_count(at_once, about="at_once", least=1, most=_MOST_AT_ONCE),
        schema=columns,
        cluster=None if is_replay else cluster,
    )
    if isinstance(client, httpx.AsyncClient):
        return job.run_async(keys, resume=resume)
    return job.run(keys, resume=resume)


def _schema(schema: Any) -> pa.Schema | None:
    if schema is None:
        return None
    from toolkit.tables.schema import schema as schema_of

    return stored(schema_of(schema))


@dataclass(frozen=True)
class Job:
    """A sweep with its arguments, which can run more than once.

    Attributes:
        client: sends the requests.
        transport: the transport of the client.
        source: where the answers come from, in words.
        is_replay: True if a cassette answers all calls, so that nothing is sent.
        plan: asks for a key.
        place: where the files are.
        into: the folder as the user names it.
        definition: what all rows have in common.
        at_once: number of keys that are asked for at the same time.
        schema: the requested schema, or None.
        cluster: a `distributed.Client` whose workers ask, or None to ask here.
    """

    client: Any  # an httpx.Client for `run`, an httpx.AsyncClient for `run_async`
    transport: InterfaceTransport
    source: str
    is_replay: bool
    plan: Plan
    place: SweepPlace
    into: str
    definition: Definition
    at_once: int
    schema: pa.Schema | None
    cluster: Any

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
                with self._running(folder, source) as run:
                    run.on_threads(self.client.send)
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
            with self._running(folder, source) as run:
                await run.in_tasks(self.client.send)
        finally:
            release()
        return self._result(folder, source, order)

    def again(self, order: Collection[Key]) -> SweepResult | Coroutine[Any, Any, SweepResult]:
        """Ask again for the keys that failed."""
        if isinstance(self.client, httpx.AsyncClient):
            return self.run_async(None, order=order)
        return self.run(None, order=order)

    def _opened(self, *, resume: bool) -> Folder:
        folder = Folder(self.place, self.definition)
        if not resume:
            folder.clear()
        folder.load()
        folder.repair()
        if self._account == REAL_ACCOUNT and not folder.parts:
            warn(
                f"The folder {self.into} receives data of a real account ({self.definition['environment']}): keep it "
                "out of version control, and share it with care."
            )
        return folder

    def _result(self, folder: Folder, source: KeySource, order: Collection[Key] | None) -> SweepResult:
        if source.done and not folder.finished:
            warn(
                f"{count_text(source.done, 'key')} failed in an earlier run, so nothing was requested for them. "
                ".retry() of the result requests them, also with another path; resume=False begins anew."
            )
        about = About(self.definition["environment"], self.source, self._account, self.again)
        return SweepResult(self.into, folder, source.order if order is None else order, about, source.done)

    @property
    def _account(self) -> str:
        return self.transport.sender.account_with(self.transport.sender.cassette_in_use())

    @contextmanager
    def _running(self, folder: Folder, source: KeySource) -> Iterator[Run]:
        make_rows = RowMaker(self.definition, self.schema, self.transport.sender.known)
        writer = Writer(folder, make_rows, source, is_replay=self.is_replay)
        progress = SweepProgress(Path(self.into).name, writer, source, is_silent=self.is_replay)
        at_once = 1 if self.is_replay else self.at_once  # a cassette answers in the order of the keys
        try:
            with progress.shown():
                yield Run(self.plan, source, writer, at_once=at_once, watch=progress.watch)
        except BaseException:
            with suppress(ToolkitError):
                folder.now().finish()  # as it is on the disk, whatever failed
            raise
        folder.finish()
        _warn((self.plan.more, make_rows.hint))

    def _spread(self, folder: Folder, source: KeySource) -> Folder:
        """Let the workers of the cluster ask for keys; return the folder as it is afterwards."""
        from toolkit.sweeps.lend import Loan, session_of
        from toolkit.sweeps.on_dask import Counts, Spread, begin_run, spread_keys

        counts = Counts()
        progress = SweepProgress(Path(self.into).name, counts, source, traffic=counts)
        with Loan(session_of(self.client), self.cluster, is_used_here=False) as lent:
            spread = Spread(
                lent=lent,
                interface=self.transport.scope.interface,
                call=self.plan.call,
                into=absolute(self.into),
                definition=self.definition,
                schema=self.schema,
                run=begin_run(self.place),
                cursor=self.plan.cursor,
            )
            try:
                with progress.shown():
                    spread_keys(
                        self.cluster,
                        spread,
                        source,
                        at_once=self.at_once,
                        earlier=folder.failures,
                        counts=counts,
                        watch=progress.watch,
                    )
            except BaseException:
                with suppress(ToolkitError):
                    self._gathered(folder)
                raise
            _warn(counts.notes)
            return self._gathered(folder)

    def _gathered(self, folder: Folder) -> Folder:
        """Return the folder with what workers wrote, each key once."""
        from toolkit.sweeps.on_dask import end_run

        end_run(self.place)
        folder = folder.now()
        folder.repair()
        folder.finish()
        return folder


def _source(keys: Iterable[Any] | None, folder: Folder) -> KeySource:
    """Return the keys to ask for; None stands for all that failed."""
    if keys is None:
        return KeySource(list(folder.failures), kind=folder.kind, is_done=folder.finished.__contains__)
    return KeySource(keys, kind=folder.kind, is_done=folder.is_done)


def _warn(notes: Iterable[str]) -> None:
    for note in filter(None, notes):
        warn(note)
