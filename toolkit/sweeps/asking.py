"""Ask for one key: its request, the pages that follow, and the outcome, in one flow for threads and tasks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import httpx

from toolkit.core.errors import ConfigurationError, ServiceError, UnsafeAddress
from toolkit.core.ledger import TRIES, message_of
from toolkit.core.text import excerpt
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.pages import Pages
from toolkit.session.sending import transport_of
from toolkit.sweeps.alike import Answered
from toolkit.sweeps.parts import LONGEST_REASON, Definition, Key, KeyFailure
from toolkit.transport.flow import Flow
from toolkit.transport.next_page import Cursor

if TYPE_CHECKING:
    import pyarrow as pa

Outcome: TypeAlias = Answered | KeyFailure
# Besides 5xx, statuses after which asking again may help: a timeout (RFC 9110 section 15.5.9) and too many requests
# (RFC 6585 section 4).
_PASSING: Final = (408, 429)


@dataclass(slots=True)
class Plan:
    """What a sweep asks for, of whom, and what its rows have in common. It travels to a cluster without the client."""

    client: Any
    call: Callable[[Any], Any]
    cursor: Cursor | None
    definition: Definition
    schema: pa.Schema | None
    more: str = ""  # a warning: more pages exist than were read

    @property
    def known(self) -> KnownSecrets:
        """Secrets that no row and no reason may repeat."""
        return transport_of(self.client).sender.known

    def asking(self, key: Key) -> Flow[Outcome]:
        """Ask for a key and return the outcome.

        Errors that every other key would meet as well, such as refused credentials, pass through.
        """
        answers: list[httpx.Response] = []
        sent: list[httpx.Request] = []
        try:
            walk = Pages(self.client, self._request_of(key), cursor=self.cursor).begin()
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
                if not self.definition["pages"]:
                    break
        except httpx.TransportError as error:
            return KeyFailure(key, None, f"no answer: {type(error).__name__}", _tries(sent))
        except (httpx.RequestError, httpx.InvalidURL) as error:  # undecodable, too many redirects, malformed
            reason = f"{type(error).__name__}: {excerpt(str(error), 80)}"
            return KeyFailure(key, None, reason, _tries(sent), is_final=True)
        if walk.more is not None:
            self.more = f"More pages exist than were read: {walk.more.words}. {walk.more.advice}"
        elif walk.request is not None and not self.more:
            self.more = "More pages follow the first. Leave out pages=False to read all of them."
        return Answered(key, answers, sum(len(answer.content) for answer in answers))

    def _reason(self, walk: Pages, response: httpx.Response) -> str:
        """Return the words for a status, with the service's own message if it has one."""
        try:
            words = HTTPStatus(response.status_code).phrase
        except ValueError:
            words = f"status {response.status_code}"
        message = message_of(response, self.known.scrub_text)
        page = f"page {walk.number}: " if walk.number > 1 else ""
        return page + excerpt(f"{words}: {message}" if message else words, LONGEST_REASON)

    def _request_of(self, key: Key) -> httpx.Request:
        value = self.call(key)
        if isinstance(value, httpx.Request):
            return self._checked(value)
        path, params = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        if not isinstance(path, str | httpx.URL) or not isinstance(params, Mapping | list | str | None):
            if inspect.iscoroutine(value):
                value.close()
            raise ConfigurationError(
                f"For the key {excerpt(repr(key), 60)}, call returned a {type(value).__name__} that is no request.",
                "It returns a path, a tuple (path, params), or an httpx.Request, and is not async.",
                about="call",
            )
        if isinstance(path, str) and path.startswith("/") and not path.startswith("//"):
            path = str(self.client.base_url).rstrip("/") + path  # as httpx would join it, but parsed only once
        request: httpx.Request = self.client.build_request("GET", str(path), params=params)
        return request

    def _checked(self, request: httpx.Request) -> httpx.Request:
        if request.method not in ("GET", "HEAD"):
            raise ConfigurationError(
                f"A sweep sends GET and HEAD only, not {excerpt(request.method, 20)}: a sweep that is resumed may "
                "repeat a request.",
                "Send other requests one by one with the client.",
                about="call",
            )
        if request.url.is_relative_url:
            request = self.client.build_request(request.method, request.url, headers=request.headers)
        return request


def _tries(sent: Iterable[httpx.Request]) -> int:
    return sum(request.extensions.get(TRIES, 1) for request in sent)
