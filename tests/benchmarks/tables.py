"""Compare `tabulate` with json.loads, json_normalize and conversions by hand: 100,000 accounts of 30 fields.

Each reading is in a new interpreter, in turn. Target: twice as fast, in at most 0.7 of the memory.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table, peak_memory, run_in_new_interpreter

RECORDS, ROUNDS = (1_000, 1) if IS_QUICK else (100_000, 5)


def account(number: int, chance: random.Random) -> dict[str, object]:
    """Return an account as a service might send it, with amounts as text."""
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


def read_with_toolkit(body: bytes) -> object:
    """Return the table of a body in one call."""
    import toolkit as tk

    return tk.tabulate(body)


def read_by_hand(body: bytes) -> object:
    """Return a table with the same column types, in the three steps that a notebook would take."""
    import pandas as pd

    table = pd.json_normalize(json.loads(body))
    for name in table.columns:
        if name.startswith("amount_"):
            table[name] = pd.to_numeric(table[name])
        elif name in {"multiplier", "trades_last_week", "limits.daily"}:
            table[name] = pd.to_numeric(table[name]).astype("Int64")
        elif name.endswith("_at"):
            table[name] = pd.to_datetime(table[name], format="ISO8601", utc=True).astype("datetime64[us, UTC]")
        elif name == "opened_on":
            table[name] = pd.to_datetime(table[name], format="%Y-%m-%d").astype("datetime64[us]")
        elif table[name].dtype == bool:
            table[name] = table[name].astype("boolean")
    return table


WAYS = {"json_normalize, by hand": read_by_hand, "tabulate": read_with_toolkit}


def write_body(path: str, count: str) -> None:
    """Write the body. This is a process of its own, since new processes inherit the peak memory of their parent."""
    chance = random.Random(1)  # noqa: S311 - the same accounts in every run
    Path(path).write_text(json.dumps([account(number, chance) for number in range(int(count))]))


def measure(way: str, path: str) -> None:
    """Print the seconds and the MB that one reading takes, beyond imports and the body itself."""
    small_body = b'[{"id": "1", "opened_on": "2026-05-12", "created_at": "2026-05-12T09:30:00Z"}]'
    for read in WAYS.values():
        read(small_body)  # imports, for both ways the same
    body = Path(path).read_bytes()
    memory, start = peak_memory(), time.perf_counter()
    WAYS[way](body)
    print(time.perf_counter() - start, peak_memory() - memory)


def main() -> None:
    """Measure both ways."""
    runs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "accounts.json")
        run_in_new_interpreter("tables", "write", path, str(RECORDS))
        print(f"{RECORDS:,} records of 30 fields, {Path(path).stat().st_size / 1e6:.0f} MB; medians of {ROUNDS} rounds")
        for _ in range(ROUNDS):
            for way, figures in runs.items():
                seconds, memory = map(float, run_in_new_interpreter("tables", way, path).split())
                figures.append((seconds, memory))
    table = Table("one reading", "time", "memory", "times as fast", "memory ratio")
    by_hand = runs["json_normalize, by hand"]
    for way, figures in runs.items():
        seconds, memory = (statistics.median(values) for values in zip(*figures, strict=True))
        pairs = list(zip(by_hand, figures, strict=True))
        speed = statistics.median(base[0] / own[0] for base, own in pairs)
        ratios = [own[1] / base[1] for base, own in pairs if base[1]]
        ratio = f"{statistics.median(ratios):.2f}" if ratios else "unknown"
        table.print_row(way, f"{seconds:.2f} s", f"{memory:.0f} MB", f"{speed:.2f}", ratio)


if __name__ == "__main__":
    if not ARGUMENTS:
        main()
    elif ARGUMENTS[0] == "write":
        write_body(*ARGUMENTS[1:])
    else:
        measure(*ARGUMENTS)
