"""The reference: the parts of its pages that come from the code, and the section that inline code links to."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from command_help import commands, json_reports
from public_names import api

PAGES = Path(__file__).resolve().parents[1] / "reference"
_GENERATED = re.compile(r"<!-- (api|commands|json):? ?([^>]*?) ?-->\n.*?<!-- end -->", re.DOTALL)


def filled(text: str) -> str:
    """Return a page with its generated parts: what is between `<!-- api: NAMES -->` and `<!-- end -->`."""
    writers = {"api": api, "commands": commands, "json": json_reports}
    return _GENERATED.sub(lambda part: writers[part[1]](*part[2].split()), text)


def names_in(text: str) -> list[str]:
    """Return the public names that a page describes."""
    return [name for kind, names in _GENERATED.findall(text) if kind == "api" for name in names.split()]


@cache
def _sections() -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """Return the page and the heading of each public name, and of each command."""
    found = {}
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        found |= {name: (page.stem, name) for name in names_in(text)}
        if page.stem == "errors":
            found |= {name: (page.stem, name) for name in re.findall(r"^## `(\w+)`$", text, re.MULTILINE)}
    headings = re.findall(r"^## `(toolkit .*)`$", commands(), re.MULTILINE)
    return found, {heading: ("command-line", heading) for heading in headings}


def section_of(code: str) -> tuple[str, str] | None:
    """Return the page of the reference and the heading that inline code links to, or None.

    `tk.Session("paper")` links to Session, `toolkit scan . --json` to the command, `CassetteMiss` to the error.
    """
    names, headings = _sections()
    name = re.match(r"tk\.(\w+)|([A-Z]\w+)\Z", code)
    if name:
        return names.get(name[1] or name[2])
    words = re.match(r"toolkit( [a-z]+)*", code)
    command = words[0] if words else ""
    while command and command not in headings:
        command = command.rpartition(" ")[0]
    return headings.get(command)
