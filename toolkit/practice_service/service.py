"""The practice service as users see it: start it, call it, inspect it and make it fail.

A uvicorn server listens on eight loopback ports, one for each address, in its own thread with its own event loop, so
that code in a running event loop, such as a notebook's, can call it too.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import weakref
from collections import Counter, deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from toolkit.auth.profiles.saving import register_service
from toolkit.core.document import ADDRESS_NAMES, symbolic_address
from toolkit.core.errors import ConfigurationError, as_choice, as_count, as_number, how_to_install
from toolkit.core.ledger import Clock, SystemClock
from toolkit.local.settings import Settings, is_offline
from toolkit.practice_service.authentication import Authenticator
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolkit.auth.credentials import Credentials

_HOST: Final = "127.0.0.1"

FaultPlace = Literal["token", "interfaces"]
Body = Literal["json", "malformed", "html"]


@dataclass(frozen=True, slots=True)
class Fault:
    """An injected failure; `Faults.inject` explains the attributes."""

    status: int
    body: Body
    retry_after: int | str | None
    dropped: bool
    error: str


class Faults:
    """The injected faults, kept separately for the token endpoints and the other interfaces.

    Faults for the same place occur in the order in which they were injected. All methods can be called from any thread
    while the service runs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Each fault with its remaining number of requests; None means until cleared.
        self._queues: dict[str, deque[tuple[Fault, int | None]]] = {place: deque() for place in get_args(FaultPlace)}

    def inject(
        self,
        place: FaultPlace,
        status: int = 503,
        *,
        body: Body = "json",
        retry_after: int | str | None = None,
        dropped: bool = False,
        error: str = "fault",
        times: int | None = 1,
    ) -> None:
        """Make the next requests to a place fail.

        Args:
            place: "token" for the token endpoints, "interfaces" for everything else.
            status: HTTP status code of the response; it must allow a body.
            body: "json" for an error object, "malformed" for truncated JSON, "html" for a page.
            retry_after: value of the Retry-After header (RFC 9110 section 10.2.3): seconds, or any text.
            dropped: close the connection without a response; only `place` and `times` then have an effect.
            error: error code of the error object, such as "invalid_scope" (RFC 6749 section 5.2).
            times: number of requests, or None for all requests until `clear()`.

        Raises:
            ConfigurationError: if a value cannot be sent, or the place does not exist; its `about` names the argument.
        """
        status = as_count(status, about="status", least=200, most=599)
        fault = Fault(status, as_choice(body, get_args(Body), about="body"), retry_after, dropped, error)
        times = None if times is None else as_count(times, about="times", least=1)
        with self._lock:
            self._queues[as_choice(place, self._queues, about="place")].append((fault, times))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            for queue in self._queues.values():
                queue.clear()

    def take(self, place: FaultPlace) -> Fault | None:
        """Remove and return the next fault for a place, or return None if the request should succeed."""
        with self._lock:
            queue = self._queues[place]
            if not queue:
                return None
            fault, times = queue.popleft()
            if times != 1:
                queue.appendleft((fault, times and times - 1))
            return fault


@dataclass(slots=True)
class Stats:
    """Counts of requests. The service's thread updates them, and any thread may read them.

    A request counts as a token request or a call when it arrives, whatever the response.

    Attributes:
        token_requests: requests to the auth addresses.
        calls: all other requests.
        refused: requests that the service answered with a 4xx status, not counting faults.
        faulted: requests to which an injected fault was applied, including dropped connections.
        rate_limited: calls that exceeded the rate limit; they also count as refused.
        by_credentials: accepted requests keyed by credentials name, including token requests.
        by_status: responses keyed by address and endpoint, then by status:
            `by_status["broker GET /v1/accounts"][200]`. Account IDs appear as `{account_id}`, and unknown endpoints as
            `broker other`, so that arbitrary paths do not become keys. A dropped connection is not counted here.
    """

    token_requests: int = 0
    calls: int = 0
    refused: int = 0
    faulted: int = 0
    rate_limited: int = 0
    by_credentials: Counter[str] = field(default_factory=Counter)
    by_status: dict[str, Counter[int]] = field(default_factory=dict)

    def reset(self) -> None:
        """Set every count to zero."""
        Stats.__init__(self)


@dataclass(frozen=True, slots=True)
class World:
    """The options and state of the application; `practice()` explains the options and their errors."""

    clock: Clock = field(default_factory=SystemClock)
    accounts: int = 25
    token_validity: float = 900
    delay: float = 0.0
    token_delay: float = 0.0
    rate_limit: float | None = None
    stats: Stats = field(init=False, default_factory=Stats)
    faults: Faults = field(init=False, default_factory=Faults)
    authenticator: Authenticator = field(init=False)

    def __post_init__(self) -> None:
        as_count(self.accounts, about="accounts", most=100_000)
        as_number(self.token_validity, about="token_validity", least=2, most=86_400, example=900)
        as_number(self.delay, about="delay", least=0, most=3_600)
        as_number(self.token_delay, about="token_delay", least=0, most=3_600)
        if self.rate_limit is not None:
            as_number(self.rate_limit, about="rate_limit", least=0.01, most=1_000_000)
        object.__setattr__(self, "authenticator", Authenticator(self.token_validity, self.clock))


class PracticeService:
    """A local server that implements the service document.

    Use it in a `with` statement, or call `start()`; `close()` is optional. The service listens on eight loopback ports,
    one for each address, in its own thread. While the toolkit is offline, it does not listen at all: its addresses are
    the symbolic addresses of recordings, and its counts stay zero.

    Attributes:
        stats: counts of the requests so far.
        faults: the injected failures, which can be changed at any time.
        credentials: the credentials that this service accepts, by name; no other service accepts them.
    """

    def __init__(self, world: World, port: int = 0) -> None:
        self._port = port and as_count(port, about="port", least=1024, most=65536 - len(ADDRESS_NAMES))
        self._world = world
        self.stats, self.faults = world.stats, world.faults
        self.credentials: Mapping[str, Credentials] = world.authenticator.credentials
        self._settings: Settings | None = None
        self._stop: Callable[[], object] | None = None  # while it runs

    def __repr__(self) -> str:
        state = "not running" if self._stop is None else "running"
        return f"<PracticeService, {state}, {self._world.accounts} accounts>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Start the service, unless it is running or the toolkit is offline. It can be started again after `close()`.

        Raises:
            ConfigurationError: if a port is in use, or starlette or uvicorn is not installed.
        """
        if self._stop is not None:
            return self
        if is_offline():
            addresses = {name: symbolic_address(name) for name in ADDRESS_NAMES}
        else:
            running, addresses = _serve(self._world, self._port)
            running.callback(register_service(addresses, self.credentials))
            # Notebooks do not call close(), so the server ends with this object or the process.
            self._stop = weakref.finalize(self, running.close)
        own = Settings.load()
        self._settings = Settings(addresses, cassettes=own.cassettes, project=own.project)
        return self

    def close(self) -> None:
        """Stop serving and drop open requests. Closing again does nothing."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    @property
    def settings(self) -> Settings:
        """Settings with the eight addresses of this service.

        Raises:
            ConfigurationError: if the service was never started.
        """
        if self._settings is None:
            next_step = "Use it in a with statement, or call start()."
            raise ConfigurationError("The practice service is not running.", next_step)
        return self._settings

    def session(self, name: str, **options: Any) -> Session:
        """Return a session with this service: `service.session("sandbox-secret", cassette="tour")`.

        While it runs, `tk.Session("broker-sandbox", "sandbox-secret", settings=service.settings)` does the same.

        Args:
            name: name of the credentials, which also determine the environment.
            options: other arguments of `tk.Session`, such as `cassette` and `mode`.

        Raises:
            ConfigurationError: if no credentials have that name, or the service was never started.
            ToolkitError: as in `tk.Session`.
        """
        return Session(credentials=self.credentials[name], settings=self.settings, **options)

    def async_session(self, name: str, **options: Any) -> AsyncSession:
        """Return a `tk.AsyncSession` with this service; see `session`."""
        return AsyncSession(credentials=self.credentials[name], settings=self.settings, **options)

    def revoke_tokens(self) -> None:
        """Revoke all tokens issued so far: calls that use them get a 401."""
        self._world.authenticator.revoke_tokens()


def _serve(world: World, port: int) -> tuple[ExitStack, dict[str, str]]:
    """Start a server in a thread; return an object that stops it when closed, and its URLs keyed by address name."""
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
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,  # seconds; longer than httpx keeps an idle connection, so that httpx closes it
        timeout_graceful_shutdown=0,
    )
    server = Server(config)

    async def serve() -> None:
        await server.serve(sockets=sockets)
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the transports close their sockets

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="practice-service", daemon=True)
    thread.start()

    def close() -> None:
        server.should_exit = True
        # The garbage collector may call this on any thread, including the server's.
        if thread is not threading.current_thread():
            thread.join()

    running = ExitStack()
    running.callback(close)
    return running, {name: f"http://{_HOST}:{number}" for number, name in names.items()}


def _listen(first_port: int) -> list[socket.socket]:
    """Return eight listening sockets on consecutive ports from `first_port`, or on free ports if it is 0."""
    with ExitStack() as opened:
        sockets = []
        for number in range(len(ADDRESS_NAMES)):
            port = first_port and first_port + number
            try:
                listening = opened.enter_context(socket.create_server((_HOST, port)))
            except OSError as error:
                raise ConfigurationError(
                    f"The practice service cannot listen on port {port}: {error.strerror}.",
                    f"Choose the first of {len(ADDRESS_NAMES)} consecutive free ports, or pass port=0 for any.",
                    about="port",
                ) from None
            # asyncio does this only for sockets created with an explicit protocol. Accepted connections inherit the
            # option.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(listening)
        opened.pop_all()
    return sockets
