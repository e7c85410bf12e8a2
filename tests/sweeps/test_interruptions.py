"""Law 10: a sweep that is interrupted between any two steps and run again has every key once."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyarrow import fs, parquet

import toolkit as tk
from toolkit.sweeps import running, sweeping
from toolkit.sweeps.folder import SweepPlace

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


class Killed(BaseException):
    """The end of the process."""


class FailingPlace(SweepPlace):
    """A place that fails at a step, and that no step changes afterwards.

    Args:
        folder: the folder of the parts.
        fails_at: the step that fails, counted from 0; None for none.
        how: "full" fails with the error of a full disk, once; "killed" ends the process before the step.
    """

    def __init__(self, folder, fails_at, how):
        super().__init__(fs.LocalFileSystem(), str(folder))
        self.fails_at, self.how, self.steps, self.is_dead = fails_at, how, 0, False

    def step(self):
        if self.is_dead:
            raise Killed
        self.steps += 1
        if self.steps - 1 == self.fails_at:
            if self.how == "full":
                raise OSError(28, "No space left on device")
            self.is_dead = True
            raise Killed

    def remove(self, area, name):
        self.step()
        super().remove(area, name)


@pytest.fixture
def sweep(service, settings, make_credentials, monkeypatch, tmp_path):
    """Return a function that sweeps, writing after each key; `sweep.asked` are the keys asked for."""
    monkeypatch.setattr(running, "_BATCH_KEYS", 1)
    monkeypatch.setattr(running, "_PART_ROWS", 2)
    asked = []

    def answer(request):
        key = request.url.path[-1]
        asked.append(key)
        return service.reply(ANSWERS[key], 404 if key == "d" else 200)

    service.answer = answer
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, transport=service)
    into = tmp_path / "numbers"
    replace = Path.replace

    def run(fails_at=None, how="full"):
        place = FailingPlace(into, fails_at, how)

        def replaced(partial, target):  # a step in the middle of a write: the file beside is whole, the part is not
            place.step()
            replace(partial, target)

        monkeypatch.setattr(Path, "replace", replaced)
        monkeypatch.setattr(sweeping, "place_of", lambda _: place)
        return tk.sweep(session.broker, KEYS, lambda key: f"/v1/{key}", into="numbers", at_once=1)

    run.asked, run.into = asked, into
    return run


@pytest.mark.parametrize("how", ["full", "killed"])
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_key_is_there_once_wherever_a_sweep_was_interrupted(how, sweep, data):
    """The sweep fails at any of its steps, and is run again on whatever that left."""
    for left in (sweep.into, sweep.into.with_name("numbers.sweep")):
        shutil.rmtree(left, ignore_errors=True)
    step = data.draw(st.integers(0, 12), label="step")
    sweep.asked.clear()
    with contextlib.suppress(Killed, tk.SweepError, OSError):
        sweep(step, how)
    if data.draw(st.booleans(), label="half a file is left"):
        (sweep.into.with_name("numbers.sweep") / "part-00001.parquet.part").write_bytes(b"PAR1 half")
    result = sweep()
    parts = [parquet.read_table(file) for file in sweep.into.iterdir()]
    assert len({part.schema.remove_metadata() for part in parts}) == 1
    assert Counter(key for part in parts for key in part["sweep_key"].to_pylist()) == ROWS
    assert (result.answered, result.failures()["key"].tolist()) == (len(KEYS) - 1, ["d"])
    assert result.table()["qty"].tolist() == [1.0, 2.0, 1.5, 3.0]
    assert len(sweep.asked) <= 2 * len(KEYS)
