"""Search all that is about to be given away for the values that were replaced, and for secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from toolkit.cassettes.format import contents
from toolkit.core.errors import SecretLeak
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scanning import scan_files
from toolkit.sharing.publishing.copied_cassettes import texts_of
from toolkit.sharing.publishing.copied_notebook import texts_of_notebook
from toolkit.sharing.publishing.replacements import Replacements

_PIECE: Final = 1 << 20  # bytes that the gate checks at once
_OVERLAP: Final = 1 << 14
_REPLACED: Final = "a value that the rules replace"
_ADVICE: Final = (
    "Nothing was written. Remove it from the notebook or the recording, or name its field under [scrubbing] in "
    "toolkit.toml."
)


def check_files(files: Mapping[str, bytes], known: KnownSecrets, replacements: Replacements) -> None:
    """Refuse files that hold a secret or a value that was replaced: in any encoding, and in any form people write.

    Raises:
        SecretLeak: if a file holds one, or cannot be checked; names the file, and for notebooks the cell.
    """
    for name, data in files.items():
        check_name(name, replacements)
        if name.endswith(".ipynb"):
            _check_notebook(name, data, known, replacements)
            continue
        if name.endswith((".yaml", ".yml", ".json")):
            _check_cassette(name, data, replacements)
        elif not name.endswith((".html", ".htm")) and replacements.holds(data.decode("utf-8", "replace")):
            raise _leak(name, _REPLACED)
        _check_bytes(name, data, known)


def check_name(name: str, replacements: Replacements) -> None:
    """Refuse a name of a file that holds a value that was replaced."""
    if replacements.holds(name):
        suffix = Path(name).suffix
        raise _leak(f"The name of the {suffix or 'folder'} {'file' if suffix else ''}".strip(), _REPLACED)


def check_with_scan(folder: Path) -> None:
    """Refuse a folder in which a scan finds something that looks like a secret.

    Raises:
        SecretLeak: if it does; names file, place and kind of the first findings.
    """
    findings = scan_files(folder, settings=Settings(project=folder))
    if findings:
        first = findings[0]
        cell = getattr(first, "cell", None)
        where = f"{first.path.relative_to(folder).as_posix()}, {f'cell {cell}' if cell else f'line {first.line}'}"
        more = f" {len(findings)} places look like this." if len(findings) > 1 else ""
        raise _leak(where, f"what looks like a secret ({first.kind})", more)


def _check_notebook(name: str, data: bytes, known: KnownSecrets, replacements: Replacements) -> None:
    content: dict[str, Any] = json.loads(data)
    for cell in content["cells"]:
        cell["source"] = _joined(cell["source"])
    for number, part, text in texts_of_notebook(content):
        place = f"{name}, cell {number}, {part}" if number else f"{name}, metadata"
        if replacements.holds(text):
            raise _leak(place, _REPLACED)
    for number, cell in enumerate(content.pop("cells"), start=1):
        _check_bytes(f"{name}, cell {number}", json.dumps(cell, ensure_ascii=False).encode(), known)
    _check_bytes(f"{name}, metadata", json.dumps(content, ensure_ascii=False).encode(), known)


def _check_cassette(name: str, data: bytes, replacements: Replacements) -> None:
    opened = contents.read(data, source=name)
    for number in range(len(opened)):
        place = f"{name}, interaction {number + 1}"
        recorded = opened.interaction(number)
        if any(map(replacements.holds, texts_of([recorded]))):
            raise _leak(place, _REPLACED)


def _check_bytes(name: str, data: bytes, known: KnownSecrets) -> None:
    for start in range(0, max(1, len(data)), _PIECE):
        try:
            known.check(data[start : start + _PIECE + _OVERLAP], where=name)
        except SecretLeak as error:
            raise error.reworded(error.what, _ADVICE) from None


def _leak(where: str, what: str, more: str = "") -> SecretLeak:
    return SecretLeak(f"{where} holds {what}.{more}", _ADVICE, about="notebook")


def _joined(source: str | Iterable[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
