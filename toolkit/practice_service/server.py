"""The practice service on real sockets: one uvicorn server in a thread of its own.

A thread with its own event loop serves callers inside a running loop, such as a notebook's, too.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolkit.core.errors import ConfigurationError
from toolkit.practice_service.faults import ConnectionDroppedError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
_TRANSPORT: Final = "transport"
_KEEP_ALIVE: Final = 30  # seconds; longer than httpx keeps an idle connection, so that it is the one to close it
_START_TIMEOUT: Final = 30.0  # seconds


def listen(count: int, first_port: int) -> list[socket.socket]:
    """Listening sockets on loopback, on consecutive ports from `first_port`, or on free ones if that is 0.

    Raises:
        ConfigurationError: a port is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for number in range(count):
            port = first_port and first_port + number
            # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, every
            # answer in two segments waits some 40 ms for a delayed acknowledgement.
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            sockets.append(listening)
            if os.name == "posix":
                # A port is free again at once; on Windows this option would let others take it over.
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((HOST, port))
            listening.listen()
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ConfigurationError(
            f"The practice service cannot listen on port {port}: {error.strerror}.",
            f"Give another base port with {count} free ports, or port=0 for any.",
        ) from None
    return sockets


class ServerThread:
    """Serves an ASGI application on sockets until it is closed.

    Args:
        app: the application; a ConnectionDroppedError out of it closes the connection.
        sockets: listening sockets, which belong to the server from here on.
    """

    def __init__(self, app: ASGIApp, sockets: list[socket.socket]) -> None:
        self._sockets = sockets
        self._started: Future[None] = Future()
        self._server = _Server(_config(app), self._started)
        self._thread = threading.Thread(target=self._run, name="practice-service", daemon=True)

    def start(self) -> None:
        """Serve; returns when it does.

        Raises:
            Exception: whatever kept it from starting.
        """
        self._thread.start()
        self._started.result(_START_TIMEOUT)

    def close(self) -> None:
        """Stop serving: unanswered requests are dropped. Closing again does nothing."""
        self._server.should_exit = True
        # The garbage collector may close it on any thread, this one included.
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
    """A uvicorn server that tells when it serves."""

    def __init__(self, config: uvicorn.Config, started: Future[None]) -> None:
        super().__init__(config)
        self._when_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._when_started.set_result(None)


class _Protocol(H11Protocol):
    """HTTP/1.1 that hands the application its connection's transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, _TRANSPORT: transport}


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        _dropping(app),
        http=_Protocol,
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


def _dropping(app: ASGIApp) -> Any:
    """The application, with ConnectionDroppedError carried out."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except ConnectionDroppedError:
            scope["state"][_TRANSPORT].abort()
            # uvicorn answers 500 for an application that returns too soon.
            while (await receive())["type"] != "http.disconnect":
                pass

    return call
