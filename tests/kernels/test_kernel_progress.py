"""`progress` leaves one line in a notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
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
