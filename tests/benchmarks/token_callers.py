"""Callers that all need a token at once; `tests.benchmarks.token_requests` runs each in a process of its own.

`python -m tests.benchmarks.token_callers WAY` reads a line of JSON with addresses and credentials, then makes its
calls once for each further line, and answers each with a line of JSON: what went wrong, and for an event
loop its longest stall in seconds.
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

import toolkit as tk
from tests.benchmarks.peers import authlib_clients
from toolkit.core.document import TOKEN_PATH

THREADS, TASKS = 32, 100
PATH = "/v1/accounts"
TICK = 0.001  # seconds
Place = dict[str, str]
Report = dict[str, Any]
Round = Callable[[], Report]


def in_threads(*calls: Callable[[], Any]) -> Report:
    """Make the calls at once, each on a thread of its own."""
    start, failed = threading.Barrier(len(calls)), []

    def make(call: Callable[[], Any]) -> None:
        start.wait()
        try:
            call().raise_for_status()
        except Exception as error:  # noqa: BLE001 - reported
            failed.append(type(error).__name__)

    threads = [threading.Thread(target=make, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"failed": failed}


async def in_tasks(call: Callable[[], Awaitable[Any]]) -> Report:
    """Make the calls at once in one loop, and watch the loop: idle for a second, then while the calls are made."""
    idle = await longest_stall(asyncio.sleep(1))
    found: list[Any] = []

    async def all_calls() -> None:
        started = []
        for _ in range(TASKS):
            started.append(asyncio.ensure_future(call()))
            await asyncio.sleep(0)  # a turn for each: what a hundred first steps take in one turn is nobody's stall
        found.extend(await asyncio.gather(*started, return_exceptions=True))

    stall = await longest_stall(all_calls())
    failed = [type(one).__name__ for one in found if isinstance(one, BaseException) or one.is_error]
    return {"failed": failed, "idle": idle, "stall": stall}


async def longest_stall(work: Awaitable[None]) -> float:
    """By how many seconds a pause of 1 ms was ever longer while the work was done."""
    stalls = [0.0]

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK)
            stalls.append(time.perf_counter() - before - TICK)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await work
    await asyncio.sleep(2 * TICK)
    ticking.cancel()
    return max(stalls)


def credentials_of(place: Place) -> tk.ClientSecret:
    """Credentials as a program makes them: each caller its own, all equal."""
    return tk.ClientSecret(place["client_id"], place["client_secret"], environment="broker-sandbox")


def settings_of(place: Place) -> tk.Settings:
    return tk.Settings({"auth_sandbox": place["auth"], "broker_sandbox": place["broker"]})


def threads(place: Place) -> Round:
    """Ours: threads that share a session."""
    session = tk.Session(credentials=credentials_of(place), settings=settings_of(place))
    return lambda: in_threads(*[lambda: session.broker.get(PATH)] * THREADS)


def sessions(place: Place) -> Round:
    """Ours: a thread for each of as many sessions."""
    made = [tk.Session(credentials=credentials_of(place), settings=settings_of(place)) for _ in range(THREADS)]
    return lambda: in_threads(*(lambda session=session: session.broker.get(PATH) for session in made))


def tasks(place: Place) -> Round:
    """Ours: tasks of an asynchronous session."""
    runner = asyncio.Runner()
    session = tk.AsyncSession(credentials=credentials_of(place), settings=settings_of(place))
    return lambda: runner.run(in_tasks(lambda: session.broker.get(PATH)))


def both(place: Place) -> Round:
    """Ours: the tasks, and the threads at the same time."""
    of_threads, of_tasks = threads(place), tasks(place)

    def together() -> Report:
        reports: list[Report] = []
        beside = threading.Thread(target=lambda: reports.append(of_tasks()))
        beside.start()
        time.sleep(1)  # the loop is watched for that long before its tasks start
        reports.append(of_threads())
        beside.join()
        return {"failed": [name for report in reports for name in report["failed"]]}

    return together


def process(place: Place) -> Round:
    """Ours: one call of a process that shares its token with others."""
    session = tk.Session(credentials=credentials_of(place), settings=settings_of(place), token_store="shared")
    return lambda: in_threads(lambda: session.broker.get(PATH))


def raw_tasks(place: Place) -> Round:
    """Tasks of a bare httpx client, which need no token: what the calls themselves do to a loop."""
    import httpx

    runner = asyncio.Runner()
    session = tk.Session(credentials=credentials_of(place), settings=settings_of(place))

    def calls() -> Report:
        session.broker.get(PATH)
        token = session.token
        assert token is not None
        headers = {"Authorization": f"Bearer {token.access_token.reveal()}"}
        client = httpx.AsyncClient(base_url=place["broker"], headers=headers, timeout=30.0)
        return runner.run(in_tasks(lambda: client.get(PATH)))

    return calls


def _authlib(place: Place) -> dict[str, Any]:
    """How Authlib's documentation sets up a client that renews tokens of the client credentials grant by itself."""
    return {
        "client_id": place["client_id"],
        "client_secret": place["client_secret"],
        "token_endpoint_auth_method": "client_secret_post",
        "token_endpoint": place["auth"] + TOKEN_PATH,
        "grant_type": "client_credentials",
    }


def _authlib_threads(client: Any, place: Place) -> Round:
    def call() -> Any:
        if not client.token:  # the first token is for the caller to fetch
            client.fetch_token()
        return client.get(place["broker"] + PATH)

    return lambda: in_threads(*[call] * THREADS)


def authlib_httpx(place: Place) -> Round:
    """Authlib: threads that share an httpx client."""
    client = authlib_clients().OAuth2Client(**_authlib(place), timeout=30.0)
    client.leeway = 0  # in place of 60 seconds, which these tokens do not live; its constructor takes none
    return _authlib_threads(client, place)


def authlib_requests(place: Place) -> Round:
    """Authlib: threads that share a session of requests."""
    from authlib.integrations.requests_client import OAuth2Session

    return _authlib_threads(OAuth2Session(**_authlib(place), leeway=0), place)


def authlib_tasks(place: Place) -> Round:
    """Authlib: tasks of its asynchronous client."""
    runner = asyncio.Runner()
    client = authlib_clients().AsyncOAuth2Client(**_authlib(place), leeway=0, timeout=30.0)

    async def call() -> Any:
        if not client.token:
            await client.fetch_token()
        return await client.get(place["broker"] + PATH)

    return lambda: runner.run(in_tasks(call))


def requests_oauth2client(place: Place) -> Round:
    """requests-oauth2client: threads that share its auth object."""
    import requests
    from requests_oauth2client import ClientSecretPost, OAuth2Client, OAuth2ClientCredentialsAuth

    method = ClientSecretPost(place["client_id"], place["client_secret"])
    client = OAuth2Client(token_endpoint=place["auth"] + TOKEN_PATH, auth=method, testing=True)  # testing: http
    auth = OAuth2ClientCredentialsAuth(client, leeway=0)
    return lambda: in_threads(*[lambda: requests.get(place["broker"] + PATH, auth=auth, timeout=30)] * THREADS)


def google_auth(place: Place) -> Round:
    """google-auth: threads with a session each that share credentials, whose refresh() is for others to write."""
    from google.auth import _helpers, credentials
    from google.auth.transport.requests import AuthorizedSession

    form = {"grant_type": "client_credentials", **{name: place[name] for name in ("client_id", "client_secret")}}

    class ClientCredentials(credentials.Credentials):
        def refresh(self, request: Any) -> None:
            import requests

            reply = requests.post(place["auth"] + TOKEN_PATH, data=form, timeout=30)
            reply.raise_for_status()
            token = reply.json()
            self.token = token["access_token"]
            # It renews minutes early, which these tokens do not live.
            early = _helpers.REFRESH_THRESHOLD
            self.expiry = _helpers.utcnow() + timedelta(seconds=token["expires_in"]) + early

    shared = ClientCredentials()
    made = [AuthorizedSession(shared) for _ in range(THREADS)]
    return lambda: in_threads(*(lambda one=one: one.get(place["broker"] + PATH) for one in made))


WAYS: dict[str, Callable[[Place], Round]] = {
    way.__name__: way
    for way in (
        threads,
        sessions,
        tasks,
        both,
        process,
        raw_tasks,
        authlib_httpx,
        authlib_requests,
        authlib_tasks,
        requests_oauth2client,
        google_auth,
    )
}


def main() -> None:
    """Make the calls, once a line."""
    make = WAYS[sys.argv[1]](json.loads(sys.stdin.readline()))
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(make()), flush=True)


if __name__ == "__main__":
    main()
