"""Recordings that are killed keep every completed interaction, in a file that stock vcrpy loads.

`python -m tests.benchmarks.kills` kills a recording process 200 times at random instants, with items of 2 kB and of
200 kB in turn, in each mode that records. The process reports each completed call before it makes the next one. Now and
then a secret becomes known that was already recorded, so that the file is rewritten. Target: no reported call is
missing, neither here nor in stock vcrpy after the file was opened here once.
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

URL = "https://service.example"
SIZES = (2_000, 200_000)  # bytes
MODES = ("once", "new_episodes", "all")
REWRITTEN = 5  # calls after which a secret becomes known
BEFORE = 3  # interactions that are in the file at the start, in modes that replay
LONGEST = 0.25  # seconds from the first call to the kill


@dataclass(frozen=True)
class Outcome:
    """The result of one killed recording.

    Attributes:
        promised: number of calls that were reported as complete.
        found: number of earlier or promised calls that are in the file opened here.
        loaded: number of those calls that stock vcrpy loads.
        missing: number of those calls that are missing here or in vcrpy.
        was_torn: True if the kill interrupted a write.
        was_rewritten: True if the kill interrupted a rewrite.
    """

    promised: int
    found: int
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
            if number % REWRITTEN == REWRITTEN - 1:
                cassette.scrubber.known.add_texts(secret(number - 1))


def write_before(path: Path) -> list[str]:
    """Write a file with stock vcrpy, which ours rewrites before adding to it; return its bodies."""
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.request import Request
    from vcr.serializers import yamlserializer

    bodies = [f"before-{number}" for number in range(BEFORE)]
    requests = [Request("GET", f"{URL}/before/{number}", None, {}) for number in range(BEFORE)]
    responses = [{"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": one}} for one in bodies]
    FilesystemPersister.save_cassette(path, {"requests": requests, "responses": responses}, yamlserializer)
    return bodies


def kill_one(folder: Path, mode: str, size: int, delay: float) -> Outcome:
    """Let a process record to an empty folder, kill it after a delay in seconds, and examine the files."""
    path, part = folder / "tour.yaml", folder / "tour.part.yaml"
    expected = [] if mode == "once" else write_before(path)
    command = [sys.executable, "-m", "tests.benchmarks.kills", str(path), mode, str(size)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TOOLKIT_OFFLINE": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        output = process.stdout.read()
    promised = output.count(b"\n")
    was_rewritten = any(file.name.startswith(".") and file.name.endswith(".part") for file in folder.iterdir())
    if mode == "all":
        assert bodies_here(path)[0] == expected  # the old recording is as it was
        expected = []
        if part.exists():
            part.replace(path)  # as the next opening says
    expected += [body(number, size) for number in range(promised)]
    here, was_torn = bodies_here(path) if path.exists() else ([], False)
    loaded = bodies_in_vcrpy(path) if path.exists() else []
    found, known = (sum(expected_body in set(bodies) for expected_body in expected) for bodies in (here, loaded))
    missing = len(expected) - min(found, known)
    return Outcome(promised, found, known, missing, was_torn, was_rewritten)


def bodies_here(path: Path) -> tuple[list[str], bool]:
    """Return the bodies in a cassette opened here, and whether its last item was torn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cassette = tk.Cassette(path, "new_episodes")
    contents = cassette._contents
    bodies = [contents.interaction(number).response.body.decode().partition(" ")[0] for number in range(len(contents))]
    return bodies, any("not written to its end" in str(warning.message) for warning in caught)


def bodies_in_vcrpy(path: Path) -> list[str]:
    """Return the bodies in a cassette as stock vcrpy loads it."""
    from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
    from vcr.serializers import yamlserializer

    try:
        _, responses = FilesystemPersister.load_cassette(path, yamlserializer)[:2]
    except CassetteNotFoundError:  # a new, empty file
        return []
    bodies = [one["body"]["string"] for one in responses]
    return [(one.decode() if isinstance(one, bytes) else one).partition(" ")[0] for one in bodies]


def main(kills: int = 200, seed: int = 4) -> None:
    """Print the figures."""
    chance = random.Random(seed)  # noqa: S311 - of when to kill
    outcomes: dict[tuple[str, int], list[Outcome]] = {}
    for number in range(kills):
        size, mode = SIZES[number % 2], MODES[number // 2 % 3]
        with tempfile.TemporaryDirectory() as folder:
            outcome = kill_one(Path(folder), mode, size, chance.uniform(0, LONGEST))
        outcomes.setdefault((mode, size), []).append(outcome)
    titles = ("kills", "torn", "rewriting", "promised", "found here", "in vcrpy", "missing")
    print(f"{'mode':14}{'item':>9}" + "".join(f"{title:>12}" for title in titles))
    total = 0
    for (mode, size), several in sorted(outcomes.items()):
        before = len(several) * (BEFORE if mode == "new_episodes" else 0)
        missing = sum(one.missing for one in several)
        total += missing
        figures = (
            len(several),
            sum(one.was_torn for one in several),
            sum(one.was_rewritten for one in several),
            before + sum(one.promised for one in several),
            sum(one.found for one in several),
            sum(one.loaded for one in several),
            missing,
        )
        print(f"{mode:14}{size // 1000:6} kB" + "".join(f"{figure:12,}" for figure in figures))
    print(f"{kills} kills, {total} completed interactions missing")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record_until_killed(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
