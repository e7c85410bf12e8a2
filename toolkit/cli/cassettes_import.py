"""`toolkit cassettes import`: make a clean cassette of what a browser or vcrpy recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from toolkit.cli import terminal
from toolkit.core.document import Environment
from toolkit.core.text import count_text

if TYPE_CHECKING:
    from toolkit.cassettes.importing import ImportReport

EPILOG: Final = terminal.examples(
    "toolkit cassettes import session.har checkout --only api.example.com",
    "toolkit cassettes import tests/cassettes/orders.yaml orders --environment broker-live",
)
_NOTHING: Final = 1  # exit status
_UNUSABLE: Final = 2


def import_(
    source: Annotated[Path, typer.Argument(help="A HAR file, or a cassette of vcrpy. It is not changed.")],
    name: Annotated[str, typer.Argument(help="Name of the new cassette, or its path.")],
    environment: Annotated[
        Environment | None,
        terminal.environment_option(
            f"Environment that was called: {terminal.ENVIRONMENTS}; else concluded from the addresses."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Import only these: a host, or host/path with stars; may be repeated.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a cassette that exists.")] = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Make a clean cassette of a HAR file of a browser, or of a cassette of vcrpy that was recorded without scrubbing.

    Secrets are removed as in a recording, and the report names their kinds. Addresses in toolkit.toml become symbolic.
    What cannot be replayed, such as an entry without a stored body, is left out. Recordings of other programs, such as
    Ruby's VCR, betamax and go-vcr, are not converted: export a HAR file of the calls, or record them again.

    JSON has `source`, `program`, `path`, `imported`, `not_chosen`, `left_out` with `number`, `method`, `host` and
    `reason`, `replaced` (counts by kind), `environment` and `hosts`.

    Exit status: 0 if there is a new cassette; 1 if nothing in the file could be imported; 2 if it cannot be read or the
    cassette not be written.
    """
    from toolkit.cassettes.importing import import_cassette  # needs yaml

    with terminal.errors_exit_with(_UNUSABLE):
        report = import_cassette(source, name, environment=environment, only=only or (), replace=replace)
    if as_json:
        terminal.print_json(report.to_json())
    else:
        _print_report(report, name)
    if report.path is None:
        raise typer.Exit(_NOTHING)


def _print_report(report: ImportReport, name: str) -> None:
    console = Console()
    for line in report.lines():
        console.print(terminal.escape(line), highlight=False, soft_wrap=True)
    if report.hosts:
        words = f"{count_text(len(report.hosts), 'host')} kept as in the file: {', '.join(report.hosts)}."
        console.print(terminal.escape(words), highlight=False, soft_wrap=True)
    if report.replaced:
        words = f"{report.source} still holds its secrets: keep it out of git, and delete it when it is not needed."
        console.print(f"[yellow]Note:[/] {terminal.escape(words)}", highlight=False, soft_wrap=True)
    if report.path is not None:
        way = f'tk.Session(cassette="{name}")' if report.environment else f'tk.Cassette("{name}", "none").transport()'
        terminal.print_next_steps(
            console, [(way, "replay it"), (f"toolkit cassettes show {name}", "see what is in it")]
        )
