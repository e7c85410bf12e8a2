"""Callers that all need a token at once; `tests.benchmarks.token_requests` runs each in a process of its own.

`python -m tests.benchmarks.token_callers WAY` reads a line of JSON with addresses and credentials and answers it when
it is ready. It then makes its calls once for each further line, and answers with a line of JSON: the errors, and for an
event loop its longest stalls in seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.peers import authlib_clients
from toolkit.core.document import TOKEN_PATH

THREADS, TASKS = 32, 100
PATH = "/v1/accounts"
PAUSE = 0.001  # seconds
Access = dict[str, str]  # addresses and credentials
Report = dict[str, Any]
Calls = Callable[[], Report]  # makes all calls at once


def in_threads(*calls: Callable[[], Any]) -> Report:
    """Make the calls at once, each on a thread of its own."""
    start, failed = threading.Barrier(len(calls)), []

    def run(call: Callable[[], Any]) -> None:
        start.wait()
        try:
            call().raise_for_status()
        except Exception as error:  # noqa: BLE001 - reported
            failed.append(type(error).__name__)

    running = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return {"failed": failed}


async def in_tasks(call: Callable[[], Awaitable[Any]]) -> Report:
    """Make the same call in many tasks of a loop; measure the loop's stalls during an idle second and the calls."""
    idle = await longest_stall(asyncio.sleep(1))
    results: list[Any] = []

    async def make_calls() -> None:
        running = []
        for _ in range(TASKS):
            running.append(asyncio.ensure_future(call()))
            await asyncio.sleep(0)  # each first step has a turn of its own: a hundred in one turn are not a stall
        results.extend(await asyncio.gather(*running, return_exceptions=True))

    stall = await longest_stall(make_calls())
    failed = [type(result).__name__ for result in results if isinstance(result, BaseException) or result.is_error]
    return {"failed": failed, "idle": idle, "stall": stall}


async def longest_stall(work: Awaitable[None]) -> float:
    """Return by how many seconds a pause of 1 ms was longer at most, while the work was done."""
    stalls = [0.0]

    async def measure() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(PAUSE)
            stalls.append(time.perf_counter() - start - PAUSE)

    measuring = asyncio.create_task(measure())
    await asyncio.sleep(0)
    await work
    await asyncio.sleep(2 * PAUSE)
    measuring.cancel()
    return max(stalls)


def new_session(access: Access, **options: Any) -> tk.Session:
    """Return a session with credentials of its own, which equal those of all others."""
    return tk.Session(credentials=credentials_of(access), settings=settings_of(access), **options)


def credentials_of(access: Access) -> tk.ClientSecret:
    """Return new credentials."""
    return tk.ClientSecret(access["client_id"], access["client_secret"], environment="broker-sandbox")


def settings_of(access: Access) -> tk.Settings:
    """Return settings with the service's addresses."""
    return tk.Settings({"auth_sandbox": access["auth"], "broker_sandbox": access["broker"]})


def threads(access: Access) -> Calls:
    """Use the toolkit: threads share a session."""
    session = new_session(access)
    return lambda: in_threads(*[lambda: session.broker.get(PATH)] * THREADS)


def sessions(access: Access) -> Calls:
    """Use the toolkit: each thread has a session of its own."""
    own_sessions = [new_session(access) for _ in range(THREADS)]
    return lambda: in_threads(*(lambda own=own: own.broker.get(PATH) for own in own_sessions))


def tasks(access: Access) -> Calls:
    """Use the toolkit: tasks share an asynchronous session."""
    runner = asyncio.Runner()
    session = tk.AsyncSession(credentials=credentials_of(access), settings=settings_of(access))
    return lambda: runner.run(in_tasks(lambda: session.broker.get(PATH)))


def threads_and_tasks(access: Access) -> Calls:
    """Use the toolkit: the threads and the tasks at the same time."""
    thread_calls, task_calls = threads(access), tasks(access)

    def make_calls() -> Report:
        reports: list[Report] = []
        loop = threading.Thread(target=lambda: reports.append(task_calls()))
        loop.start()
        time.sleep(1)  # the tasks start after an idle second
        reports.append(thread_calls())
        loop.join()
        return {"failed": [name for report in reports for name in report["failed"]]}

    return make_calls


def process(access: Access) -> Calls:
    """Use the toolkit: one call of a process that shares its token with others."""
    session = new_session(access, token_store="shared")
    return lambda: in_threads(lambda: session.broker.get(PATH))


def httpx_tasks(access: Access) -> Calls:
    """Use httpx alone, with a token in hand: the stalls that the calls themselves cause."""
    runner = asyncio.Runner()
    session = new_session(access)

    def make_calls() -> Report:
        session.broker.get(PATH)
        token = session.token
        assert token is not None
        headers = {"Authorization": f"Bearer {token.access_token.reveal()}"}
        client = httpx.AsyncClient(base_url=access["broker"], headers=headers, timeout=30.0)
        return runner.run(in_tasks(lambda: client.get(PATH)))

    return make_calls


def authlib_options(access: Access) -> dict[str, Any]:
    """Return options as Authlib's documentation shows them for a client that renews tokens by itself."""
    return {
        "client_id": access["client_id"],
        "client_secret": access["client_secret"],
        "token_endpoint_auth_method": "client_secret_post",
        "token_endpoint": access["auth"] + TOKEN_PATH,
        "grant_type": "client_credentials",
    }


def authlib_threads(client: Any, access: Access) -> Calls:
    """Return calls of threads that share a client of Authlib."""

    def call() -> Any:
        if not client.token:  # Authlib leaves the first token to the caller
            client.fetch_token()
        return client.get(access["broker"] + PATH)

    return lambda: in_threads(*[call] * THREADS)


def authlib_httpx(access: Access) -> Calls:
    """Use Authlib: threads share an httpx client."""
    client = authlib_clients().OAuth2Client(**authlib_options(access), timeout=30.0)
    client.leeway = 0  # not 60 seconds, longer than these tokens live; the constructor does not take it
    return authlib_threads(client, access)


def authlib_requests(access: Access) -> Calls:
    """Use Authlib: threads share a session of requests."""
    from authlib.integrations.requests_client import OAuth2Session

    return authlib_threads(OAuth2Session(**authlib_options(access), leeway=0), access)


def authlib_tasks(access: Access) -> Calls:
    """Use Authlib: tasks share an asynchronous client."""
    runner = asyncio.Runner()
    client = authlib_clients().AsyncOAuth2Client(**authlib_options(access), leeway=0, timeout=30.0)

    async def call() -> Any:
        if not client.token:
            await client.fetch_token()
        return await client.get(access["broker"] + PATH)

    return lambda: runner.run(in_tasks(call))


def requests_oauth2client(access: Access) -> Calls:
    """Use requests-oauth2client: threads share its auth object."""
    import requests
    from requests_oauth2client import ClientSecretPost, OAuth2Client, OAuth2ClientCredentialsAuth

    method = ClientSecretPost(access["client_id"], access["client_secret"])
    client = OAuth2Client(token_endpoint=access["auth"] + TOKEN_PATH, auth=method, testing=True)  # allows http
    auth = OAuth2ClientCredentialsAuth(client, leeway=0)
    return lambda: in_threads(*[lambda: requests.get(access["broker"] + PATH, auth=auth, timeout=30)] * THREADS)


def google_auth(access: Access) -> Calls:
    """Use google-auth: threads have a session each and share credentials; `refresh()` is for programs to write."""
    from google.auth import _helpers, credentials
    from google.auth.transport.requests import AuthorizedSession

    form = {"grant_type": "client_credentials", **{name: access[name] for name in ("client_id", "client_secret")}}

    class ClientCredentials(credentials.Credentials):
        def refresh(self, request: Any) -> None:
            import requests

            reply = requests.post(access["auth"] + TOKEN_PATH, data=form, timeout=30)
            reply.raise_for_status()
            token = reply.json()
            self.token = token["access_token"]
            # google-auth renews minutes before expiry, longer than these tokens live.
            lifetime = timedelta(seconds=token["expires_in"]) + _helpers.REFRESH_THRESHOLD
            self.expiry = _helpers.utcnow() + lifetime

    shared = ClientCredentials()
    own_sessions = [AuthorizedSession(shared) for _ in range(THREADS)]
    return lambda: in_threads(*(lambda own=own: own.get(access["broker"] + PATH) for own in own_sessions))


WAYS: dict[str, Callable[[Access], Calls]] = {
    way.__name__: way
    for way in (
        threads,
        sessions,
        tasks,
        threads_and_tasks,
        process,
        httpx_tasks,
        authlib_httpx,
        authlib_requests,
        authlib_tasks,
        requests_oauth2client,
        google_auth,
    )
}


def main() -> None:
    """Make the calls once for each line of the input."""
    make_calls = WAYS[sys.argv[1]](json.loads(sys.stdin.readline()))
    print(json.dumps({"is_ready": True}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(make_calls()), flush=True)


if __name__ == "__main__":
    main()
