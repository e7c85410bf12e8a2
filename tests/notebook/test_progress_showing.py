"""Where progress is shown: what a saved notebook holds of it, and what a terminal shows."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from toolkit.notebook.progress import here

LOOP = """
import time
import toolkit as tk

with tk.practice(accounts=4) as service:
    session = tk.Session(
        credentials=service.credentials["live"], settings=service.settings, cassette={cassette!r}, mode={mode!r}
    )
    for item in tk.progress(range({items}), label="calls <b>"):
        session.trading.get("/v2/account", params=dict(item=item))
        time.sleep(0.05)
"""
LIVE = LOOP.format(cassette=None, mode=None, items=24)


def run(cells: list[str], folder: Path) -> list[Any]:
    """The outputs of each cell after a run of all, as they would be saved."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a running kernel, and its manager."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_saved_notebook_holds_a_line_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Live calls: one output, without HTML and without a widget, once the loop is through."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    ((output,),) = run([LIVE], tmp_path)
    assert output.output_type == "display_data"
    assert set(output.data) == {"text/plain"}
    assert output.data["text/plain"].startswith("calls <b>: 24 in ")
    assert output.metadata == {}


def test_recorded_then_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that records shows how far it is; the one that replays shows nothing, however slow."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    cell = LOOP.format(cassette=str(tmp_path / "calls.yaml"), mode="once", items=16)
    recorded, replayed = run([cell, cell], tmp_path)
    assert [output.output_type for output in recorded] == ["display_data"]
    assert replayed == []


@pytest.mark.parametrize("is_async", [False, True])
def test_stop_button(kernel: Any, is_async: bool) -> None:
    """An interrupt ends the loop within a moment, and the line says how far it was."""
    manager, client = kernel
    cell = LOOP.format(cassette=None, mode=None, items=2000)
    if is_async:
        cell = cell.replace("range(2000)", "ticks()").replace("    for item", "    async for item")
        cell = cell.replace("time.sleep(0.05)", "await asyncio.sleep(0.05)")
        cell = f"import asyncio\nasync def ticks():\n    for n in range(2000): yield n\n{cell}"
    client.execute(cell)
    data: list[dict[str, str]] = []
    error = ""
    while not (error and data[-1]["text/plain"].startswith("calls <b>: stopped after ")):
        message = client.get_iopub_msg(timeout=30)
        kind, content = message["msg_type"], message["content"]
        if kind in {"display_data", "update_display_data"}:
            if not data:
                manager.interrupt_kernel()
            data.append(content["data"])
        elif kind == "error":
            error = content["ename"]
    assert error in {"KeyboardInterrupt", "CancelledError"}
    assert "text/html" in data[0]
    assert "<b>" not in data[0]["text/html"]
    assert set(data[-1]) == {"text/plain"}


def test_a_long_search_shows_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scan` of many files is long work, too."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    for number in range(60):
        (tmp_path / f"{number}.json").write_text(json.dumps([f"some text {n}" for n in range(99)]), encoding="utf-8")
    cell = "import toolkit as tk\nfrom toolkit.notebook.progress import loop\nloop._SHORT = loop._PACE = 0\n"
    ((output, _),) = run([f"{cell}tk.scan({str(tmp_path)!r}, secrets='an-invented-secret')"], tmp_path)
    assert output.data["text/plain"].startswith("files: 60 in ")


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is made as POSIX has them")
def test_at_a_terminal(tmp_path: Path) -> None:
    """One line that changes; what is printed meanwhile keeps lines of its own."""
    script = (
        "import time, toolkit as tk\n"
        "for item in tk.progress(range(8), label='items'):\n"
        "    time.sleep(0.2)\n"
        "    if item == 6: print('printed')\n"
    )
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environ.pop("TOOLKIT_OFFLINE", None)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environ, stdout=theirs, stderr=theirs, check=True, timeout=60
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "items: 5 of 8 in" in shown
    assert "left" in shown
    assert "printed\r\n" in shown
    assert shown.rsplit("\x1b[2K", 1)[1].startswith("items: ")


def test_nowhere_in_a_pipe(tmp_path: Path) -> None:
    """A script whose output is kept shows none of it."""
    script = "import time, toolkit as tk\nfor item in tk.progress(range(4)): time.sleep(0.3)\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=True, timeout=60, text=True
    )
    assert done.stdout == done.stderr == ""


def test_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program without a console on Windows."""
    monkeypatch.setattr(sys, "stderr", None)
    assert here() is None


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is made as POSIX has them")
def test_what_is_printed_goes_where_it_went(tmp_path: Path) -> None:
    """With standard output in a file: all lines are in it, also those that were printed meanwhile."""
    script = "import time, toolkit as tk\nfor item in tk.progress(range(8)):\n    time.sleep(0.2); print('row', item)\n"
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm"}
    environ.pop("TOOLKIT_OFFLINE", None)
    command = [sys.executable, "-c", script]
    with (tmp_path / "out.csv").open("w") as out:
        subprocess.run(command, cwd=tmp_path, env=environ, stdout=out, stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert (tmp_path / "out.csv").read_text() == "".join(f"row {number}\n" for number in range(8))
    assert "8 in 1." in shown
