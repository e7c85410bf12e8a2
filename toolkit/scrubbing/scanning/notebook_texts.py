"""The texts of a notebook: source, outputs, attachments and metadata of each cell, and the state of widgets.

The formats are those of nbformat 4 and, where cells stand in worksheets, 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from toolkit.core.escaping import excerpt
from toolkit.core.json_lines import Path
from toolkit.scrubbing.strength import is_dummy

_LONGEST_NAME: Final = 60  # characters of a name that is shown
_SOURCES: Final = frozenset({"source", "input"})
# Values without a meaning of their own, which most notebooks have.
_USUAL: Final = frozenset(
    {
        *("code", "markdown", "raw", "heading", "stdout", "stderr"),
        *("stream", "display_data", "execute_result", "error", "pyout", "pyerr"),
    }
)
_LONGEST_ID: Final = 64  # characters


class NotebookText(NamedTuple):
    """A text of a notebook.

    Attributes:
        cell: number of the cell, from 1, or None.
        part: what it is: "source", "output text/html", "widget state" and the like.
        text: the text; values that are not texts, as JSON.
        path: where its value stands in the document.
        starts: for a list of lines, the line of the text with which each begins.
        is_json: True for a value that is not a text, written as JSON.
        is_secret: True for what was typed into a field for passwords.
    """

    cell: int | None
    part: str
    text: str
    path: Path
    starts: tuple[int, ...] = ()
    is_json: bool = False
    is_secret: bool = False


def is_notebook(document: Any) -> TypeGuard[dict[str, Any]]:
    """Check whether a JSON document is a notebook."""
    return isinstance(document, dict) and (
        isinstance(document.get("cells"), list) or ("nbformat" in document and "worksheets" in document)
    )


def texts_of_notebook(document: dict[str, Any]) -> Iterator[NotebookText]:
    """Yield every text of a notebook."""
    for number, (path, cell) in enumerate(_cells(document), start=1):
        yield from _texts_of_cell(number, cell, path)
    for key, value in document.items():
        if key == "worksheets":
            for order, sheet in enumerate(_listed(value)):
                rest = (
                    {name: each for name, each in sheet.items() if name != "cells"}
                    if isinstance(sheet, dict)
                    else sheet
                )
                yield _text(None, "metadata", rest, (key, order))
        elif key == "metadata" and isinstance(value, dict):
            yield _text(None, "metadata", {name: each for name, each in value.items() if name != "widgets"}, (key,))
            yield from _texts_of_widgets(value.get("widgets"), (key, "widgets"))
        elif key != "cells":
            yield _text(None, "metadata", {key: value}, (key,))


def _cells(document: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    for order, cell in enumerate(_listed(document.get("cells"))):
        yield ("cells", order), cell
    for sheet_number, sheet in enumerate(_listed(document.get("worksheets"))):
        if isinstance(sheet, dict):
            for order, cell in enumerate(_listed(sheet.get("cells"))):
                yield ("worksheets", sheet_number, "cells", order), cell


def _texts_of_cell(number: int, cell: Any, path: Path) -> Iterator[NotebookText]:
    if not isinstance(cell, dict):
        yield _text(number, "metadata", cell, path)
        return
    for key, value in cell.items():
        place = (*path, key)
        if key in _SOURCES:
            yield _text(number, "source", value, place)
        elif key == "outputs":
            for order, output in enumerate(_listed(value)):
                yield from _texts_of_output(number, output, (*place, order))
        elif key == "attachments" and isinstance(value, dict):
            for name, content in value.items():
                yield from _texts_by_type(number, f"attachment {_shown(name)}", content, (*place, name))
        elif not _is_usual(key, value):
            yield _text(number, "metadata", {key: value} if isinstance(value, str) else value, place)


def _is_usual(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return value in _USUAL or (key == "id" and len(value) <= _LONGEST_ID)
    return not value or isinstance(value, int)


def _texts_of_output(number: int, output: Any, path: Path) -> Iterator[NotebookText]:
    if not isinstance(output, dict):
        yield _text(number, "output", output, path)
        return
    name = output.get("name", output.get("stream", "text"))  # of a stream
    for key, value in output.items():
        place = (*path, key)
        if key == "data" and isinstance(value, dict):
            yield from _texts_by_type(number, "output", value, place)
        elif key == "traceback":
            yield _text(number, "output error", value, place, between="\n")
        elif key in ("ename", "evalue"):
            yield _text(number, "output error", value, place)
        elif key == "text":
            yield _text(number, f"output {_shown(name)}", value, place)
        elif key == "metadata":
            yield _text(number, "output metadata", value, place)
        elif not _is_usual(key, value):
            yield _text(number, f"output {_shown(key)}", value, place)


def _texts_by_type(number: int, part: str, content: Any, path: Path) -> Iterator[NotebookText]:
    if not isinstance(content, dict):
        yield _text(number, part, content, path)
        return
    for media_type, value in content.items():
        yield _text(number, f"{part} {_shown(media_type)}", value, (*path, media_type))


def _texts_of_widgets(widgets: Any, path: Path) -> Iterator[NotebookText]:
    """Yield the state of each widget. What is typed into a field stands beside the field's label."""
    if not isinstance(widgets, dict):
        yield _text(None, "widget state", widgets, path)
        return
    for media_type, saved in widgets.items():
        models = saved.get("state") if isinstance(saved, dict) else None
        if not isinstance(models, dict):
            yield _text(None, "widget state", saved, (*path, media_type))
            continue
        for name, model in models.items():
            place = (*path, media_type, "state", name)
            yield _text(None, "widget state", model, place)
            yield from _typed(model, place)


def _typed(model: Any, path: Path) -> Iterator[NotebookText]:
    """Yield what was typed into a field, with the label of the field as its name."""
    state = model.get("state") if isinstance(model, dict) else None
    if not isinstance(state, dict):
        return
    label, value = state.get("description"), state.get("value")
    if not isinstance(value, str) or is_dummy(value):
        return
    path = (*path, "state", "value")
    if "Password" in f"{model.get('model_name')}{state.get('_model_name')}":
        yield NotebookText(None, "widget state", value, path, is_secret=True)
    elif isinstance(label, str) and label:
        yield NotebookText(None, "widget state", f"{label.rstrip(' :')}: {json.dumps(value)}", path)


def _text(cell: int | None, part: str, value: Any, path: Path, *, between: str = "") -> NotebookText:
    if isinstance(value, str):
        return NotebookText(cell, part, value, path)
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        starts, line = [], 1
        for each in value:
            starts.append(line)
            line += each.count("\n") + len(between)
        return NotebookText(cell, part, between.join(value), path, tuple(starts))
    written = json.dumps(value, indent=1, ensure_ascii=False) if value else ""
    return NotebookText(cell, part, written, path, is_json=bool(value))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _shown(name: Any) -> str:
    return excerpt(str(name), _LONGEST_NAME)
