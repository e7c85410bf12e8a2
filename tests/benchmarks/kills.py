"""Kill recordings at random instants, and check that each keeps every completed interaction.

A process records and is killed, 200 times, with items of 2 kB and of 200 kB in turn, in each mode that records. The
process reports each completed call before it makes the next one. Now and then a secret becomes known that is already
in the recording, so that the file is rewritten. Target: no reported call is missing, neither in a cassette that is
opened here nor in stock vcrpy, which loads the file after that.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import httpx

import toolkit as tk
from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table

URL = "https://service.example"
SIZES = (2_000, 200_000)  # bytes
MODES = ("once", "new_episodes", "all")
KILLS = 6 if IS_QUICK else 200
CALLS_PER_SECRET = 5  # calls after which a secret becomes known
EARLIER_COUNT = 3  # interactions that are in the file at the start, except in mode "once"
LONGEST_DELAY = 0.25  # seconds from the first call to the kill


@dataclass(frozen=True)
class Outcome:
    """The result of one killed recording.

    Attributes:
        reported: number of calls that were reported as complete.
        opened: number of earlier or reported calls that are in the cassette opened here.
        loaded: number of those calls that stock vcrpy loads.
        missing: number of those calls that are missing here or in vcrpy.
        was_torn: True if the kill interrupted a write.
        was_rewritten: True if the kill interrupted a rewrite.
    """

    reported: int
    opened: int
    loaded: int
    missing: int
    was_torn: bool
    was_rewritten: bool


def body(number: int, size: int) -> str:
    """Return a unique body that starts with its number."""
    return f"{number}:" + random.Random(number).randbytes(size // 2).hex()[: size - 8]  # noqa: S311 - any


def secret(number: int) -> str:
    """Return the secret in the response of a call, which is not yet known when it is recorded."""
    return f"a-fake-secret-of-call-{number}"


def record_until_killed(path: str, mode: str, size: int) -> None:
    """Record call after call, and report each completed one on stdout."""

    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.path[1:])
        return httpx.Response(200, text=f"{body(number, size)} {secret(number)}")

    cassette = tk.Cassette(path, mode)
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)), base_url=URL) as client:
        os.write(1, b"ready\n")
        for number in range(1_000_000):
            client.get(f"/{number}").raise_for_status()
            os.write(1, b"%d\n" % number)
            if number % CALLS_PER_SECRET == CALLS_PER_SECRET - 1:
                cassette.scrubber.known.add_texts(secret(number - 1))


def write_earlier(path: Path) -> list[str]:
    """Write a file with stock vcrpy, which a recording rewrites before it adds to it; return its bodies."""
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.request import Request
    from vcr.serializers import yamlserializer

    status = {"code": 200, "message": "OK"}
    bodies = [f"earlier-{number}" for number in range(EARLIER_COUNT)]
    requests = [Request("GET", f"{URL}/earlier/{number}", None, {}) for number in range(EARLIER_COUNT)]
    responses = [{"status": status, "headers": {}, "body": {"string": body}} for body in bodies]
    FilesystemPersister.save_cassette(path, {"requests": requests, "responses": responses}, yamlserializer)
    return bodies


def record_and_kill(folder: Path, mode: str, size: int, delay: float) -> Outcome:
    """Let a process record to an empty folder, kill it after a delay in seconds, and examine the files."""
    path, part = folder / "tour.yaml", folder / "tour.part.yaml"
    expected = [] if mode == "once" else write_earlier(path)
    command = [sys.executable, "-m", "tests.benchmarks.kills", str(path), mode, str(size)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TOOLKIT_OFFLINE": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        output = process.stdout.read()
    reported = output.count(b"\n")
    was_rewritten = any(file.name.startswith(".") and file.name.endswith(".part") for file in folder.iterdir())
    if mode == "all":
        assert open_bodies(path)[0] == expected  # the old recording is unchanged
        expected = []
        if part.exists():
            part.replace(path)  # as the warning at the next opening advises
    expected += [body(number, size) for number in range(reported)]
    bodies, was_torn = open_bodies(path) if path.exists() else ([], False)
    vcrpy_bodies = load_bodies_with_vcrpy(path) if path.exists() else []
    opened, loaded = (len(set(expected) & set(found)) for found in (bodies, vcrpy_bodies))
    return Outcome(reported, opened, loaded, len(expected) - min(opened, loaded), was_torn, was_rewritten)


def open_bodies(path: Path) -> tuple[list[str], bool]:
    """Open a cassette here; return the bodies in it, and True if its last item was torn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cassette = tk.Cassette(path, "new_episodes")
    contents = cassette.contents
    bodies = [contents.interaction(number).response.body.decode().partition(" ")[0] for number in range(len(contents))]
    return bodies, any("incomplete interaction" in str(warning.message) for warning in caught)


def load_bodies_with_vcrpy(path: Path) -> list[str]:
    """Load a cassette with stock vcrpy, and return the bodies in it."""
    from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
    from vcr.serializers import yamlserializer

    try:
        _, responses = FilesystemPersister.load_cassette(path, yamlserializer)[:2]
    except CassetteNotFoundError:  # a new, empty file
        return []
    bodies = [response["body"]["string"] for response in responses]
    return [(body.decode() if isinstance(body, bytes) else body).partition(" ")[0] for body in bodies]


def main() -> None:
    """Kill recordings, and print what is left of them; exit with status 1 if an interaction is missing."""
    chance = random.Random(4)  # noqa: S311 - the same delays in every run
    outcomes: dict[tuple[str, int], list[Outcome]] = {}
    for number in range(KILLS):
        size, mode = SIZES[number % 2], MODES[number // 2 % 3]
        with tempfile.TemporaryDirectory() as folder:
            outcome = record_and_kill(Path(folder), mode, size, chance.uniform(0, LONGEST_DELAY))
        outcomes.setdefault((mode, size), []).append(outcome)
    headings = ("kills", "torn", "rewriting", "complete", "opened here", "loaded by vcrpy", "missing")
    table = Table("mode, size of an item", *headings, label_width=24)
    for (mode, size), group in sorted(outcomes.items()):
        earlier = len(group) * EARLIER_COUNT if mode == "new_episodes" else 0
        counts = (
            len(group),
            sum(outcome.was_torn for outcome in group),
            sum(outcome.was_rewritten for outcome in group),
            earlier + sum(outcome.reported for outcome in group),
            sum(outcome.opened for outcome in group),
            sum(outcome.loaded for outcome in group),
            sum(outcome.missing for outcome in group),
        )
        table.print_row(f"{mode}, {size // 1000} kB", *(f"{count:,}" for count in counts))
    missing = sum(outcome.missing for group in outcomes.values() for outcome in group)
    print(f"{KILLS} kills, {missing} completed interactions missing")
    sys.exit(bool(missing))


if __name__ == "__main__":
    if ARGUMENTS:
        record_until_killed(ARGUMENTS[0], ARGUMENTS[1], int(ARGUMENTS[2]))
    else:
        main()
