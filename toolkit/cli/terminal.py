"""Helpers for all commands: help texts, and output as lines, tables, JSON and errors.

Everything is printed as plain text, without rich markup or control characters.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolkit.auth.credentials import can_ask
from toolkit.cassettes.catalog.facts import SUFFIXES
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.secret import Secret
from toolkit.core.text import count_text, excerpt, masked, printable
from toolkit.local.files import write_atomically
from toolkit.local.settings import is_offline

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.session.session import Session

_ENVIRONMENT_OPTION: Final = typer.Option(
    "--environment", "-e", metavar="NAME", help=f"{', '.join(list(Environment)[:-1])} or {list(Environment)[-1]}."
)
# A string, because Typer's error for an unknown environment would be less helpful than that of `Environment`.
EnvironmentOption = Annotated[str, _ENVIRONMENT_OPTION]
OptionalEnvironment = Annotated[str | None, _ENVIRONMENT_OPTION]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
# Columns of the practice service. If a table has others, its first six are shown.
_ACCOUNT_COLUMNS: Final = ("account_number", "status", "currency", "cash", "equity", "buying_power")
_CALL_COLUMNS: Final = ("when", "interface", "path", "status", "elapsed", "token")
_TOKEN_COLUMNS: Final = ("token", "issued", "expires", "remaining", "state", "calls")
_LONGEST_CELL: Final = 400  # characters
_COMMAND: Final = re.compile(
    r"(?<![\w./\\-])toolkit(?= (?:cassettes|credentials|demo|keys|lab|practice|publish|record|scan|verify)\b)"
)


def command_group(name: str, *, help: str, epilog: str | None = None) -> typer.Typer:  # noqa: A002 - as Typer calls it
    """Return a Typer app without commands, for a command group or for the whole program."""
    return typer.Typer(
        name=name,
        help=help,
        epilog=epilog,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def examples(*commands: str) -> str:
    """Return examples for the end of a command's help, one paragraph each."""
    return "\n\n".join(("Examples:", *(f"`{command}`" for command in commands)))


def program() -> str:
    """Return the command that starts the toolkit: its name or, if a shell would not find it, the path as typed."""
    typed = sys.argv[0].removesuffix(".exe")
    found = shutil.which("toolkit")
    if Path(typed).name != "toolkit" or (found and Path(found).with_suffix("") == Path(typed).absolute()):
        return "toolkit"
    return shlex.quote(typed)


def pasteable(text: str) -> str:
    """Replace `toolkit` with `program()` in commands such as `toolkit lab`, so that they are ready to paste."""
    return _COMMAND.sub(lambda _: program(), text)


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or standard error that prints text verbatim."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def say(text: str = "", style: str = "") -> None:
    """Print a line. Control characters, which a terminal would interpret, are left out."""
    console().print(printable(text), style=style)


def note(message: Warning | str, *_: object) -> None:
    """Print a note on standard error. The signature matches `warnings.showwarning`."""
    console(stderr=True).print(Text.assemble(("Note: ", "yellow"), printable(pasteable(str(message)))))


def print_error(error: ToolkitError) -> None:
    """Print what happened and what to do next on standard error."""
    what, next_step = (printable(pasteable(text)) for text in (error.what, error.next_step))
    console(stderr=True).print(Text.assemble(("Error: ", "bold red"), f"{what}\n{next_step}"))


@contextmanager
def errors_exit_with(status: int) -> Iterator[None]:
    """Print a toolkit error and exit with `status`, for a command in which status 1 has another meaning."""
    try:
        yield
    except ToolkitError as error:
        print_error(error)
        raise typer.Exit(status) from None


def check_new_name(name: str) -> None:
    """Raise an error if a new cassette is given as a path without a suffix, since it would not look like a cassette."""
    if Path(name).name != name and Path(name).suffix not in SUFFIXES:
        raise typer.BadParameter("A path needs a suffix, as in x.yaml.", param_hint="NAME")


def check_online(what: str) -> None:
    """Raise an error if TOOLKIT_OFFLINE is set; `what` is the consequence, such as "nothing is sent"."""
    if is_offline():
        what = f"TOOLKIT_OFFLINE is set, so {what}."
        raise ConfigurationError(what, "Unset it and run this again.", about="TOOLKIT_OFFLINE")


def save_report(file: Path, text: str) -> None:
    """Write a report to a file given as an option."""
    try:
        write_atomically(file, text.encode())
    except OSError as error:
        raise ConfigurationError(f"Cannot write {file}: {error.strerror}.", "Choose another file.") from None


def read_pipe() -> Secret:
    """Return the text read from standard input. Errors do not quote it."""
    if sys.stdin is None or sys.stdin.isatty():
        what = "--stdin reads a pipe, but standard input is a terminal, where typed secrets would be visible."
        raise ConfigurationError(what, "Leave --stdin out, or pipe the values in, one per line.", about="stdin")
    with suppress(UnicodeDecodeError):
        return Secret(sys.stdin.buffer.read().decode("utf-8-sig"))
    raise ConfigurationError("The piped input is not UTF-8 text.", "Pipe one value per line.", about="stdin")


@contextmanager
def status(words: str) -> Iterator[Callable[[str], None]]:
    """Show the current step in a terminal, and yield a function that changes it."""
    with console(stderr=True).status(words) as shown:
        yield lambda step: shown.update(Text(printable(step)))


def confirm(question: str, *, yes: bool, option: str = "--yes", piped: bool = False) -> None:
    """Ask a question and end the command if the answer is no. On the command line, `option` answers yes in advance.

    Raises:
        ConfigurationError: if nobody can be asked, because standard input or output is not a terminal.
    """
    if yes:
        return
    if piped or not can_ask():
        what, next_step = f"Cannot ask this here: {question}", f"Run this in a terminal, or add {option} to continue."
        raise ConfigurationError(what, next_step, about="yes")
    typer.confirm(question, abort=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, in ASCII, so that no untrusted text reaches the terminal unescaped."""
    typer.echo(json.dumps(value, indent=1, default=str))


def print_next_steps(*steps: tuple[str, str]) -> None:
    """Print suggested commands and what each one does."""
    commands = [printable(pasteable(command)) for command, _ in steps]
    width = max(map(len, commands))
    say("\nNext", "bold")
    for command, (_, effect) in zip(commands, steps, strict=True):
        console().print(Text.assemble("  ", (command.ljust(width), "cyan"), f"  {printable(effect)}"))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table whose cells wrap. A `Text` keeps its style; known secrets are removed from other cells."""
    rows = list(rows)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True)
    for at, column in enumerate(columns):
        is_number = rows and all(isinstance(row[at], int | float) for row in rows)
        table.add_column(excerpt(column, _LONGEST_CELL), overflow="fold", justify="right" if is_number else "left")
        table.columns[at].no_wrap = column == "name"
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(_cell_text(cell)) for cell in row))
    printer = console()
    if "name" in columns:  # it is copied into the next command, so it is never cut
        printer.width = max(printer.width, 60 + max((len(str(row[columns.index("name")])) for row in rows), default=0))
    printer.print(table)


def print_rows(rows: list[dict[str, Any]], columns: Sequence[str], *, as_json: bool, empty: str = "") -> None:
    """Print rows as JSON or as a table without empty columns; if the table has no rows, print `empty` instead."""
    if as_json:
        print_json(rows)
    elif not rows:
        say(empty)
    else:
        used = [name for name in columns if any(row.get(name) not in (None, "", False) for row in rows)]
        print_table(used, ([row[name] for name in used] for row in rows))


def print_frame(title: str, frame: pd.DataFrame, *, rows: int = 1_000, columns: Iterable[str] = ()) -> None:
    """Print the first rows and some columns of a DataFrame, and say how much is left out.

    By default, account columns are printed or, if the frame has none of them, the first six columns.
    """
    frame = frame.reset_index() if frame.index.name else frame
    names = [str(name) for name in columns or _ACCOUNT_COLUMNS if name in frame] or list(map(str, frame))[:6]
    shown = records(frame[names].head(rows))
    say(f"\n{masked(title)}", "bold")
    print_table(names, [list(row.values()) for row in shown])
    hidden = ((len(frame) - len(shown), "more row"), (len(frame.columns) - len(names), "more column"))
    if words := " and ".join(count_text(count, noun) for count, noun in hidden if count):
        say(f"… {words}", "dim")


def print_calls(session: Session) -> None:
    """Print the calls and the token lifetimes of a session."""
    print_frame("Calls (elapsed in seconds)", session.calls(), columns=_CALL_COLUMNS)
    tokens = session.tokens()
    if len(tokens):
        print_frame("Token lifetimes (in seconds)", tokens, columns=_TOKEN_COLUMNS)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as JSON values; missing values become None, and times become text."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", date_format="iso", date_unit="s"))
    return rows


def _cell_text(value: Any) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.2f}"
    return excerpt(str(value), _LONGEST_CELL)
