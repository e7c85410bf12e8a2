"""The application: assembles the commands, and runs the one that was typed (`run`)."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from toolkit.cli import (
    cassettes_command,
    credentials_command,
    demo,
    keys_command,
    lab,
    practice,
    publish,
    record,
    scan,
    terminal,
    verify,
)
from toolkit.core.errors import ToolkitError

_START, _OWN, _SHARE = "Start here, without credentials", "Your own calls", "Check and share"

app = terminal.command_group(
    "toolkit",
    help="Call a family of financial services, and record, replay and tabulate responses. No secret is recorded.",
    epilog="Start with **toolkit demo**: it needs no network, no credentials and no configuration.",
)
# In the order in which a newcomer needs them.
app.command(epilog=demo.EXAMPLES, rich_help_panel=_START)(demo.demo)
app.command(epilog=lab.EXAMPLES, rich_help_panel=_START)(lab.lab)
app.command(epilog=practice.EXAMPLES, rich_help_panel=_START)(practice.practice)
app.command(epilog=record.EXAMPLES, rich_help_panel=_OWN)(record.record)
app.add_typer(credentials_command.app, rich_help_panel=_OWN)
app.add_typer(keys_command.app, rich_help_panel=_OWN)
app.add_typer(cassettes_command.app, rich_help_panel=_OWN)
app.command(epilog=verify.EXAMPLES, rich_help_panel=_SHARE)(verify.verify)
app.command(epilog=scan.EXAMPLES, rich_help_panel=_SHARE)(scan.scan)
app.command(epilog=publish.EXAMPLES, rich_help_panel=_SHARE)(publish.publish)


def run() -> None:
    """Run the command line. A toolkit error is printed in two lines and ends the program with status 1."""
    warnings.showwarning = terminal.note  # type: ignore[assignment]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # on Windows, a pipe uses the locale encoding, which may lack `…`
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=terminal.program())
    except ToolkitError as error:
        terminal.print_error(error)
        sys.exit(1)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"service-access-toolkit {version('service-access-toolkit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options of `toolkit` itself."""
