from __future__ import annotations

import secrets

import nbformat
from nbclient import NotebookClient


def test_warning_is_in_the_output_of_the_cell(tmp_path):
    """In a kernel, the warning about a secret is in the output of its cell, and the output does not show the secret."""
    secret = secrets.token_urlsafe(24)
    cells = [
        "from toolkit.auth.credentials import warn_if_in_cell as check; from toolkit.core.secret import Secret",
        f"hidden = '{secret}'; check([('CLIENT_SECRET', Secret(hidden))])",
        "check([('CLIENT_SECRET', Secret(hidden))])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    texts = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]
    assert [text.count("UserWarning") for text in texts] == [0, 1, 0]
    assert secret not in texts[1]
