"""Make the notebook to give away: with values replaced, and without outputs, widgets and traces of the machine."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from toolkit.sharing.publishing.replacements import Replacements
from toolkit.verification.compare import without_png_metadata
from toolkit.verification.notebooks import SKIP_TAG

# Metadata of a cell that says how to show or run it.
_KEPT_OF_CELLS: Final = frozenset({"tags", "slideshow", "jupyter", "raw_mimetype", "format"})
_KEPT_OF_JUPYTER: Final = frozenset({"source_hidden", "outputs_hidden"})
_RECORDING_MODE: Final = re.compile(r"[\"'](?:all|new_episodes)[\"']|--mode[ =]+(?:all|new_episodes)\b")
_CASSETTE: Final = re.compile(r"\bmode\b|\bCassette\(|%%cassette\b")
_OFFLINE: Final = "import toolkit as tk\n\ntk.offline()  # this copy replays its recordings; nothing is sent"
_OFFLINE_ID: Final = "replay-only"


def texts_of_notebook(content: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a notebook, each with the number of its cell from 1 and the part of the cell."""
    for number, cell in enumerate(content["cells"], start=1):
        yield number, "source", cell["source"]
        for part in ("outputs", "attachments", "metadata"):
            for text in _texts(cell.get(part)):
                yield number, part, text
    for text in _texts(content["metadata"]):
        yield 0, "metadata", text


def sources_of(content: Mapping[str, Any]) -> list[str]:
    """Return the sources of the code cells."""
    return [cell["source"] for cell in content["cells"] if cell["cell_type"] == "code"]


def copied(
    content: Mapping[str, Any], replacements: Replacements, places: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a notebook as it is given away, still without outputs; and what its author should know about it.

    A cell that the run skips keeps its outputs as far as they are text.

    Args:
        content: the notebook; it is not changed.
        replacements: the values to replace.
        places: folders of this machine, and what stands for each of them in prose.
    """
    notebook: dict[str, Any] = copy.deepcopy(dict(content))
    notes: list[str] = []
    notebook["metadata"] = {}
    used: set[str] = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        is_code = cell["cell_type"] == "code"
        if is_code:
            cell["source"] = replacements.source(cell["source"])
            cell["execution_count"] = None
            skipped = _is_skipped(cell)
            cell["outputs"] = [_output(each, replacements, places) for each in cell["outputs"]] if skipped else []
            if any(not output.get("data", True) for output in cell["outputs"]):
                notes.append(f"Cell {number} is not run; of its stored outputs, only text is given away.")
        else:
            cell["source"] = without_places(replacements.text(cell["source"]), places)
        if cell.get("attachments"):
            cell["attachments"] = {
                replacements.text(name): _attachment(data, replacements) for name, data in cell["attachments"].items()
            }
            notes.append(f"Cell {number} has an attached file. What a picture shows is not checked.")
        cell["metadata"] = _metadata(dict(cell["metadata"]), replacements.text)
        if "id" in cell:
            is_clean = replacements.text(cell["id"]) == cell["id"] and cell["id"] not in used
            cell["id"] = cell["id"] if is_clean else f"cell-{number}"
            used.add(cell["id"])
    if all(any(map(pattern.search, sources_of(notebook))) for pattern in (_RECORDING_MODE, _CASSETTE)):
        cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": _OFFLINE}
        first = next(number for number, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code")
        notebook["cells"].insert(first, {**cell, "id": _OFFLINE_ID} if notebook["nbformat_minor"] >= 5 else cell)
        notes.append(
            "The notebook may open a recording in a mode that records; a cell of its own keeps the copy offline."
        )
    return notebook, notes


def _is_skipped(cell: Mapping[str, Any]) -> bool:
    return SKIP_TAG in cell["metadata"].get("tags", ())


def _metadata(metadata: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    kept = {name: value for name, value in metadata.items() if name in _KEPT_OF_CELLS}
    if "jupyter" in kept:
        kept["jupyter"] = {name: value for name, value in dict(kept["jupyter"]).items() if name in _KEPT_OF_JUPYTER}
    return {name: value for name, value in _changed(kept, change).items() if value not in ({}, [])}


def _output(output: Mapping[str, Any], replacements: Replacements, places: Mapping[str, str]) -> dict[str, Any]:
    """Return a stored output with values replaced in its texts and without data that is not text."""
    kept = {name: value for name, value in output.items() if name != "metadata"}
    if "data" in kept:
        kept["data"] = {
            name: value
            for name, value in kept["data"].items()
            if name.startswith("text/") or (name.endswith("json") and "widget" not in name)
        }
        kept["metadata"] = {}
    changed: dict[str, Any] = without_places(_changed(kept, replacements.text), places)
    return changed


def _attachment(data: Mapping[str, Any], replacements: Replacements) -> dict[str, Any]:
    """Return an attached file with values replaced if it is text, and without metadata if it is a PNG."""
    return {
        name: _changed(value, replacements.text)
        if name.startswith("text/") or name.endswith(("json", "xml"))
        else without_png_metadata(value)
        if name == "image/png"
        else value
        for name, value in data.items()
    }


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _changed(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, change) for item in value]
    return value


def without_places(value: Any, places: Mapping[str, str]) -> Any:
    """Return a JSON value with placeholders for the folders of this machine."""
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, places))})(?!\.?[\w-])")
    return _changed(value, lambda text: pattern.sub(lambda match: places[match[0]], text)) if places else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
