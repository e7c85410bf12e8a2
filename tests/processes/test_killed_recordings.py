"""Recordings in processes of their own, which are killed or exit: nothing that was recorded is lost or shown."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import canaries
import pytest
from echoed_cookies import journals
from recordings import recorded_bodies

import toolkit as tk
from tests.benchmarks import kills
from toolkit.cassettes.format.interactions import HEADER, encode


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("number", range(3))
def test_killed(tmp_path, monkeypatch, number):
    """After a kill at a random instant no completed interaction is missing, here and in stock vcrpy."""
    monkeypatch.setenv("PYTHONPATH", str(Path(tk.__file__).parents[1]))
    delay = random.Random(number).uniform(0, 0.1)  # noqa: S311 - not a secret
    outcome = kills.record_and_kill(tmp_path, kills.MODES[number], kills.SIZES[number % 2], delay)
    assert outcome.missing == 0


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("mode", ["once", "all"])
def test_after_a_kill(tmp_path, mode):
    """An echoed cookie, which is removed when the recording ends, is removed by the next opening after a kill."""
    path, cookie = tmp_path / "c.yaml", secrets.token_urlsafe(24)
    file = path if mode == "once" else tmp_path / "c.part.yaml"
    script = f"""
        import os, signal
        import echoed_cookies
        cassette = echoed_cookies.record({str(path)!r}, {cookie!r}, mode={mode!r})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert cookie in file.read_text()
    (journal,) = journals()
    canaries.assert_absent(journal, cookie)
    leftover = tmp_path / f".{path.name}.0123abcd.part"
    leftover.write_text(cookie)
    with pytest.warns(UserWarning, match="interrupted recording"):
        tk.Cassette(path, "once" if mode == "once" else "new_episodes")
    canaries.assert_absent(file, cookie)
    assert (journals(), leftover.exists()) == ([], False)


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
"""


@pytest.fixture
def old_recording(tmp_path, interaction):
    """Return the path of a cassette with an old recording."""
    path = tmp_path / "tour.yaml"
    path.write_bytes(HEADER + encode(interaction(body=b"old")))
    return path


def test_interpreter_exits(old_recording, python):
    """A script finishes its recording when it exits, unless it failed; a forked child leaves it to its parent."""
    assert python("-c", SCRIPT, "fail", status=1) == "True\n"
    assert recorded_bodies(old_recording) == (["old"], ["new", "new"])
    assert python("-c", SCRIPT) == "True\n"
    assert recorded_bodies(old_recording) == (["new", "new"], None)
