"""Sessions: one caller in one environment, as httpx clients that know how to authenticate, record and replay."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import httpx

from toolkit.auth.authorizers import Authorizer, KeyPairAuthorizer, TokenAuthorizer
from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.store import TokenStore
from toolkit.auth.tokens.token import Token
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.replay.matching import Identity
from toolkit.core.clock import Clock, SystemClock
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.logs import protect as keep_out_of_logs
from toolkit.scrubbing.scrubber import KnownSecrets
from toolkit.session.history import Report
from toolkit.session.opening import identify, join, open_cassette, open_token_store, scope_of
from toolkit.session.sending import Caller, InterfaceTransport, no_credentials
from toolkit.transport.network import Network, ProxyTypes, Verify, as_timeout
from toolkit.transport.unreachable import unanswered

if TYPE_CHECKING:
    import pandas as pd

_OF_TABULATE: Final = frozenset({"numbers", "dtypes", "records"})
ClientType = TypeVar("ClientType", httpx.Client, httpx.AsyncClient)


class _Session(Generic[ClientType]):
    """What sync and async sessions share: everything but the kind of httpx client.

    Attributes:
        environment: which environment is called.
        credentials: who calls; None in a replay without credentials.
        settings: addresses, header prefix and cassettes folder in force.
        cassette: what is replayed and recorded, or None when live.
    """

    environment: Environment
    credentials: Credentials | None
    settings: Settings
    cassette: Cassette | None

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
    ) -> None:
        """Open a session; nothing is sent yet.

        Args:
            environment: "live", "paper", "broker-live" or "broker-sandbox"; by default that of the
                credentials, in replay that of the cassette.
            credentials: credentials, the name of saved ones, or None for the only saved ones of the
                environment. A replay needs none.
            cassette: name or path of a cassette, or an open one; None calls live.
            mode: vcrpy's record mode, by default `once`.
            settings: by default those of the project and the TOOLKIT_* variables.
            token_store: where tokens are kept; by default in this process, shared by its sessions. "shared"
                keeps them encrypted in the user's cache folder, for all processes that have the credentials
                (in memory all the same when the private key is kept by a Signer); or a store of one's own.
            timeout: seconds, an httpx.Timeout, or None for no limit; of token requests, too (None: 30 seconds).
            verify: TLS verification as httpx takes it; False is for loopback only.
            proxy: a proxy for everything but loopback; by default the proxy variables.
            transport: an httpx transport in place of the network, mainly for tests.
            clock: by default the machine's.

        Raises:
            ConfigurationError: something needed is missing or malformed.
            CredentialsMismatch: the credentials belong to another environment.
            CassetteError: the cassette cannot be opened, or there is none to replay.
        """
        self.settings, self._timeout = as_settings(settings), as_timeout(timeout)
        self._clock = SystemClock() if clock is None else clock
        self.cassette = open_cassette(cassette, mode, settings=self.settings)
        self._owns_cassette = self.cassette is not None and isinstance(cassette, str | Path)
        self._known = KnownSecrets() if self.cassette is None else self.cassette.scrubber.known
        identity = identify(environment, credentials, cassette=self.cassette, settings=self.settings)
        self.environment, self.credentials = identity.environment, identity.credentials
        for kind, secret in self.credentials.secrets() if self.credentials else ():
            self._known.add(kind, secret)
        keep_out_of_logs(self._known)
        self._store = open_token_store(token_store, clock=clock)
        self._below = Network(is_async=self._is_async, verify=verify, proxy=proxy) if transport is None else transport
        self._caller = Caller(
            clock=self._clock,
            cassette=self.cassette,
            identity=Identity(self.environment, identity.profile),
            known=self._known,
            authorizer=self._authorizer,
            join=lambda of_cell: join(of_cell, self.settings),
        )
        self._report = Report(self.environment, self.cassette, self._caller, known=self._known, clock=self._clock)
        self._clients: dict[Interface, ClientType] = {}
        self._lock = threading.Lock()

    _is_async = False

    @property
    def trading(self) -> ClientType:
        """httpx client of the trading interface. InterfaceNotAllowed where section 1 gives none."""
        return self._client(Interface.TRADING)

    @property
    def market_data(self) -> ClientType:
        """httpx client of the market data interface."""
        return self._client(Interface.MARKET_DATA)

    @property
    def broker(self) -> ClientType:
        """httpx client of the broker interface. InterfaceNotAllowed where section 1 gives none."""
        return self._client(Interface.BROKER)

    @property
    def replays_only(self) -> bool:
        """Whether nothing can leave this machine."""
        return self._report.replays_only

    @property
    def token(self) -> Token | None:
        """The current access token, None without one; in replay the recorded one, its text a placeholder."""
        return self._report.token()

    def now(self) -> datetime:
        """The instant this session lives at, in UTC: the present, or where the replay stands in its recording."""
        return self._report.now()

    def tokens(self) -> pd.DataFrame:
        """One row an access token that authorized a call; see `toolkit.tables.tabulation.tokens_table` for the columns.

        Remaining lifetime and state are as of the end of the last call, live and replayed alike.
        """
        return self._report.tokens()

    def calls(self, *, last: int | None = None) -> pd.DataFrame:
        """One row a call, token requests included; see `toolkit.tables.tabulation.calls_table` for the columns.

        Args:
            last: only so many of the last ones, by the numbers that they have among all.
        """
        return self._report.calls(last=last)

    def describe(self) -> str:
        """Whether calls go out, are recorded or replayed, in words."""
        return "live calls" if self.cassette is None else f"{self.cassette.describe()} ({self.cassette.path.name})"

    def __repr__(self) -> str:
        who = f" as {self.credentials.name!r}" if self.credentials else ""
        real = ", real account" if self.environment.rules.real_account else ""
        return f"<{type(self).__name__} {self.environment}{who}{real}: {self.describe()}>"

    def _repr_html_(self) -> str:
        from toolkit.session.words import session_html  # for notebooks only

        return session_html(self, self._report.ledger)  # type: ignore[arg-type]

    def __dir__(self) -> list[str]:
        """Without the interfaces that this environment has not, so that completion offers what works."""
        absent = {str(interface) for interface in Interface} - {str(one) for one in self.environment.rules.addresses}
        return [name for name in super().__dir__() if name not in absent]

    def _client(self, interface: Interface) -> ClientType:
        client = self._clients.get(interface)
        if client is not None:
            return client
        scope, base_url = scope_of(interface, self.environment, cassette=self.cassette, settings=self.settings)
        with self._lock:
            if interface not in self._clients:
                self._clients[interface] = self._make_client(
                    base_url, InterfaceTransport(scope, self._caller, self._below)
                )
            return self._clients[interface]

    def _make_client(self, base_url: str, transport: InterfaceTransport) -> ClientType:
        raise NotImplementedError

    def _authorizer(self) -> Authorizer:
        credentials = self.credentials
        if isinstance(credentials, KeyPair):
            return KeyPairAuthorizer(credentials, header_prefix=self.settings.header_prefix)
        if not isinstance(credentials, ClientSecret | ClientKey):
            return no_credentials()
        name = self.environment.rules.addresses[Interface.AUTH]
        return TokenAuthorizer(
            credentials,
            auth_address=self.settings.address(name),
            clock=self._clock,
            store=self._store,
            exchange=lambda token_request: self._caller.exchange(credentials, name, token_request),
            number=self._caller.number,
            timeout=self._timeout,
        )

    def _accounts_call(self, params: Mapping[str, Any]) -> tuple[ClientType, str]:
        for name in sorted(params.keys() & _OF_TABULATE):
            raise ConfigurationError(
                f"What accounts() is given goes to the service, and {name} is for the table.",
                f"Make the table yourself: tk.tabulate(response, {name}=...) of the response that a client gives.",
            )
        interface, path = self.environment.rules.accounts
        return self._client(interface), path

    def _transports(self) -> Iterator[Any]:
        """What this session closes, the clients first."""
        yield from self._clients.values()
        yield self._below

    def _finish_cassette(self, *, well: bool) -> None:
        if self.cassette is None or not self._owns_cassette:
            return
        if well:
            self.cassette.close()
        else:
            self.cassette.abandon()


class Session(_Session[httpx.Client]):
    """A caller in one environment: ordinary httpx clients that authenticate, record and replay.

    `trading`, `market_data` and `broker` are httpx.Client objects with the interface's base URL; those
    that section 1 of the service document gives no access to raise InterfaceNotAllowed. Closing is
    optional; a `with` block does it.
    """

    def accounts(self, **params: Any) -> pd.DataFrame:
        """The accounts as a table: GET /v1/accounts for a broker partner, GET /v2/account for an account holder.

        Args:
            params: query parameters, sent as they are.

        Raises:
            ServiceError: the service answered with an error status, or with what cannot be decoded.
            Unreachable: it cannot be reached.
            TabulationError: its answer is no JSON.
        """
        client, path = self._accounts_call(params)
        try:
            response = client.get(path, params=params or None)
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise unanswered(error, client.base_url) from None
        return self._report.tabulated(response)

    def close(self) -> None:
        """Close connections, and end a recording well."""
        self._close(well=True)

    def _close(self, *, well: bool) -> None:
        for one in self._transports():
            one.close()
        self._finish_cassette(well=well)

    def _make_client(self, base_url: str, transport: InterfaceTransport) -> httpx.Client:
        return httpx.Client(base_url=base_url, transport=transport, timeout=self._timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close(well=kind is None)


class AsyncSession(_Session[httpx.AsyncClient]):
    """The same for `await`: its clients are httpx.AsyncClient objects."""

    _is_async = True

    async def accounts(self, **params: Any) -> pd.DataFrame:
        """The accounts as a table, as `Session.accounts` gives it."""
        client, path = self._accounts_call(params)
        try:
            response = await client.get(path, params=params or None)
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise unanswered(error, client.base_url) from None
        return self._report.tabulated(response)

    async def close(self) -> None:
        """Close connections, and end a recording well."""
        await self._close(well=True)

    async def _close(self, *, well: bool) -> None:
        for one in self._transports():
            await one.aclose()
        self._finish_cassette(well=well)

    def _make_client(self, base_url: str, transport: InterfaceTransport) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=base_url, transport=transport, timeout=self._timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close(well=kind is None)
