"""The application: it assembles the commands, and `run` runs the one that was typed."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.metadata import version
from typing import Annotated

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
from toolkit.cli.application import Application
from toolkit.cli.programs import program
from toolkit.core.errors import ToolkitError

app = Application(
    name="toolkit",
    help="Call, record, replay and tabulate a family of financial services; no secret reaches a recording.",
    epilog="Start with **toolkit demo**: it needs no network, no credentials and no configuration.",
)
# In the order in which a newcomer needs them. A command's module has its function and the examples of its help.
_START, _OWN, _SHARE = "Start here, without credentials", "Your own calls", "Check and share"
for _name, _function, _examples, _panel, _summary in (
    ("demo", demo.demo, demo.EPILOG, _START, "See accounts, calls and token lifetimes from a recording."),
    ("lab", lab.lab, lab.EPILOG, _START, "Open the tutorials in JupyterLab."),
    ("practice", practice.practice, practice.EPILOG, _START, "Run a local service to practise with."),
    ("record", record.record, record.EPILOG, _OWN, "Record calls without their secrets."),
    ("verify", verify.verify, verify.EPILOG, _SHARE, "Run notebooks offline and compare their outputs."),
    ("scan", scan.scan, scan.EPILOG, _SHARE, "Look for secrets in files."),
    ("publish", publish.publish, publish.EPILOG, _SHARE, "Make a copy of a notebook that anyone may have."),
):
    app.add(_name, _function, summary=_summary, examples=_examples, panel=_panel)
for _name, _group, _summary in (
    ("credentials", credentials_command.app, "Save, list, test and remove credentials."),
    ("keys", keys.app, "Create a key pair for signed client assertions."),
    ("cassettes", cassettes_command.app, "List, show, check, compare and import recordings."),
):
    app.add_typer(_group, name=_name, rich_help_panel=_OWN, short_help=_summary)


def run() -> None:
    """Run the command line; print an error of the toolkit in two lines and exit with status 1."""
    warnings.showwarning = terminal.print_warning  # type: ignore[assignment]
    for stream in (sys.stdout, sys.stderr):
        terminal.escape_what_is_not_encoded(stream)
    try:
        app(prog_name=program())
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
