"""The plan of a sweep: which request a key stands for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.session.pages import Pages, checked_cursor
from toolkit.sweeps.keys import Key
from toolkit.transport.next_page import Cursor

_METHODS: Final = ("GET", "HEAD")


class Plan:
    """Makes the request of a key.

    Args:
        client: the client that will send it.
        call: the user's function: a key to a path, `(path, params)` or an httpx.Request.
        pages: whether the pages of a key are followed.
        cursor: as in `toolkit.session.pages.pages`.

    Attributes:
        pages, cursor: see there.
        more: the warning if more pages exist than were read; or "".

    Raises:
        ConfigurationError: if `call` is not a function, or `cursor` is malformed.
    """

    def __init__(
        self,
        client: httpx.Client | httpx.AsyncClient,
        call: Callable[[Any], Any],
        *,
        pages: bool = True,
        cursor: Cursor | None = None,
    ) -> None:
        if not callable(call):
            raise ConfigurationError(
                f"call is a function of the key, not {type(call).__name__}.",
                'For example lambda key: f"/v1/accounts/{key}/positions".',
                about="call",
            )
        self.pages = pages
        self.more = ""
        self.cursor = checked_cursor(cursor)
        self._client = client
        self._call = call
        self._base = str(client.base_url).rstrip("/")

    def walk(self, key: Key) -> Pages:
        """Return the pages of a key; they begin with the key's own request.

        Raises:
            ConfigurationError, httpx.InvalidURL: as for `request_of`.
        """
        return Pages(self._client, self.request_of(key), cursor=self.cursor).begin()

    def note_more(self, walk: Pages) -> None:
        """Note that the answers of a key have further pages, which were not read."""
        if walk.more is not None:
            self.more = f"More pages exist than were read: {walk.more.words}. {walk.more.advice}"
        elif not self.more:
            self.more = "More pages follow the first. Leave out pages=False to read all of them."

    def request_of(self, key: Key) -> httpx.Request:
        """Return the request for a key.

        Raises:
            ConfigurationError: if the function does not return a request, or one that may change something.
            httpx.InvalidURL: if its URL is malformed.
        """
        value = self._call(key)
        if isinstance(value, httpx.Request):
            return self._checked(value)
        path, params = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        has_params = params is None or isinstance(params, Mapping | list | str)
        is_request = has_params and isinstance(path, str | httpx.URL)
        if not is_request:
            if inspect.iscoroutine(value):
                value.close()
            raise ConfigurationError(
                f"For the key {excerpt(repr(key), 60)}, call returned {_kind(value)} instead of a request.",
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


def _kind(value: object) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
