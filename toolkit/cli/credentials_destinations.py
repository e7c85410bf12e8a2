"""Print where `toolkit credentials` sends secrets, and ask before an address is used for the first time."""

from __future__ import annotations

import typer
from rich.console import Console

from toolkit.auth.destinations import HEADER_PREFIX, Change, Destination
from toolkit.auth.typed_secrets import can_ask
from toolkit.cli import terminal
from toolkit.cli.programs import pasteable
from toolkit.core.document import DEFAULT_HEADER_PREFIX, Environment, header_names
from toolkit.core.errors import UnsafeAddress
from toolkit.core.shells import shell_word
from toolkit.local.settings import Settings


def print_destinations(console: Console, destinations: list[Destination]) -> None:
    """Print where the secrets of credentials are sent, and which file or variable says so."""
    console.print("Secrets are sent only to these addresses:", soft_wrap=True)
    for destination in destinations:
        if (destination.name, destination.text) == (HEADER_PREFIX, DEFAULT_HEADER_PREFIX):
            continue
        text = destination.text
        if destination.name == HEADER_PREFIX:
            text += f": the headers are {' and '.join(header_names(text))}"
        line = f"{destination.label}  {text}  ({destination.place_in_words})"
        console.print(f"  {terminal.escape(line)}", highlight=False, soft_wrap=True)


def print_missing_addresses(console: Console, environment: Environment, name: str, settings: Settings) -> None:
    """Say which addresses are not set, and that they must be allowed once they are."""
    missing = [address for address in environment.rules.addresses.values() if not settings.addresses.get(address)]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        console.print(
            pasteable(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set. If you set {them} later, run "
                f"`toolkit credentials allow {shell_word(name)} --environment {environment}` once."
            ),
            highlight=False,
            soft_wrap=True,
        )


def print_changes(console: Console, new: list[Change]) -> None:
    """Print the new destinations of credentials, each beside the earlier ones."""
    for change in new:
        console.print(terminal.escape(change.in_words()), highlight=False, soft_wrap=True)


def confirm_new(console: Console, new: list[Change], *, yes: bool, piped: bool) -> None:
    """Ask if secrets may go to addresses that no credentials of the environment went to.

    Args:
        console: where to print.
        new: the addresses.
        yes: True to go on without asking.
        piped: True if the values come from a pipe, so that nobody can answer.

    Raises:
        UnsafeAddress: if nobody can be asked.
    """
    print_changes(console, new)
    if yes:
        return
    if piped or not can_ask():
        places = " and ".join(dict.fromkeys(change.destination.place_in_words for change in new))
        raise UnsafeAddress(
            f"Nothing was saved. {' '.join(change.in_words() for change in new)}",
            f"Check {places}: whoever wrote that would receive the credentials. If you trust it, add --yes.",
            about=new[0].destination.name,
        )
    typer.confirm("Do you trust this destination with your credentials?", abort=True)
