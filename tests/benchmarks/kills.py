"""What is left of a recording that is killed: all that was complete, in a file that stock vcrpy loads.

`python -m tests.benchmarks.kills` kills a recording process 200 times at random instants, in turn with items of
2 kB and of 200 kB and in each mode that records. The process tells of each call that is complete before it makes
the next one; now and then it learns that what it recorded held a secret, so that the file is rewritten.
Target: none of those is missing, neither here nor in stock vcrpy after one opening here.
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
BEFORE = 3  # interactions in the file beforehand, where the mode takes one that is there
LONGEST = 0.25  # seconds from the first call to the kill


@dataclass(frozen=True)
class Outcome:
    """What became of one recording.

    Attributes:
        promised: calls that were told to be complete.
        found: of the calls that were there before or promised, those that are in the file opened here.
        loaded: those that stock vcrpy loads.
        missing: how many of them are not in both.
        was_torn: whether the kill had hit the midst of a write.
        was_rewritten: whether it had hit the midst of rewriting.
    """

    promised: int
    found: int
    loaded: int
    missing: int
    was_torn: bool
    was_rewritten: bool


def body(number: int, size: int) -> str:
    """A body that tells its number and differs from all others."""
    return f"{number}:" + random.Random(number).randbytes(size // 2).hex()[: size - 8]  # noqa: S311 - any


def secret(number: int) -> str:
    """What stands behind a body, and is not known to be a secret when it is recorded."""
    return f"a-fake-secret-of-call-{number}"


def record_until_killed(path: str, mode: str, size: int) -> None:
    """Record call after call, and tell of each that is complete."""

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
    """A file that stock vcrpy wrote, which is rewritten when it is added to; the bodies in it."""
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.request import Request
    from vcr.serializers import yamlserializer

    bodies = [f"before-{number}" for number in range(BEFORE)]
    requests = [Request("GET", f"{URL}/before/{number}", None, {}) for number in range(BEFORE)]
    responses = [{"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": one}} for one in bodies]
    FilesystemPersister.save_cassette(path, {"requests": requests, "responses": responses}, yamlserializer)
    return bodies


def kill_one(folder: Path, mode: str, size: int, delay: float) -> Outcome:
    """Have a process record into an empty folder, kill it after a delay in seconds, and look at what is there."""
    path, part = folder / "tour.yaml", folder / "tour.part.yaml"
    expected = [] if mode == "once" else write_before(path)
    command = [sys.executable, "-m", "tests.benchmarks.kills", str(path), mode, str(size)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TOOLKIT_OFFLINE": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        told = process.stdout.read()
    promised = told.count(b"\n")
    was_rewritten = any(file.name.startswith(".") and file.name.endswith(".part") for file in folder.iterdir())
    if mode == "all":
        assert bodies_here(path)[0] == expected  # the old recording is as it was
        expected = []
        if part.exists():
            part.replace(path)  # as the next opening says
    expected += [body(number, size) for number in range(promised)]
    here, was_torn = bodies_here(path) if path.exists() else ([], False)
    loaded = bodies_in_vcrpy(path) if path.exists() else []
    missing = max(sum(one not in there for one in expected) for there in (set(here), set(loaded)))
    found, known = (sum(one in set(there) for one in expected) for there in (here, loaded))
    return Outcome(promised, found, known, missing, was_torn, was_rewritten)


def bodies_here(path: Path) -> tuple[list[str], bool]:
    """Bodies in a cassette as it is opened here, and whether it had a torn tail."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cassette = tk.Cassette(path, "new_episodes")
    held = cassette._contents
    bodies = [held.interaction(number).response.body.decode().partition(" ")[0] for number in range(len(held))]
    return bodies, any("not written to its end" in str(one.message) for one in caught)


def bodies_in_vcrpy(path: Path) -> list[str]:
    """Bodies in a cassette as stock vcrpy loads it."""
    from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
    from vcr.serializers import yamlserializer

    try:
        _, responses = FilesystemPersister.load_cassette(path, yamlserializer)[:2]
    except CassetteNotFoundError:  # an empty file, just made
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
