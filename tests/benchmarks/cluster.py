"""Measure 20,000 calls on a cluster of 4 worker processes, while tokens last 4 seconds.

The practice service runs in a process of its own and counts. The row of each way has its calls a second, these beside
one process with as many threads, the token requests that the service counted, the renewals that were due at most, the
token requests in the ledgers of workers, and whether each key has exactly one answer. `tests/cluster` kills workers.

Targets: no more token requests than renewals that were due, none from a worker, every key once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import Client, LocalCluster

import toolkit as tk
from tests.benchmarks.measuring import IS_QUICK, Table
from tests.practice_process import practice_process

WORKERS, THREADS = (2 if IS_QUICK else 4), 2
CALLS, CALLS_OF_A_TASK = (80, 10) if IS_QUICK else (20_000, 50)
VALIDITY = 4
RENEWED_AFTER = 0.9 * (VALIDITY - 1)  # seconds; `expires_in` is slightly under the validity, renewal a tenth before

Result = list[tuple[int, int]]  # key and status


def calls(keys: range, session: Any) -> Result:
    """Make the calls of some keys, one after the other."""
    return [(key, session.broker.get("/v1/accounts", params={"key": key}).status_code) for key in keys]


def chunks() -> list[range]:
    """Return the keys in ranges, one for each task."""
    return [range(start, min(start + CALLS_OF_A_TASK, CALLS)) for start in range(0, CALLS, CALLS_OF_A_TASK)]


def token_requests_here(session: Any) -> int:
    """Return the number of token requests in the ledger of this process."""
    return int((session.calls()["interface"] == "auth").sum())


def in_one_process(session: tk.Session) -> Result:
    """Make all calls on as many threads of this process as the cluster has."""
    with ThreadPoolExecutor(WORKERS * THREADS) as threads:
        return [pair for pairs in threads.map(lambda keys: calls(keys, session), chunks()) for pair in pairs]


def main() -> None:
    """Print a row for each way to make the calls."""
    table = Table("way", "calls", "a second", "ratio", "tokens", "due", "by workers", "keys once", label_width=34)
    with (
        practice_process(accounts=1, token_validity=VALIDITY) as service,
        LocalCluster(n_workers=WORKERS, threads_per_worker=THREADS, dashboard_address=None) as local,
        Client(local) as client,
    ):
        first: list[float] = []

        def measure(way: str, make: Callable[[tk.Session], tuple[Result, int]]) -> None:
            service.reset_stats()
            with tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings) as session:
                start = time.perf_counter()
                result, by_workers = make(session)
                seconds = time.perf_counter() - start
            rate = len(result) / seconds
            first.append(rate)
            counts = Counter(result)
            is_once = counts == Counter((key, 200) for key in range(CALLS))
            stats = service.stats()
            cells = [f"{len(result):,}", f"{rate:,.0f}", f"{rate / first[0]:.2f}", str(stats["token_requests"])]
            table.print_row(
                way, *cells, str(1 + int(seconds / RENEWED_AFTER)), str(by_workers), "yes" if is_once else "NO"
            )

        def lent(session: tk.Session) -> tuple[Result, int]:
            with tk.lend(session, client) as handle:
                futures = client.map(calls, chunks(), session=handle, pure=False)
                result = [pair for pairs in client.gather(futures) for pair in pairs]
                return result, sum(client.run(token_requests_here, handle).values())

        measure(f"one process, {WORKERS * THREADS} threads", lambda session: (in_one_process(session), 0))
        measure(f"{WORKERS} worker processes", lent)


if __name__ == "__main__":
    main()
