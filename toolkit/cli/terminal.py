"""Tables and messages on a terminal, printed with rich. Text from outside is escaped first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.markup import escape as escape_markup
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from toolkit.cli.programs import pasteable
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.text import count_text, excerpt, printable
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

# Columns of the practice service. Another service may have other columns; they are then shown in its own order.
ENVIRONMENTS: Final = f"{', '.join(list(Environment)[:-1])} or {list(Environment)[-1]}"
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ACCOUNT_COLUMNS: Final = ("account_number", "status", "currency", "cash", "equity", "buying_power")
_LONGEST_CELL: Final = 40  # characters
_BREAK: Final = re.compile(r"(?<=[/\\?&, ])(?=[^/\\?&, ])")  # where a path or URI may go on in the next line
_PLACEHOLDER: Final = re.compile(r"%3C([A-Z0-9_]+)%3E")
_MISSING_VALUES: Final = frozenset({"None", "nan", "NaT", "<NA>"})


def environment_option(about: str) -> Any:
    """Return the option that names an environment, for the annotation of an argument; `about` is its help."""
    return typer.Option("--environment", "-e", metavar="NAME", help=about)


def escape(text: str) -> str:
    """Return text that rich shows literally, without control characters and without markup of its own."""
    return escape_markup(printable(text))


def escape_hint(text: str) -> str:
    """Return escaped advice whose commands, such as `toolkit lab`, can be pasted where this program was started."""
    return escape(pasteable(text))


def escape_what_is_not_encoded(stream: object) -> None:
    """Let a stream write a character that its encoding does not have as an escape, where it would raise an error.

    A pipe on Windows has the encoding of the country, which has neither `…` nor the names of all customers.
    """
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def examples(*commands: str) -> str:
    """Return examples for the end of a command's help, one paragraph each."""
    return "\n\n".join(("Examples:", *(f"`{command}`" for command in commands)))


def print_error(error: ToolkitError) -> None:
    """Print what happened and what to do next on standard error."""
    what, next_step = escape_hint(error.what), escape_hint(error.next_step)
    Console(stderr=True).print(f"[bold red]Error:[/] {what}\n{next_step}", soft_wrap=True)


@contextmanager
def errors_exit_with(status: int) -> Iterator[None]:
    """Print an error of the toolkit and exit with a status, in a command whose status 1 has a meaning of its own."""
    try:
        yield
    except ToolkitError as error:
        print_error(error)
        raise typer.Exit(status) from None


def check_one_format(as_json: bool, form: StrEnum) -> None:
    """Refuse `--json` beside a `--format` for another program, since both are about standard output."""
    if as_json and form != "text":
        raise ConfigurationError(
            f"--json and --format {form} both say what standard output is.", "Leave one of them out.", about="format"
        )


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, in ASCII, so that no text from outside reaches the terminal raw."""
    typer.echo(json.dumps(value, indent=1, default=str))


def print_warning(message: Warning | str, *_: object) -> None:
    """Print a warning on standard error; the signature is that of `warnings.showwarning`."""
    Console(stderr=True).print(f"[yellow]Note:[/] {escape_hint(str(message))}", soft_wrap=True)


def print_caller(console: Console, session: Session) -> None:
    """Print the environment of a session, and the profile that its credentials come from."""
    rules, caller = session.environment.rules, session.credentials
    account = f"a {rules.holder}{' - a real account' if rules.real_account else ''}"
    profile = f", with the profile {caller.name} ({caller.loaded_from})" if caller and caller.loaded_from else ""
    console.print(f"[bold]{session.environment}[/]: {account}{escape(profile)}", highlight=False, soft_wrap=True)


def print_opening(console: Console, session: Session) -> None:
    """Print the environment and profile of a session, and whether its answers are live or replayed."""
    print_caller(console, session)
    console.print(f"[green]{escape(session.describe())}[/]", highlight=False)


def print_next_steps(console: Console, steps: Iterable[tuple[str, str]]) -> None:
    """Print suggestions: commands, and what each of them does."""
    steps = [(pasteable(command), effect) for command, effect in steps]
    width = max(len(command) for command, _ in steps)
    console.print("\n[bold]Next[/]")
    for command, effect in steps:
        console.print(f"  [cyan]{escape(command.ljust(width))}[/]  {escape(effect)}", highlight=False, soft_wrap=True)


def short_uri(uri: str) -> str:
    """Return a URI without the parts that all symbolic addresses share."""
    return uri.removeprefix("https://").replace(".svc.invalid/", "/", 1)


class FoldedText:
    """A path or URI in a table, folded where its parts end rather than in the middle of words; it need not be escaped.

    Args:
        text: the text.
        style: the style of rich that it has.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self._pieces = _BREAK.split(printable(text))
        self._style = style

    def __rich_measure__(self, _: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths that rich may give the cell."""
        shortest, longest = max(map(len, self._pieces)), sum(map(len, self._pieces))
        return Measurement(shortest, longest).with_maximum(options.max_width)

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines."""
        line = ""
        for piece in self._pieces:
            if line and len(line) + len(piece.rstrip()) > options.max_width:
                yield Text(line.rstrip(), style=self._style, overflow="fold")
                line = ""
            line += piece
        yield Text(line.rstrip(), style=self._style, overflow="fold")


class RequestCell(FoldedText):
    """A method and a URI in a table."""

    def __init__(self, method: str, uri: str) -> None:
        super().__init__(_PLACEHOLDER.sub(r"<\1>", f"{method} {short_uri(uri)}"))


def size_text(count: int) -> str:
    """Return a number of bytes in words: `917 bytes`, `12.3 kB`, `4.5 MB`."""
    if count < 1_000:
        return count_text(count, "byte")
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def new_table() -> Table:
    """Return an empty table in the style of all commands."""
    return Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True)


def folding_table(*columns: str) -> Table:
    """Return an empty table whose cells are folded rather than cut. Escape what you add to it."""
    table = new_table()
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def print_frame(
    console: Console, title: str, frame: pd.DataFrame, *, rows: int, first: Iterable[str] = (), only: Iterable[str] = ()
) -> None:
    """Print the first rows of a DataFrame and as many columns as fit, and say how much is left out.

    Known secrets have placeholders: the rows may be a live answer, and the terminal the log of a pipeline.

    Args:
        first: columns to show before the others; missing ones are ignored.
        only: columns to show instead of all.
    """
    from toolkit.scrubbing.known import PROCESS_SECRETS

    scrub = PROCESS_SECRETS.scrub_text
    console.print(f"\n[bold]{escape(scrub(title))}[/]", highlight=False)
    frame = _ordered(frame, list(first), list(only))
    shown = frame.head(rows)
    columns: list[list[str]] = []
    table, width = new_table(), 0
    for name in frame.columns:
        head = scrub(str(name))
        cells = [_cell_text(value, scrub) for value in shown[name]]
        column_width = max(map(len, (head, *cells)), default=0) + 2
        if columns and width + column_width > console.width:
            break
        width += column_width
        columns.append(cells)
        is_number = frame[name].dtype.kind in "iuf"
        table.add_column(escape(head), justify="right" if is_number else "left", no_wrap=True)
    for row in zip(*columns, strict=True):
        table.add_row(*map(escape, row))
    console.print(table, highlight=False)
    hidden = ((len(frame) - len(shown), "more row"), (len(frame.columns) - len(columns), "more column"))
    if any(count for count, _ in hidden):
        words = " and ".join(count_text(count, noun) for count, noun in hidden if count)
        console.print(f"[dim]… {words}[/]", highlight=False)


def print_calls(console: Console, session: Session) -> None:
    """Print the calls and the token lifetimes of a session."""
    calls, tokens = session.calls(), session.tokens()
    columns = ["call", "when", "interface", "path", "status", "elapsed", "token"]
    print_frame(console, "Calls (elapsed in seconds)", calls, rows=len(calls), only=columns)
    if len(tokens):
        columns = ["token", "issued", "expires", "lifetime", "remaining", "state", "calls"]
        print_frame(console, "Token lifetimes (in seconds)", tokens, rows=len(tokens), only=columns)


def _ordered(frame: pd.DataFrame, first: list[str], only: list[str]) -> pd.DataFrame:
    if frame.index.name:
        frame = frame.reset_index()
    if only:
        frame = frame[only]
    leading = [name for name in first if name in frame]
    return frame[[*leading, *(name for name in frame if name not in leading)]]


def _cell_text(value: Any, scrub: Callable[[str], str]) -> str:
    if str(value) in _MISSING_VALUES:
        return ""
    if isinstance(value, datetime):
        return f"{value.day} {value:%b %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.2f}"
    return excerpt(scrub(str(value)), _LONGEST_CELL)
