"""The form in which a notebook is stored: what its run gave, without what is Jupyter's or this machine's own.

Each function below takes one thing that would differ from run to run or from machine to machine, and says why.
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
from typing import Any, Final

LABEL: Final = "toolkit"  # in the notebook's metadata
_KERNELSPEC: Final = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_DIGEST: Final = 16  # hexadecimal digits
# Where a path can begin: not within a word, but after the colour that a traceback gives it.
_BEGINS: Final = r"(?:(?<![\w.-])|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))"
_ADDRESS: Final = re.compile(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
# Text, time and Exif chunks (PNG, third edition, sections 11.3.3 and 11.3.4); none of them is the picture.
_REMARKS: Final = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf"})


@dataclass(frozen=True, slots=True)
class CellResult:
    """What one code cell gave.

    Attributes:
        outputs: as the notebook format has them.
        execution_count: the number of the run; None for a cell that did not run.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    execution_count: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run gave.

    Attributes:
        cells: of the code cells, by their place among all cells, from 0; without those that were told not to run.
        widgets: the state of the widgets, as the notebook format has it; None when it is not kept.
    """

    cells: dict[int, CellResult]
    widgets: dict[str, Any] | None = None


def normal_form(
    stored: Mapping[str, Any], result: RunResult, *, places: Mapping[str, str], versions: Mapping[str, str]
) -> dict[str, Any]:
    """The notebook with what its run gave, as it should be stored; a cell told not to run keeps what it has.

    Args:
        stored: the content of the notebook that ran.
        places: folders, and what stands for them.
        versions: of libraries, to be stored with the outputs.
    """
    notebook: dict[str, Any] = copy.deepcopy(dict(stored))
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = without_times(cell["metadata"])
        if (given := result.cells.get(number)) is not None:
            cell["outputs"] = [normal_output(output, places) for output in given.outputs]
            cell["execution_count"] = given.execution_count
    metadata = notebook["metadata"]
    metadata["kernelspec"] = dict(_KERNELSPEC)
    metadata["language_info"] = language_without_version()
    metadata.pop("widgets", None)
    if result.widgets:
        metadata["widgets"] = without_places(result.widgets, places)
    metadata[LABEL] = {
        **_mapping(metadata.get(LABEL)),
        "sources": source_digests(notebook["cells"]),
        "versions": dict(versions),
    }
    return notebook


def as_bytes(notebook: Mapping[str, Any]) -> bytes:
    """A notebook as Jupyter writes it."""
    import nbformat  # an extra, and slow to load
    from nbformat.v4 import writes_json  # likewise

    text: str = writes_json(nbformat.from_dict(notebook))  # type: ignore[no-untyped-call]
    return text.encode() + b"\n"


def stored_versions(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Versions that the outputs of a notebook were made with; empty when it names none."""
    found = _mapping(_mapping(notebook["metadata"].get(LABEL)).get("versions"))
    return {name: text for name, text in found.items() if isinstance(text, str)}


def source_digests(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A digest of each cell's source, by its id, to tell a source that changed after its outputs were made.

    The outputs alone would not tell: a run takes the source from the very file it is compared with.
    """
    return {
        cell.get("id", f"cell-{number}"): hashlib.sha256(f"{cell['cell_type']}\n{cell['source']}".encode()).hexdigest()[
            :_DIGEST
        ]
        for number, cell in enumerate(cells, start=1)
    }


def normal_output(output: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """An output without what is this machine's."""
    normal: dict[str, Any] = without_addresses(without_places(output, places))
    data = normal.get("data", {})
    if isinstance(data.get("image/png"), str):
        data["image/png"] = without_remarks(data["image/png"])
    return normal


def without_times(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A cell's metadata without when it ran and whether this machine's owner trusts it."""
    return {name: value for name, value in metadata.items() if name not in {"execution", "ExecuteTime", "trusted"}}


def language_without_version() -> dict[str, str]:
    """The kernel's language by name; the rest of what it says is Python's version and follows from the name."""
    return {"name": "python"}


def without_places(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value whose texts name no folder of this machine, such as where libraries lie, in tracebacks.

    In HTML and XML what stands for a folder is escaped, or `<project>` would be taken for a tag.
    """
    if not places:
        return value
    # In one go, longest first, so that what stands for one folder is not searched for another.
    pattern = re.compile(rf"{_BEGINS}(?:{'|'.join(map(re.escape, places))})(?![\w.-])")
    return _in_texts(
        value,
        lambda text: pattern.sub(lambda found: places[found[0]], text),
        in_markup=lambda text: pattern.sub(lambda found: html.escape(places[found[0]]), text),
    )


def without_addresses(value: Any) -> Any:
    """A JSON value whose texts hold no memory address, as the default repr of objects does: `<Styler at 0x...>`."""
    return _in_texts(value, lambda text: _ADDRESS.sub("0x...", text))


def _in_texts(value: Any, change: Callable[[str], str], *, in_markup: Callable[[str], str] | None = None) -> Any:
    """A JSON value with its texts changed: by `in_markup`, if given, those below the MIME type of a markup."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            name: _in_texts(each, in_markup if in_markup and _is_markup(name) else change, in_markup=in_markup)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_in_texts(each, change, in_markup=in_markup) for each in value]
    return value


def _is_markup(form: str) -> bool:
    return form == "text/html" or form.endswith("+xml")


def without_remarks(encoded: str) -> str:
    """A PNG, in base64, without texts and times: matplotlib writes its version there, others the hour."""
    try:
        data = base64.b64decode(encoded)
        if not data.startswith(_PNG):
            return encoded
        kept = [chunk for kind, chunk in _chunks(data) if kind not in _REMARKS]
    except (ValueError, struct.error):
        return encoded
    return _as_jupyter_encodes(_PNG + b"".join(kept), like=encoded)


def _as_jupyter_encodes(data: bytes, *, like: str) -> str:
    text = base64.b64encode(data).decode()
    return f"{text}\n" if like.endswith("\n") else text


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and bytes of each chunk of a PNG: length, kind, content, checksum (section 5.3)."""
    at = len(_PNG)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at : at + length + 12]
        at += length + 12


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
