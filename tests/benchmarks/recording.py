"""Measure what recording one interaction costs at the 100th and at the 10,000th, beside stock vcrpy.

All make the same requests to a server on loopback, each in a new interpreter; responses have about 0.5 KB. The cost
is processor time of the client's process, so the server's is not counted. httpx alone and the toolkit run in turn.
Targets: at most 2.2 times httpx alone, growth under 1.2.

vcrpy compares every request with all recordings and writes the file when it is closed. It is run up to 2,000
interactions only, and its cost is that of the whole run, closing included.
"""

from __future__ import annotations

import http.server
import json
import statistics
import tempfile
import time
from pathlib import Path

from tests.benchmarks.interactions import body_of, headers_of, path_of
from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table, run_in_new_interpreter
from tests.benchmarks.peers import version
from tests.recordings import serve

ROUNDS = 1 if IS_QUICK else 3
PLAIN_COUNT, TOOLKIT_COUNT = (100, 200) if IS_QUICK else (1_000, 10_000)
VCRPY_COUNTS = (20, 40) if IS_QUICK else (100, 1_000, 2_000)
BLOCK = 20 if IS_QUICK else 100  # interactions that are timed together


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds with an account, and keeps the connection open."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per response

    def do_GET(self) -> None:
        body = body_of(int(self.path.split("/")[3]))
        self.send_response_only(200)
        for name, value in headers_of(body):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def main() -> None:
    """Measure httpx without recording, the toolkit, and vcrpy."""
    with serve(Handler) as server:
        address = server.url
        table = Table("processor time of one interaction", "interactions", "time", "ratio", "growth")
        shortest = shortest_times({"httpx": PLAIN_COUNT, "toolkit": TOOLKIT_COUNT}, address)
        plain, blocks = statistics.median(shortest["httpx"]), shortest["toolkit"]
        table.print_row("httpx, nothing recorded", f"{PLAIN_COUNT:,}", f"{plain:.1f} µs")
        early, late = statistics.median(blocks[1:11]), statistics.median(blocks[-10:])
        table.print_row("toolkit", "100", f"{early:.1f} µs", f"{early / plain:.2f}")
        table.print_row("toolkit", f"{TOOLKIT_COUNT:,}", f"{late:.1f} µs", f"{late / plain:.2f}", f"{late / early:.2f}")
        times: list[float] = []
        for count in VCRPY_COUNTS:
            times += shortest_times({"vcrpy": count}, address)["vcrpy"]
            growth = [f"{times[-1] / times[0]:.2f}"] if len(times) > 1 else []
            cells = f"{count:,}", f"{times[-1]:.1f} µs", f"{times[-1] / plain:.2f}"
            table.print_row(f"vcrpy {version('vcrpy')}, whole run", *cells, *growth)


def shortest_times(ways: dict[str, int], address: str) -> dict[str, list[float]]:
    """Run each way in turn, several times.

    Args:
        ways: ways to make requests, with the number of requests.
        address: of the server.

    Returns:
        The shortest times of each way, in µs per interaction: one for each block of interactions.
    """
    options = ["--quick"] if IS_QUICK else []
    runs: dict[str, list[list[float]]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, count in ways.items():
            printed = run_in_new_interpreter("recording", way, address, str(count), *options)
            runs[way].append(json.loads(printed))
    return {way: [min(times) for times in zip(*blocks, strict=True)] for way, blocks in runs.items()}


def measure(way: str, address: str, count: int) -> None:
    """Print µs per interaction as a list: one item for each block, or for vcrpy a single one for the whole run."""
    import httpx

    import toolkit as tk

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.yaml"
        if way == "vcrpy":
            import vcr

            start = time.process_time()
            with vcr.use_cassette(str(path), record_mode="once"), httpx.Client(base_url=address) as client:
                for number in range(count):
                    client.get(path_of(number))
            print(json.dumps([(time.process_time() - start) / count * 1e6]))
            return
        inner = httpx.HTTPTransport()
        transport = inner if way == "httpx" else tk.Cassette(path).transport(inner)
        times = []
        with httpx.Client(base_url=address, transport=transport) as client:
            client.get(path_of(count))
            for block in range(0, count, BLOCK):
                start = time.process_time()
                for number in range(block, block + BLOCK):
                    client.get(path_of(number))
                times.append((time.process_time() - start) / BLOCK * 1e6)
        print(json.dumps(times))


if __name__ == "__main__":
    if ARGUMENTS:
        measure(ARGUMENTS[0], ARGUMENTS[1], int(ARGUMENTS[2]))
    else:
        main()
