"""`toolkit publish`: make a copy of a notebook to give away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from toolkit.cli import terminal
from toolkit.core.text import count_text

EXAMPLES: Final = terminal.examples(
    "toolkit publish notebooks/report.ipynb -o report.zip",
    "toolkit publish notebooks/report.ipynb -o report.html --replace",
)


def publish(
    notebook: Annotated[Path, typer.Argument(help="The notebook.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder, a file that ends in .zip, or a page that ends in .html.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier publication.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a cell may take.")] = 120.0,
) -> None:
    """Make a copy of a notebook that anyone may have.

    The recordings that it plays come along. The rules under `[scrubbing]` in `toolkit.toml` are applied anew to those
    recordings, and the same values are replaced in the notebook's texts and code. Then the copy runs offline, so that
    its outputs come from its own recordings, and all of it is searched for secrets and for what was replaced. If
    anything is found, nothing is left.

    Recordings of real accounts (`live`, `broker-live`) are refused until the rules name `pseudonyms`, or
    `toolkit.toml` says `publish = "as is"`. **This runs the code of the notebook**, without a network.
    """
    from toolkit.sharing.publishing.publish import publish as make_copy  # slow to load

    with terminal.status("Publishing") as watch:
        copy = make_copy(notebook, output, replace=replace, timeout=timeout, watch=watch)
    terminal.say(f"{copy.path}\n", "bold")
    terminal.print_table(("file", "bytes"), copy.sizes.items())
    terminal.say(f"\n{count_text(copy.replaced, 'value')} replaced. None of them is in the copy, and no known secret.")
    for note in copy.notes:
        terminal.note(note)
    if copy.command:
        terminal.print_next_steps((copy.command, "run it, in its folder"))
