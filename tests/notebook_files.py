"""Notebooks written for tests, as JSON; nbformat is not needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def new_cell(number: int, source: str | tuple[str, ...]) -> dict[str, Any]:
    """Return a cell: Markdown if the source begins with "# ", else code; a tuple is a source with its tags."""
    source, *tags = source if isinstance(source, tuple) else (source,)
    cell = {"id": f"c-{number}", "metadata": {"tags": tags} if tags else {}, "source": source}
    if source.startswith("# "):
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}


def write_notebook(path: Path, *sources: str | tuple[str, ...], **metadata: Any) -> Path:
    """Write a notebook with one cell per source, and return its path."""
    cells = [new_cell(number, source) for number, source in enumerate(sources, start=1)]
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def odd_notebooks() -> dict[str, str]:
    """Return contents of files that look like notebooks but are not, by what is odd about them."""
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return {
        "half": json.dumps({**empty, "cells": [new_cell(1, "# half \ud83d emoji")]}),
        "digits": json.dumps({**empty, "metadata": {"x": 0}}).replace('"x": 0', f'"x": {"9" * 5000}'),
        "nested": json.dumps({**empty, "metadata": {"x": 0}}).replace('"x": 0', f'"x": {"[" * 2000}{"]" * 2000}'),
        "float": json.dumps({**empty, "nbformat": 4.0}),
    }


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABXvMqOgAAAABJRU5ErkJggg=="
TEXT = f"""# A *report* [x](https://a.example) & more

`code` <script>alert(1)</script>

| a | b |
|---|---|
| 1 | 2 |

> quoted

```python
import os
```

![a picture](https://evil.example/x.png) ![](data:image/png;base64,{PIXEL})"""


def notebook_with_everything() -> dict[str, Any]:
    """Return a notebook with text, code and outputs of every kind, wide ones and unsafe ones too."""
    svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/></svg>"
    table = "<table class='dataframe'><thead><tr><th></th>" + "<th>column</th>" * 30 + "</tr></thead><tr><th>0</th>"
    colours = "\x1b[31mred\x1b[0m \x1b[32mgreen\x1b[0m \x1b[33myellow\x1b[0m <b>literal</b>\n" + "wide" * 80
    code = new_cell(2, "import os  # " + "long " * 60 + "\n@property\ndef f(x): return f'{os.name}', 1, None, len(x)")
    shown = [
        {"text/html": table + "<td>1234.5</td>" * 30 + "</tr></table>", "text/plain": "plain"},
        {"image/png": PIXEL, "text/plain": "<Chart: a chart>"},
        {"image/svg+xml": svg, "text/plain": "a drawing"},
        {"application/javascript": "alert(1)", "text/plain": "no script"},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "IntSlider(value=3)"},
    ]
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": colours},
        {"output_type": "stream", "name": "stderr", "text": "a warning"},
        *({"output_type": "display_data", "metadata": {}, "data": data} for data in shown),
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: <v>"]},
    ]
    cells = [new_cell(1, TEXT), {**code, "outputs": outputs}]
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
