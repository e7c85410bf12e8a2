"""What all commands share: how they are described, and how they print lines, tables, JSON and errors.

Everything is printed as plain text, without rich's markup and without control characters.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolkit.auth.profiles.prompt import can_ask
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.shells import shell_word
from toolkit.core.text import count_text, excerpt, printable
from toolkit.local.variables import is_offline
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

ENVIRONMENTS: Final = f"{', '.join(list(Environment)[:-1])} or {list(Environment)[-1]}"
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
# Columns of the practice service. Another service may have other columns; they are then shown in its own order.
_ACCOUNT_COLUMNS: Final = ("account_number", "status", "currency", "cash", "equity", "buying_power")
_CALL_COLUMNS: Final = ("call", "when", "interface", "path", "status", "elapsed", "token")
_TOKEN_COLUMNS: Final = ("token", "issued", "expires", "lifetime", "remaining", "state", "calls")
_LONGEST_CELL: Final = 40  # characters
_MISSING_VALUES: Final = frozenset({"None", "nan", "NaT", "<NA>"})
_COMMAND: Final = re.compile(
    r"(?<![\w./\\-])toolkit(?= (?:cassettes|credentials|demo|keys|lab|practice|publish|record|scan|verify)\b)"
)


def command_group(name: str, *, help: str, epilog: str | None = None) -> typer.Typer:  # noqa: A002 - as Typer calls it
    """Return an empty group of commands, or all of them."""
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


def environment_option(about: str) -> Any:
    """Return the option that names an environment, for the annotation of an argument; `about` is its help."""
    return typer.Option("--environment", "-e", metavar="NAME", help=about)


def examples(*commands: str) -> str:
    """Return examples for the end of a command's help, one paragraph each."""
    return "\n\n".join(("Examples:", *(f"`{command}`" for command in commands)))


def program() -> str:
    """Return what to type to start the toolkit: its name, or its path as it was typed if a shell would not find it."""
    typed = sys.argv[0].removesuffix(".exe")
    found = shutil.which("toolkit")
    if Path(typed).name != "toolkit" or (found and Path(found).with_suffix("") == Path(typed).absolute()):
        return "toolkit"
    return shell_word(typed)


def pasteable(text: str) -> str:
    """Return a text in which commands such as `toolkit lab` start with what to type to start the toolkit."""
    return _COMMAND.sub(lambda _: program(), text)


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output, or standard error, that prints text as it is."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def say(text: str = "", style: str = "") -> None:
    """Print a line. Control characters, which a terminal would obey, are left out."""
    console().print(printable(text), style=style)


def note(message: Warning | str, *_: object) -> None:
    """Print a note on standard error; the signature is that of `warnings.showwarning`."""
    console(stderr=True).print(Text.assemble(("Note: ", "yellow"), printable(pasteable(str(message)))))


def print_error(error: ToolkitError) -> None:
    """Print what happened and what to do next on standard error."""
    what, next_step = (printable(pasteable(text)) for text in (error.what, error.next_step))
    console(stderr=True).print(Text.assemble(("Error: ", "bold red"), f"{what}\n{next_step}"))


@contextmanager
def errors_exit_with(status: int) -> Iterator[None]:
    """Print an error of the toolkit and exit with a status, in a command whose status 1 has a meaning of its own."""
    try:
        yield
    except ToolkitError as error:
        print_error(error)
        raise typer.Exit(status) from None


def check_online(what: str) -> None:
    """Refuse to go on while TOOLKIT_OFFLINE is set.

    Args:
        what: what does not happen, such as "nothing is sent".
    """
    if is_offline():
        raise ConfigurationError(
            f"TOOLKIT_OFFLINE is set, so {what}.", "Unset it and run this again.", about="TOOLKIT_OFFLINE"
        )


def confirm(question: str, *, yes: bool, piped: bool = False) -> None:
    """Ask a question; go on only if the answer is yes.

    Args:
        question: the question.
        yes: True to go on without asking.
        piped: True if standard input has values, so that nobody can answer.

    Raises:
        ConfigurationError: if nobody can be asked.
    """
    if yes:
        return
    if piped or not can_ask():
        raise ConfigurationError(
            f"Nobody can answer the question: {question}",
            "Run this in a terminal, or add --yes if the answer is yes.",
            about="yes",
        )
    typer.confirm(question, abort=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, in ASCII, so that no text from outside reaches the terminal raw."""
    typer.echo(json.dumps(value, indent=1, default=str))


def print_caller(session: Session) -> None:
    """Print the environment of a session, and the profile that its credentials come from."""
    rules, caller = session.environment.rules, session.credentials
    account = f"a {rules.holder}{' - a real account' if rules.real_account else ''}"
    profile = f", with the profile {caller.name} ({caller.loaded_from})" if caller and caller.loaded_from else ""
    say(f"{session.environment}: {account}{profile}")


def print_next_steps(*steps: tuple[str, str]) -> None:
    """Print suggestions: commands, and what each of them does."""
    commands = [printable(pasteable(command)) for command, _ in steps]
    width = max(map(len, commands))
    say("\nNext", "bold")
    for command, (_, effect) in zip(commands, steps, strict=True):
        console().print(Text.assemble("  ", (command.ljust(width), "cyan"), f"  {printable(effect)}"))


def request_text(method: str, uri: str) -> str:
    """Return a recorded request for a table: without what all symbolic addresses share, and with placeholders."""
    short = uri.removeprefix("https://").replace(".svc.invalid/", "/", 1)
    return re.sub("%3C([A-Z0-9_]+)%3E", r"<\1>", f"{method} {short}")


def size_text(count: int) -> str:
    """Return a number of bytes in words: `917 bytes`, `12.3 kB`, `4.5 MB`."""
    if count < 1_000:
        return count_text(count, "byte")
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print a table. Long cells are folded and not cut; a cell that is a `Text` has a style."""
    table = _empty_table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    console().print(table)


def print_frame(title: str, frame: pd.DataFrame, *, rows: int | None = None, columns: Iterable[str] = ()) -> None:
    """Print the first rows of a DataFrame and as many columns as fit, and say how much is left out.

    Known secrets have placeholders: the rows may be a live answer, and the terminal the log of a pipeline.

    Args:
        title: printed above.
        frame: the table; the columns of an account come first.
        rows: the most rows; None for all.
        columns: columns to show instead of all.
    """
    from toolkit.scrubbing.known import PROCESS_SECRETS

    scrub = PROCESS_SECRETS.scrub_text
    say(f"\n{scrub(title)}", "bold")
    if frame.index.name:
        frame = frame.reset_index()
    leading = [name for name in _ACCOUNT_COLUMNS if name in frame]
    frame = frame[list(columns) or [*leading, *(name for name in frame if name not in leading)]]
    cells = [[excerpt(scrub(_cell_text(value)), _LONGEST_CELL) for value in frame[name].head(rows)] for name in frame]
    heads = [printable(scrub(str(name))) for name in frame]
    table, width, shown = _empty_table(), 0, 0
    for head, column in zip(heads, cells, strict=True):
        width += max(map(len, (head, *column))) + 2
        if shown and width > console().width:
            break
        is_number = frame.dtypes.iloc[shown].kind in "iuf"
        table.add_column(head, justify="right" if is_number else "left", no_wrap=True)
        shown += 1
    for row in zip(*cells[:shown], strict=True):
        table.add_row(*row)
    console().print(table)
    hidden = ((len(frame) - table.row_count, "more row"), (len(heads) - shown, "more column"))
    if words := " and ".join(count_text(count, noun) for count, noun in hidden if count):
        say(f"… {words}", "dim")


def print_calls(session: Session) -> None:
    """Print the calls and the token lifetimes of a session."""
    tokens = session.tokens()
    print_frame("Calls (elapsed in seconds)", session.calls(), columns=_CALL_COLUMNS)
    if len(tokens):
        print_frame("Token lifetimes (in seconds)", tokens, columns=_TOKEN_COLUMNS)


def _empty_table() -> Table:
    return Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True)


def _cell_text(value: Any) -> str:
    if str(value) in _MISSING_VALUES:
        return ""
    if isinstance(value, datetime):
        return f"{value.day} {value:%b %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.2f}"
    return str(value)
