"""Compare a sweep with plain httpx at the same concurrency, and kill sweeps at random instants.

Both ask a practice service in a process of its own for the positions of 100,000 accounts, 16 at a time, in turn for one
part of the accounts after the other. The plain way is an `httpx.AsyncClient` whose token is already set, with a
semaphore; it only reads the answers, while the sweep writes their rows. Target: at least 0.85 of its calls a second,
and memory that stays flat.

With `--kills 20` a process that sweeps is killed 20 times and started again. Target: every key in the table once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx
import pandas as pd

import toolkit as tk
from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table
from tests.practice_process import PracticeProcess, practice_process
from toolkit.sweeps import running

AT_ONCE = 16
ACCOUNTS, ROUNDS = (100, 2) if IS_QUICK else (100_000, 20)
KILLED_ACCOUNTS = 1_000 if IS_QUICK else 5_000
LONGEST_DELAY = 0.5  # seconds from the first request of a process to its end


def path_of(account: str) -> str:
    """Return the path of the positions of an account."""
    return f"/v1/practice/accounts/{account}/positions"


def memory() -> float:
    """Return the memory that this process holds now, in MB; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def identifiers(service: PracticeProcess) -> list[str]:
    """Return the identifiers of all accounts."""
    with tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings) as session:
        names: list[str] = []
        path: str | None = "/v1/accounts?page_size=100"
        while path is not None:
            response = session.broker.get(path)
            names += [account["id"] for account in response.json()]
            path = response.links.get("next", {}).get("url")
        return names


async def ask_plainly(client: httpx.AsyncClient, accounts: Sequence[str]) -> None:
    """Ask for accounts with plain httpx and a semaphore."""
    semaphore = asyncio.Semaphore(AT_ONCE)

    async def ask(account: str) -> None:
        async with semaphore:
            (await client.get(path_of(account))).raise_for_status()

    await asyncio.gather(*map(ask, accounts))


async def compare() -> None:
    """Ask for part after part of the accounts in both ways."""
    with practice_process(accounts=ACCOUNTS) as service, tempfile.TemporaryDirectory() as folder:
        accounts = identifiers(service)
        into = Path(folder, "positions")
        session = tk.AsyncSession(credentials=service.credentials["sandbox-secret"], settings=service.settings)
        address = service.settings.addresses["broker_sandbox"]
        table = Table("keys", "httpx", "sweep", "ratio", "ratio of CPU", "memory", label_width=12)
        ratios, cpu_ratios = [], []
        async with httpx.AsyncClient(base_url=address, timeout=30.0) as client:
            size = len(accounts) // ROUNDS
            for start in range(0, len(accounts), size):
                part = accounts[start : start + size]
                await session.broker.get("/v1/accounts", params={"limit": 1})  # renews the token if that is due
                assert session.token is not None
                client.headers["Authorization"] = f"Bearer {session.token.access_token.reveal()}"
                await ask_plainly(client, accounts[:AT_ONCE])
                began, cpu_began = time.perf_counter(), time.process_time()
                await ask_plainly(client, part)
                between, cpu_between = time.perf_counter(), time.process_time()
                result = await tk.sweep(session.broker, part, path_of, into=into, at_once=AT_ONCE)
                plain, swept = between - began, time.perf_counter() - between
                ratios.append(plain / swept)
                cpu_ratios.append((cpu_between - cpu_began) / (time.process_time() - cpu_between))
                rates = (f"{len(part) / seconds:,.0f}/s" for seconds in (plain, swept))
                figures = (f"{ratios[-1]:.3f}", f"{cpu_ratios[-1]:.3f}", f"{memory():,.0f} MB")
                table.print_row(f"{start + len(part):,}", *rates, *figures)
        assert (result.answered, result.failed) == (len(accounts), 0)
        assert len(pd.read_parquet(into)) == result.rows
        await session.close()
        print(f"{result!r}: {statistics.median(ratios):.3f} of the calls a second of plain httpx (median);")
        print(
            f"by processor time of the caller, which other processes disturb less: {statistics.median(cpu_ratios):.3f}"
        )


def sweep_until_killed() -> None:
    """Sweep as the standard input says."""
    task = json.load(sys.stdin)
    running.SECONDS = 0.1  # so that many kills fall into a write
    credentials = tk.ClientSecret(task["client_id"], task["client_secret"], environment="broker-sandbox")
    session = tk.Session(credentials=credentials, settings=tk.Settings(task["addresses"]))

    def call(account: str) -> str:
        os.write(1, b"asked\n")
        return path_of(account)

    tk.sweep(session.broker, task["accounts"], call, into=task["into"])


def kill(kills: int) -> int:
    """Kill a sweep again and again, and return how many keys are not in its folder exactly once."""
    chance = random.Random(7)  # noqa: S311 - the same delays in every run
    with practice_process(accounts=KILLED_ACCOUNTS) as service, tempfile.TemporaryDirectory() as folder:
        accounts = identifiers(service)
        credentials = service.credentials["sandbox-secret"]
        task = {
            "accounts": accounts,
            "into": str(Path(folder, "positions")),
            "addresses": dict(service.settings.addresses),
            "client_id": credentials.client_id,
            "client_secret": credentials.client_secret.reveal(),
        }
        service.reset_stats()
        kept = []
        for number in range(kills + 1):
            command = [sys.executable, "-m", "tests.benchmarks.sweeps", "sweep"]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(task).encode())
                process.stdin.close()
                if number < kills:
                    process.stdout.readline()
                    time.sleep(chance.uniform(0, LONGEST_DELAY))
                    process.send_signal(signal.SIGKILL)
                process.stdout.read()
                process.wait()
            assert process.returncode in (0, -signal.SIGKILL)
            kept.append(len(list(Path(task["into"]).glob("*.parquet"))))
        asked = service.stats()["calls"]
        with tk.Session(credentials=credentials, settings=service.settings) as session:
            result = tk.sweep(session.broker, accounts, path_of, into=task["into"])
            again = service.stats()["calls"] - asked
            whole = tk.sweep(session.broker, accounts, path_of, into=Path(folder, "whole"))
        counts, expected = (Counter(one.table()["key"]) for one in (result, whole))
        wrong = sum(counts[account] != expected[account] for account in accounts) + again
        wrong += abs(result.answered - len(accounts)) + result.failed
        table = Table("keys", "kills", "parts", "asked", "asked twice", "not there once", label_width=12)
        figures = (kills, kept[-1], asked, asked - len(accounts), wrong)
        table.print_row(f"{len(accounts):,}", *(f"{figure:,}" for figure in figures))
        return wrong


def main() -> None:
    """Compare, or kill; exit with status 1 if a key is not there once."""
    if ARGUMENTS == ["sweep"]:
        sweep_until_killed()
    elif "--kills" in sys.argv:
        sys.exit(bool(kill(int(ARGUMENTS[0]))))
    else:
        asyncio.run(compare())


if __name__ == "__main__":
    main()
