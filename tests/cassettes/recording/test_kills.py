"""A recording process that is killed leaves all that was complete; `tests.benchmarks.kills` kills more of them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import toolkit
from tests.benchmarks import kills


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("number", range(10))
def test_killed(tmp_path, monkeypatch, number):
    """Killed at a random instant, nothing that was told to be complete is missing, here and in stock vcrpy."""
    monkeypatch.setenv("PYTHONPATH", str(Path(toolkit.__file__).parents[1]))
    mode, size = kills.MODES[number % 3], kills.SIZES[number % 2]
    delay = random.Random(number).uniform(0, 0.1)  # noqa: S311 - any
    outcome = kills.kill_one(tmp_path, mode, size, delay)
    assert outcome.missing == 0
