"""Count token requests when many callers need a token at once; the practice service's token endpoint takes 150 ms.

Target: one token request for each of 32 threads, 32 sessions, 100 tasks, threads and tasks together, and 4 processes
with the shared store, both without a token and with an expired one. Peers that can do the same are counted too, set up
as their documentation shows.

Then the longest stall of an event loop while 100 tasks make their calls. Target: under 20 ms with an expired token, on
an otherwise idle machine. Without a token the stall is longer, since httpx loads its parts and the certificates.

Callers are processes of their own (`tests.benchmarks.token_callers`) and use real sockets.
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
from tests.benchmarks.measuring import IS_QUICK, Table
from tests.benchmarks.peers import version
from toolkit.practice_service import PracticeService, practice

TOKEN_DELAY = 0.15  # seconds
TOKEN_VALIDITY = 2 if IS_QUICK else 6  # seconds
PROCESSES = 4
COLUMNS = ("32 threads", "32 sessions", "100 tasks", "threads and tasks", f"{PROCESSES} processes")
# Name, package, and for each column the name of the callers or None.
ROWS = (
    ("toolkit", "service-access-toolkit", ("threads", "sessions", "tasks", "threads_and_tasks", "process")),
    ("Authlib, httpx", "authlib", ("authlib_httpx", None, "authlib_tasks", None, None)),
    ("Authlib, requests", "authlib", ("authlib_requests", None, None, None, None)),
    ("requests-oauth2client", "requests-oauth2client", ("requests_oauth2client", None, None, None, None)),
    ("google-auth", "google-auth", ("google_auth", None, None, None, None)),
)
QUICK_ROWS = (("toolkit", "service-access-toolkit", ("threads", None, "tasks", None, None)),)


@dataclass(frozen=True)
class Round:
    """The token requests of one round of calls, and the reports of the callers."""

    token_requests: int
    reports: list[dict[str, Any]]

    def __str__(self) -> str:
        failed = sum(len(report["failed"]) for report in self.reports)
        return f"{self.token_requests}" + (f" ({failed} failed)" if failed else "")

    def longest(self, key: str) -> float:
        """Return the largest value that the reports have under a key."""
        return max(report[key] for report in self.reports)


def run_rounds(service: PracticeService, way: str) -> tuple[Round, Round]:
    """Run a round of callers without a token, and one when their token has expired."""
    count = PROCESSES if way == "process" else 1
    with tempfile.TemporaryDirectory() as cache, started_callers(service, way, count, cache) as callers:
        cold = run_round(service, callers)
        time.sleep(TOKEN_VALIDITY)
        return cold, run_round(service, callers)


def run_round(service: PracticeService, callers: list[subprocess.Popen[str]]) -> Round:
    """Let all callers make their calls, and count the token requests."""
    before = service.stats.token_requests
    for caller in callers:
        write_line(caller, "go")
    reports = [read_report(caller) for caller in callers]
    return Round(service.stats.token_requests - before, reports)


@contextmanager
def started_callers(
    service: PracticeService, way: str, count: int, cache: str
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes that are ready to make their calls and share a new cache folder."""
    credentials = service.credentials["sandbox-secret"]
    assert isinstance(credentials, tk.ClientSecret)
    access = {
        "auth": service.url("auth_sandbox"),
        "broker": service.url("broker_sandbox"),
        "client_id": credentials.client_id,
        "client_secret": credentials.client_secret.reveal(),
    }
    command = [sys.executable, "-m", "tests.benchmarks.token_callers", way]
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    callers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(count)
    ]
    try:
        for caller in callers:
            write_line(caller, json.dumps(access))
        for caller in callers:
            read_report(caller)
        yield callers
    finally:
        for caller in callers:
            caller.communicate()


def write_line(caller: subprocess.Popen[str], line: str) -> None:
    """Write a line to a caller."""
    assert caller.stdin is not None
    caller.stdin.write(line + "\n")
    caller.stdin.flush()


def read_report(caller: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next report of a caller, or exit if the caller has ended."""
    assert caller.stdout is not None
    line = caller.stdout.readline()
    if not line:
        sys.exit(f"{caller.args} ended early.")
    report: dict[str, Any] = json.loads(line)
    return report


def main() -> None:
    """Count token requests, and measure stalls."""
    stalls = {}
    print("token requests: without a token, with an expired one")
    table = Table("", *COLUMNS, label_width=32)
    with practice(token_validity=TOKEN_VALIDITY, token_delay=TOKEN_DELAY) as service:
        for name, package, ways in QUICK_ROWS if IS_QUICK else ROWS:
            installed = version(package)
            if installed is None:
                table.print_row(name, "absent")
                continue
            cells = []
            for way in ways:
                rounds = run_rounds(service, way) if way else None
                cells.append(", ".join(map(str, rounds)) if rounds else "-")
                if rounds and way in ("tasks", "authlib_tasks"):
                    stalls[name] = rounds
            table.print_row(f"{name} {installed}", *cells)
        if not IS_QUICK:
            stalls["httpx alone, needs no token"] = run_rounds(service, "httpx_tasks")
    print()
    table = Table("longest stall of a loop", "idle", "100 tasks, no token", "100 tasks, expired token", label_width=32)
    for name, (cold, expired) in stalls.items():
        idle = max(cold.longest("idle"), expired.longest("idle"))
        seconds = (idle, cold.longest("stall"), expired.longest("stall"))
        table.print_row(name, *(f"{stall * 1e3:.1f} ms" for stall in seconds))


if __name__ == "__main__":
    main()
