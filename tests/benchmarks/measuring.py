"""What benchmarks share: quick runs, timing in turn, runs in a new interpreter, and printed tables."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

IS_QUICK = "--quick" in sys.argv
ARGUMENTS = [argument for argument in sys.argv[1:] if not argument.startswith("--")]


@dataclass(frozen=True)
class Timings:
    """Medians over rounds.

    Attributes:
        seconds: of one call, by way.
        ratios: of each way to the first, taken within a round.
    """

    seconds: Mapping[str, float]
    ratios: Mapping[str, float]


def time_in_turn(ways: Mapping[str, Callable[[], object]], *, rounds: int, repeats: int) -> Timings:
    """Run each way `repeats` times a round, round after round, so that a busy moment of the machine hits all alike."""
    rounds, repeats = (1, 1) if IS_QUICK else (rounds, repeats)
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                start = time.perf_counter()
                for _ in range(repeats):
                    way()
                seconds[name].append((time.perf_counter() - start) / repeats)
    finally:
        gc.enable()
    baseline = seconds[next(iter(ways))]
    ratios = {
        name: statistics.median(own / base for own, base in zip(times, baseline, strict=True))
        for name, times in seconds.items()
    }
    return Timings({name: statistics.median(times) for name, times in seconds.items()}, ratios)


def run_in_new_interpreter(benchmark: str, *arguments: str, settings: Mapping[str, str] | None = None) -> str:
    """Return what a benchmark prints when it is run with these arguments and environment variables."""
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", *arguments]
    environment = {**os.environ, **(settings or {})}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def peak_memory() -> float:
    """Return the most memory that this process has ever held, in MB; 0 if the system does not say."""
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Table:
    """A table that is printed row by row. The first column is for labels; the others are aligned to the right."""

    def __init__(self, *headings: str, label_width: int = 40) -> None:
        self._widths = [label_width, *(max(len(heading), 9) + 3 for heading in headings[1:])]
        self.print_row(*headings)

    def print_row(self, label: str, *cells: str) -> None:
        """Print a row; columns at the end may be left out."""
        first, *widths = self._widths
        print(label.ljust(first) + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False)))
        sys.stdout.flush()


def microseconds(seconds: float) -> str:
    """Return a time as text, in microseconds."""
    return f"{seconds * 1e6:,.1f} µs"
