"""The practice service as its users hold it: start it, call it, look at it, steer it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final, Self

from toolkit.core.clock import Clock, SystemClock
from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings, is_offline
from toolkit.practice_service.world import Options, World

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from toolkit.auth.credentials import Credentials
    from toolkit.practice_service.faults import Faults
    from toolkit.practice_service.server import ServerThread
    from toolkit.practice_service.world import Stats

_LOWEST_PORT: Final = 1024  # those below take privileges
_HIGHEST_PORT: Final = 65536 - len(ADDRESS_NAMES)


class PracticeService:
    """A local service that implements the service document from the other side.

    Use it in a `with` statement, or call `start()` and, if you like, `close()`. It listens on loopback
    only, eight ports for eight addresses, in a thread of its own. While the toolkit is offline it
    listens nowhere: its addresses are the symbolic ones of recordings, its counts stay zero.

    Args:
        options: accounts, token validity and delays.
        port: first of eight consecutive ports, in the order of the document's address table; 0 takes
            any free ones.
        clock: where the service gets its time from; by default the machine's clock.

    Raises:
        ConfigurationError: the port is out of range.
    """

    def __init__(self, options: Options, *, port: int = 0, clock: Clock | None = None) -> None:
        if not isinstance(port, int) or not (port == 0 or _LOWEST_PORT <= port <= _HIGHEST_PORT):
            raise ConfigurationError(
                "port is no base of eight ports.",
                f"Give one from {_LOWEST_PORT} to {_HIGHEST_PORT}, or 0 for any free ones.",
            )
        self._world = World(clock or SystemClock(), options)
        self._port = port
        self._settings: Settings | None = None
        self._server: ServerThread | None = None
        self._state = "not started"

    def __repr__(self) -> str:
        return f"<PracticeService, {self._state}, {self._world.options.accounts} accounts>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Start serving, unless it already does or the toolkit is offline. After `close()` it starts anew.

        Raises:
            ConfigurationError: a port is taken, or starlette or uvicorn is not installed.
        """
        if self._server is not None:
            return self
        if is_offline():
            self._settings = _settings({name: symbolic_address(name) for name in ADDRESS_NAMES})
            self._state = "offline"
            return self
        self._server, addresses = _serve(self._world, self._port)
        # A notebook never closes anything: the server ends with this object, or with the process.
        weakref.finalize(self, self._server.close)
        self._settings = _settings(addresses)
        self._state = "running"
        return self

    def close(self) -> None:
        """Stop serving and drop what is unanswered. Closing again does nothing."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self._state = "closed"

    @property
    def settings(self) -> Settings:
        """Settings with the eight addresses of this service.

        Raises:
            ConfigurationError: it was never started.
        """
        if self._settings is None:
            raise ConfigurationError(
                "The practice service is not running.", "Use it in a with statement, or call start()."
            )
        return self._settings

    @property
    def credentials(self) -> Mapping[str, Credentials]:
        """Credentials that this service, and no other, accepts; by name."""
        return self._world.holders.credentials

    @property
    def stats(self) -> Stats:
        """What reached the service so far."""
        return self._world.stats

    @property
    def faults(self) -> Faults:
        """What is to go wrong; inject and clear at any time."""
        return self._world.faults

    def url(self, address_name: str) -> str:
        """The address of this name, such as "broker_sandbox", without a trailing slash.

        Raises:
            ConfigurationError: there is no such address, or the service was never started.
        """
        if address_name not in ADDRESS_NAMES:
            raise ConfigurationError("There is no such address.", f"Names: {', '.join(ADDRESS_NAMES)}.")
        return self.settings.addresses[address_name]

    def revoke_tokens(self) -> None:
        """Forget every token issued so far: calls that bear one are answered with 401."""
        self._world.tokens.revoke_all()


def _settings(addresses: Mapping[str, str]) -> Settings:
    """These addresses, and the project's own cassettes folder."""
    here = Settings.load()
    return Settings(addresses, cassettes=here.cassettes, project=here.project)


def _serve(world: World, port: int) -> tuple[ServerThread, dict[str, str]]:
    """A running server, and its addresses by name."""
    try:
        from toolkit.practice_service.app import PracticeApp  # starlette and uvicorn are an extra
        from toolkit.practice_service.server import HOST, ServerThread, listen
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"starlette", "uvicorn"}:
            raise
        raise ConfigurationError(
            f"The practice service needs {error.name}, which is not installed.",
            "Install the extra: pip install 'service-access-toolkit[practice]', "
            "or in a checkout pip install '.[practice]'.",
        ) from None
    sockets = listen(len(ADDRESS_NAMES), port)
    names = dict(zip((listening.getsockname()[1] for listening in sockets), ADDRESS_NAMES, strict=True))
    server = ServerThread(PracticeApp(world, names), sockets)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server, {name: f"http://{HOST}:{number}" for number, name in names.items()}
