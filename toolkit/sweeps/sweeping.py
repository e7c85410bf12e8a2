"""`sweep`: one call for each of many keys, and a folder of Parquet files with all rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, overload

import httpx

from toolkit.core.arguments import as_choice, as_count
from toolkit.core.errors import ConfigurationError
from toolkit.sweeps.definition import Definition, facts_of
from toolkit.sweeps.job import Job
from toolkit.sweeps.places import place_of
from toolkit.sweeps.plan import Plan
from toolkit.sweeps.result import SweepResult
from toolkit.transport.next_page import Cursor

if TYPE_CHECKING:
    import pyarrow as pa

    from toolkit.tables.conversion import Numbers

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

    Failures stand in `result.failures()` and in `<into>.sweep/failures.parquet`, beside the lock that keeps a second
    process out. An answer that has no rows where `records` says is a failure of its key.

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
            `records`, `numbers` or `schema`.
        TabulationError: if `records`, `key` or `schema` is of a wrong type.
        SweepBusy: if another process sweeps into this folder.
        SweepError: if the folder cannot be written, such as on a full disk.
        ServiceError, Unreachable: if key after key fails, so that going on makes no sense.
        ToolkitError: if the session refuses or cannot send a request, as the client would raise it.
    """
    from toolkit.tables.tabulation import check_names

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
        at_once=as_count(at_once, about="at_once", least=1, most=_MOST_AT_ONCE),
        schema=columns,
        call=call,
        cluster=None if facts.replays_only else cluster,
    )
    if isinstance(client, httpx.AsyncClient):
        return job.run_async(keys, resume=resume)
    return job.run(keys, resume=resume)


def _numbers(numbers: Any) -> Numbers:
    from toolkit.tables.conversion import Numbers

    choices: tuple[Numbers, ...] = get_args(Numbers)
    return as_choice(numbers, choices, about="numbers")


def _schema(schema: Any) -> pa.Schema | None:
    if schema is None:
        return None
    from toolkit.sweeps.parts import stored
    from toolkit.tables.schema import schema as schema_of

    return stored(schema_of(schema))
