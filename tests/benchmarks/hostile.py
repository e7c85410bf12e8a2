"""Measure what hard answers cost to record: time against size, and how long an event loop stands still.

Each shape is recorded by an `httpx.AsyncClient` in a new interpreter, in five sizes; figures are medians of five
runs. While that goes on, a task of the same loop wakes every 2 ms: the longest time that it did not is the pause.
Targets: growth from 500 kB on at most 1.2 times linear, 2 MB under 2 s, pauses of at most 100 ms. Honest data: JSON of
2 MB under 0.6 s, with images and hashes under 1 s. A shape that takes too long is stopped.

    python -m tests.benchmarks.hostile [--quick] [--more] [SHAPE ...]
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import httpx
import yaml

import toolkit as tk
from tests.benchmarks.corpus.shapes import HONEST, HOSTILE, MORE, Shape
from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table

SIZES = (10_000, 20_000) if IS_QUICK else (125_000, 250_000, 500_000, 1_000_000, 2_000_000)
RUNS = 1 if IS_QUICK else 5
LIMIT = 20 if IS_QUICK else 120  # seconds for one shape
SHAPES = {shape.name: shape for shape in (*HOSTILE, *MORE, *HONEST)}
Figures = dict[str, float]


def main() -> None:
    """Measure hostile shapes, honest data, and a long token that is replayed."""
    shapes = [*HOSTILE, *(MORE if "--more" in sys.argv else [])]
    if ARGUMENTS:
        shapes = [shape for shape in SHAPES.values() if any(text in shape.name for text in ARGUMENTS)]
    headings = ["2 MB", "growth", "pause"]
    print_shapes("answers", shapes, headings)
    if ARGUMENTS:
        return
    print()
    print_shapes("honest answers", HONEST, headings)
    print()
    table = Table("other calls", "time", "pause")
    for name in CALLS:
        figures = run_alone("call", name).get("call", {})
        table.print_row(name, *(shown(figures.get(key)) for key in ("time", "pause")))


def print_shapes(title: str, shapes: list[Shape], headings: list[str]) -> None:
    """Print a row for each shape."""
    table = Table(title, *headings)
    for shape in shapes:
        figures = run_alone("shape", shape.name)
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


def run_alone(kind: str, name: str) -> dict[str, Figures]:
    """Return the figures that a new interpreter prints before the limit, by size."""
    options = ["--quick"] if IS_QUICK else []
    command = [sys.executable, "-m", "tests.benchmarks.hostile", "measure", kind, name, *options]
    with tempfile.TemporaryFile() as printed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=True, stdout=printed, timeout=LIMIT)
        printed.seek(0)
        lines = [json.loads(line) for line in printed.read().decode().splitlines() if line.startswith("{")]
    return {line.pop("of"): line for line in lines}


def measure_shape(shape: Shape) -> None:
    """Print the figures of one shape, a line for each size."""
    answer_in(shape, 1000, 0)  # imports
    for size in SIZES:
        runs = [answer_in(shape, size, number) for number in range(1, RUNS + 1)]
        print_figures(str(size), medians(runs))


def print_figures(of: str, figures: Figures) -> None:
    """Print figures as a line of JSON."""
    print(json.dumps({"of": of} | figures), file=sys.__stdout__, flush=True)


def medians(runs: list[Figures]) -> Figures:
    """Return the median of each figure."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def answer_in(shape: Shape, size: int, number: int) -> Figures:
    """Record an answer of a shape."""
    text = shape.make(size, number)
    if shape.header:
        return exchange(b"{}", {"Content-Type": "application/json", shape.header: text.decode()})
    return exchange(text, {"Content-Type": shape.media_type})


def exchange(body: bytes, headers: dict[str, str], *, upload: bool = False) -> Figures:
    """Record one call of an asynchronous client, and return its time and the longest pause of the loop."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.yaml"

        def answer(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=b"{}" if upload else body, headers=headers)

        async def call() -> None:
            with tk.Cassette(path, "all") as cassette:
                transport = cassette.transport(httpx.MockTransport(answer))
                async with httpx.AsyncClient(transport=transport) as client:
                    with contextlib.suppress(tk.SecretLeak):
                        if upload:
                            await client.post("https://shop.example/things", content=body, headers=headers)
                        else:
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


def upload(number: int) -> Figures:
    """Record an upload of 1 MB: half text, half random bytes in base64."""
    numbers = random.Random(number)  # noqa: S311
    body = json.dumps({"note": "a line of text\n" * 33_000, "data": numbers.randbytes(375_000).hex()[:500_000]})
    return exchange(body.encode(), {"Content-Type": "application/json"}, upload=True)


def signed_request(number: int) -> httpx.Request:
    """Return a request with a signed token of 16 kB in its query."""
    token = base64.b64encode(random.Random(number).randbytes(12_000)).decode()  # noqa: S311
    return httpx.Request("GET", "https://shop.example/a", params={"token": token})


def recorded_token(number: int) -> Figures:
    """Record a call that carries a long signed token."""
    with tempfile.TemporaryDirectory() as folder:
        service = httpx.MockTransport(lambda _: httpx.Response(200, json={"ok": True}))
        return send_with(Path(folder) / "recorded.yaml", "all", service, signed_request(number))


def replayed_token(number: int) -> Figures:
    """Replay such a call from a file in vcrpy's format that was never scrubbed."""
    request = signed_request(number)
    item = {
        "request": {"method": "GET", "uri": str(request.url), "headers": {}, "body": None},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": '{"ok": true}'}},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.yaml"
        path.write_text(yaml.safe_dump({"version": 1, "interactions": [item]}))
        return send_with(path, "none", None, request)


def send_with(path: Path, mode: str, service: httpx.MockTransport | None, request: httpx.Request) -> Figures:
    """Send a request through a cassette, and return the time with opening and closing."""

    async def send() -> None:
        with tk.Cassette(path, mode) as cassette:
            async with httpx.AsyncClient(transport=cassette.transport(service)) as client:
                await client.send(request)

    return asyncio.run(timed(send))


CALLS: dict[str, Callable[[int], Figures]] = {
    "an upload of 1 MB": upload,
    "recording with a signed token of 16 kB": recorded_token,
    "replay with a signed token of 16 kB": replayed_token,
}


def measure(kind: str, name: str) -> None:
    """Print the figures of a shape or of a call."""
    warnings.simplefilter("ignore")
    if kind == "shape":
        measure_shape(SHAPES[name])
    else:
        CALLS[name](0)
        print_figures("call", medians([CALLS[name](number) for number in range(1, RUNS + 1)]))


if __name__ == "__main__":
    if ARGUMENTS[:1] == ["measure"]:
        measure(*ARGUMENTS[1:3])
    else:
        main()
