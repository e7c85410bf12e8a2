"""`progress` leaves one line in a notebook, and the stop button ends its loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

LOOP = """
import time
import toolkit as tk

with tk.practice(accounts=4) as service:
    session = tk.Session(
        credentials=service.credentials["live"], settings=service.settings, cassette={cassette!r}
    )
    for item in tk.progress(range({items}), label="calls <b>"):
        session.trading.get("/v2/account", params=dict(item=item))
        time.sleep(0.05)
"""


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)


def test_a_recorded_loop_leaves_a_line_of_text_and_a_replayed_one_nothing(tmp_path: Path) -> None:
    """A recorded loop leaves one output of plain text; a replayed loop leaves nothing."""
    cell = LOOP.format(cassette=str(tmp_path / "calls.yaml"), items=16)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for _ in range(2)])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    (output,), replayed = (cell.outputs for cell in notebook.cells)
    assert (output.output_type, set(output.data), output.metadata) == ("display_data", {"text/plain"}, {})
    assert output.data["text/plain"].startswith("calls <b>")
    assert "16/16" in output.data["text/plain"]
    assert replayed == []


def test_the_stop_button_ends_the_loop(tmp_path: Path) -> None:
    """The stop button ends `for` and `async for`, and the line says how far the loop was."""
    cell = LOOP.format(cassette=None, items=2000)
    awaiting = cell.replace("range(2000)", "ticks()").replace("    for item", "    async for item")
    awaiting = awaiting.replace("time.sleep(0.05)", "await asyncio.sleep(0.05)")
    awaiting = f"import asyncio\nasync def ticks():\n    for n in range(2000): yield n\n{awaiting}"
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        for code in (cell, awaiting):
            check_interrupt(manager, client, code)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def check_interrupt(manager: Any, client: Any, code: str) -> None:
    cell = client.execute(code)
    data: list[dict[str, str]] = []
    error = ""
    is_idle = False  # until then the kernel drops what it is asked to execute, because a cell failed
    while not (is_idle and error):
        message = client.get_iopub_msg(timeout=30)
        if message["parent_header"].get("msg_id") != cell:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind in {"display_data", "update_display_data"}:
            if not data:
                manager.interrupt_kernel()
            data.append(content["data"])
        elif kind == "error":
            error = content["ename"]
        is_idle = is_idle or content.get("execution_state") == "idle"
    assert error in {"KeyboardInterrupt", "CancelledError"}
    assert data[-1]["text/plain"].startswith("calls <b>")
