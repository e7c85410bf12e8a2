"""Replay of large cassettes with ours, stock vcrpy and cassetter, from the same files.

Each run is in a new interpreter, in turn; the fastest of several counts. Targets, for responses of about 0.5 KB: 5,000
distinct requests, opening included, under 2 s; once parsed, at most 1.5 times httpx.MockTransport per request, equal at
100 and at 10,000 interactions (growth under 1.2); memory no more than vcrpy's; a cassette that vcrpy wrote opens at
least as fast as in vcrpy, and replays as fast as ours.

vcrpy compares each request with all recordings, which takes minutes for 5,000. It is measured at 500 and 1,000, and
extrapolated to 5,000, unless `--full` is given. cassetter has another format; it replays the vcrpy file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.interactions import PLAIN, body_of, headers_of, path_of, write_foreign, write_ours
from tests.benchmarks.pairs import in_turn
from tests.benchmarks.peers import version
from tests.benchmarks.tables import peak

COUNT = 5_000
ROUNDS = 3


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.yaml") for name in ("ours", "session", "foreign")}
        run("make", str(COUNT), *files.values())
        sizes = ", ".join(f"{name} {Path(path).stat().st_size / 1e6:.1f} MB" for name, path in files.items())
        print(f"{COUNT:,} distinct requests, opening included ({sizes}); fastest of {ROUNDS} runs")
        print(f"{'':40}{'open':>9}{'wall':>10}{'processor':>11}{'memory':>10}")
        ours = [
            ("ours, Cassette.transport()", "ours", files["ours"]),
            ("ours, a session's client", "session", files["session"]),
            ("ours, a file that vcrpy wrote", "ours", files["foreign"]),
            ("ours, that file, a second time round", "again", files["foreign"]),
            ("ours, our file, a second time round", "again", files["ours"]),
        ]
        for label, way, path in ours:
            show(label, fastest(way, path, COUNT))
        for package, way in (("vcrpy", "vcrpy"), ("cassetter", "cassetter")):
            found = version(package)
            if found is None:
                print(f"{package} absent")
                continue
            whose = [("its own file", "foreign")] + ([("our file", "ours")] if package == "vcrpy" else [])
            for label, name in whose:
                replayed(f"{package} {found}, {label}", way, files[name])
    print()
    once_parsed()


def replayed(label: str, way: str, path: str) -> None:
    """Print the figures of a peer, extrapolated if measuring them would take minutes."""
    if way != "vcrpy" or "--full" in sys.argv:
        show(label, fastest(way, path, COUNT, rounds=1 if way == "vcrpy" else ROUNDS))
        return
    few, more = (fastest(way, path, count, rounds=1) for count in (500, 1_000))
    show(f"{label}: 500 of them", few)
    show(f"{label}: 1,000", more)
    # The time per request grows with the number of recordings: n requests take a n + b n², apart from opening.
    figures = {}
    for kind in ("wall", "processor"):
        one, other = few[kind] - few["open"], more[kind] - more["open"]
        square = max(0.0, (other - 2 * one) / (1_000**2 - 2 * 500**2))
        figures[kind] = more["open"] + square * COUNT**2 + (one - square * 500**2) / 500 * COUNT
    show(f"{label}: {COUNT:,}, extrapolated", {**more, **figures})


def show(label: str, figures: dict[str, float]) -> None:
    """Print one line."""
    print(
        f"{label:40}{figures['open']:7.2f} s{figures['wall']:8.2f} s{figures['processor']:9.2f} s"
        f"{figures['memory']:7.0f} MB",
        flush=True,
    )


def fastest(way: str, path: str, count: int, *, rounds: int = ROUNDS) -> dict[str, float]:
    """Return the smallest of each figure."""
    runs = [json.loads(run(way, path, str(count))) for _ in range(rounds)]
    return {name: min(one[name] for one in runs) for name in runs[0]}


def run(*arguments: str) -> str:
    """Return the output of this module, run in a new interpreter."""
    command = [sys.executable, "-m", "tests.benchmarks.replay", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def make(count: str, ours: str, session: str, foreign: str) -> None:
    """Write the files."""
    write_ours(Path(ours), int(count))
    write_ours(Path(session), int(count), is_session=True)
    write_foreign(Path(foreign), int(count))


def ask(get: Callable[[str], Any], count: int) -> None:
    """Make all requests."""
    for number in range(count):
        response = get(path_of(number))
        if response.status_code != 200 or len(response.content) < 400:
            raise AssertionError(number)


def measure(way: str, path: str, count: int) -> None:
    """Print the seconds and MB of a replay, without its imports."""
    import httpx
    import vcr
    import yaml  # noqa: F401

    import toolkit as tk
    from toolkit.cassettes.format import yaml_text  # noqa: F401

    httpx.Client().close()
    tk.Session(
        "broker-sandbox", tk.ClientSecret("id", "x" * 20, environment="broker-sandbox"), settings=tk.Settings({})
    )
    figures: dict[str, float] = {}
    memory, started, processor = peak(), time.perf_counter(), time.process_time()

    def opened() -> None:
        figures["open"] = time.perf_counter() - started

    if way in ("ours", "again"):
        cassette = tk.Cassette(Path(path), "none")
        opened()
        with httpx.Client(transport=cassette.transport(), base_url=PLAIN) as client:
            ask(client.get, count)
            if way == "again":
                started, processor = time.perf_counter(), time.process_time()
                ask(client.get, count)
    elif way == "session":
        session = tk.Session("broker-sandbox", cassette=Path(path), mode="none", settings=tk.Settings({}))
        opened()
        ask(session.broker.get, count)
    elif way == "vcrpy":
        context = vcr.use_cassette(path, record_mode="none")
        with context, httpx.Client(base_url=PLAIN) as client:
            opened()
            ask(client.get, count)
    else:
        from cassetter import use_cassette

        with use_cassette(path, record_mode="none"), httpx.Client(base_url=PLAIN) as client:
            opened()
            ask(client.get, count)
    figures |= {"wall": time.perf_counter() - started, "processor": time.process_time() - processor}
    print(json.dumps({**figures, "memory": peak() - memory}))


def once_parsed() -> None:
    """Print the time per request once items are parsed, and that of httpx.MockTransport with the same responses."""
    import httpx

    import toolkit as tk

    print(
        f"{'once parsed, per request':32}{'interactions':>14}{'MockTransport':>15}{'ours':>12}{'ratio':>8}{'growth':>8}"
    )
    for label, is_session in (("Cassette.transport()", False), ("a session's client", True)):
        growth: float | None = None
        for count in (100, 10_000):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "ours.yaml"
                write_ours(path, count, is_session=is_session)
                if is_session:
                    session = tk.Session("broker-sandbox", cassette=path, mode="none", settings=tk.Settings({}))
                    client = session.broker
                else:
                    client = httpx.Client(transport=tk.Cassette(path, "none").transport(), base_url=PLAIN)
            answers = {path_of(number): body_of(number) for number in range(count)}
            headers = {
                path: [(name.encode(), value.encode()) for name, value in headers_of(body)]
                for path, body in answers.items()
            }

            def answer(request: httpx.Request) -> httpx.Response:
                asked = request.url.raw_path.decode("ascii")
                return httpx.Response(200, headers=headers[asked], stream=httpx.ByteStream(answers[asked]))  # noqa: B023

            mock = httpx.Client(transport=httpx.MockTransport(answer), base_url=str(client.base_url))
            ask(client.get, count)
            step = max(1, count // 100)
            paths = [path_of(number) for number in range(0, count, step)]
            ways = {
                "mock": lambda mock=mock, paths=paths: [mock.get(path) for path in paths],
                "ours": lambda client=client, paths=paths: [client.get(path) for path in paths],
            }
            figures = in_turn(ways, rounds=41, repeats=1)
            took = {name: seconds / len(paths) * 1e6 for name, seconds in figures.seconds.items()}
            ratio = figures.ratios["ours"]
            grown = "" if growth is None else f"{ratio / growth:8.2f}"
            print(f"{label:32}{count:14,}{took['mock']:12.1f} µs{took['ours']:9.1f} µs{ratio:8.2f}{grown}", flush=True)
            growth = ratio


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not arguments:
        main()
    elif arguments[0] == "make":
        make(*arguments[1:])
    else:
        measure(arguments[0], arguments[1], int(arguments[2]))
