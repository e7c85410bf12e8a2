"""The command line as Markdown: a section for each command, from its help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def commands() -> str:
    """Return a section for each command of the command line, from its help."""
    from typer.main import get_command

    from toolkit.cli.app import app

    return "\n\n".join(_command_sections(get_command(app), "toolkit", None))


def _command_sections(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name, parent=parent)
    yield _command_text(command, context)
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            yield from _command_sections(inner, inner.name, context)


def json_reports() -> str:
    """Return what the help of each command says about the JSON that it prints, one section each."""
    sections = re.split(r"^## `(.*?)`$", commands(), flags=re.MULTILINE)
    said = {
        name: re.search(r"JSON (?:is|has) .*?(?=\n\n)", text, re.DOTALL)
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    return "\n\n".join(f"## `{name}`\n\n{match[0]}" for name, match in said.items() if match)


def _command_text(command: Any, context: Any) -> str:
    path = context.command_path
    out = [f"## `{path}`", "", inspect.cleandoc(command.help or ""), ""]
    out += ["```text", f"{path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
    records = [param.get_help_record(context) for param in command.get_params(context) if param.name != "help"]
    for names, about in filter(None, records):
        text = re.sub(r"\s+", " ", about).replace("[", "\\[").strip() or "No further text."
        out += [f"`{names}`", f": {text}", ""]
    inner = [f"`{path} {name}`" for name, below in getattr(command, "commands", {}).items() if not below.hidden]
    if inner:
        out += [f"Commands: {', '.join(inner)}."]
    return "\n".join([*out, "", _examples(inspect.cleandoc(command.epilog or ""))])


def _examples(epilog: str) -> str:
    """Return the end of a help text: its examples as a block to copy, anything else unchanged."""
    lines = [line for line in epilog.splitlines() if line]
    if lines[:1] != ["Examples:"]:
        return epilog
    return "\n".join(["```sh", *(line.strip("`") for line in lines[1:]), "```"])
