"""Count token requests when many callers need a token at once; the practice service's token endpoint takes 150 ms.

Target: one token request for each of 32 threads, 100 tasks, and 4 processes with the shared store, both without a token
and with an expired one. Peers that can do the same are counted too, set up as their documentation shows.

Then the longest stall of an event loop while 100 tasks make their calls, beside httpx that has a token already.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.measuring import IS_QUICK, Table
from tests.benchmarks.peers import authlib_clients, version
from toolkit.core.document import TOKEN_PATH
from toolkit.practice_service import PracticeService, practice

TOKEN_DELAY = 0.15  # seconds
TOKEN_VALIDITY = 2 if IS_QUICK else 6  # seconds
THREADS, TASKS, PROCESSES = 32, 100, 4
PATH = "/v1/accounts"
PAUSE = 0.001  # seconds
ONE_CALL = f"""
import sys, toolkit as tk
credentials = tk.ClientSecret(*sys.argv[3:5], environment="broker-sandbox")
settings = tk.Settings({{"auth_sandbox": sys.argv[1], "broker_sandbox": sys.argv[2]}})
tk.Session(credentials=credentials, settings=settings, token_store="shared").broker.get("{PATH}").raise_for_status()
"""
Calls = Callable[[], None]  # makes all calls at once


def in_threads(call: Callable[[], Any]) -> None:
    """Make the same call in many threads that start together."""
    start = threading.Barrier(THREADS)

    def run() -> None:
        start.wait()
        call()

    running = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


async def in_tasks(call: Callable[[], Awaitable[Any]]) -> float:
    """Make the same call in many tasks; return by how many seconds a pause of 1 ms was longer at most."""
    stalls = [0.0]

    async def measure() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(PAUSE)
            stalls.append(time.perf_counter() - start - PAUSE)

    measuring = asyncio.create_task(measure())
    running = []
    for _ in range(TASKS):
        running.append(asyncio.ensure_future(call()))
        await asyncio.sleep(0)  # each first step has a turn of its own: a hundred in one turn are not a stall
    await asyncio.gather(*running)
    measuring.cancel()
    return max(stalls)


class Ways:
    """The callers of one service; `stalls` holds the longest stalls of loops in seconds, by way."""

    def __init__(self, service: PracticeService) -> None:
        credentials = service.credentials["sandbox-secret"]
        assert isinstance(credentials, tk.ClientSecret)
        self.service, self.stalls = service, dict[str, list[float]]()
        self._names = credentials.client_id, credentials.client_secret.reveal()
        self._auth, self._broker = (
            service.settings.addresses["auth_sandbox"],
            service.settings.addresses["broker_sandbox"],
        )
        self._runner = asyncio.Runner()

    def threads(self) -> Calls:
        """Return calls of threads that share a session."""
        session = self.service.session("sandbox-secret")
        return lambda: in_threads(lambda: session.broker.get(PATH))

    def tasks(self) -> Calls:
        """Return calls of tasks that share a session."""
        session = self.service.async_session("sandbox-secret")
        return self._measured("toolkit", lambda: session.broker.get(PATH))

    def processes(self) -> Calls:
        """Return calls of processes that share a token store, each with a cache folder that is new for all."""
        environment = {**os.environ, "XDG_CACHE_HOME": tempfile.mkdtemp(), "NO_PROXY": "127.0.0.1"}
        command = [sys.executable, "-c", ONE_CALL, self._auth, self._broker, *self._names]

        def run() -> None:
            running = [subprocess.Popen(command, env=environment) for _ in range(PROCESSES)]
            for process in running:
                assert process.wait() == 0

        return run

    def httpx_tasks(self) -> Calls:
        """Return calls of tasks with httpx alone and a token in hand: the stalls that the calls themselves cause."""
        session = self.service.session("sandbox-secret")

        def run() -> None:
            session.broker.get(PATH)
            assert session.token is not None
            headers = {"Authorization": f"Bearer {session.token.access_token.reveal()}"}
            client = httpx.AsyncClient(base_url=self._broker, headers=headers, timeout=30.0, trust_env=False)
            self._measured("httpx alone, with a token", lambda: client.get(PATH))()

        return run

    def authlib_threads(self) -> Calls:
        """Return calls of threads that share a client of Authlib."""
        client = authlib_clients().OAuth2Client(**self._authlib_options(), timeout=30.0)
        client.leeway = 0  # not 60 seconds, longer than these tokens live; the constructor does not take it

        def call() -> None:
            if not client.token:  # Authlib leaves the first token to the caller
                client.fetch_token()
            client.get(self._broker + PATH)

        return lambda: in_threads(call)

    def authlib_tasks(self) -> Calls:
        """Return calls of tasks that share a client of Authlib."""
        client = authlib_clients().AsyncOAuth2Client(**self._authlib_options(), leeway=0, timeout=30.0)

        async def call() -> None:
            if not client.token:
                await client.fetch_token()
            await client.get(self._broker + PATH)

        return self._measured("Authlib", call)

    def requests_oauth2client_threads(self) -> Calls:
        """Return calls of threads that share the auth object of requests-oauth2client."""
        import requests
        from requests_oauth2client import ClientSecretPost, OAuth2Client, OAuth2ClientCredentialsAuth

        method = ClientSecretPost(*self._names)
        client = OAuth2Client(token_endpoint=self._auth + TOKEN_PATH, auth=method, testing=True)  # allows http
        auth = OAuth2ClientCredentialsAuth(client, leeway=0)
        return lambda: in_threads(lambda: requests.get(self._broker + PATH, auth=auth, timeout=30))

    def _measured(self, name: str, call: Callable[[], Awaitable[Any]]) -> Calls:
        return lambda: self.stalls.setdefault(name, []).append(self._runner.run(in_tasks(call)))

    def _authlib_options(self) -> dict[str, Any]:
        """Return options as Authlib's documentation shows them for a client that renews tokens by itself."""
        return {
            "client_id": self._names[0],
            "client_secret": self._names[1],
            "token_endpoint_auth_method": "client_secret_post",
            "token_endpoint": self._auth + TOKEN_PATH,
            "grant_type": "client_credentials",
        }


def main() -> None:
    """Count token requests, and measure stalls."""
    table = Table("token requests", "no token", "expired token")
    with practice(token_validity=TOKEN_VALIDITY, token_delay=TOKEN_DELAY) as service:
        ways = Ways(service)
        rows: list[tuple[str, str | None, Callable[[], Calls]]] = [
            (f"{THREADS} threads", None, ways.threads),
            (f"{TASKS} tasks", None, ways.tasks),
            (f"{PROCESSES} processes with the shared store", None, ways.processes),
            (f"{THREADS} threads, Authlib", "authlib", ways.authlib_threads),
            (f"{TASKS} tasks, Authlib", "authlib", ways.authlib_tasks),
            (f"{THREADS} threads, requests-oauth2client", "requests-oauth2client", ways.requests_oauth2client_threads),
        ]
        for label, package, way in rows[:2] if IS_QUICK else rows:
            if package and version(package) is None:
                table.print_row(label, "absent")
                continue
            calls, counts = way(), []
            for _ in range(2):
                before = service.stats.token_requests
                time.sleep(TOKEN_VALIDITY)  # tokens of earlier calls expire
                calls()
                counts.append(str(service.stats.token_requests - before))
            table.print_row(label, *counts)
        ways.httpx_tasks()()
    table = Table("longest stall of a loop", "no token", "expired token")
    for name, stalls in ways.stalls.items():
        table.print_row(name, *(f"{stall * 1e3:.1f} ms" for stall in stalls))


if __name__ == "__main__":
    main()
