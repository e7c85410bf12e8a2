"""The practice service as users hold it: start it, call it, inspect it and make it fail.

A uvicorn server listens on eight loopback ports, one for each address, in its own thread with its own event loop, so
that callers inside a running loop, such as a notebook's, are served too.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from toolkit.auth.profiles.practice_profiles import register_service
from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import ConfigurationError, as_choice, as_count, as_number, how_to_install
from toolkit.core.ledger import Clock, SystemClock, as_clock
from toolkit.local.settings import Settings, is_offline
from toolkit.practice_service.authentication import Holders, Tokens
from toolkit.practice_service.faults import Faults, Stats
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolkit.auth.credentials import Credentials

_HOST: Final = "127.0.0.1"
_LOWEST_PORT: Final = 1024  # lower ports need privileges
_HIGHEST_PORT: Final = 65536 - len(ADDRESS_NAMES)


@dataclass(frozen=True, slots=True)
class World:
    """Everything the application works with, shared with the code that runs and inspects it.

    Raises:
        ConfigurationError: if an option is out of range; `practice()` explains them.
    """

    clock: Clock = field(default_factory=SystemClock)
    accounts: int = 25
    token_validity: float = 900
    delay: float = 0.0
    token_delay: float = 0.0
    rate_limit: float | None = None
    holders: Holders = field(init=False, default_factory=Holders)
    stats: Stats = field(init=False, default_factory=Stats)
    faults: Faults = field(init=False, default_factory=Faults)
    tokens: Tokens = field(init=False)

    def __post_init__(self) -> None:
        as_count(self.accounts, about="accounts", most=100_000)
        as_number(self.token_validity, about="token_validity", least=2, most=86_400, example=900)
        as_number(self.delay, about="delay", least=0, most=3_600)
        as_number(self.token_delay, about="token_delay", least=0, most=3_600)
        if self.rate_limit is not None:
            as_number(self.rate_limit, about="rate_limit", least=0.01, most=1_000_000)
        object.__setattr__(self, "tokens", Tokens(self.token_validity, self.clock))


class PracticeService:
    """A local server that implements the other side of the service document.

    Use it in a `with` statement, or call `start()`; `close()` is optional. It listens on eight loopback ports, one for
    each address, in its own thread. While the toolkit is offline it does not listen at all: its addresses are the
    symbolic addresses of recordings, and its counts stay zero.

    Args:
        port: first of eight consecutive ports, in the order of the document's address table, or 0 for any free ports.
        clock: the time of the service; by default the system's clock.
        options: accounts, token validity, delays and rate limit, as for `practice()`.

    Attributes:
        stats: counts of the requests so far.
        faults: the injected failures, which can be changed at any time.

    Raises:
        ConfigurationError: if a value is out of range.
    """

    def __init__(self, *, port: int = 0, clock: Clock | None = None, **options: Any) -> None:
        self._port = port and as_count(port, about="port", least=_LOWEST_PORT, most=_HIGHEST_PORT)
        self._world = World(as_clock(clock), **options)
        self.stats, self.faults = self._world.stats, self._world.faults
        self._settings: Settings | None = None
        self._server: ServerThread | None = None
        self._forget_names: Callable[[], object] | None = None

    def __repr__(self) -> str:
        state = "not running" if self._server is None else "running"
        return f"<PracticeService, {state}, {self._world.accounts} accounts>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Start serving, unless it already runs or the toolkit is offline. It can start again after `close()`.

        Raises:
            ConfigurationError: if a port is taken, or starlette or uvicorn is not installed.
        """
        if self._server is not None:
            return self
        if is_offline():
            self._settings = _settings({name: symbolic_address(name) for name in ADDRESS_NAMES})
            return self
        self._server, addresses = _serve(self._world, self._port)
        # Notebooks do not call close(): the server ends with this object, or with the process.
        weakref.finalize(self, self._server.close)
        self._settings = _settings(addresses)
        self._forget_names = weakref.finalize(self, register_service(addresses, self.credentials))
        return self

    def close(self) -> None:
        """Stop serving and drop open requests. Closing again does nothing."""
        server, self._server = self._server, None
        if server is not None:
            if self._forget_names is not None:
                self._forget_names()
            server.close()

    @property
    def settings(self) -> Settings:
        """Settings with the eight addresses of this service.

        Raises:
            ConfigurationError: if it was never started.
        """
        if self._settings is None:
            raise ConfigurationError(
                "The practice service is not running.", "Use it in a with statement, or call start()."
            )
        return self._settings

    @property
    def credentials(self) -> Mapping[str, Credentials]:
        """The credentials that this service accepts, by name; no other service accepts them."""
        return self._world.holders.credentials

    def session(self, name: str, **options: Any) -> Session:
        """Return a session with this service: `service.session("sandbox-secret", cassette="tour")`.

        While the service runs, `tk.Session("broker-sandbox", "sandbox-secret", settings=service.settings)` is the same.

        Args:
            name: name of the credentials, which also choose the environment.
            options: the other arguments of `tk.Session`, such as `cassette` and `mode`.

        Raises:
            ConfigurationError: if no credentials have that name, or the service was never started; and the errors of
                `tk.Session`.
        """
        return Session(credentials=self.credentials[name], settings=self.settings, **options)

    def async_session(self, name: str, **options: Any) -> AsyncSession:
        """Return a `tk.AsyncSession` with this service; see `session`."""
        return AsyncSession(credentials=self.credentials[name], settings=self.settings, **options)

    def url(self, address_name: str) -> str:
        """Return the URL of an address, such as "broker_sandbox", without a trailing slash.

        Raises:
            ConfigurationError: if the address does not exist, or the service was never started.
        """
        return self.settings.addresses[as_choice(address_name, ADDRESS_NAMES, about="address_name")]

    def revoke_tokens(self) -> None:
        """Revoke all tokens issued so far: calls with them are answered with 401."""
        self._world.tokens.revoke_all()


class ServerThread:
    """Runs a uvicorn server on listening sockets, which it closes, until it is closed."""

    def __init__(self, server: Any, sockets: list[socket.socket]) -> None:
        self._server = server
        self._sockets = sockets
        self._thread = threading.Thread(target=self._run, name="practice-service", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and drop open requests. Closing again does nothing."""
        self._server.should_exit = True
        # The garbage collector may call this on any thread, the server's own included.
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            for listening in self._sockets:
                listening.close()

    async def _serve(self) -> None:
        await self._server.serve(sockets=self._sockets)
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the transports close their sockets


def _settings(addresses: Mapping[str, str]) -> Settings:
    """Return settings with these addresses and the cassettes folder of the project."""
    own = Settings.load()
    return Settings(addresses, cassettes=own.cassettes, project=own.project)


def _serve(world: World, port: int) -> tuple[ServerThread, dict[str, str]]:
    """Start a server; return it and its URLs by name of the address."""
    try:
        from uvicorn import Config, Server

        from toolkit.practice_service.app import PracticeApp
    except ModuleNotFoundError as error:
        what = f"The practice service needs {error.name}, which is not installed."
        raise ConfigurationError(what, how_to_install("practice"), about="practice") from None
    sockets = _listen(port)
    names = dict(zip((listening.getsockname()[1] for listening in sockets), ADDRESS_NAMES, strict=True))
    config = Config(
        PracticeApp(world, names),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,  # seconds; longer than httpx keeps an idle connection, so that httpx closes it
        timeout_graceful_shutdown=0,
    )
    return ServerThread(Server(config), sockets), {name: f"http://{_HOST}:{number}" for number, name in names.items()}


def _listen(first_port: int) -> list[socket.socket]:
    """Return eight listening sockets on consecutive ports from `first_port`, or on free ports if it is 0.

    Raises:
        ConfigurationError: if a port is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for number in range(len(ADDRESS_NAMES)):
            port = first_port and first_port + number
            # asyncio turns Nagle's algorithm off only for sockets that name their protocol.
            sockets.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            if os.name == "posix":
                # Lets a port be used again at once. On Windows the option would let other processes take it over.
                sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sockets[-1].bind((_HOST, port))
            sockets[-1].listen()
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ConfigurationError(
            f"The practice service cannot listen on port {port}: {error.strerror}.",
            f"Choose a first port with {len(ADDRESS_NAMES)} free ports, or port=0 for any free ports.",
            about="port",
        ) from None
    return sockets
