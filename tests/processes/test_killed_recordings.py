"""Recordings in processes of their own, which are killed or exit: nothing that was recorded is lost or shown."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from recordings import recorded_bodies

import toolkit as tk
from tests.benchmarks import kills


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("number", range(3))
def test_killed(tmp_path, monkeypatch, number):
    """After a kill at a random instant no completed interaction is missing, here and in stock vcrpy."""
    monkeypatch.setenv("PYTHONPATH", str(Path(tk.__file__).parents[1]))
    delay = random.Random(number).uniform(0, 0.1)  # noqa: S311 - not a secret
    outcome = kills.record_and_kill(tmp_path, kills.MODES[number], kills.SIZES[number % 2], delay)
    assert outcome.missing == 0


SCRIPT = """
import os
import sys
import httpx
import toolkit as tk

os.environ["XDG_CACHE_HOME"] = "/dev/null/none"
cassette = tk.Cassette("./tour.yaml", "all")
answer = httpx.MockTransport(lambda request: httpx.Response(200, content=b"new"))
client = httpx.Client(transport=cassette.transport(answer))
client.get("https://h.example/")
if hasattr(os, "fork"):
    if os.fork() == 0:
        sys.exit()
    os.wait()
print(os.path.exists("tour.part.yaml"))
client.get("https://h.example/more")
if len(sys.argv) > 1:
    raise ValueError
os.dup2(1, 2)  # nothing may be printed at the exit
"""


def test_interpreter_exits(old_recording, python):
    """A script finishes its recording when it exits, unless it failed; a forked child leaves it to its parent."""
    assert python("-c", SCRIPT, "fail", status=1) == "True\n"
    assert recorded_bodies(old_recording) == (["old"], ["new", "new"])
    assert python("-c", SCRIPT) == "True\n"
    assert recorded_bodies(old_recording) == (["new", "new"], None)
