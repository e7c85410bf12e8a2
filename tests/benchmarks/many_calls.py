"""Make a thousand calls at once with a timeout of 3 s, at a practice service that takes a second for each answer.

Tasks share an AsyncSession, threads a Session, and httpx's own client has the same calls with and without a semaphore
in front of its pool. Printed are the calls that failed because they queued (target: none in the toolkit), the time and
the processor time of the calls. The service runs in the same process.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.measuring import IS_QUICK, Table

CALLS, DELAY, TIMEOUT = (20, 0.0, 3.0) if IS_QUICK else (1_000, 1.0, 3.0)
AT_ONCE = 100
PATH = "/v1/accounts"
Outcomes = Counter[str]


async def gathered(call: Callable[[], Awaitable[httpx.Response]]) -> Outcomes:
    """Make all calls at once in tasks; return how many gave which status or error."""
    results = await asyncio.gather(*(call() for _ in range(CALLS)), return_exceptions=True)
    return Counter(
        type(result).__name__ if isinstance(result, BaseException) else str(result.status_code) for result in results
    )


def threads(service: Any, credentials: tk.ClientSecret) -> Outcomes:
    """Use the toolkit: a thread for each call."""

    def call(_: int) -> str:
        try:
            return str(session.broker.get(PATH).status_code)
        except httpx.HTTPError as error:
            return type(error).__name__

    session = tk.Session(credentials=credentials, settings=service.settings, timeout=TIMEOUT)
    with session, ThreadPoolExecutor(CALLS) as pool:
        return Counter(pool.map(call, range(CALLS)))


def tasks(service: Any, credentials: tk.ClientSecret) -> Outcomes:
    """Use the toolkit: a task for each call."""

    async def main() -> Outcomes:
        async with tk.AsyncSession(credentials=credentials, settings=service.settings, timeout=TIMEOUT) as session:
            return await gathered(lambda: session.broker.get(PATH))

    return asyncio.run(main())


def plain(service: Any, credentials: tk.ClientSecret, *, limited: bool) -> Outcomes:
    """Use httpx alone with a token in hand, with or without a semaphore in front of its pool."""
    with tk.Session(credentials=credentials, settings=service.settings) as session:
        session.broker.get(PATH)
        token = session.token
    assert token is not None
    headers = {"Authorization": f"Bearer {token.access_token.reveal()}"}
    address = service.settings.addresses["broker_sandbox"]

    async def main() -> Outcomes:
        places = asyncio.Semaphore(AT_ONCE if limited else CALLS)
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=TIMEOUT) as client:

            async def call() -> httpx.Response:
                async with places:
                    return await client.get(PATH)

            return await gathered(call)

    return asyncio.run(main())


def main() -> None:
    """Make the calls in each way, and print what became of them."""
    ways: dict[str, Callable[[Any, tk.ClientSecret], Outcomes]] = {
        "toolkit, tasks": tasks,
        "toolkit, threads": threads,
        "httpx with a semaphore, tasks": lambda *access: plain(*access, limited=True),
        "httpx, tasks": lambda *access: plain(*access, limited=False),
    }
    table = Table(f"{CALLS:,} calls at once", "answered", "queued too long", "other", "seconds", "processor")
    with tk.practice(accounts=1, delay=DELAY) as service:
        for name, way in ways.items():
            start, start_processor = time.perf_counter(), time.process_time()
            outcomes = way(service, service.credentials["sandbox-secret"])
            seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
            other = outcomes.total() - outcomes["200"] - outcomes["PoolTimeout"]
            counts = (outcomes["200"], outcomes["PoolTimeout"], other)
            table.print_row(name, *(f"{count:,}" for count in counts), f"{seconds:.1f} s", f"{processor:.1f} s")


if __name__ == "__main__":
    main()
