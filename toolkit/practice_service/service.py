"""The practice service as users hold it: start it, call it, inspect it and make it fail."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final, Self

from toolkit.auth.profiles.practice_profiles import register_service
from toolkit.core.arguments import as_choice, as_clock
from toolkit.core.clock import Clock, SystemClock
from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import ConfigurationError
from toolkit.core.installation import not_installed
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.practice_service.world import Options, World
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolkit.auth.credentials import Credentials
    from toolkit.practice_service.faults import Faults
    from toolkit.practice_service.server import ServerThread
    from toolkit.practice_service.world import Stats

_LOWEST_PORT: Final = 1024  # lower ports need privileges
_HIGHEST_PORT: Final = 65536 - len(ADDRESS_NAMES)


class PracticeService:
    """A local server that implements the other side of the service document.

    Use it in a `with` statement, or call `start()`; `close()` is optional. It listens on eight loopback ports, one for
    each address, in its own thread. While the toolkit is offline it does not listen at all: its addresses are the
    symbolic addresses of recordings, and its counts stay zero.

    Args:
        options: accounts, token validity and delays.
        port: first of eight consecutive ports, in the order of the document's address table, or 0 for any free ports.
        clock: the time of the service; by default the system's clock.

    Raises:
        ConfigurationError: if the port is out of range.
    """

    def __init__(self, options: Options, *, port: int = 0, clock: Clock | None = None) -> None:
        if not isinstance(port, int) or not (port == 0 or _LOWEST_PORT <= port <= _HIGHEST_PORT):
            raise ConfigurationError(
                "port cannot be the first of eight ports.",
                f"Use a number from {_LOWEST_PORT} to {_HIGHEST_PORT}, or 0 for any free ports.",
                about="port",
            )
        self._world = World(as_clock(clock) or SystemClock(), options)
        self._port = port
        self._settings: Settings | None = None
        self._server: ServerThread | None = None
        self._forget_names: Callable[[], object] | None = None
        self._state = "not started"

    def __repr__(self) -> str:
        return f"<PracticeService, {self._state}, {self._world.options.accounts} accounts>"

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
            self._state = "offline"
            return self
        self._server, addresses = _serve(self._world, self._port)
        # Notebooks do not call close(): the server ends with this object, or with the process.
        weakref.finalize(self, self._server.close)
        self._settings = _settings(addresses)
        self._forget_names = weakref.finalize(self, register_service(addresses, self.credentials))
        self._state = "running"
        return self

    def close(self) -> None:
        """Stop serving and drop open requests. Closing again does nothing."""
        server, self._server = self._server, None
        if server is not None:
            if self._forget_names is not None:
                self._forget_names()
            server.close()
            self._state = "closed"

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

    @property
    def stats(self) -> Stats:
        """Counts of the requests so far."""
        return self._world.stats

    @property
    def faults(self) -> Faults:
        """The injected failures, which can be changed at any time."""
        return self._world.faults

    def url(self, address_name: str) -> str:
        """Return the URL of an address, such as "broker_sandbox", without a trailing slash.

        Raises:
            ConfigurationError: if the address does not exist, or the service was never started.
        """
        return self.settings.addresses[as_choice(address_name, ADDRESS_NAMES, about="address_name")]

    def revoke_tokens(self) -> None:
        """Revoke all tokens issued so far: calls with them are answered with 401."""
        self._world.tokens.revoke_all()


def _settings(addresses: Mapping[str, str]) -> Settings:
    """Return settings with these addresses and the cassettes folder of the project."""
    own = Settings.load()
    return Settings(addresses, cassettes=own.cassettes, project=own.project)


def _serve(world: World, port: int) -> tuple[ServerThread, dict[str, str]]:
    """Start a server; return it and its URLs by name of the address."""
    try:
        from toolkit.practice_service.asgi import PracticeApp
        from toolkit.practice_service.server import HOST, ServerThread, listen
    except ModuleNotFoundError as error:
        packages = {"starlette", "uvicorn"}
        raise not_installed(error, packages, "The practice service", "practice", about="practice") from None
    sockets = listen(len(ADDRESS_NAMES), port)
    names = dict(zip((listening.getsockname()[1] for listening in sockets), ADDRESS_NAMES, strict=True))
    server = ServerThread(PracticeApp(world, names), sockets)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server, {name: f"http://{HOST}:{number}" for number, name in names.items()}
