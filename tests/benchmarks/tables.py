"""100,000 accounts of 30 fields: `tabulate` beside json.loads, json_normalize and the same conversions by hand.

Each reading in a fresh interpreter, in turn. Target: at least 2.5 times as fast, in less memory.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

RECORDS = 100_000
ROUNDS = 5


def account(number: int, chance: random.Random) -> dict[str, object]:
    """An account as a service might send it; its amounts are text."""
    opened = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    return {
        "id": f"{chance.getrandbits(128):032x}",
        "account_number": f"{number:09}",
        "status": chance.choice(["open", "closed", "restricted"]),
        "currency": "USD",
        "created_at": (opened + timedelta(microseconds=chance.randrange(10**6))).isoformat().replace("+00:00", "Z"),
        "updated_at": opened.isoformat().replace("+00:00", "Z"),
        "opened_on": opened.date().isoformat(),
        "margin": chance.random() < 0.5,
        "blocked": False,
        "note": "called" if number % 3 else None,
        "trades_last_week": chance.randrange(50),
        "multiplier": "4",
        **{f"amount_{index}": f"{chance.random() * 1e5:.2f}" for index in range(10)},
        **{f"rate_{index}": round(chance.random() * 100, 4) for index in range(4)},
        "contact": {"email": f"a{number}@example.com", "city": "Lisbon", "postal_code": f"{number % 99_999:05}"},
        "limits": {"daily": chance.randrange(1000)},
    }


def by_toolkit(body: bytes) -> object:
    """One call."""
    from toolkit.tables.tabulation import tabulate

    return tabulate(body)


def by_hand(body: bytes) -> object:
    """The three steps that a notebook would take, to columns of the same types."""
    import pandas as pd

    frame = pd.json_normalize(json.loads(body))
    for name in frame.columns:
        if name.startswith("amount_"):
            frame[name] = pd.to_numeric(frame[name])
        elif name in {"multiplier", "trades_last_week", "limits.daily"}:
            frame[name] = pd.to_numeric(frame[name]).astype("Int64")
        elif name.endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True).astype("datetime64[us, UTC]")
        elif name == "opened_on":
            frame[name] = pd.to_datetime(frame[name], format="%Y-%m-%d").astype("datetime64[us]")
        elif frame[name].dtype == bool:
            frame[name] = frame[name].astype("boolean")
    return frame


WAYS = {"by hand": by_hand, "tabulate": by_toolkit}


def peak() -> float:
    """The most memory that this process ever held, in MB; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def make(path: str) -> None:
    """Write the body. A process of its own, as its memory would count as that of those it starts."""
    chance = random.Random(1)  # noqa: S311 - the same figures every time
    Path(path).write_text(json.dumps([account(number, chance) for number in range(RECORDS)]))


def measure(path: str, way: str) -> None:
    """Print the seconds and the MB that one reading takes, beyond its imports and the body."""
    import toolkit.tables.tabulation  # noqa: F401 - so that neither way pays for imports

    WAYS[way](b'[{"id": "1", "opened_on": "2026-05-12", "created_at": "2026-05-12T09:30:00Z"}]')
    body = Path(path).read_bytes()
    before, started = peak(), time.perf_counter()
    WAYS[way](body)
    print(time.perf_counter() - started, peak() - before)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "accounts.json")
        run(path)
        print(f"{RECORDS:,} records of 30 fields, {Path(path).stat().st_size / 1e6:.0f} MB, median of {ROUNDS} rounds")
        found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way, figures in found.items():
                figures.append([float(figure) for figure in run(path, way).split()])
    medians = {
        way: [statistics.median(figure) for figure in zip(*figures, strict=True)] for way, figures in found.items()
    }
    for way, (seconds, memory) in medians.items():
        print(f"{way:10}{seconds:8.2f} s{memory:8.0f} MB")
    faster = statistics.median(hand[0] / ours[0] for hand, ours in zip(*found.values(), strict=True))
    leaner = statistics.median(ours[1] / hand[1] for hand, ours in zip(*found.values(), strict=True) if hand[1])
    print(f"tabulate is {faster:.2f} times as fast, in {leaner:.2f} times the memory")


def run(*arguments: str) -> str:
    """What this module prints in an interpreter of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.tables", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    {0: main, 1: make, 2: measure}[len(sys.argv) - 1](*sys.argv[1:])
