"""Ask for one key: its request, the pages that follow, and the outcome, in one flow for sync and async."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import httpx

from toolkit.core.errors import ConfigurationError, ServiceError, UnsafeAddress
from toolkit.core.ledger import TRIES, message_of
from toolkit.core.text import excerpt
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.pages import Pages, checked_cursor
from toolkit.sweeps.alike import Answered
from toolkit.sweeps.parts import LONGEST_REASON, Key, KeyFailure
from toolkit.transport.next_page import Cursor

Outcome: TypeAlias = Answered | KeyFailure
Asking: TypeAlias = Generator[httpx.Request, httpx.Response, Outcome]
_METHODS: Final = ("GET", "HEAD")
# Besides 5xx, statuses after which asking again may help: a timeout (RFC 9110 section 15.5.9) and too many requests
# (RFC 6585 section 4).
_PASSING: Final = (408, 429)


class Plan:
    """Asks for keys: makes their requests and reads what comes back.

    Args:
        client: the client that will send them.
        call: the user's function: a key to a path, `(path, params)` or an httpx.Request.
        pages: whether the pages of a key are followed.
        cursor: as in `toolkit.session.pages.pages`.
        known: secrets that no reason may repeat.

    Attributes:
        call, pages, cursor: see there.
        more: the warning if more pages exist than were read; or "".

    Raises:
        ConfigurationError: if `call` is not a function, or `cursor` is malformed.
    """

    def __init__(
        self,
        client: httpx.Client | httpx.AsyncClient,
        call: Callable[[Any], Any],
        *,
        pages: bool,
        cursor: Cursor | None,
        known: KnownSecrets,
    ) -> None:
        if not callable(call):
            raise ConfigurationError(
                f"call is a function of the key, not {type(call).__name__}.",
                'For example lambda key: f"/v1/accounts/{key}/positions".',
                about="call",
            )
        self.call = call
        self.pages = pages
        self.cursor = checked_cursor(cursor)
        self.more = ""
        self._client = client
        self._known = known
        self._base = str(client.base_url).rstrip("/")

    def asking(self, key: Key) -> Asking:
        """Ask for a key: a generator that yields requests, gets their responses and returns the outcome.

        Errors that every other key would meet as well, such as refused credentials, pass through.

        Raises:
            ToolkitError: if the session refuses or cannot send the request.
            ConfigurationError: if the user's function does not return a request.
        """
        answers: list[httpx.Response] = []
        sent: list[httpx.Request] = []
        try:
            walk = Pages(self._client, self._request_of(key), cursor=self.cursor).begin()
            while walk.request is not None:
                sent.append(walk.request)
                response = yield walk.request
                status = response.status_code
                if not 200 <= status < 300:
                    is_passing = status in _PASSING or status >= 500
                    return KeyFailure(key, status, self._reason(walk, response), _tries(sent), is_final=not is_passing)
                if walk.is_page(response) and response.content and response.request.method != "HEAD":
                    answers.append(response)
                try:
                    walk.go_on(response)
                except (ServiceError, UnsafeAddress) as error:
                    reason = excerpt(error.what, LONGEST_REASON)
                    return KeyFailure(key, status, reason, _tries(sent), is_final=True)
                if not self.pages:
                    break
        except httpx.TransportError as error:
            return KeyFailure(key, None, f"no answer: {type(error).__name__}", _tries(sent))
        except (httpx.RequestError, httpx.InvalidURL) as error:  # undecodable, too many redirects, malformed
            reason = f"{type(error).__name__}: {excerpt(str(error), 80)}"
            return KeyFailure(key, None, reason, _tries(sent), is_final=True)
        self._note_more(walk)
        return Answered(key, answers, sum(len(answer.content) for answer in answers))

    def _note_more(self, walk: Pages) -> None:
        """Note whether the answers of a key have further pages, which were not read."""
        if walk.more is not None:
            self.more = f"More pages exist than were read: {walk.more.words}. {walk.more.advice}"
        elif walk.request is not None and not self.more:
            self.more = "More pages follow the first. Leave out pages=False to read all of them."

    def _reason(self, walk: Pages, response: httpx.Response) -> str:
        """Return the words for a status, with the service's own message if it has one."""
        try:
            words = HTTPStatus(response.status_code).phrase
        except ValueError:
            words = f"status {response.status_code}"
        message = message_of(response, self._known.scrub_text)
        page = f"page {walk.number}: " if walk.number > 1 else ""
        return page + excerpt(f"{words}: {message}" if message else words, LONGEST_REASON)

    def _request_of(self, key: Key) -> httpx.Request:
        value = self.call(key)
        if isinstance(value, httpx.Request):
            return self._checked(value)
        path, params = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        has_params = params is None or isinstance(params, Mapping | list | str)
        is_request = has_params and isinstance(path, str | httpx.URL)
        if not is_request:
            if inspect.iscoroutine(value):
                value.close()
            kind = f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
            raise ConfigurationError(
                f"For the key {excerpt(repr(key), 60)}, call returned {kind} instead of a request.",
                "It returns a path, a tuple (path, params), or an httpx.Request, and is not async.",
                about="call",
            )
        if isinstance(path, str) and path.startswith("/") and not path.startswith("//"):
            path = self._base + path  # as the client would put it together, but parsed once instead of twice
        return self._client.build_request("GET", str(path), params=params)

    def _checked(self, request: httpx.Request) -> httpx.Request:
        if request.method not in _METHODS:
            raise ConfigurationError(
                f"A sweep sends GET and HEAD only, not {excerpt(request.method, 20)}: a sweep that is resumed may "
                "repeat a request.",
                "Send other requests one by one with the client.",
                about="call",
            )
        if request.url.is_relative_url:
            return self._client.build_request(request.method, request.url, headers=request.headers)
        return request


def _tries(sent: Iterable[httpx.Request]) -> int:
    return sum(request.extensions.get(TRIES, 1) for request in sent)


def ask(flow: Asking, send: Callable[[httpx.Request], httpx.Response]) -> Outcome:
    """Go through an asking with a function that sends."""
    try:
        request = next(flow)
        while True:
            try:
                response = send(request)
            except Exception as error:  # noqa: BLE001 - the flow knows which failures are outcomes
                request = flow.throw(error)
            else:
                request = flow.send(response)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def ask_async(flow: Asking, send: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> Outcome:
    """Go through an asking with a function that sends and is awaited."""
    try:
        request = next(flow)
        while True:
            try:
                response = await send(request)
            except Exception as error:  # noqa: BLE001 - the flow knows which failures are outcomes
                request = flow.throw(error)
            else:
                request = flow.send(response)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
