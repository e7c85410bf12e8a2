"""The practice service on real sockets: a uvicorn server in its own thread.

The thread has its own event loop, so that callers inside a running loop, such as a notebook's, are served too.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolkit.core.errors import ConfigurationError
from toolkit.practice_service.faults import ConnectionDroppedError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
_TRANSPORT: Final = "transport"
_KEEP_ALIVE: Final = 30  # seconds; longer than httpx keeps an idle connection, so that httpx closes it
_START_TIMEOUT: Final = 30.0  # seconds
_REQUEST_TIMEOUT: Final = 20.0  # seconds for a client to send one request; all clients are on this machine


def listen(count: int, first_port: int) -> list[socket.socket]:
    """Return listening loopback sockets on consecutive ports from `first_port`, or on free ports if it is 0.

    Raises:
        ConfigurationError: if a port is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for number in range(count):
            port = first_port and first_port + number
            # asyncio turns Nagle's algorithm off only for sockets that name their protocol; with it, a response
            # in two segments waits some 40 ms for a delayed acknowledgement.
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            sockets.append(listening)
            if os.name == "posix":
                # Lets a port be used again at once. On Windows the option would let other processes take it over.
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((HOST, port))
            listening.listen()
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ConfigurationError(
            f"The practice service cannot listen on port {port}: {error.strerror}.",
            f"Choose a first port with {count} free ports, or port=0 for any free ports.",
            about="port",
        ) from None
    return sockets


class ServerThread:
    """Serves an ASGI application on sockets until it is closed.

    Args:
        app: the application; if it raises ConnectionDroppedError, the connection is closed.
        sockets: listening sockets, which belong to the server from now on.
        request_timeout: seconds in which a client must send a whole request; then the connection is closed.
    """

    def __init__(
        self, app: ASGIApp, sockets: list[socket.socket], *, request_timeout: float = _REQUEST_TIMEOUT
    ) -> None:
        self._sockets = sockets
        self._started: Future[None] = Future()
        self._server = _Server(_config(app, request_timeout), self._started)
        self._thread = threading.Thread(target=self._run, name="practice-service", daemon=True)

    def start(self) -> None:
        """Start serving, and return once the server is ready.

        Raises:
            Exception: if it cannot start.
        """
        self._thread.start()
        self._started.result(_START_TIMEOUT)

    def close(self) -> None:
        """Stop serving and drop open requests. Closing again does nothing."""
        self._server.should_exit = True
        # The garbage collector may call this on any thread, the server's own included.
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)
        finally:
            for listening in self._sockets:
                listening.close()

    async def _serve(self) -> None:
        await self._server.serve(sockets=self._sockets)
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the transports close their sockets


class _Server(uvicorn.Server):
    """A uvicorn server that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, started: Future[None]) -> None:
        super().__init__(config)
        self._ready = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set_result(None)


class _JoinedWrites:
    """A transport that sends what is written in one go together: head and body of a response in one segment.

    That halves the system calls of an answer, here and in the client.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if data:
            if not self._waiting:
                self._loop.call_soon(self._send)
            self._waiting.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._waiting:
            data, self._waiting = b"".join(self._waiting), []
            self._transport.write(data)


class _Protocol(H11Protocol):
    """HTTP/1.1 that passes the transport of a connection to the application, and ends requests that do not end.

    The time for a request starts with its first byte, or with the connection. uvicorn itself limits only the pause
    between two requests.
    """

    def __init__(self, *arguments: Any, request_timeout: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._request_timeout = request_timeout
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self.app_state = {**self.app_state, _TRANSPORT: transport}
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the timer run exactly while a request is on its way."""
        state = self.conn.their_state
        if state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0]):
            self._start_timer()
        else:
            self._stop_timer()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._request_timeout, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # the application, not the client, is slow
            self._start_timer()
        else:
            self.transport.abort()


def _config(app: ASGIApp, request_timeout: float) -> uvicorn.Config:
    protocol: Any = partial(_Protocol, request_timeout=request_timeout)
    return uvicorn.Config(
        _with_drops(app),
        http=protocol,
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
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=0,
    )


def _with_drops(app: ASGIApp) -> Any:
    """Return the application wrapped so that ConnectionDroppedError closes the connection."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except ConnectionDroppedError:
            scope["state"][_TRANSPORT].abort()
            # uvicorn answers 500 for an application that returns too soon.
            while (await receive())["type"] != "http.disconnect":
                pass

    return call
