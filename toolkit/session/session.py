"""Sessions: one caller in one environment, as httpx clients that authenticate, record and replay."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolkit.session.base import BaseSession
from toolkit.session.sending import InterfaceTransport
from toolkit.transport.family import httpx

if TYPE_CHECKING:
    import pandas as pd


class Session(BaseSession[httpx.Client]):
    """A caller in one environment: ordinary httpx clients that authenticate, record and replay.

    `trading`, `market_data` and `broker` are httpx.Client objects with the interface's base URL. An interface
    that section 1 of the service document does not give to the caller raises InterfaceNotAllowed. Closing
    is optional; a `with` block does it.
    """

    def accounts(self, *, pages: bool = True, **params: Any) -> pd.DataFrame:
        """Return the accounts: GET /v1/accounts for a broker partner, GET /v2/account for an account holder.

        An account holder's account is one row with all its fields; lists in it are JSON text. For a broker partner, all
        pages are read, as `tk.pages` does, unless `pages` is False or a parameter asks for one: limit, page,
        page_size, per_page, offset, cursor, page_token, after, before and the like. Then a warning says so if there are
        more. In a replay the last recorded page is the end, with a warning as well.

        Args:
            pages: False for the first page only; not sent to the service.
            params: query parameters, sent as they are.

        Raises:
            ServiceError: if the service answers with an error status, or its answer cannot be decoded.
            Unreachable: if the service cannot be reached.
            UnsafeAddress: if the next page is at another address.
            TabulationError: if an answer is not JSON.
        """
        walk, advice = self._account_pages(params, pages)
        with self._history.reading() as read:
            for response in walk:
                read.responses.append(response)
        return self._history.tabulated(read, advice=advice)

    def close(self) -> None:
        """Close the connections and finish the recording, which ends also if a connection cannot be closed."""
        Session.__exit__(self, None, None, None)  # not that of a subclass, which may call this

    def _make_client(self, base_url: str, transport: InterfaceTransport) -> httpx.Client:
        return httpx.Client(base_url=base_url, transport=transport, timeout=self._timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack = ExitStack()  # calls all of them, the last first, and raises what fails then, with `error` as context
        stack.callback(self._finish, well=kind is None)
        for transport in (self._below, *self._clients.values()):
            stack.callback(transport.close)
        stack.__exit__(kind, error, traceback)


class AsyncSession(BaseSession[httpx.AsyncClient]):
    """A session for `await`: as `Session`, with httpx.AsyncClient objects."""

    _is_async = True

    async def accounts(self, *, pages: bool = True, **params: Any) -> pd.DataFrame:
        """Return the accounts; see `Session.accounts`."""
        walk, advice = self._account_pages(params, pages)
        with self._history.reading() as read:
            async for response in walk:
                read.responses.append(response)
        return self._history.tabulated(read, advice=advice)

    async def close(self) -> None:
        """Close the connections and finish the recording, which ends also if a connection cannot be closed."""
        await AsyncSession.__aexit__(self, None, None, None)

    def _make_client(self, base_url: str, transport: InterfaceTransport) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=base_url, transport=transport, timeout=self._timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack = AsyncExitStack()
        stack.callback(self._finish, well=kind is None)
        for transport in (self._below, *self._clients.values()):
            stack.push_async_callback(transport.aclose)
        await stack.__aexit__(kind, error, traceback)
