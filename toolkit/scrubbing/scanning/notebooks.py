"""The texts of a notebook on lines of their own, and the place of each line in the notebook.

A list of texts stands there as it is; of an object, each member is a line of JSON, so that a value stands beside its
name. The format is that of nbformat 4.
"""

from __future__ import annotations

import json
from functools import cached_property
from json.encoder import encode_basestring
from typing import Any, Final

from toolkit.core.escaping import excerpt
from toolkit.core.json_lines import Path, lines_of_values
from toolkit.scrubbing.scanning.findings import TextPlace

_LONGEST_NAME: Final = 60  # characters of a name that is shown


class Notebook:
    """The texts of a notebook.

    Args:
        file: the text of the file.

    Attributes:
        text: all texts, with an empty line between them.

    Raises:
        ValueError: if the text is not a notebook.
    """

    def __init__(self, file: str) -> None:
        document = json.loads(file)
        if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
            raise ValueError("not a notebook")  # noqa: TRY004 - one kind of error for a text that is not one
        self._file = file
        self._lines: list[tuple[str, Path]] = []
        self._read(document, ())
        self.text = "\n".join([line for line, _ in self._lines])

    def place(self, base: TextPlace, line: int) -> TextPlace:
        """Return where a line of the texts stands, given the place of the notebook."""
        _, path = self._lines[line - 1]
        cell, part = _words(path)
        while path and path not in self._lines_of_values:
            path = path[:-1]
        return TextPlace(base.line or self._lines_of_values.get(path, 1), cell, base.inside(part).part)

    @cached_property
    def _lines_of_values(self) -> dict[Path, int]:
        return lines_of_values(self._file)

    def _read(self, value: Any, path: Path) -> None:
        if isinstance(value, str):
            self._lines += [(line, path) for line in (*value.split("\n"), "")]
        elif isinstance(value, dict):
            self._read_members(value, path)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            end = "\n" if path[-1:] == ("traceback",) else ""
            paths = [(*path, at) for at, each in enumerate(value) for _ in range(f"{each}{end}".count("\n"))]
            lines = end.join(value).split("\n")
            self._lines += zip((*lines, ""), (*paths, (*path, len(value) - 1), path), strict=False)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                self._read(each, (*path, at))

    def _read_members(self, members: dict[str, Any], path: Path) -> None:
        inner = [key for key, value in members.items() if isinstance(value, dict | list) or "\n" in str(value)]
        for key, value in members.items():
            written = encode_basestring(value) if isinstance(value, str) and key not in inner else "null"
            self._lines.append((f"{{{encode_basestring(key)}: {written}}}", (*path, key)))
        if "Password" in str(members.get("_model_name")):  # what was typed into a field for passwords
            self._lines.append((f"password: {encode_basestring(str(members.get('value')))}", (*path, "value")))
        self._lines.append(("", path))
        for key in inner:
            self._read(members[key], (*path, key))


def _words(path: Path) -> tuple[int | None, str]:
    """Return the number of the cell, from 1, that a path leads to, and what it is in words."""
    if path[:1] != ("cells",) or len(path) < 3:
        return None, "widget state" if "widgets" in path[:2] else "metadata"
    names = [excerpt(name, _LONGEST_NAME) for name in path[2:] if isinstance(name, str) and name != "data"]
    first = {"outputs": "output", "attachments": "attachment"}.get(names[0], names[0])
    return int(path[1]) + 1, " ".join([first, *names[1 : 2 + (first == "attachment")]])
