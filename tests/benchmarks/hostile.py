"""Measure what hard answers cost to record: time against size, and how long an event loop stands still.

Each shape is recorded by an `httpx.AsyncClient` in a new interpreter, in five sizes; figures are medians of five
runs. While that goes on, a task of the same loop wakes every 2 ms: the longest time that it did not is the pause.
Targets: growth from 500 kB on at most 1.2 times linear, 2 MB under 2 s, pauses of at most 100 ms. Honest rows
of 2 MB under 0.6 s. A shape that takes too long is stopped.

    python -m tests.benchmarks.hostile [--quick] [SHAPE ...]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import httpx

import toolkit as tk
from tests.benchmarks.corpus.shapes import HONEST, HOSTILE, Shape
from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table

SIZES = (10_000, 20_000) if IS_QUICK else (125_000, 250_000, 500_000, 1_000_000, 2_000_000)
RUNS = 1 if IS_QUICK else 5
LIMIT = 20 if IS_QUICK else 120  # seconds for one shape
SHAPES = {shape.name: shape for shape in (*HOSTILE, *HONEST)}
Figures = dict[str, float]


def main() -> None:
    """Measure hostile shapes and honest data, or the shapes that are named."""
    if ARGUMENTS:
        print_shapes("answers", [shape for name, shape in SHAPES.items() if any(text in name for text in ARGUMENTS)])
        return
    print_shapes("answers", HOSTILE)
    print()
    print_shapes("honest answers", HONEST)


def print_shapes(title: str, shapes: list[Shape]) -> None:
    """Print a row for each shape."""
    table = Table(title, "2 MB", "growth", "pause")
    for shape in shapes:
        figures = run_alone(shape.name)
        times = {size: figures[str(size)]["time"] for size in SIZES if str(size) in figures}
        pauses = [figures[str(size)]["pause"] for size in times]
        cells = [shown(times.get(SIZES[-1])), growth(times), shown(max(pauses)) if pauses else "-"]
        table.print_row(shape.name, *cells)


def growth(times: dict[int, float]) -> str:
    """Return how much faster than the size the time grows from 500 kB on, at its worst."""
    large = {size: seconds for size, seconds in times.items() if size > 500_000}
    if SIZES[-1] not in large or 500_000 not in times:
        return "-"
    return f"{max(seconds / times[500_000] / (size / 500_000) for size, seconds in large.items()):.2f}"


def shown(seconds: float | None) -> str:
    """Return a time as text; without one, that it was too long."""
    if seconds is None:
        return f"over {LIMIT} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def run_alone(name: str) -> dict[str, Figures]:
    """Return the figures that a new interpreter prints before the limit, by size."""
    options = ["--quick"] if IS_QUICK else []
    command = [sys.executable, "-m", "tests.benchmarks.hostile", "measure", name, *options]
    with tempfile.TemporaryFile() as printed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=True, stdout=printed, timeout=LIMIT)
        printed.seek(0)
        lines = [json.loads(line) for line in printed.read().decode().splitlines() if line.startswith("{")]
    return {line.pop("of"): line for line in lines}


def measure_shape(shape: Shape) -> None:
    """Print the figures of one shape, a line for each size."""
    warnings.simplefilter("ignore")
    answer_in(shape, 1000, 0)  # imports
    for size in SIZES:
        runs = [answer_in(shape, size, number) for number in range(1, RUNS + 1)]
        figures = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        print(json.dumps({"of": str(size)} | figures), flush=True)


def answer_in(shape: Shape, size: int, number: int) -> Figures:
    """Record an answer of a shape."""
    text = shape.make(size, number)
    if shape.header:
        return exchange(b"{}", {"Content-Type": "application/json", shape.header: text.decode()})
    return exchange(text, {"Content-Type": shape.media_type})


def exchange(body: bytes, headers: dict[str, str]) -> Figures:
    """Record one call of an asynchronous client, and return its time and the longest pause of the loop."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.yaml"

        def answer(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=body, headers=headers)

        async def call() -> None:
            with tk.Cassette(path, "all") as cassette:
                transport = cassette.transport(httpx.MockTransport(answer))
                async with httpx.AsyncClient(transport=transport) as client:
                    with contextlib.suppress(tk.SecretLeak):
                        await client.get("https://shop.example/things")

        return asyncio.run(timed(call))


async def timed(call: Callable[[], object]) -> Figures:
    """Await a call, and return its time and the longest time that a task beside it had to wait."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.002)
            longest = max(longest, time.perf_counter() - start - 0.002)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    longest, start = 0.0, time.perf_counter()
    await call()  # type: ignore[misc]
    seconds = time.perf_counter() - start
    await asyncio.sleep(0.005)
    watcher.cancel()
    return {"time": seconds, "pause": longest}


if __name__ == "__main__":
    if ARGUMENTS[:1] == ["measure"]:
        measure_shape(SHAPES[ARGUMENTS[1]])
    else:
        main()
