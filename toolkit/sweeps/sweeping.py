"""`sweep`, which makes one call for each of many keys and writes the rows to Parquet files, and its result."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack, cast, overload

import httpx
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from toolkit.core.errors import ConfigurationError, as_count, wrong_type
from toolkit.core.text import as_html, badge, card, code, count_text, excerpt, printable
from toolkit.core.tracebacks import warn
from toolkit.local.progress import progress_bar
from toolkit.session.card import REAL_ACCOUNT, kind_text
from toolkit.session.pages import checked_cursor
from toolkit.session.sending import transport_of
from toolkit.sweeps.asking import Plan
from toolkit.sweeps.folder import Folder, SweepPlace, place_of
from toolkit.sweeps.parts import KEY, Key, KeySource, failures_table, key_column
from toolkit.sweeps.running import Run
from toolkit.tables.building import TableBuilder
from toolkit.tables.columns import frame_of, is_key
from toolkit.tables.display import readable
from toolkit.tables.schema import schema as schema_of
from toolkit.transport.next_page import Cursor

if TYPE_CHECKING:
    from toolkit.session.session import Session

_MOST_AT_ONCE: Final = 1_000  # each is a thread or a task
Call: TypeAlias = Callable[[Any], Any]


class SweepOptions(TypedDict, total=False):
    """The optional keyword arguments of `sweep`."""

    at_once: int
    records: str | None
    key: str | None
    schema: Any
    numbers: str
    resume: bool
    pages: bool
    cursor: Cursor | None
    cluster: Any


@overload
def sweep(
    client: httpx.Client, keys: Iterable[Any], call: Call, *, into: str | Path, **options: Unpack[SweepOptions]
) -> SweepResult: ...


@overload
def sweep(
    client: httpx.AsyncClient, keys: Iterable[Any], call: Call, *, into: str | Path, **options: Unpack[SweepOptions]
) -> Coroutine[Any, Any, SweepResult]: ...


def sweep(
    client: httpx.Client | httpx.AsyncClient,
    keys: Iterable[Any],
    call: Call,
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
    """Make a request for each of many keys, and write the rows of all responses to a folder of Parquet files.

    >>> result = tk.sweep(session.broker, ids, lambda id: f"/v1/accounts/{id}/positions", into="sweeps/positions")
    >>> result.table()

    With an AsyncSession's client, `await` the call. After an interrupt, a crash or an error, run the sweep again: it
    continues where it stopped, and the table contains each key's rows only once. You may add keys between runs. Calls
    that were answered in the last three seconds or so before an interruption are repeated.

    The column `key` contains the key of each row; it is called `sweep_key` if the responses have a `key`. The folder
    contains only Parquet files with the same columns, which pandas, Polars, DuckDB and Dask read as one dataset, as in
    `pandas.read_parquet("sweeps/positions")`. Without `schema`, the types are chosen to fit all responses.

    A key is finished when the status of its response is not 408, 429 or 5xx. The next run retries keys with these
    statuses and keys whose connection failed; `result.retry()` retries all failed keys. A run never requests a finished
    key again, even if `call` has changed: to request another path, use another folder or `resume=False`.

    Failures are in `result.failures()` and, when the sweep has ended, in `<into>.sweep/failures.parquet`, beside the
    lock that keeps other processes out. A folder at an fsspec address has no lock, so only one process at a time may
    sweep into it. A key whose response has no list or object at `records` counts as failed.

    In a replay, the responses come from the cassette, in the order of the keys.

    Args:
        client: a session's client, such as `session.broker`.
        keys: any iterable of strings, integers, dates or datetimes, all of one type. Repeated keys are requested once.
        call: a function that returns the request for a key: a path, `(path, params)` or an httpx.Request. Only GET and
            HEAD are allowed, because a resumed sweep may repeat a request.
        into: the folder, as a path or, with the `remote` extra, an fsspec address such as `s3://bucket/positions`.
        at_once: number of keys to request at the same time (on a cluster, by all workers together), at most 1,000. A
            session never sends more than a hundred calls at a time.
        records, key, numbers, schema: as in `tabulate`. The schema describes the responses; it may begin with the key
            column, as `tk.schema(earlier.table())` does.
        resume: False to remove the parts that an earlier sweep wrote to this folder, and to start again.
        pages: False to read only the first page for each key.
        cursor: as in `pages`, for a cursor that is not recognized automatically.
        cluster: a `dask.distributed.Client` whose workers make the calls and write to the folder, which must be
            accessible to all workers. The session is lent to them as with `tk.lend`, and `call` is sent to them. If a
            worker dies, the rows that it has written are not lost.

    Raises:
        ConfigurationError: if an argument is wrong, or the folder belongs to a sweep with another origin, environment,
            `records`, `numbers` or `schema`, or was written by an earlier version of the toolkit.
        TabulationError: if `schema` is of the wrong type.
        SweepBusy: if the folder is on a disk and another process is sweeping into it.
        SweepError: if the folder cannot be written to, for example because the disk is full.
        ServiceError, Unreachable: if too many keys in a row fail.
        ToolkitError: if the session refuses or cannot send a request; the client would raise the same error.
    """
    TableBuilder(numbers=numbers, records=records, key=key)  # refuses bad options before using any key
    if hasattr(keys, "itertuples") or not hasattr(keys, "__iter__") or isinstance(keys, str | bytes):
        next_step = 'Pass the table column that contains the keys: table["id"].'
        raise wrong_type("keys", "a list or another iterable of keys", keys, next_step)
    transport, columns = transport_of(client), None if schema is None else _stored(schema)
    cassette = transport.sender.cassette_in_use()
    definition = {
        # With a cassette, the interface's symbolic address, so that replays have the same origin.
        "origin": str(client.base_url).rstrip("/") if cassette is None else transport.scope.symbolic_text,
        "environment": str(transport.sender.environment),
        "records": records,
        "key": key,
        "numbers": numbers,
        "pages": pages,
        "schema": None if columns is None else [[column.name, str(column.type)] for column in columns],
    }
    if not callable(call):
        raise wrong_type("call", "a function", call, 'For example call=lambda key: f"/v1/accounts/{key}/positions".')
    job = Job(
        plan=Plan(client, call, checked_cursor(cursor), definition, columns),
        place=place_of(into),
        into=str(into),
        at_once=as_count(at_once, about="at_once", least=1, most=_MOST_AT_ONCE),
        source=kind_text(cassette),
        is_replay=cassette is not None and not cassette.records,
        cluster=cluster,
    )
    if isinstance(client, httpx.AsyncClient):
        return job.run_async(keys, resume=resume)
    return job.run(keys, resume=resume)


def _stored(schema: Any) -> pa.Schema:
    """Return a schema as Parquet stores it: with milliseconds instead of seconds, for example, and without `date64`.

    Otherwise, parts that are read back would have different types from later responses.
    """
    buffer = io.BytesIO()
    try:
        parquet.write_table(schema_of(schema).empty_table(), buffer)
    except pa.ArrowException as error:
        raise ConfigurationError(
            f"The schema has a type that Parquet does not support: {excerpt(str(error), 100)}", about="schema"
        ) from None
    return schema_of(parquet.read_schema(buffer))


@dataclass(frozen=True, slots=True)
class Job:
    """A sweep with its arguments, which can run more than once."""

    plan: Plan
    place: SweepPlace
    into: str  # the folder as the user names it
    at_once: int
    source: str  # where the responses come from: `live calls`, or `replayed, recorded 12 May 2026`
    is_replay: bool  # True if a cassette answers all calls, so that nothing is sent
    cluster: Any  # a `distributed.Client` whose workers make the calls, or None; a replay ignores it

    @property
    def account(self) -> str:
        """`real account`, `practice` or ""."""
        sender = transport_of(self.plan.client).sender
        return sender.account_with(sender.cassette_in_use())

    def run(
        self, keys: Iterable[Any] | None, *, resume: bool = True, order: Collection[Key] | None = None
    ) -> SweepResult:
        """Request keys, or the failed ones if None, with a synchronous client; `order` sorts the result's rows."""
        with self._opened(keys, resume=resume) as run:
            if self.cluster is not None and not self.is_replay:
                self._spread(run)
            else:
                run.on_threads()
        return self._result(run, order)

    async def run_async(
        self, keys: Iterable[Any] | None, *, resume: bool = True, order: Collection[Key] | None = None
    ) -> SweepResult:
        """Request keys with an asynchronous client; see `run`."""
        if self.cluster is not None and not self.is_replay:
            return await asyncio.to_thread(self.run, keys, resume=resume, order=order)
        with ExitStack() as stack:
            run = await asyncio.to_thread(stack.enter_context, self._opened(keys, resume=resume))
            await run.in_tasks()
        return self._result(run, order)

    @contextmanager
    def _opened(self, keys: Iterable[Any] | None, *, resume: bool) -> Iterator[Run]:
        """Open the folder for a run, and unify its parts afterwards."""
        with self.place.locked():
            folder = Folder(self.place, self.plan.definition)
            if not resume:
                folder.clear()
            folder.load()
            folder.repair()
            if self.account == REAL_ACCOUNT and not folder.parts:
                warn(
                    f"{self.into} will contain data from a real account ({self.plan.definition['environment']}). "
                    "Keep it out of version control, and share it with care."
                )
            asked = list(folder.failures) if keys is None else keys
            is_done = (lambda _: False) if keys is None else folder.is_done
            source = KeySource(asked, kind=folder.kind, is_done=is_done)
            try:
                with progress_bar(Path(self.into).name, source.total) as show:
                    yield Run(self.plan, folder, source, at_once=self.at_once, is_replay=self.is_replay, show=show)
            finally:
                folder.load()
                folder.repair()
                folder.finish()
                pa.default_memory_pool().release_unused()

    def _spread(self, run: Run) -> None:
        from toolkit.sweeps.borrower import LentSession
        from toolkit.sweeps.lend import Loan
        from toolkit.sweeps.running import RUN, Spread, spread_keys

        transport, name = transport_of(self.plan.client), token_hex(4)
        with Loan(cast("Session", transport.session), self.cluster) as lent:
            self.place.write("beside", RUN, name.encode())  # so that workers of earlier runs stop writing
            handle = LentSession(lent.terms._replace(is_async=False))
            spread = Spread(replace(self.plan, client=None), handle, transport.scope.interface, self.place, name)
            try:
                spread_keys(self.cluster, spread, run)
            finally:
                self.place.remove("beside", RUN)

    def _result(self, run: Run, order: Collection[Key] | None) -> SweepResult:
        for note in filter(None, run.notes):
            warn(note)
        result = SweepResult(self, run.folder, run.source.order if order is None else order, run.source.done)
        if run.source.done and not result.answered:
            warn(
                f"{count_text(run.source.done, 'key')} failed in an earlier run, so nothing was requested for them. "
                "To request them again, call .retry(), even if `call` has changed. To start over, pass resume=False."
            )
        return result


class SweepResult:
    """The contents of a sweep's folder.

    Attributes:
        into: the folder, as passed to `sweep`.
        answered: number of keys that were answered, with or without rows.
        failed: number of keys that failed.
        rows: number of rows.
        earlier: number of keys that were not requested, because earlier runs had finished them.
    """

    def __init__(self, job: Job, folder: Folder, order: Collection[Key], earlier: int) -> None:
        self.into = job.into
        self.answered = sum(len(part.keys) for part in folder.parts.values())
        self.failed = len(folder.failures)
        self.rows = sum(part.rows for part in folder.parts.values())
        self.earlier = earlier
        self._order = order
        self._job = job
        self._environment = job.plan.definition["environment"]
        self._reasons = Counter(failure.status for failure in folder.failures.values())

    def table(self, names: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return all rows in the folder, in the order of this sweep's keys; rows of other keys come last.

        If the folder does not fit into memory, read it with Polars, DuckDB or Dask instead.

        Args:
            names: a table with the keys in one column, such as `session.accounts()` if the keys are account IDs. Its
                columns with other identifiers, such as account numbers, are added after the keys.
        """
        table = self._loaded().table(self._order)
        if names is not None:
            keys, columns = table.iloc[:, 0], [name for name in names.columns if is_key(str(name))]
            own = next((name for name in columns if names[name].is_unique and keys.isin(names[name]).all()), None)
            if own is None:
                raise ConfigurationError("No column of the table in names= has every key exactly once.", about="names")
            for place, name in enumerate((name for name in columns if name != own and name not in table.columns), 1):
                table.insert(place, name, keys.map(names.set_index(own)[name]))
        table.attrs["source"] = " · ".join(filter(None, (self._environment, self._job.account, self._job.source)))
        return table

    def failures(self) -> pd.DataFrame:
        """Return one row for each failed key: key, status (missing if there was no response), reason and tries.

        `tries` is the number of times the last run sent the request. A notebook shows reasons and keys in full.
        """
        folder = self._loaded()
        failures = [folder.failures.pop(key) for key in self._order if key in folder.failures]
        failures += folder.failures.values()
        table = failures_table(failures, folder.kind).drop_columns(["is_final"])
        columns = dict(zip(table.column_names, table.columns, strict=True))
        columns[KEY] = key_column(table[KEY])
        return readable(frame_of(columns, len(failures)), cuts_text=False)

    def retry(self) -> SweepResult | Coroutine[Any, Any, SweepResult]:
        """Request all failed keys again, and return the new result; with an asynchronous client, `await` it."""
        is_async = isinstance(self._job.plan.client, httpx.AsyncClient)
        return (self._job.run_async if is_async else self._job.run)(None, order=self._order)

    def __repr__(self) -> str:
        failed = f", {self._failed_text('failed')}" if self.failed else ""
        earlier = f"; {count_text(self.earlier, 'key')} finished by earlier runs" if self.earlier else ""
        counts = f"{count_text(self.rows, 'row')} for {count_text(self.answered, 'key')}{failed}{earlier}"
        environment = ", ".join(filter(None, (self._environment, self._job.account)))
        return f"<Sweep of {environment} into {printable(Path(self.into).name)}: {counts}; {self._job.source}>"

    def _repr_html_(self) -> str:
        badges = [badge(f"{self._environment} · {self._job.source}")]
        if account := self._job.account:
            badges.append(badge(account, alarming=account == REAL_ACCOUNT))
        lines = [
            ("answered", as_html(count_text(self.answered, "key"))),
            ("rows", as_html(f"{self.rows:,}")),
            ("failed", as_html(self._failed_text()) if self.failed else "none"),
        ]
        if self.earlier:
            lines.append(("earlier", f"{as_html(count_text(self.earlier, 'key'))}, not requested again"))
        retry = f" · {code('.failures()')} · {code('.retry()')}" if self.failed else ""
        lines += [("folder", code(Path(self.into).name)), ("next", code(".table()") + retry)]
        return card("Sweep", badges, lines)

    def _loaded(self) -> Folder:
        folder = Folder(self._job.place, self._job.plan.definition)  # not kept, because many keys take much memory
        folder.load()
        return folder

    def _failed_text(self, word: str = "") -> str:
        """Return the number of failures with their statuses: `3 failed (404: 2, no answer: 1)`."""
        ordered = sorted(self._reasons.items(), key=lambda item: (-item[1], item[0] or 0))
        reasons = ", ".join(f"{status or 'no answer'}: {count:,}" for status, count in ordered)
        return f"{f'{self.failed:,} {word}'.rstrip()} ({reasons})"
