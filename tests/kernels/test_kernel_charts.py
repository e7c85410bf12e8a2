from __future__ import annotations

import base64

import nbformat
import pandas as pd
from nbclient import NotebookClient

from toolkit.tables.charts import balances

CELLS = [
    "import matplotlib.pyplot as plt\nplt.style.use('dark_background')",
    "from toolkit.tables.charts import balances\nimport pandas as pd",
    "chart = balances(pd.DataFrame({'id': ['a', 'b'], 'cash': [1, 2]}))\nchart",
    "display(chart, chart.title)",
]


def test_a_chart_displays_itself(tmp_path):
    """A chart is shown once, at half its dots, without matplotlib's version, whatever style and back end are set."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    (shown,), (again, title) = (cell.outputs for cell in notebook.cells[2:])
    assert title.data["text/plain"] == "'Cash by id: 2 records'"
    assert shown.data == again.data
    assert "Cash by id" in shown.data["text/plain"]
    assert shown.metadata["image/png"]["width"] > 400
    png = base64.b64decode(shown.data["image/png"])
    assert b"matplotlib" not in png.lower()
    assert png == balances(pd.DataFrame({"id": ["a", "b"], "cash": [1, 2]}))._repr_png_()
