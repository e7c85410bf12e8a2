"""A docstring as Markdown: its sections become lists of terms, its examples become blocks of code."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import groupby
from textwrap import dedent

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields")
_HEADER = re.compile(rf"({'|'.join(SECTIONS)}):\s*\Z")
_TERM = re.compile(r"(\*{0,2}\w[\w., *]*?(?: \([^()]*(?:\[[^\]]*\])?[^()]*\))?): (.*)")


def sections(text: str) -> dict[str, str]:
    """Return the parts of a docstring from `inspect.getdoc` by the names of their sections; "" is the text itself."""
    parts: dict[str, list[str]] = {"": []}
    name = ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            name = header[1]
        elif name and line and not line.startswith(" "):
            name = ""
        if not header:
            parts.setdefault(name, []).append(line)
    return {name: dedent("\n".join(lines)).strip("\n") for name, lines in parts.items()}


def prose(text: str) -> str:
    """Return the text of a docstring as Markdown."""
    out: list[str] = []
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith(">>> "):
            code = [line]
            while lines and re.match(r"(>>>|\.\.\.)( |\Z)", lines[0]):
                code.append(lines.pop(0))
            out += ["", "```python", *(line[4:] for line in code), "```", ""]
        elif line.startswith("    "):
            code = [line]
            while lines and (lines[0].startswith("    ") or (not lines[0] and _goes_on(lines))):
                code.append(lines.pop(0))
            block = dedent("\n".join(code))
            if not out or not out[-1]:
                out += ["```python", block, "```", ""]
            else:  # below a line of text: a list of terms, or a part with a title
                is_list = _TERM.match(block) is not None
                out += ["", terms(block), ""] if is_list else ["", f"**{out.pop()}**", "", prose(block), ""]
        else:
            out.append(line)
    return "\n".join(out).strip("\n")


def _goes_on(lines: list[str]) -> bool:
    """Check whether an indented line follows the empty ones at the beginning."""
    return next((line.startswith("    ") for line in lines if line), False)


def entries(text: str) -> list[tuple[str, str]]:
    """Return the terms of a section with their texts: `name: what it is`, continued in indented lines."""
    found: list[tuple[str, list[str]]] = []
    for starts, group in groupby(text.splitlines(), key=lambda line: bool(line) and not line.startswith(" ")):
        for line in group:
            match = _TERM.match(line) if starts else None
            if match:
                found.append((match[1], [match[2]]))
            elif found:
                found[-1][1].append(line)
    return [(name, f"{lines[0]}\n{dedent(chr(10).join(lines[1:]))}".strip("\n")) for name, lines in found]


def terms(text: str, types: Mapping[str, str] | None = None, without: Collection[str] = ()) -> str:
    """Return a section as a Markdown list of terms; `types` adds to a name what it may be."""
    out = []
    for name, meaning in entries(text):
        if name in without:
            continue
        words, _, note = name.partition(" (")
        names = ", ".join(f"`{word}`" for word in re.split(r",\s*", words))
        note = note.rstrip(")") or (types or {}).get(words.lstrip("*"), "")
        body = prose(meaning).replace("\n", "\n  ")
        out.append(f"{names}{f' ({note})' if note else ''}\n: {body}\n")
    return "\n".join(out) if out else prose(text)
