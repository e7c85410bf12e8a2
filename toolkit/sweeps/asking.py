"""Request one key with all its pages, in one flow for threads and tasks, and make rows from the responses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, TypeAlias

import httpx
import numpy as np
import pyarrow as pa

from toolkit.core.errors import ConfigurationError, ServiceError, TabulationError, UnsafeAddress
from toolkit.core.ledger import TRIES
from toolkit.core.text import excerpt
from toolkit.scrubbing.finding.find import without_credentials
from toolkit.session.pages import Pages, message_of
from toolkit.session.sending import transport_of
from toolkit.sweeps.parts import (
    LONGEST_REASON,
    Definition,
    Key,
    KeyedRows,
    KeyFailure,
    KeyKind,
    key_array,
    key_column,
    key_column_beside,
)
from toolkit.tables.building import TableBuilder
from toolkit.transport.flow import Flow
from toolkit.transport.network import LANE
from toolkit.transport.next_page import Cursor

# Statuses, in addition to 5xx, after which another request may help: a timeout (RFC 9110 section 15.5.9) and too many
# requests (RFC 6585 section 4).
_PASSING: Final = (408, 429)
_LARGE: Final = 1 << 16  # bytes; reading a response of this size takes some milliseconds


class Answered(NamedTuple):
    """A key with its response bodies; whole responses would keep the garbage collector busy."""

    key: Key
    bodies: tuple[bytes, ...]  # empty if the service answered without a body


Outcome: TypeAlias = Answered | KeyFailure


@dataclass(slots=True)
class Plan:
    """A sweep's requests, and the options for making rows from the responses. Sent to a cluster without the client."""

    client: Any
    call: Callable[[Any], Any]
    cursor: Cursor | None
    definition: Definition
    schema: pa.Schema | None
    more: str = ""  # a warning: more pages exist than were read
    hint: str = ""  # about the rows of a response, such as that it has two lists of records

    def asking(self, key: Key, lane: int) -> Flow[Outcome]:
        """Request a key and return the outcome. Errors that would affect every key are raised."""
        bodies: list[bytes] = []
        request: httpx.Request | None = None
        try:
            walk = Pages(self.client, self._request_of(key), cursor=self.cursor).begin()
            while (request := walk.request) is not None:
                request.extensions[LANE] = lane
                response = yield request
                status = response.status_code
                if not 200 <= status < 300:
                    is_passing = status in _PASSING or status >= 500
                    return KeyFailure(key, status, self._reason(walk, response), _tries(request), not is_passing)
                if walk.is_page(response) and response.content and response.request.method != "HEAD":
                    bodies.append(response.content)
                try:
                    walk.go_on(response)
                except (ServiceError, UnsafeAddress) as error:
                    return KeyFailure(key, status, excerpt(error.what, LONGEST_REASON), _tries(request), is_final=True)
                if not self.definition["pages"]:
                    break
        except httpx.TransportError as error:
            return KeyFailure(key, None, f"no answer: {type(error).__name__}", _tries(request))
        except (httpx.RequestError, httpx.InvalidURL) as error:  # undecodable, too many redirects, malformed
            reason = f"{type(error).__name__}: {excerpt(str(error), 80)}"
            return KeyFailure(key, None, reason, _tries(request), is_final=True)
        if walk.more is not None:
            self.more = f"Not all pages were read: {walk.more.words}. {walk.more.advice}"
        elif walk.request is not None and not self.more:
            self.more = "More pages follow the first. Leave out pages=False to read all of them."
        return Answered(key, tuple(bodies))

    def _reason(self, walk: Pages, response: httpx.Response) -> str:
        words = httpx.codes.get_reason_phrase(response.status_code) or f"status {response.status_code}"
        message = message_of(response, transport_of(self.client).sender.known.scrub_text)
        page = f"page {walk.number}: " if walk.number > 1 else ""
        return page + excerpt(f"{words}: {message}" if message else words, LONGEST_REASON)

    def _request_of(self, key: Key) -> httpx.Request:
        value = self.call(key)
        if isinstance(value, httpx.Request):
            if value.method not in ("GET", "HEAD"):
                raise ConfigurationError(
                    f"A sweep sends only GET and HEAD requests, not {excerpt(value.method, 20)}: a resumed sweep "
                    "may repeat a request.",
                    "Send other requests one by one with the client.",
                    about="call",
                )
            if not value.url.is_relative_url:
                return value
            return self.client.build_request(value.method, value.url, headers=value.headers)  # type: ignore[no-any-return]
        path, params = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        if not isinstance(path, str | httpx.URL) or not isinstance(params, Mapping | list | str | None):
            if inspect.iscoroutine(value):
                value.close()
            kinds = ", ".join(type(item).__name__ for item in (value if isinstance(value, tuple) else (value,)))
            found = f"({excerpt(kinds, 60)})" if isinstance(value, tuple) else kinds
            raise ConfigurationError(
                f"For the key {excerpt(repr(key), 60)}, call returned {found}, not a path, (path, params) or an "
                "httpx.Request.",
                "Pass a function that is not async. params may be a dict, a list or text.",
                about="call",
            )
        if isinstance(path, str) and path.startswith("/") and not path.startswith("//"):
            path = str(self.client.base_url).rstrip("/") + path  # as httpx would join it, but parsed only once
        request: httpx.Request = self.client.build_request("GET", str(path), params=params)
        return request


class Batch:
    """Outcomes that are written together. Their responses form one table; if any does not fit, the batch is halved.

    A response is read when it is added, on the thread that received it, because a second thread would compete with the
    event loop for the interpreter. A large response would block the event loop for too long, so this response and all
    later ones in the batch are read by the thread that calls `rows`.
    """

    def __init__(self, plan: Plan, answered: Sequence[Answered] = ()) -> None:
        self.size = 0  # bytes of the responses
        self.failures: list[KeyFailure] = []
        self._plan = plan
        self._known = transport_of(plan.client).sender.known  # secrets that must not be in a row
        self._answered = list(answered)
        self._counts: list[int] = []  # number of rows of each response that was read
        options = {name: plan.definition[name] for name in ("numbers", "records", "key")}
        self._builder = TableBuilder(**options, schema=plan.schema)

    def __len__(self) -> int:
        return len(self._answered) + len(self.failures)

    def add(self, outcome: Outcome) -> None:
        if isinstance(outcome, KeyFailure):
            self.failures.append(outcome)
            return
        size = sum(map(len, outcome.bodies))
        self.size += size
        is_next = len(self._counts) == len(self._answered)
        self._answered.append(outcome)
        if is_next and size < _LARGE:
            with suppress(TabulationError, ServiceError):  # raised again when the rows are made
                self._read(outcome)

    def rows(self, kind: KeyKind | None) -> tuple[list[KeyedRows], list[KeyFailure]]:
        """Return the rows of the responses, and failures for those that cannot be read or do not fit the columns."""
        if not self._answered:
            return [], []
        try:
            return [self._table(kind)], []
        except (TabulationError, ServiceError) as error:
            if len(self._answered) == 1:
                reason = excerpt(error.what, LONGEST_REASON)
                return [], [KeyFailure(self._answered[0].key, 200, reason, is_final=True)]
        middle = len(self._answered) // 2
        halves = self._answered[:middle], self._answered[middle:]
        first, last = (Batch(self._plan, half).rows(kind) for half in halves)
        return [*first[0], *last[0]], [*first[1], *last[1]]

    def _read(self, one: Answered) -> None:
        bodies = (without_credentials(self._known.scrub(body)) for body in one.bodies)
        self._counts.append(sum(self._builder.add(SimpleNamespace(content=body, json=None)) for body in bodies))

    def _table(self, kind: KeyKind | None) -> KeyedRows:
        for one in self._answered[len(self._counts) :]:
            self._read(one)
        self._plan.hint = self._plan.hint or self._builder.hint
        table = self._builder.finish_arrow()
        if self._plan.schema is not None:
            table = _without_key(table)
        keys = key_array([one.key for one in self._answered], kind)
        repeated = key_column(keys).take(np.repeat(np.arange(len(keys)), self._counts))
        return KeyedRows(table.add_column(0, key_column_beside(table.column_names), repeated), keys)


def _tries(request: httpx.Request | None) -> int:
    return 1 if request is None else int(request.extensions.get(TRIES, 1))


def _without_key(table: pa.Table) -> pa.Table:
    """Return the table without its first column if this is the key column of an earlier sweep's schema."""
    others = table.column_names[1:]
    has_key = table.column_names[:1] == [key_column_beside(others)] and table[0].null_count == table.num_rows
    return table.select(others) if has_key else table
