"""A normal form for outputs, the same in every run and on every machine, and the differences between two such forms.

The stored outputs and the new run's outputs are both converted to this form, and then compared exactly.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
import json
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# Where a path can start: not within a word, but after an escape sequence that colours it in a traceback.
_PATH_START: Final = r"(?:(?<![\w.-])|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))"
_ADDRESS: Final = re.compile(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b")
# The code of a cell in warnings and tracebacks: ipykernel's temporary file on any system.
_CELL_CODE: Final = re.compile(
    r"(?:[A-Za-z]:\\[^\n\"<>|?*\x1b]*?|/(?:[^\s\"'<>:\x1b]*/)?)ipykernel_\d+[\\/]-?\d+\.py|(?:<|&lt;)cell \d+(?:>|&gt;)"
    r"|(?<=\()-?\d+\.py(?=, line \d+\))"  # a SyntaxError has the name without its folder
)
_OVERWRITTEN: Final = re.compile(r".*\r(?=[^\n])")
_TAG: Final = re.compile(r"<[^<>]*>")
# pandas names a styled table and its cells at random; row and column numbers may follow the name.
_STYLED: Final = re.compile(r"(?<=[#\"])T_[0-9a-f]{5}(?=[_\"\s{])")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
# Text, time and Exif chunks (PNG, third edition, sections 11.3.3 and 11.3.4); none of them has pixels.
_METADATA_CHUNKS: Final = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf"})
_WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell's place: its position among all cells, counted from 1, and the first line of its source."""

    number: int
    first_line: str

    def __str__(self) -> str:
        return f"cell {self.number} ({self.first_line})" if self.first_line else f"cell {self.number}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell whose outputs differ from the stored ones.

    `diff` has the lines of a unified diff, not escaped: "-" marks stored lines and "+" marks new ones. Images and
    markup are shown by size and digest, and markup also as text.
    """

    cell: CellPlace
    diff: tuple[str, ...]


def normal_form(cells: Sequence[Mapping[str, Any]], places: Mapping[str, str]) -> list[list[dict[str, Any]]]:
    """Return each cell's outputs in normal form; a Markdown cell has no outputs.

    Everything that depends on the run, the machine or the program that ran and saved the notebook is removed: execution
    counts, memory addresses, folders, the names of ipykernel's temporary files, widgets and styled tables, and the
    texts and times in PNG images. Printed text becomes one output per stream, as a terminal shows it. `places` maps
    this machine's folders to the strings that replace them, longest first.
    """
    folders = re.compile(rf"{_PATH_START}(?:{'|'.join(map(re.escape, places))})(?!\.?[\w-])")
    widgets: dict[str, str] = {}
    tables: dict[str, str] = {}

    def change(text: str) -> str:
        text = _CELL_CODE.sub("[cell]", text)
        text = folders.sub(lambda match: places[match[0]], text) if places else text
        text = _STYLED.sub(lambda match: tables.setdefault(match[0], f"T_{len(tables):05x}"), text)
        return _ADDRESS.sub("0x...", text)

    def normal(output: dict[str, Any]) -> dict[str, Any]:
        output = with_texts(output, change)
        if "execution_count" in output:
            output["execution_count"] = None
        data = output.get("data", {})
        if "image/png" in data:
            data["image/png"] = without_png_metadata(data["image/png"])
        if view := data.get(_WIDGET_VIEW):
            view["model_id"] = widgets.setdefault(view["model_id"], f"widget-{len(widgets) + 1}")
        return output

    return [[normal(output) for output in _joined(cell.get("outputs", ()))] for cell in cells]


def differences(
    cells: Sequence[Mapping[str, Any]], stored: Sequence[list[dict[str, Any]]], new: Sequence[list[dict[str, Any]]]
) -> tuple[Difference, ...]:
    """Return the differences between two normal forms of the cells' outputs, one for each cell that differs."""
    result = []
    for number, (before, after) in enumerate(zip(stored, new, strict=True)):
        if _json(before) != _json(after):
            _, _, *lines = difflib.unified_diff(list(_lines(before)), list(_lines(after)), lineterm="", n=1)
            shown = tuple(line for line in lines if not line.startswith("@@"))
            result.append(Difference(cell_place(cells, number), shown))
    return tuple(result)


def cell_place(cells: Sequence[Mapping[str, Any]], number: int) -> CellPlace:
    """Return the place of the cell at a position, counted from 0."""
    lines = [line.strip() for line in cells[number]["source"].splitlines() if line.strip()]
    return CellPlace(number + 1, lines[0][:60] if lines else "")


def places_of(project: Path, *, home: Path, temporary: Path) -> dict[str, str]:
    """Return the kernel's and the user's folders that can appear in outputs, with their placeholders, longest first."""
    places = {
        sys.prefix: "[python]",
        sysconfig.get_path("stdlib"): "[python]",
        sysconfig.get_path("purelib"): "[packages]",
        str(project): "[project]",
        **dict.fromkeys((str(temporary), tempfile.gettempdir()), "[temporary]"),
        **dict.fromkeys((str(home), str(Path.home())), "~"),
    }
    places |= {os.path.realpath(folder): text for folder, text in places.items()}
    own = f"{Path.home()}{os.sep}"  # IPython abbreviates it to "~" in the folders below it
    places |= {f"~{os.sep}{path.removeprefix(own)}": text for path, text in places.items() if path.startswith(own)}
    specific = {path: text for path, text in places.items() if len(Path(path).parts) > 1}
    return dict(sorted(specific.items(), key=lambda item: -len(item[0])))


def _joined(outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a cell's outputs, one per stream, stdout first, because the kernel sends streams in any order."""
    joined: dict[Any, dict[str, Any]] = {}
    for number, output in enumerate(outputs):
        name = output.get("name", number)  # only streams have a name
        text = {"text": joined.get(name, {}).get("text", "") + output["text"]} if "text" in output else {}
        joined[name] = {**output, **text}
    result = list(joined.values())
    for stream in result:
        if "text" in stream:
            stream["text"] = _OVERWRITTEN.sub("", stream["text"])
    for at in range(len(result) - 1):
        if [result[at].get("name"), result[at + 1].get("name")] == ["stderr", "stdout"]:
            result[at : at + 2] = [result[at + 1], result[at]]
    return result


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with `change` applied to its strings, but not to member names."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: with_texts(item, change) for name, item in value.items()}
    return [with_texts(item, change) for item in value] if isinstance(value, list) else value


def without_png_metadata(encoded: str) -> str:
    """Return a PNG in base64 without its texts and times, such as the matplotlib version."""
    try:
        data = base64.b64decode(encoded)
    except ValueError:
        return encoded
    kept, at = data[: len(_PNG)], len(_PNG)
    while at < len(data):  # length, type, content and checksum (section 5.3)
        end = at + 12 + int.from_bytes(data[at : at + 4])
        kept += data[at:end] if data[at + 4 : at + 8] not in _METADATA_CHUNKS else b""
        at = end
    return base64.b64encode(kept).decode() if data.startswith(_PNG) else encoded


def _lines(outputs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a cell's outputs as lines to compare; any change in the outputs changes a line."""
    for number, output in enumerate(outputs, start=1):
        rest = {name: value for name, value in output.items() if name not in ("data", "text", "traceback")}
        yield f"[output {number}] {_json(rest)}"
        yield from output.get("text", "").split("\n")
        yield from "\n".join(output.get("traceback", ())).split("\n")
        for name, value in sorted(output.get("data", {}).items(), reverse=True):  # text/plain before text/html
            text = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
            if name == "text/html" or name.endswith("+xml"):
                yield from filter(str.strip, html.unescape(_TAG.sub("\n", text)).splitlines())
            elif name.startswith("text/") or not isinstance(value, str):
                yield from text.split("\n")
                continue
            yield f"[{name}: {len(text):,} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}]"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
