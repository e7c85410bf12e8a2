"""Sessions: one caller in one environment, as httpx clients that authenticate, record and replay."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import httpx

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.saving import is_practice
from toolkit.auth.tokens.single_flight import MemoryTokenStore, as_token_store
from toolkit.auth.tokens.token import Token, TokenStore
from toolkit.cassettes.replay.matching import Identity
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import ConfigurationError, UnknownName, as_count, as_number
from toolkit.core.ledger import Clock, as_clock
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import frameless
from toolkit.local.settings import Settings, as_settings, check_trust
from toolkit.scrubbing import log_filter
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.pages import AccountPages
from toolkit.session.scope import open_cassette, resolve_credentials, scope_of
from toolkit.session.sending import InterfaceTransport, Sender
from toolkit.transport.certificates import Verify, as_verify
from toolkit.transport.httpx2 import as_httpx_transport
from toolkit.transport.network import Network, Places, ProxyTypes
from toolkit.transport.pacing import Pace, pace_of
from toolkit.transport.retry import Retry, as_retry

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.cassettes.cassette import Cassette

ClientType = TypeVar("ClientType", httpx.Client, httpx.AsyncClient)
_LEAST: Final = 0.001  # minimum for a timeout in seconds, and for the calls per second


class BaseSession(Generic[ClientType]):
    """The parts that synchronous and asynchronous sessions share.

    Attributes:
        environment: the environment that is called.
        credentials: the caller's credentials; None in a replay without credentials.
        settings: the effective addresses, header prefix and cassettes folder.
        cassette: the cassette that is replayed and recorded, or None when live.
        is_practice: True if a practice service in this process answers, so that no real account is involved.
        retry: limits for sending failed calls again.
        per_second: the limit that this session sets, in calls per second, or None.
        is_closed: True once the session is closed. A closed session sends and replays nothing, but keeps its tables.
        replays_only: True if the cassette answers all calls, so that nothing is sent.
    """

    is_closed = False
    _client_class: type[ClientType]

    @frameless
    def __init__(
        self,
        environment: Environment | str | None = None,
        credentials: Credentials | str | None = None,
        *,
        cassette: Cassette | str | Path | None = None,
        mode: str | None = None,
        settings: Settings | None = None,
        token_store: TokenStore | MemoryTokenStore | str | None = None,
        timeout: float | httpx.Timeout | None = 30.0,
        verify: Verify = True,
        proxy: ProxyTypes | None = None,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        retry: Retry | bool = True,
        per_second: float | None = None,
    ) -> None:
        """Open a session; nothing is sent yet.

        Args:
            environment: "live", "paper", "broker-live" or "broker-sandbox"; defaults to the environment of the
                credentials or, in a replay, of the cassette.
            credentials: credentials, a profile name, or None for the environment's only profile or, if there are
                several, the one named "default". A replay needs no credentials. If `settings` comes from a practice
                service that runs in this process, the names of its profiles, such as "sandbox-secret", take precedence.
            cassette: name or path of a cassette, or an open cassette; None for live calls.
            mode: vcrpy's record mode; defaults to `once`.
            settings: defaults to the settings of the project and the TOOLKIT_* variables.
            token_store: where tokens are kept; by default in this process, shared by its sessions. "shared" keeps them
                encrypted in the user's cache folder, for all processes that have the credentials (but in memory if a
                Signer holds the private key). You can also pass a store of your own.
            timeout: seconds, an httpx.Timeout, or None for no limit. A number does not limit how long a call queues
                while a hundred of the session's calls are in progress; the `pool` timeout of an httpx.Timeout does. A
                failed token request is sent again within this time, or within 30 seconds if it is None.
            verify: which TLS certificates to trust: "system" for the ones that this machine trusts, the path of a file
                or folder with certificate authorities, or an ssl.SSLContext. True means the ones that the settings
                specify or, by default, the ones that httpx trusts (SSL_CERT_FILE and SSL_CERT_DIR override them). False
                is allowed for loopback only.
            proxy: a proxy for all addresses except loopback; defaults to the one in the proxy environment variables.
            transport: an httpx or httpx2 transport to use instead of the network, mainly for tests.
            clock: defaults to the system clock.
            retry: True to send GET and HEAD again after 429, 503 or a broken connection, False to disable this, or a
                Retry with other limits.
            per_second: maximum number of calls per second, for all sessions in this process that share the credentials;
                None for no limit. The lowest rate among the open sessions applies.

        Raises:
            ConfigurationError: if a required value is missing, or a value is invalid.
            CredentialsMismatch: if the credentials belong to another environment.
            UnsafeAddress: if the project's `.env` sets certificate authorities, a proxy or a TLS key log.
            CassetteError: if the cassette cannot be opened, or the cassette to replay does not exist.
        """
        self.settings, limits = as_settings(settings), _as_timeout(timeout)
        self.retry, self.per_second = as_retry(retry), per_second
        if per_second is not None:
            self.per_second = as_number(per_second, about="per_second", least=_LEAST, example=5)
        store = as_token_store(token_store, clock=clock)
        clock = as_clock(clock)
        self.cassette = open_cassette(cassette, mode, settings=self.settings)
        self.replays_only = self.cassette is not None and not self.cassette.records
        self._owns_cassette = self.cassette is not None and isinstance(cassette, str | Path)
        known = KnownSecrets() if self.cassette is None else self.cassette.scrubber.known
        self.environment, self.credentials, profile = resolve_credentials(
            environment, credentials, cassette=self.cassette, settings=self.settings
        )
        known.add_all(self.credentials.secrets() if self.credentials else ())
        self.is_practice = is_practice(self.environment, self.credentials, None if self.replays_only else self.settings)
        log_filter.install()
        if not self.replays_only:
            verify = check_trust(as_verify(verify), self.settings, needs_proxy=proxy is None and transport is None)
        is_async = self._client_class is httpx.AsyncClient
        below = Network(is_async=is_async, verify=verify, proxy=proxy) if transport is None else transport
        self._below = as_httpx_transport(below, is_async=is_async)
        pace = pace_of(self.credentials.fingerprint(), clock) if self.credentials else Pace()
        self._rate = None if self.per_second is None else pace.add(self.per_second)
        self._sender = Sender(
            environment=self.environment,
            credentials=self.credentials,
            identity=Identity(str(self.environment), profile),
            cassette=self.cassette,
            settings=self.settings,
            known=known,
            store=store,
            timeout=limits,
            clock=clock,
            retry=self.retry,
            pace=pace,
            places=Places() if transport is None else None,
            is_practice=self.is_practice,
        )
        self._clients: dict[Interface, ClientType] = {}
        self._lock = threading.Lock()

    @property
    def trading(self) -> ClientType:
        """httpx client for the trading interface. Raises InterfaceNotAllowed for broker partners."""
        return self._client(Interface.TRADING)

    @property
    def market_data(self) -> ClientType:
        """httpx client for the market data interface."""
        return self._client(Interface.MARKET_DATA)

    @property
    def broker(self) -> ClientType:
        """httpx client for the broker interface. Raises InterfaceNotAllowed for account holders."""
        return self._client(Interface.BROKER)

    @property
    def token(self) -> Token | None:
        """The current access token or None; in a replay, the recorded token with a placeholder for its text."""
        return self._sender.current_token()[0]

    @property
    def token_number(self) -> int | None:
        """The number of the current access token in this session's tables, from 1; None if there is no token."""
        return self._sender.current_token()[1]

    def now(self) -> datetime:
        """Return the current time in UTC or, in a replay, the end of the last replayed call."""
        return self._sender.now()

    def tokens(self) -> pd.DataFrame:
        """Return one row for each access token that authorized a call.

        Remaining lifetime and state are as of the end of the last call, both live and in a replay. A key pair has no
        token and no row. An empty table has the same columns and types.

        Returns:
            A table whose index "token" contains the token numbers:
                profile (str): name of the profile.
                environment (str): environment of the credentials.
                issued (datetime64[us, UTC]): second in which the lifetime began.
                expires (datetime64[us, UTC]): second in which the lifetime ends.
                lifetime (float64): seconds from issued to expires.
                remaining (float64): seconds from the end of the last call to expires, rounded up, so that 0 means
                    expired.
                state (str): "replaced" if a later token of the same profile and environment was issued before this
                    one expired; otherwise "expired" from `expires` on, and "valid" until then.
                calls (int64): number of calls that the token authorized.
        """
        from toolkit.tables.display import tokens_table

        ledger = self._sender.ledger
        return self._with_source(tokens_table(ledger.calls(), ledger.last_ended_at() or self.now()))

    def calls(self, *, last: int | None = None) -> pd.DataFrame:
        """Return one row for each call, including token requests.

        A call that was sent several times has one row, with the number of `tries`; `when`, `status` and `elapsed`
        describe the last try. An empty table has the same columns and types.

        Args:
            last: number of latest calls to return; None for all. Calls keep their numbers.

        Returns:
            A table in the order in which the calls were sent; the index "call" has their numbers, from 1:
                when (datetime64[us, UTC]): when the call was sent.
                interface (str): name of the interface, or the host of another address.
                method (str): HTTP method.
                path (str): path without the address and without the query.
                status (Int64): HTTP status code; 599 for a call that got no response.
                elapsed (float64): seconds from sending to the end of the body, to a tenth of a millisecond; missing
                    while the call is unfinished.
                tries (Int64): number of times the call was sent; more than 1 if it was sent again after 429, 503 or a
                    broken connection, or with a new token after a 401.
                token (Int64): number of the token that authorized the call; missing for a key pair and a token request.
        """
        from toolkit.tables.display import calls_table

        calls = self._sender.ledger.calls()
        skipped = 0 if last is None else max(0, len(calls) - as_count(last, about="last"))
        table = calls_table(calls[skipped:], first=skipped + 1)
        table["path"] = table["path"].map(self._sender.known.scrub_text).astype(table["path"].dtype)
        return self._with_source(table)

    def describe(self) -> str:
        """Describe whether calls are live, recorded or replayed."""
        return "live calls" if self.cassette is None else f"{self.cassette.describe()} ({self.cassette.path.name})"

    def __repr__(self) -> str:
        who = f" as {self.credentials.name!r}" if self.credentials else ""
        account = self._sender.account_with(self.cassette)
        words = f"{f', {account}' if account else ''}: {self.describe()}{', closed' if self.is_closed else ''}"
        return f"<{type(self).__name__} {self.environment}{who}{words}>"

    def _repr_html_(self) -> str:
        from toolkit.session.card import session_html

        return session_html(self, self._sender.ledger)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property that raised an AttributeError, such as InterfaceNotAllowed
            return getattr(type(self), name).__get__(self)
        if name.startswith("_") or "environment" not in self.__dict__:
            raise AttributeError(name)
        interface, path = self.environment.rules.accounts
        raise UnknownName(
            f"A session has no attribute {excerpt(name)!r}.",
            "Use the client of an interface to read resources, such as "
            f'session.{interface}.get("/{path.split("/")[1]}/{excerpt(name)}").',
            about=name,
        )

    def __dir__(self) -> list[str]:
        """List the attributes for completion, without the interfaces that this environment does not have."""
        absent = {str(interface) for interface in Interface if interface not in self.environment.rules.addresses}
        return [name for name in super().__dir__() if name not in absent]

    def _client(self, interface: Interface) -> ClientType:
        if self.is_closed:
            raise ConfigurationError(
                "This session is closed.", "Open another session. Sessions do not have to be closed.", about="session"
            )
        with self._lock:
            if interface not in self._clients:
                scope, base_url = scope_of(interface, self.environment, cassette=self.cassette, settings=self.settings)
                transport = InterfaceTransport(scope, self._sender, self._below, self)
                client = self._client_class(base_url=base_url, transport=transport, timeout=self._sender.timeout)
                self._clients[interface] = client
            return self._clients[interface]

    def _with_source(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with its source noted in `attrs`, for charts."""
        table.attrs["source"] = self._sender.source()
        return table

    def _finish(self, *, well: bool) -> None:
        self.is_closed = True
        if self._rate is not None:
            self._sender.pace.drop(self._rate)
        if self.cassette is not None and self._owns_cassette:
            if well:
                self.cassette.close()
            else:
                self.cassette.abandon()


class Session(BaseSession[httpx.Client]):
    """A session for one caller in one environment, with ordinary httpx clients that authenticate, record and replay.

    `trading`, `market_data` and `broker` are httpx.Client objects with the interface's base URL. Access to an interface
    that section 1 of the service document does not allow for the caller raises InterfaceNotAllowed. Closing a session
    is optional; a `with` block closes it.
    """

    _client_class = httpx.Client

    def accounts(self, *, pages: bool = True, **params: Any) -> pd.DataFrame:
        """Return the accounts: GET /v1/accounts for a broker partner, GET /v2/account for an account holder.

        An account holder's account is one row with all its fields; lists in it are JSON text. For a broker partner, all
        pages are read in the same way as by `tk.pages`, unless `pages` is False or a parameter selects one page: limit,
        page, page_size, per_page, offset, cursor or page_token. If a parameter selects one page and there are more
        accounts, a warning is given. A replay also warns if not all pages were recorded.

        Args:
            pages: False to read the first page only; not sent to the service.
            params: query parameters, sent to the service unchanged, including `numbers=`. Amounts are floats; for exact
                decimals, use `tk.tabulate(tk.pages(session.broker, "/v1/accounts"), numbers="decimal")`.

        Raises:
            ServiceError: if the service answers with an error status, or its response cannot be decoded.
            Unreachable: if the service cannot be reached.
            UnsafeAddress: if the next page is at another address.
            TabulationError: if a response is not JSON.
        """
        answer = AccountPages(self, params, all_pages=pages)
        with answer.reading():
            for response in answer:
                answer.responses.append(response)
        return self._with_source(answer.table())

    def close(self) -> None:
        """Close the connections and finish the recording, even if a connection cannot be closed."""
        Session.__exit__(self, None)  # not the method of a subclass, which may call this one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            for transport in (*self._clients.values(), self._below):
                transport.close()
        finally:
            self._finish(well=kind is None)


class AsyncSession(BaseSession[httpx.AsyncClient]):
    """An asynchronous session: like `Session`, but with httpx.AsyncClient objects."""

    _client_class = httpx.AsyncClient

    async def accounts(self, *, pages: bool = True, **params: Any) -> pd.DataFrame:
        """Return the accounts; see `Session.accounts`."""
        answer = AccountPages(self, params, all_pages=pages)
        with answer.reading():
            async for response in answer:
                answer.responses.append(response)
        return self._with_source(answer.table())

    async def close(self) -> None:
        """Close the connections and finish the recording, even if a connection cannot be closed."""
        await AsyncSession.__aexit__(self, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            for transport in (*self._clients.values(), self._below):
                await transport.aclose()
        finally:
            self._finish(well=kind is None)


def _as_timeout(timeout: Any) -> httpx.Timeout | None:
    """Check a session's timeout and return it; httpx would notice an invalid timeout only at the first call.

    A number of seconds limits connecting, sending and each part of the response. It does not limit how long a call
    queues behind other calls of the session. An httpx.Timeout is returned unchanged.

    Raises:
        ConfigurationError: if `timeout` is not None, a number of at least 0.001 seconds, or an httpx.Timeout.
    """
    if timeout is None or isinstance(timeout, httpx.Timeout):
        return timeout
    seconds = as_number(timeout, about="timeout", least=_LEAST, most=threading.TIMEOUT_MAX, example=30)
    return httpx.Timeout(seconds, pool=None)
