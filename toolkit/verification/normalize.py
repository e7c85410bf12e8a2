"""Bring a notebook into its stored form, which is the same in every run and on every machine.

Each `without_...` function below removes one thing that depends on the run or on the machine.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

LABEL: Final = "toolkit"  # our key in the notebook's metadata
# Metadata that JupyterLab and other editors add to cells when they save. We never store it.
EDITOR_KEYS_OF_CELLS: Final = frozenset({"execution", "ExecuteTime", "trusted"})
_KERNELSPEC: Final = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_DIGEST: Final = 16  # hexadecimal digits
# Where a path can start: not within a word, but after an escape sequence that colours it in a traceback.
_PATH_START: Final = r"(?:(?<![\w.-])|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))"
_ADDRESS: Final = re.compile(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b")
# The code of a cell in warnings and tracebacks: ipykernel's temporary file on any system, or its name in a run here.
_CELL_CODE: Final = re.compile(
    r"(?:[A-Za-z]:\\[^\n\"<>|?*\x1b]*?|/(?:[^\s\"'<>:\x1b]*/)?)ipykernel_\d+[\\/]-?\d+\.py|(?:<|&lt;)cell \d+(?:>|&gt;)"
    r"|(?<=\()-?\d+\.py(?=, line \d+\))"  # the text of a SyntaxError has the name without its folder
)
COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_RETURN: Final = re.compile(r".*\r(?=[^\n])")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
# Text, time and Exif chunks (PNG, third edition, sections 11.3.3 and 11.3.4); none of them holds pixels.
_METADATA_CHUNKS: Final = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf"})


@dataclass(frozen=True, slots=True)
class CellResult:
    """The outputs of one code cell.

    Attributes:
        outputs: outputs in the notebook format.
        execution_count: the number of the execution; None for a cell that did not run.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    execution_count: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outputs of a whole run.

    Attributes:
        cells: results of the code cells by their position among all cells, from 0; skipped cells are missing.
        widgets: the state of the widgets in the notebook format; None if it is not stored.
    """

    cells: dict[int, CellResult]
    widgets: dict[str, Any] | None = None


def normal_form(
    stored: Mapping[str, Any], result: RunResult, *, places: Mapping[str, str], versions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the notebook with the outputs of a run, as it should be stored; skipped cells keep their outputs.

    Args:
        stored: the content of the notebook that ran.
        result: the outputs of the run.
        places: folders of this machine, and the text that replaces each of them.
        versions: versions of libraries to store with the outputs.
    """
    notebook: dict[str, Any] = copy.deepcopy(dict(stored))
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = without_times(cell["metadata"])
        if (cell_result := result.cells.get(number)) is not None:
            cell["outputs"] = [normal_output(output, places) for output in cell_result.outputs]
            cell["execution_count"] = cell_result.execution_count
    metadata = notebook["metadata"]
    metadata["kernelspec"] = dict(_KERNELSPEC)
    metadata["language_info"] = {"name": "python"}  # its other fields follow from the name or are a version
    metadata.pop("widgets", None)
    if result.widgets:
        metadata["widgets"] = without_places(result.widgets, places)
    metadata[LABEL] = {
        **as_mapping(metadata.get(LABEL)),
        "sources": source_digests(notebook["cells"]),
        "versions": dict(versions),
    }
    return notebook


def as_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Return the bytes of a notebook as Jupyter writes it."""
    import nbformat
    from nbformat.v4 import writes_json

    text: str = writes_json(nbformat.from_dict(notebook))  # type: ignore[no-untyped-call]
    return text.encode() + b"\n"


def stored_versions(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions that the outputs of a notebook were made with; empty if it names none."""
    versions = as_mapping(as_mapping(notebook["metadata"].get(LABEL)).get("versions"))
    return {name: text for name, text in versions.items() if isinstance(text, str)}


def source_digests(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return a digest of each cell's source by cell id.

    Digests show that a source changed after its outputs were stored. The outputs alone would not show it, because a run
    takes the source from the same file that it is compared with.
    """
    return {
        cell.get("id", f"cell-{number}"): hashlib.sha256(f"{cell['cell_type']}\n{cell['source']}".encode()).hexdigest()[
            :_DIGEST
        ]
        for number, cell in enumerate(cells, start=1)
    }


def normal_output(output: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return an output without memory addresses, folders of this machine and metadata of images."""
    normal: dict[str, Any] = without_addresses(without_places(output, places))
    data = normal.get("data", {})
    if isinstance(data.get("image/png"), str):
        data["image/png"] = without_png_metadata(data["image/png"])
    return normal


def comparable_outputs(outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs of a cell in one form, whichever program ran and saved them.

    Programs split streams differently, leave in what a carriage return overwrites, keep metadata of images, and have
    names of their own for the code of cells; tracebacks are coloured in more or fewer places.
    """
    result: list[dict[str, Any]] = []
    streams: dict[str, dict[str, Any]] = {}
    for output in copy.deepcopy(list(map(dict, outputs))):
        name = output["name"] if output["output_type"] == "stream" else None
        if name in streams:
            streams[name]["text"] += output["text"]
            continue
        result.append(output)
        if name is not None:
            streams[name] = output
        if "traceback" in output:
            output["traceback"] = [COLOURS.sub("", line) for line in output["traceback"]]
    for stream in streams.values():
        stream["text"] = _RETURN.sub("", stream["text"])
    if streams.keys() >= {"stderr", "stdout"}:  # the kernel sends them in any order
        at = next(number for number, output in enumerate(result) if output is streams["stderr"])
        if result[at + 1 : at + 2] == [streams["stdout"]]:
            result[at : at + 2] = [streams["stdout"], streams["stderr"]]
    plain, markup = (partial(_CELL_CODE.sub, name) for name in ("<cell>", "&lt;cell&gt;"))
    return [normal_output(_in_texts(output, plain, in_markup=markup), {}) for output in result]


def without_times(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's metadata without execution times and trust."""
    return {name: value for name, value in metadata.items() if name not in EDITOR_KEYS_OF_CELLS}


def without_places(value: Any, places: Mapping[str, str]) -> Any:
    """Return a JSON value with placeholders for the folders of this machine, for example in tracebacks.

    In HTML and XML the replacement is escaped; otherwise `<project>` would be a tag.
    """
    if not places:
        return value
    # In one pass, longest first, so that a replacement is not searched for another folder.
    pattern = re.compile(rf"{_PATH_START}(?:{'|'.join(map(re.escape, places))})(?!\.?[\w-])")
    return _in_texts(
        value,
        lambda text: pattern.sub(lambda match: places[match[0]], text),
        in_markup=lambda text: pattern.sub(lambda match: html.escape(places[match[0]]), text),
    )


def without_addresses(value: Any) -> Any:
    """Return a JSON value without memory addresses, which the default repr of objects shows: `<Styler at 0x...>`."""
    return _in_texts(value, lambda text: _ADDRESS.sub("0x...", text))


def _in_texts(value: Any, change: Callable[[str], str], *, in_markup: Callable[[str], str] | None = None) -> Any:
    """Return a JSON value with changed texts; `in_markup` changes those below a MIME type of markup."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            name: _in_texts(item, in_markup if in_markup and is_markup(name) else change, in_markup=in_markup)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_in_texts(item, change, in_markup=in_markup) for item in value]
    return value


def is_markup(mime_type: str) -> bool:
    """Return True for HTML, and for XML such as SVG."""
    return mime_type == "text/html" or mime_type.endswith("+xml")


def without_png_metadata(encoded: str) -> str:
    """Return a PNG in base64 without texts and times, where matplotlib writes its version and others the time."""
    try:
        data = base64.b64decode(encoded)
        if not data.startswith(_PNG):
            return encoded
        chunks = [chunk for kind, chunk in _chunks(data) if kind not in _METADATA_CHUNKS]
    except (ValueError, struct.error):
        return encoded
    text = base64.b64encode(_PNG + b"".join(chunks)).decode()
    return f"{text}\n" if encoded.endswith("\n") else text


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and bytes of each chunk of a PNG: length, type, content, checksum (section 5.3)."""
    at = len(_PNG)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at : at + length + 12]
        at += length + 12


def as_mapping(value: object) -> dict[str, Any]:
    """Return a copy of a mapping, or an empty dict for anything else."""
    return dict(value) if isinstance(value, Mapping) else {}
