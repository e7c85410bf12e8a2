"""A killed recording keeps every completed interaction; `tests.benchmarks.kills` kills 200 of them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import toolkit
from tests.benchmarks import kills


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("number", range(3))
def test_killed(tmp_path, monkeypatch, number):
    """After a kill at a random instant no completed interaction is missing, here and in stock vcrpy."""
    monkeypatch.setenv("PYTHONPATH", str(Path(toolkit.__file__).parents[1]))
    delay = random.Random(number).uniform(0, 0.1)  # noqa: S311 - not a secret
    outcome = kills.record_and_kill(tmp_path, kills.MODES[number], kills.SIZES[number % 2], delay)
    assert outcome.missing == 0
