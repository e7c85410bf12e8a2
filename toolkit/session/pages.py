"""`tk.pages`: read the pages of a list one after another, with any httpx or httpx2 client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import httpx

from toolkit.core.document import Interface
from toolkit.core.errors import (
    CassetteMiss,
    ConfigurationError,
    ServiceError,
    TabulationError,
    ToolkitError,
    as_mapping,
    as_text,
    wrong_type,
)
from toolkit.core.ledger import source_of
from toolkit.core.text import excerpt, printable
from toolkit.core.tracebacks import warn
from toolkit.session.sending import transport_of
from toolkit.transport.failures import as_toolkit_error, status_error
from toolkit.transport.httpx2 import as_httpx_error, classes
from toolkit.transport.next_page import IS_FOLLOWED, Cursor, NextPage, check_origin, next_page

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.session.session import BaseSession

_Error = TypeVar("_Error", bound=ToolkitError)
_OWN_HEADERS: Final = frozenset({b"host", b"cookie"})  # those that the client sets for each request
_COUNTED: Final = {"offset": 0, "page": 1}  # cursors that are counted, with their value for the first page
# Parameters with which a caller asks for one page; compared in lower case and without hyphens and underscores.
_ONE_PAGE: Final = frozenset({"limit", "page", "pagesize", "perpage", "offset", "cursor", "pagetoken"})
_MESSAGE_FIELDS: Final = ("message", "detail", "error_description", "title", "error")


def pages(
    client: httpx.Client | httpx.AsyncClient,
    path: str | httpx.URL,
    *,
    params: Mapping[str, Any] | None = None,
    cursor: Cursor | None = None,
) -> Pages:
    """Return the pages of a list as responses to iterate over with `for`, or with `async for` if the client is async.

    >>> table = tk.tabulate(tk.pages(session.broker, "/v1/accounts"))
    >>> for response in tk.pages(session.broker, "/v1/accounts", params={"page_size": 50}):
    ...     print(len(response.json()))

    With an async client: `tk.tabulate([page async for page in tk.pages(client, path)])`.

    Nothing is sent before the loop begins, and each page is requested when the loop needs it. Each new loop starts
    again at the first page. The next page comes from the response: a `Link` header with `rel="next"` (RFC 8288), a
    member such as `next`, `next_url` or `links.next` that is a URL, or a member `nextPageToken` or `next_page_token`,
    which is sent as `pageToken` or `page_token`. For any other cursor, pass `cursor`; without it, the loop ends with a
    warning. The list ends when the cursor is missing, null, empty or false. The service document does not describe
    paging.

    From the second page on, progress is shown if the loop takes longer than half a second, as with `tk.progress`.

    Args:
        client: a session's client, such as `session.broker`, or any other httpx or httpx2 client.
        path: path or URL of the first page.
        params: query parameters for the first page. Later pages are requested as the responses specify.
        cursor: dotted path of the member with the cursor, and the parameter to send it as, such as
            `("meta.next_cursor", "cursor")`. It may also be "page", if the service has a `page` parameter for the page
            number, or "offset", if it has an `offset` parameter for the number of rows to skip. The number starts from
            its value in `params` and increases until a page has no rows or repeats the rows of an earlier page.

    Raises:
        ConfigurationError: if an argument is invalid; in the loop, if `for` is used with an async client, or `async
            for` with a sync one.
        ServiceError: in the loop, if a page has an error status or cannot be decoded, or if the next page is one that
            was already read.
        Unreachable: in the loop, if the service cannot be reached.
        UnsafeAddress: in the loop, if the next page does not have the same origin as the first.
    """
    if not isinstance(client, classes("Client", "AsyncClient")):
        raise wrong_type("client", "an httpx client", client, "Pass an interface, such as session.broker.")
    if not isinstance(path, classes("URL")):
        path = as_text(path, about="path", example='"/v1/accounts"')
    if params is not None:
        params = as_mapping(params, about="params", example='{"limit": 100}')
    return Pages(client, path, params=params, cursor=checked_cursor(cursor))


class Pages:
    """The pages of a list; see `pages`.

    Code that sends requests itself calls `begin`, sends `request` until it is None, and passes each response to
    `is_page` and then to `go_on`.

    Args:
        client, params, cursor: as in `pages`.
        path: as in `pages`, or the request for the first page, whose headers are sent with all pages.
        only_first: True to stop after the first page, even if there is a next page.

    Attributes:
        request: the request for the next page, or None after the last one.
        number: number of the page that `request` asks for, from 1.
        more: the reference to a next page in the last response, if that page cannot be requested; otherwise None.
    """

    request: httpx.Request | None
    number: int
    more: NextPage | None

    def __init__(
        self,
        client: httpx.Client | httpx.AsyncClient,
        path: str | httpx.URL | httpx.Request,
        *,
        params: Mapping[str, Any] | None = None,
        cursor: Cursor | None = None,
        only_first: bool = False,
    ) -> None:
        self._client: Any = client
        self._path = path
        self._params = params or None
        self._cursor = None if isinstance(cursor, str) else cursor
        self._counter = cursor if isinstance(cursor, str) else None
        self._only_first = only_first

    def __iter__(self) -> Iterator[httpx.Response]:
        self._refuse_other_client("Client", "`async for`: tk.tabulate([page async for page in tk.pages(client, path)])")
        return Pages._each(copy(self))

    def __aiter__(self) -> AsyncIterator[httpx.Response]:
        self._refuse_other_client("AsyncClient", "`for`: tk.tabulate(tk.pages(client, path))")
        return Pages._each_async(copy(self))

    def _refuse_other_client(self, expected: str, advice: str) -> None:
        if not isinstance(self._client, classes(expected)):
            what = f"The client passed to tk.pages is not an httpx.{expected}."
            raise ConfigurationError(what, f"Iterate over the pages with {advice}.", about="client")

    def __repr__(self) -> str:
        return "<Pages>"  # a path may contain a secret

    def _each(self) -> Iterator[httpx.Response]:
        self.begin()
        while self.request is not None:
            with self._errors():
                response = self._client.send(self.request)
            if self.is_page(response):
                yield response
            self.go_on(response)
        self._warn_of_more()

    async def _each_async(self) -> AsyncIterator[httpx.Response]:
        self.begin()
        while self.request is not None:
            with self._errors():
                response = await self._client.send(self.request)
            if self.is_page(response):
                yield response
            self.go_on(response)
        self._warn_of_more()

    def begin(self) -> Self:
        """Set `request` to the request for the first page. Each loop does this on its own copy of the object."""
        self.request = self._first_request()
        self.number, self.more = 1, None
        url = self.request.url
        self._first = url if isinstance(url, httpx.URL) else httpx.URL(str(url))  # of httpx2
        self._headers = [(name, value) for name, value in self.request.headers.raw if name.lower() not in _OWN_HEADERS]
        self._asked = {str(self._first)}
        self._count = self._rows = 0  # pages or rows before the next page; rows of the last page
        self._seen: set[int] = set()  # hashes of the rows of each page
        return self

    def _first_request(self) -> httpx.Request:
        if isinstance(self._path, httpx.Request):
            return self._path
        try:
            return self._client.build_request("GET", self._path, params=self._params)  # type: ignore[no-any-return]
        except (ValueError, TypeError, *classes("InvalidURL")) as error:  # type: ignore[misc]
            raise ConfigurationError(  # without the error's text, which may quote a secret
                f"The path and the parameters do not form a valid URL ({type(error).__name__}).",
                'For example tk.pages(session.broker, "/v1/accounts", params={"limit": 100}).',
                about="path",
            ) from None

    def is_page(self, response: httpx.Response) -> bool:
        """Return True if a response is a page, and False if it shows that the previous one was the last."""
        if response.status_code >= 300:
            raise self._about_page(status_error(response))
        if self._counter is None:
            return True
        from toolkit.tables.tabulation import rows_of

        rows = rows_of(response)
        same = hash(repr(rows))
        self._rows = 0 if same in self._seen else len(rows)
        self._seen.add(same)
        return self.number == 1 or self._rows > 0

    def go_on(self, response: httpx.Response) -> None:
        """Set `request` to the request for the page after this response."""
        self.request = None
        if self._only_first:
            return
        response.extensions[IS_FOLLOWED] = True
        if self._counter:
            following = self._counted_page(self._counter)
        else:
            following = next_page(response, cursor=self._cursor, is_first=self.number == 1)
        if following is None or following.url is None:
            self.more = following
            return
        check_origin(following.url, self._first)
        url = str(following.url)
        if url in self._asked:
            raise ServiceError(
                f"Cannot read past page {self.number}: {following.words} that was already read.",
                "Paging might never end. If the cursor is in another member, pass cursor=(member, parameter).",
                response=response,
            )
        self._asked.add(url)
        self.number += 1
        # httpx drops the query of a URL if the client has its own parameters.
        params = str(following.url.params) if self._client.params else None
        self.request = self._client.build_request("GET", url, params=params, headers=self._headers)

    def _counted_page(self, name: str) -> NextPage | None:
        """Return the next page, found by incrementing the page number or row offset, or None at the end."""
        if not self._rows:
            return None
        if self.number == 1:
            text = self._first.params.get(name, str(_COUNTED[name]))
            if not (text.isascii() and text.isdecimal()):
                raise ConfigurationError(
                    f"The parameter {name} of the first page is not a whole number, so the next page is unknown.",
                    f"Leave out {name}, or begin with a number such as {name}={_COUNTED[name]}.",
                    about="params",
                )
            self._count = int(text)
        self._count += 1 if name == "page" else self._rows
        return NextPage(self._first.copy_set_param(name, self._count), "")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise the toolkit's error if a page request gets no response, or one that cannot be decoded."""
        try:
            yield
        except classes("TransportError", "DecodingError") as error:
            raise self._about_page(as_toolkit_error(as_httpx_error(error), self._first)) from None

    def _warn_of_more(self) -> None:
        if self.more is not None:
            warn(f"More pages follow page {self.number}: {self.more.words}. {self.more.advice}")

    def _about_page(self, error: _Error) -> _Error:
        """Return the error with the page number added, unless the page is the first one."""
        what = error.what[:1].lower() + error.what[1:]
        return error.reworded(f"Page {self.number}: {what}", error.next_step) if self.number > 1 else error


def checked_cursor(cursor: Any) -> Cursor | None:
    """Check the `cursor` argument of `pages`, and return it."""
    if cursor is None or (isinstance(cursor, str) and cursor in _COUNTED):
        return cast("Cursor | None", cursor)
    if isinstance(cursor, (tuple, list)) and len(cursor) == 2 and all(isinstance(x, str) and x for x in cursor):
        return cursor[0], cursor[1]
    raise ConfigurationError(
        'cursor must be a pair (path of a member, name of a parameter), "offset" or "page".',
        'For example cursor=("meta.next_cursor", "cursor"), or cursor="page".',
        about="cursor",
    )


def message_of(response: Any, scrub: Callable[[str], str]) -> str:
    """Return the message of an error response from one of the usual fields, such as RFC 9457's `detail`, or "".

    It is shortened and safe to print; `scrub` removes secrets from it.
    """
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    texts = [body.get(name) for name in _MESSAGE_FIELDS] if isinstance(body, dict) else []
    message = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return excerpt(scrub(printable(message)))


class AccountPages(Pages):
    """The pages of a session's accounts; `table` makes a table of them, or raises an error that contains no secrets."""

    def __init__(self, session: BaseSession[Any], params: Mapping[str, Any], *, all_pages: bool) -> None:
        interface, path = session.environment.rules.accounts
        own = next((name for name in params if "".join(filter(str.isalnum, name)).lower() in _ONE_PAGE), "")
        self._advice = f"Leave out {own} to get all of them." if own else ""
        self._is_one_account = interface is Interface.TRADING
        if self._is_one_account and all_pages:
            self._advice = f"accounts() returns one row here; for all pages, use tk.pages(session.trading, {path!r})."
        client = getattr(session, interface)
        super().__init__(client, path, params=params, only_first=bool(self._advice) or not all_pages)
        self.responses: list[httpx.Response] = []
        self._known = transport_of(client).sender.known
        self._credentials = session.credentials

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Add the service's message to a ServiceError, and warn if a recording ends before the last page."""
        try:
            yield
        except ServiceError as error:
            raise self._with_message(error) from None
        except CassetteMiss:
            if not self.responses:
                raise
            warn(
                f"The recording ends with page {len(self.responses)} of the accounts, but another page follows, so "
                'the table is incomplete. Record all pages with mode="all".'
            )

    def table(self) -> pd.DataFrame:
        """Return the pages as one table with a readable display. Raises the same errors as `Session.accounts`."""
        from toolkit.tables.building import TableBuilder, table_of
        from toolkit.tables.display import readable

        try:
            builder = TableBuilder(is_one_row=self._is_one_account)
            table = table_of(builder, self.responses, are_pages=len(self.responses) > 1)
        except TabulationError as error:  # its message quotes a body, and may cut a secret in two
            holds_secret = any(self._known.scrub(answer.content) != answer.content for answer in self.responses)
            what = "The response cannot be read as a table." if holds_secret else self._known.scrub_text(error.what)
            failure = TabulationError(what, error.next_step)
        else:
            more = next_page(self.responses[0]) if self._advice else None
            if more is not None:
                warn(f"This is one page of the accounts: {more.words}. {self._advice}")
            return readable(table)
        raise failure  # raised here, without a context or frames that would contain the body

    def _with_message(self, error: ServiceError) -> ServiceError:
        """Return the error with the service's message and, after a live 401, a note on where to correct the profile."""
        response = error.response
        message = message_of(response, self._known.scrub_text) if error.status and response is not None else ""
        is_refusal = error.status == httpx.codes.UNAUTHORIZED and not source_of(response).replayed_from
        profile = self._credentials.where_to_correct() if is_refusal and self._credentials else ""
        what = f"{error.what} The service says: {message}" if message else error.what
        return error.reworded(what, f"{error.next_step} {profile}".rstrip())
