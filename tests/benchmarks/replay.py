"""Compare the replay of large cassettes with stock vcrpy, from the same files.

Whole runs are in new interpreters, and the fastest of several is shown. Targets, for responses of about 0.5 KB:

- 5,000 distinct requests, opening included, take under 2 s, and no more memory than in vcrpy.
- A request whose recording is parsed, by the toolkit or by vcrpy, takes at most 1.4 times as long as with
  `httpx.MockTransport`, the same at 100 and at 10,000 interactions (growth under 1.2).
- A client of httpx2, whose requests and answers are converted, is measured beside `httpx2.MockTransport`.
- A cassette that vcrpy wrote opens no slower than in vcrpy, and replays as fast as one of the toolkit.

vcrpy compares each request with all recordings, which takes minutes for 5,000, so it is measured at 500 and 1,000.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import httpx2

import toolkit as tk
from tests.benchmarks.interactions import (
    CLIENT_ADDRESS,
    body_of,
    headers_of,
    path_of,
    write_cassette,
    write_vcrpy_cassette,
)
from tests.benchmarks.measuring import (
    ARGUMENTS,
    IS_QUICK,
    Table,
    microseconds,
    peak_memory,
    run_in_new_interpreter,
    time_in_turn,
)
from tests.benchmarks.peers import version

COUNT, ROUNDS = (20, 1) if IS_QUICK else (5_000, 3)
VCRPY_COUNTS = (5, 10) if IS_QUICK else (500, 1_000)
PARSED_COUNTS = (5, 10) if IS_QUICK else (100, 10_000)
Figures = dict[str, float]


def main() -> None:
    """Measure whole replays, and then requests whose recordings are parsed."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.yaml") for name in ("client", "session", "vcrpy")}
        run_in_new_interpreter("replay", "write", str(COUNT), *files.values())
        sizes = ", ".join(f"{name} {Path(path).stat().st_size / 1e6:.1f} MB" for name, path in files.items())
        print(f"{COUNT:,} distinct requests; cassettes: {sizes}; fastest of {ROUNDS} runs")
        table = Table("replay", "requests", "opening", "total", "processor", "memory", label_width=48)
        for label, way, name in (
            ("toolkit, any client", "client", "client"),
            ("toolkit, a session's client", "session", "session"),
            ("toolkit, vcrpy's cassette", "client", "vcrpy"),
        ):
            print_figures(table, label, COUNT, fastest(way, files[name], COUNT))
        for label, name in (("its own cassette", "vcrpy"), ("toolkit's cassette", "client")):
            for count in VCRPY_COUNTS:
                print_figures(table, f"vcrpy {version('vcrpy')}, {label}", count, fastest("vcrpy", files[name], count))
    print()
    compare_with_mock_transport()


def print_figures(table: Table, label: str, count: int, figures: Figures) -> None:
    """Print the figures of a replay."""
    times = (f"{figures[name]:.2f} s" for name in ("opening", "total", "processor"))
    table.print_row(label, f"{count:,}", *times, f"{figures['memory']:.0f} MB")


def fastest(way: str, path: str, count: int, *, rounds: int = ROUNDS) -> Figures:
    """Return the smallest of each figure over some runs."""
    runs = [json.loads(run_in_new_interpreter("replay", way, path, str(count))) for _ in range(rounds)]
    return {name: min(figures[name] for figures in runs) for name in runs[0]}


def write_cassettes(count: str, *paths: str) -> None:
    """Write a cassette of each kind, and one with a single interaction beside it, which a warm-up replays."""
    client, session, vcrpy = map(Path, paths)
    for number, as_path in ((int(count), Path), (1, warm_up_path)):
        write_cassette(as_path(client), number)
        write_cassette(as_path(session), number, is_session=True)
        write_vcrpy_cassette(as_path(vcrpy), number)


def warm_up_path(path: str | Path) -> Path:
    """Return the path of the cassette for the warm-up."""
    return Path(f"{path}-warm-up.yaml")


def request_all(get: Callable[[str], Any], count: int) -> None:
    """Make all requests, and check that each has a response."""
    for number in range(count):
        response = get(path_of(number))
        if response.status_code != 200 or len(response.content) < 400:
            raise AssertionError(number)


def measure(way: str, path: str, count: int) -> None:
    """Print, as JSON, the seconds and the MB that a replay takes, beyond imports."""
    replay(way, warm_up_path(path), 1)
    memory = peak_memory()
    figures = replay(way, Path(path), count)
    print(json.dumps({**figures, "memory": peak_memory() - memory}))


def replay(way: str, path: Path, count: int) -> Figures:
    """Replay the first requests of a cassette, and return the seconds that it takes."""
    start, processor = time.perf_counter(), time.process_time()
    if way == "client":
        cassette = tk.Cassette(path, "none")
        opening = time.perf_counter() - start
        with httpx.Client(transport=cassette.transport(), base_url=CLIENT_ADDRESS) as client:
            request_all(client.get, count)
    elif way == "session":
        session = tk.Session("broker-sandbox", cassette=path, mode="none", settings=tk.Settings({}))
        opening = time.perf_counter() - start
        request_all(session.broker.get, count)
    else:
        import vcr

        with vcr.use_cassette(str(path), record_mode="none"), httpx.Client(base_url=CLIENT_ADDRESS) as client:
            opening = time.perf_counter() - start
            request_all(client.get, count)
    return {
        "opening": opening,
        "total": time.perf_counter() - start,
        "processor": time.process_time() - processor,
    }


def compare_with_mock_transport() -> None:
    """Measure requests whose recordings are parsed, beside a `MockTransport` with the same responses."""
    table = Table("one request, parsed", "interactions", "MockTransport", "toolkit", "ratio", "growth", label_width=44)
    kinds = {"any client": "client", "a session's client": "session", "vcrpy's cassette": "vcrpy"}
    kinds["a client of httpx2"] = "httpx2"
    for label, kind in kinds.items():
        ratios: list[float] = []
        for count in PARSED_COUNTS:
            client = replaying_client(count, kind)
            library = httpx2 if kind == "httpx2" else httpx
            mock = library.Client(transport=mock_transport(library, count), base_url=str(client.base_url))
            request_all(client.get, count)
            paths = [path_of(number) for number in range(0, count, max(1, count // 100))]
            ways = {
                "mock": lambda mock=mock, paths=paths: [mock.get(path) for path in paths],
                "toolkit": lambda client=client, paths=paths: [client.get(path) for path in paths],
            }
            timings = time_in_turn(ways, rounds=41, repeats=1)
            times = [microseconds(timings.seconds[way] / len(paths)) for way in ways]
            ratios.append(timings.ratios["toolkit"])
            growth = [f"{ratios[-1] / ratios[0]:.2f}"] if len(ratios) > 1 else []
            table.print_row(label, f"{count:,}", *times, f"{ratios[-1]:.2f}", *growth)


def replaying_client(count: int, kind: str) -> Any:
    """Return a client that replays a new cassette: of any client, a session, vcrpy, or httpx2."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "parsed.yaml"
        if kind == "vcrpy":
            write_vcrpy_cassette(path, count)
        else:
            write_cassette(path, count, is_session=kind == "session")
        if kind == "session":
            return tk.Session("broker-sandbox", cassette=path, mode="none", settings=tk.Settings({})).broker
        library: Any = httpx2 if kind == "httpx2" else httpx
        return library.Client(transport=tk.Cassette(path, "none").transport(), base_url=CLIENT_ADDRESS)


def mock_transport(library: Any, count: int) -> Any:
    """Return a transport of httpx or httpx2 with the same responses as the cassettes."""
    bodies = {path_of(number): body_of(number) for number in range(count)}
    headers = {
        path: [(name.encode(), value.encode()) for name, value in headers_of(body)] for path, body in bodies.items()
    }

    def respond(request: Any) -> Any:
        path = request.url.raw_path.decode("ascii")
        return library.Response(200, headers=headers[path], stream=library.ByteStream(bodies[path]))

    return library.MockTransport(respond)


if __name__ == "__main__":
    if not ARGUMENTS:
        main()
    elif ARGUMENTS[0] == "write":
        write_cassettes(*ARGUMENTS[1:])
    else:
        measure(ARGUMENTS[0], ARGUMENTS[1], int(ARGUMENTS[2]))
