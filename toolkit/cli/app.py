"""The application: it assembles the commands, and `run` runs the one that was typed."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from typing import Annotated, Any

import typer

from toolkit.cli import (
    cassettes_command,
    credentials_command,
    demo,
    keys,
    lab,
    practice,
    publish,
    record,
    scan,
    terminal,
    verify,
)
from toolkit.core.errors import ToolkitError

app = typer.Typer(
    name="toolkit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Call, record, replay and tabulate a family of financial services; no secret reaches a recording.",
    epilog="Start with **toolkit demo**: it needs no network, no credentials and no configuration.",
)
# In the order in which a newcomer needs them. A command's module has its function and the examples of its help.
_START, _OWN, _SHARE = "Start here, without credentials", "Your own calls", "Check and share"
app.command(
    "demo",
    epilog=demo.EPILOG,
    rich_help_panel=_START,
    short_help="See accounts, calls and token lifetimes from a recording.",
)(demo.demo)
app.command("lab", epilog=lab.EPILOG, rich_help_panel=_START, short_help="Open the tutorials in JupyterLab.")(lab.lab)
app.command(
    "practice", epilog=practice.EPILOG, rich_help_panel=_START, short_help="Run a local service to practise with."
)(practice.practice)
app.command("record", epilog=record.EPILOG, rich_help_panel=_OWN, short_help="Record calls without their secrets.")(
    record.record
)
app.add_typer(
    credentials_command.app,
    name="credentials",
    rich_help_panel=_OWN,
    short_help="Save, list, test and remove credentials.",
)
app.add_typer(keys.app, name="keys", rich_help_panel=_OWN, short_help="Create a key pair for signed client assertions.")
app.add_typer(
    cassettes_command.app,
    name="cassettes",
    rich_help_panel=_OWN,
    short_help="List, show, check, compare and import recordings.",
)
app.command(
    "verify",
    epilog=verify.EPILOG,
    rich_help_panel=_SHARE,
    short_help="Run notebooks offline and compare their outputs.",
)(verify.verify)
app.command("scan", epilog=scan.EPILOG, rich_help_panel=_SHARE, short_help="Look for secrets in files.")(scan.scan)
app.command(
    "publish",
    epilog=publish.EPILOG,
    rich_help_panel=_SHARE,
    short_help="Make a copy of a notebook that anyone may have.",
)(publish.publish)


def _long_options(command: Any) -> Iterator[str]:
    """Yield the long options of a command and of those below it."""
    for param in command.params:
        yield from (option for option in param.opts if option.startswith("--"))
    for inner in getattr(command, "commands", {}).values():
        yield from _long_options(inner)


def run() -> None:
    """Run the command line; print an error of the toolkit in two lines and exit with status 1."""
    warnings.showwarning = terminal.print_warning  # type: ignore[assignment]
    terminal.OPTIONS.update(_long_options(typer.main.get_command(app)))
    for stream in (sys.stdout, sys.stderr):
        terminal.escape_what_is_not_encoded(stream)
    try:
        app()
    except ToolkitError as error:
        terminal.print_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe, such as head, has stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


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
    """Take the options of `toolkit` itself."""
