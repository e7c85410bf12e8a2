"""Measure what real answers cost to record, beside vcrpy, and how long an event loop stands still meanwhile.

    python -m tests.benchmarks.real_answers [--quick] [FILE ...]

Without files, large text files of installed packages are answered, in an order that is always the same, at most 40 MB.
Each way runs in a new interpreter. The cost is processor time. A thread sleeps for a millisecond again and again: the
longest time by which it overslept is how long a call kept everything else of the process, such as an event loop, from
running. Other work of the machine counts too. Targets: 0.4 s a MB, 2 s a call, pauses of at most 100 ms, none refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx

from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table, run_in_new_interpreter
from tests.benchmarks.peers import version

TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".css": "text/css",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".xml": "application/xml",
}
SMALLEST, LARGEST = 200_000, 5_000_000  # bytes of a file
TOTAL = 500_000 if IS_QUICK else 40_000_000
TICK = 0.001  # seconds


def main() -> None:
    """Record the same files through the toolkit and through vcrpy."""
    table = Table("answers", "files", "MB", "s a MB", "slowest call", "refused", "longest pause")
    for way in ("toolkit", *(["vcrpy"] if version("vcrpy") else [])):
        options = ["--quick"] if IS_QUICK else []
        figures = json.loads(run_in_new_interpreter("real_answers", f"measure={way}", *ARGUMENTS, *options))
        table.print_row(
            way,
            f"{figures['files']}",
            f"{figures['size']:.1f}",
            f"{figures['seconds'] / figures['size']:.3f}",
            f"{figures['slowest']:.2f} s",
            f"{figures['refused']}",
            f"{figures['pause'] * 1e3:.0f} ms",
        )
        print(f"  slowest: {figures['name']}; refused: {', '.join(figures['names']) or 'none'}")


def bodies(paths: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the name, media type and bytes of the files; without files, of those of packages, each type in turn."""
    if paths:
        for path in map(Path, paths):
            yield path.name, TYPES.get(path.suffix, "application/octet-stream"), path.read_bytes()
        return
    queues = [sorted(found, key=str) for found in installed_files().values()]
    size = 0
    while any(queues):
        for queue in filter(None, queues):
            path = queue.pop(0)
            content = path.read_bytes()
            if size + len(content) > TOTAL and size:
                continue
            size += len(content)
            yield path.name, TYPES[path.suffix], content


def installed_files() -> dict[str, list[Path]]:
    """Return the large text files of the installed packages, by how their names end."""
    found: dict[str, list[Path]] = {suffix: [] for suffix in TYPES}
    for folder in sys.path:
        if Path(folder).name != "site-packages":
            continue
        for path in [*Path(folder).rglob("*"), *Path(folder).parents[2].glob("share/**/*")]:
            if path.suffix in found and path.is_file() and SMALLEST <= path.stat().st_size <= LARGEST:
                found[path.suffix].append(path)
    return found


def respond(answer: httpx.Response, _: httpx.Request) -> httpx.Response:
    """Return the answer, whatever is asked."""
    return answer


def measure(way: str, paths: list[str]) -> dict[str, object]:
    """Return the figures of a way to record."""
    import toolkit as tk

    if way == "vcrpy":
        import vcr

    stopped, late = threading.Event(), [0.0]

    def tick() -> None:
        while not stopped.is_set():
            start = time.perf_counter()
            time.sleep(TICK)
            late[0] = max(late[0], time.perf_counter() - start - TICK)

    costs: list[tuple[float, int, str]] = []
    refused = []
    with tempfile.TemporaryDirectory() as folder:
        files = [("warm-up", "text/plain", b"imports"), *bodies(paths)]
        ticker = threading.Thread(target=tick, daemon=True)
        for number, (name, media_type, content) in enumerate(files):
            answer = httpx.Response(200, headers={"Content-Type": media_type}, content=content)
            inner = httpx.MockTransport(partial(respond, answer))
            path = Path(folder) / f"{number}.yaml"
            if number == 1:
                ticker.start()
            start = time.process_time()
            try:
                recording = tk.Cassette(path) if way == "toolkit" else vcr.use_cassette(str(path))
                with recording as cassette:
                    transport = cassette.transport(inner) if way == "toolkit" else inner  # vcrpy patches httpx itself
                    with httpx.Client(transport=transport) as client:
                        client.get("https://service.example/file")
            except tk.SecretLeak:
                refused.append(name)
            costs.append((time.process_time() - start, len(content), name))
        stopped.set()
        ticker.join()
    costs = costs[1:]
    slowest = max(costs)
    return {
        "files": len(costs),
        "size": sum(size for _, size, _ in costs) / 1e6,
        "seconds": sum(seconds for seconds, _, _ in costs),
        "slowest": slowest[0],
        "name": slowest[2],
        "refused": len(refused),
        "names": refused,
        "pause": late[0],
    }


if __name__ == "__main__":
    if ARGUMENTS and ARGUMENTS[0].startswith("measure="):
        print(json.dumps(measure(ARGUMENTS[0].removeprefix("measure="), ARGUMENTS[1:])))
    else:
        main()
