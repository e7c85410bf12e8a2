"""`toolkit publish`: make a copy of a notebook to share."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt

EXAMPLES: Final = terminal.examples(
    "toolkit publish notebooks/report.ipynb -o report.zip",
    "toolkit publish notebooks/report.ipynb -o report.html --no-code -p client=9ab3",
)


def publish(
    notebook: Annotated[Path, typer.Argument(help="The notebook to publish.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder, a file that ends in .zip, or a page that ends in .html.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier publication.")] = False,
    parameters: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="Set a notebook parameter, as papermill does."),
    ] = None,
    code: Annotated[bool, typer.Option("--code/--no-code", help="Show the code on a page, or leave it out.")] = True,
    timeout: Annotated[float, typer.Option(min=1, help="Time limit for each cell, in seconds.")] = 120.0,
) -> None:
    """Make a copy of a notebook to share.

    The copy includes the recorded calls that it replays. The rules under `[scrubbing]` in `toolkit.toml` are applied to
    them again, and the same values are replaced in the notebook's text and code. Then the copy runs offline, so that
    its outputs come from its own recordings, and the whole copy is searched for secrets and for the replaced values. If
    anything is found, the copy is discarded.

    Recordings of real accounts (`live`, `broker-live`) are refused unless `toolkit.toml` sets `pseudonyms` under
    `[scrubbing]`, or sets `publish = "as is"`. **This runs the notebook's code**, without a network.
    """
    from toolkit.sharing.publish import publish as make_copy  # slow to load

    values = dict(map(_parameter, parameters or ()))
    with terminal.status("Publishing") as watch:
        copy = make_copy(notebook, output, replace=replace, parameters=values, code=code, timeout=timeout, watch=watch)
    terminal.say(str(copy))


def _parameter(text: str) -> tuple[str, Any]:
    """Return a parameter's name and value: a Python value for a number, True, False or None, otherwise a string."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"{excerpt(text, 40)} is not a parameter.", "Write NAME=VALUE.", about="parameters")
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
    return name, literal if str(literal) == value else value  # a value such as 007 stays text
