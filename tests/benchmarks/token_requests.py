"""Token requests, counted by the practice service with a 150 ms token endpoint, when many need a token at once.

Target: 1 for all of 32 threads, 32 sessions, 100 tasks, threads and tasks together, and 4 processes with the shared
store; cold and with an expired token. Each beside the peers that do the same work, set up as their documentation
shows. Then the longest stall of an event loop from the first of 100 calls to the last; target: under 20 ms for an
expired token, on an otherwise idle machine. When there is no token yet, httpx loads its parts and certificates, too.

Callers are processes of their own (`tests.benchmarks.token_callers`), on real sockets.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import toolkit as tk
from tests.benchmarks.peers import version
from toolkit.practice_service import PracticeService, practice

TOKEN_DELAY = 0.15  # seconds
TOKEN_VALIDITY = 6  # seconds
PROCESSES = 4
COLUMNS = ("32 threads", "32 sessions", "100 tasks", "both at once", f"{PROCESSES} processes")
# Name, package, and the way of each column.
ROWS = (
    ("toolkit", "service-access-toolkit", ("threads", "sessions", "tasks", "both", "process")),
    ("Authlib, httpx", "authlib", ("authlib_httpx", None, "authlib_tasks", None, None)),
    ("Authlib, requests", "authlib", ("authlib_requests", None, None, None, None)),
    ("requests-oauth2client", "requests-oauth2client", ("requests_oauth2client", None, None, None, None)),
    ("google-auth", "google-auth", ("google_auth", None, None, None, None)),
)


@dataclass(frozen=True)
class Counted:
    """Token requests of one round of calls, and what the callers had to say."""

    token_requests: int
    reports: list[dict[str, Any]]

    def __str__(self) -> str:
        failed = sum(len(report["failed"]) for report in self.reports)
        return f"{self.token_requests}" + (f" ({failed} failed)" if failed else "")

    def longest(self, what: str) -> float:
        return max(report[what] for report in self.reports)


def rounds(service: PracticeService, way: str) -> tuple[Counted, Counted]:
    """One round of callers without a token, and one when their token has expired."""
    number = PROCESSES if way == "process" else 1
    with tempfile.TemporaryDirectory() as cache, callers(service, way, number, cache) as running:
        cold = one_round(service, running)
        time.sleep(TOKEN_VALIDITY)
        return cold, one_round(service, running)


def one_round(service: PracticeService, running: list[subprocess.Popen[str]]) -> Counted:
    before = service.stats.token_requests
    for caller in running:
        say(caller, "go")
    reports = [heard(caller) for caller in running]
    return Counted(service.stats.token_requests - before, reports)


@contextmanager
def callers(service: PracticeService, way: str, number: int, cache: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ready to make their calls, with a cache folder that nobody else has."""
    credentials = service.credentials["sandbox-secret"]
    assert isinstance(credentials, tk.ClientSecret)
    place = {
        "auth": service.url("auth_sandbox"),
        "broker": service.url("broker_sandbox"),
        "client_id": credentials.client_id,
        "client_secret": credentials.client_secret.reveal(),
    }
    command = [sys.executable, "-m", "tests.benchmarks.token_callers", way]
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(number)
    ]
    try:
        for caller in running:
            say(caller, json.dumps(place))
        for caller in running:
            heard(caller)
        yield running
    finally:
        for caller in running:
            caller.communicate()


def say(caller: subprocess.Popen[str], line: str) -> None:
    assert caller.stdin is not None
    caller.stdin.write(line + "\n")
    caller.stdin.flush()


def heard(caller: subprocess.Popen[str]) -> dict[str, Any]:
    assert caller.stdout is not None
    line = caller.stdout.readline()
    if not line:
        sys.exit(f"{caller.args} ended early.")
    report: dict[str, Any] = json.loads(line)
    return report


def main() -> None:
    """Print the figures."""
    stalls = {}
    print(f"{'token requests: cold, expired':32}" + "".join(f"{column:>16}" for column in COLUMNS))
    with practice(token_validity=TOKEN_VALIDITY, token_delay=TOKEN_DELAY) as service:
        for name, package, ways in ROWS:
            installed = version(package)
            if installed is None:
                print(f"{name:32}{'absent':>16}")
                continue
            print(f"{f'{name} {installed}':32}", end="", flush=True)
            for way in ways:
                found = rounds(service, way) if way else None
                print(f"{', '.join(map(str, found)) if found else '-':>16}", end="", flush=True)
                if found and way in ("tasks", "authlib_tasks"):
                    stalls[name] = found
            print()
        stalls["httpx alone, needs no token"] = rounds(service, "raw_tasks")
    print(f"\n{'longest stall of a loop':32}{'idle':>16}{'100 tasks, cold':>20}{'100 tasks, expired':>20}")
    for name, (cold, expired) in stalls.items():
        idle = max(cold.longest("idle"), expired.longest("idle"))
        figures = [f"{stall * 1e3:.1f} ms" for stall in (idle, cold.longest("stall"), expired.longest("stall"))]
        print(f"{name:32}{figures[0]:>16}{figures[1]:>20}{figures[2]:>20}")


if __name__ == "__main__":
    main()
