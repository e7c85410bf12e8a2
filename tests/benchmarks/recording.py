"""The cost of recording an interaction, at the 100th and at the 10,000th, for ours and for stock vcrpy.

Each run makes the same requests to a server on loopback, in a new interpreter, with responses of about 0.5 KB. The cost
is processor time of the client's process, without the server. Target: growth under 1.2.

vcrpy compares each request with all recordings and writes the file when it is closed. So it runs to 2,000 interactions
only, and its figure is the mean of the whole run, closing included.
"""

from __future__ import annotations

import http.server
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.benchmarks.interactions import body_of, headers_of, path_of
from tests.benchmarks.peers import version

ROUNDS = 3
BLOCK = 100


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with an account, on a persistent connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per response

    def do_GET(self) -> None:
        """Send the account whose number is in the path."""
        body = body_of(int(self.path.split("/")[3]))
        self.send_response_only(200)
        for name, value in headers_of(body):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def main() -> None:
    """Print the figures."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        print(f"{'processor time per interaction':34}{'at':>8}{'':>4}{'µs':>10}{'growth':>9}")
        plain = fastest("plain", address, 1_000)
        print(f"{'httpx alone':34}{1_000:8,}{'':4}{statistics.median(plain):10.1f}")
        blocks = fastest("ours", address, 10_000)
        early, late = statistics.median(blocks[1:11]), statistics.median(blocks[-10:])
        print(f"{'ours':34}{100:8,}{'':4}{early:10.1f}")
        print(f"{'ours':34}{10_000:8,}{'':4}{late:10.1f}{late / early:9.2f}", flush=True)
        if version("vcrpy") is None:
            print("vcrpy absent")
            return
        first: float | None = None
        for count in (100, 1_000, 2_000):
            (cost,) = fastest("vcrpy", address, count)
            grown = "" if first is None else f"{cost / first:9.2f}"
            print(
                f"{'vcrpy ' + str(version('vcrpy')) + ', whole run':34}{count:8,}{'':4}{cost:10.1f}{grown}", flush=True
            )
            first = first or cost
        server.shutdown()


def fastest(way: str, address: str, count: int) -> list[float]:
    """Return the smallest of each figure, in µs per interaction."""
    command = [sys.executable, "-m", "tests.benchmarks.recording", way, address, str(count)]
    runs = []
    for _ in range(ROUNDS):
        process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(process.stdout))
    return [min(figures) for figures in zip(*runs, strict=True)]


def measure(way: str, address: str, count: int) -> None:
    """Print µs per interaction: for each block of requests, or for the whole run of vcrpy."""
    import httpx

    import toolkit as tk

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.yaml"
        if way == "vcrpy":
            import vcr

            started = time.process_time()
            with vcr.use_cassette(str(path), record_mode="once"), httpx.Client(base_url=address) as client:
                for number in range(count):
                    client.get(path_of(number))
            print(json.dumps([(time.process_time() - started) / count * 1e6]))
            return
        inner = httpx.HTTPTransport()
        transport = inner if way == "plain" else tk.Cassette(path).transport(inner)
        blocks = []
        with httpx.Client(base_url=address, transport=transport) as client:
            client.get(path_of(count))
            for start in range(0, count, BLOCK):
                started = time.process_time()
                for number in range(start, start + BLOCK):
                    client.get(path_of(number))
                blocks.append((time.process_time() - started) / BLOCK * 1e6)
        print(json.dumps(blocks))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
