"""Law 10: a sweep that is interrupted between any two steps and run again has every key once."""

from __future__ import annotations

import contextlib
import errno
import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyarrow import parquet

import toolkit as tk
from toolkit.sweeps import recorder, sweeping
from toolkit.sweeps.storage import LocalPlace

KEYS = ["a", "b", "c", "d", "e"]
# Answers whose columns and types need earlier parts to be rewritten; the last has a member called `key`.
ANSWERS = {
    "a": [{"qty": 1}, {"qty": 2}],
    "b": [],
    "c": [{"qty": 1.5}],
    "d": {"message": "no such account"},
    "e": [{"qty": 3, "key": "own"}],
}
ROWS = Counter({"a": 2, "c": 1, "e": 1})
PLACE = Path("/sweeps/numbers")


class Killed(BaseException):
    """The end of the process."""


class DiskInMemory:
    """A disk that fails at a step, and tells afterwards what a crash would have left.

    Args:
        fails_at: the step that fails, counted from 0; None for none.
        how: "full" fails with the error of a full disk, once; "killed" ends the process before the step.
        files: what is on it.
    """

    def __init__(self, fails_at=None, how="full", files=()):
        self.files = dict(files)
        self.unsynced = set()
        self.durable = dict(files)
        self.steps = 0
        self.fails_at, self.how = fails_at, how
        self.is_dead = False
        self.half_written = {}

    def step(self, half_written=None):
        if self.is_dead:
            raise Killed
        self.steps += 1
        if self.steps - 1 == self.fails_at:
            if self.how == "full":
                raise OSError(errno.ENOSPC, "No space left on device")
            self.half_written = half_written or {}
            self.is_dead = True
            raise Killed

    def make_folder(self, folder):
        self.step()

    def create(self, file, data):
        self.step({file: data[: len(data) // 2]})
        self.files[file] = data
        self.unsynced.add(file)

    def sync(self, path):
        self.step()
        self.unsynced.discard(path)
        self.durable = {file: data for file, data in self.durable.items() if file.parent != path} | {
            file: self.left(file) for file in self.files if file.parent == path
        }

    def rename(self, old, new):
        self.step()
        self.files[new] = self.files.pop(old)
        if old in self.unsynced:
            self.unsynced.remove(old)
            self.unsynced.add(new)
        else:
            self.unsynced.discard(new)

    def remove(self, file):
        self.step()
        self.files.pop(file, None)

    def left(self, file):
        """Return what a power cut leaves of a file: of one that was not synced, the first half."""
        data = self.files[file]
        return data[: len(data) // 2] if file in self.unsynced else data

    def names(self, folder):
        return [file.name for file in self.files if file.parent == folder]

    def open(self, file):
        if file not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(file))
        return io.BytesIO(self.files[file])

    def lock(self, file):
        return lambda: None


@pytest.fixture
def sweep(service, settings, make_credentials, monkeypatch):
    """Return a function that sweeps onto a disk, writing after each key; `sweep.asked` are the keys asked for."""
    monkeypatch.setattr(recorder, "SECONDS", 0.0)
    monkeypatch.setattr(recorder, "_PART_ROWS", 2)
    asked = []

    def answer(request):
        key = request.url.path[-1]
        asked.append(key)
        return service.reply(ANSWERS[key], 404 if key == "d" else 200)

    service.answer = answer
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, transport=service)

    def run(disk, keys=KEYS):
        monkeypatch.setattr(sweeping, "place_of", lambda into: LocalPlace(PLACE, disk))
        return tk.sweep(session.broker, keys, lambda key: f"/v1/{key}", into="numbers", at_once=1)

    run.asked = asked
    return run


def check(disk, result):
    """Check that the folder has every key once and reads as one dataset."""
    parts = [parquet.read_table(io.BytesIO(data)) for file, data in disk.files.items() if file.parent == PLACE]
    assert len({part.schema.remove_metadata() for part in parts}) == 1
    assert Counter(key for part in parts for key in part["sweep_key"].to_pylist()) == ROWS
    folder = result._job.folder()
    assert folder.answered == len(KEYS) - 1
    assert list(folder.failures) == ["d"]
    table = folder.table(result._order)
    assert Counter(table["sweep_key"]) == ROWS
    assert table["qty"].tolist() == [1.0, 2.0, 1.5, 3.0]


def left_by_a_crash(disk):
    """Return the files that a crash may leave: as they are, as they were synced, torn, and with half a file."""
    torn = {file: disk.left(file) for file in disk.files}
    states = [disk.files | disk.half_written, disk.files, disk.durable, torn] if disk.is_dead else [disk.files]
    return [files for number, files in enumerate(states) if files not in states[:number]]


@pytest.mark.parametrize("how", ["full", "killed"])
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_key_is_there_once_wherever_a_sweep_was_interrupted(how, sweep, data):
    """The sweep fails at any of its steps, and is run again on whatever that left."""
    undisturbed = DiskInMemory()
    sweep(undisturbed)
    assert undisturbed.steps > 15
    disk = DiskInMemory(data.draw(st.integers(0, undisturbed.steps - 1), label="step"), how)
    sweep.asked.clear()
    with contextlib.suppress(Killed, tk.SweepError):
        sweep(disk)
    first = len(sweep.asked)
    files = data.draw(st.sampled_from(left_by_a_crash(disk)), label="files")
    again = DiskInMemory(files=files)
    del sweep.asked[first:]
    check(again, sweep(again))
    assert len(sweep.asked) <= len(KEYS) + 2  # the key in flight, and the one before it
