"""The line that `progress` shows: its words, and where it appears outside of notebooks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.local.progress_lines import LoopStatus, duration_text, line_here


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (LoopStatus(50, 250, 20.0, "accounts"), "accounts: 50 of 250 in 20 s, about 80 s left"),
        (LoopStatus(1, 1200, 1.0), "1 of 1,200 in 1.0 s, about 20 min left"),
        (LoopStatus(50, None, 20.0), "50 in 20 s"),  # without a total, nothing is made up
        (LoopStatus(12, 10, 3.0), "12 in 3.0 s"),  # a wrong total is not repeated
    ],
)
def test_while_a_loop_runs_it_tells_counts_and_times(status: LoopStatus, text: str) -> None:
    """The line of a running loop tells counts and times, and estimates the rest from the pace so far."""
    assert status.running_text() == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (9000, "2.5 h"),
    ],
)
def test_durations_have_a_handy_unit(seconds: float, text: str) -> None:
    """Durations have about two significant figures and a fitting unit."""
    assert duration_text(seconds) == text


def test_without_standard_error_there_is_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no line without a standard error stream, or if it is a pipe."""
    assert line_here() is None  # pytest captures standard error
    monkeypatch.setattr(sys, "stderr", None)
    assert line_here() is None


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has pseudo-terminals")
def test_at_a_terminal_one_line_changes(tmp_path: Path) -> None:
    """At a terminal one line changes, printed text keeps its lines, and stdout in a file is left alone."""
    script = (
        "import sys, toolkit as tk\n"
        "from toolkit.local.progress import Loop\n"
        "clock = iter(range(100))\n"
        "for item in Loop(range(8), total=8, label='items', seconds=lambda: next(clock)):\n"
        "    if item == 6: print('printed')\n"
        "sys.stdout = open('out.csv', 'w')\n"
        "for item in Loop(range(3), total=3, label='rows', seconds=lambda: next(clock)): print('row', item)\n"
    )
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environ.pop("TOOLKIT_OFFLINE", None)
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=tmp_path, env=environ, stdout=theirs, stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "items: 5 of 8 in" in shown
    assert "left" in shown
    assert "printed\r\n" in shown
    assert "rows: 3 in" in shown.rsplit("\x1b[2K", 1)[1]
    assert (tmp_path / "out.csv").read_text() == "row 0\nrow 1\nrow 2\n"
