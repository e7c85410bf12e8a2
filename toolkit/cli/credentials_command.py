"""`toolkit credentials`: save, list, test and remove credentials, and allow where they go. No value is ever printed."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth.destinations import DestinationMemory, changes, uses_of
from toolkit.auth.profiles.fields import Profile
from toolkit.auth.profiles.saved import profile_at
from toolkit.auth.profiles.saving import destinations_to_save, load_credentials, remove_credentials, survey
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.typed_secrets import can_ask
from toolkit.cli import probe, terminal
from toolkit.cli.application import Application
from toolkit.cli.credentials_add import EPILOG, EnvironmentOption, add
from toolkit.cli.credentials_destinations import print_changes, print_missing_addresses
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.session.session import Session


def list_(
    environment: Annotated[
        Environment | None,
        terminal.environment_option("List only profiles for this environment."),
    ] = None,
) -> None:
    """List profiles and where they come from, never a value. No keyring is opened."""
    console = Console()
    entries = [entry for entry in survey(Settings.load(), None) if environment in (None, entry.environment)]
    if not entries:
        console.print(f"No profile exists{f' for {environment}' if environment else ''}.", highlight=False)
        example = environment or Environment.PAPER
        terminal.print_next_steps(
            console,
            [
                (f"toolkit credentials add default --environment {example}", "save yours"),
                ("toolkit practice", "start a local service with throwaway credentials"),
            ],
        )
        return
    has_remarks = any(not (isinstance(entry.outcome, Profile) and entry.comes_first) for entry in entries)
    columns = ("environment", "profile", "kind", "source", "remark")
    table = terminal.folding_table(*columns[: None if has_remarks else -1])
    for entry in entries:
        if isinstance(entry.outcome, Profile):
            remark = "" if entry.comes_first else "not used: an earlier place has a profile of that name"
            cells = entry.name, str(entry.outcome.kind), entry.outcome.source, remark
        else:
            cells = entry.name, "", "", f"broken: {entry.outcome.what}"
        row = (
            entry.environment,
            terminal.escape(cells[0]),
            cells[1],
            terminal.FoldedText(cells[2]),
            terminal.escape(cells[3]),
        )
        table.add_row(*row[: len(table.columns)])
    console.print(table, highlight=False)
    for entry in entries:
        if not isinstance(entry.outcome, Profile):
            text = f"{entry.name}: {entry.outcome.next_step}"
            console.print(terminal.escape_hint(text), highlight=False, soft_wrap=True)


def probe_(
    environment: EnvironmentOption,
    name: Annotated[
        str | None, typer.Argument(help="Name of the profile; by default the only one, or `default`.")
    ] = None,
) -> None:
    """Call each interface of the environment once, live, and say what works.

    The calls only read, and no body is shown. The exit status is 1 if an interface refuses, fails or is unreachable, or
    if nothing was called. An interface whose address is not set is not called, and does not count as a failure.
    """
    console = Console()
    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so nothing is sent.", "Unset it and run this again.", about="TOOLKIT_OFFLINE"
        )
    with Session(environment, name, settings=Settings.load(), token_store=MemoryTokenStore()) as session:
        terminal.print_caller(console, session)
        if environment.rules.real_account:
            console.print("The calls go to the real account; they only read.", highlight=False)
        results = probe.probe(session)
        if any(result.status is not None for result in results):
            console.print(session.describe(), style="green", highlight=False)
        elif all(result.works is None for result in results):
            console.print("Nothing was called.", style="yellow")
        caller, settings = session.credentials, session.settings
    probe.print_probes(console, results)
    if caller is not None:
        if any(result.is_refused for result in results):
            console.print(terminal.escape_hint(caller.where_to_correct()), highlight=False, soft_wrap=True)
        print_missing_addresses(console, environment, caller.name, settings)
    if any(result.works is False for result in results) or not any(result.works for result in results):
        raise typer.Exit(1)


def allow(
    name: Annotated[str, typer.Argument(help="Name of the profile.")],
    environment: EnvironmentOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let credentials go where this project sends them.

    Credentials from variables and `.env` need it for each address that only a file of the project names, saved ones for
    each address that they were not saved for. Run it in the folder of the project. The addresses that were allowed
    earlier stay allowed.
    """
    console = Console()
    settings = Settings.load()
    credentials = load_credentials(environment, name, settings=settings, anywhere=True)
    destinations = destinations_to_save(environment, credentials.kind, settings)
    new = changes(destinations, uses_of(credentials))
    who = f"[bold]{terminal.escape(name)}[/] for {environment} ({terminal.escape(credentials.loaded_from)})"
    if not new:
        console.print(f"The credentials {who} may already go there.", highlight=False, soft_wrap=True)
        return
    console.print(f"The credentials {who} would go to new destinations:", highlight=False, soft_wrap=True)
    print_changes(console, new)
    if not yes:
        if not can_ask():
            raise ConfigurationError(
                "The new destination needs a confirmation.", "Run this in a terminal, or add --yes.", about="yes"
            )
        typer.confirm("Do you trust it with these credentials?", abort=True)
    DestinationMemory().add(credentials, destinations)
    console.print("Allowed.", highlight=False)


def remove(
    name: Annotated[str, typer.Argument(help="Name of the saved profile.")],
    environment: EnvironmentOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a saved profile.

    Environment variables and `.env` files stay as they are.
    """
    console = Console()
    if not yes and profile_at(environment, name).file.exists():
        if not can_ask():
            raise ConfigurationError(
                "The removal needs a confirmation.", "Run this in a terminal, or add --yes.", about="yes"
            )
        typer.confirm(f"Remove the profile {name} for {environment}?", abort=True)
    remove_credentials(name, environment)
    console.print(f"Removed [bold]{terminal.escape(name)}[/] for {environment}.", highlight=False)
    for entry in survey(Settings.load(), None):
        if (entry.environment, entry.name) == (environment, name) and isinstance(entry.outcome, Profile):
            place = terminal.escape(entry.outcome.source)
            console.print(f"A profile of that name remains in: {place}. Remove it there.", highlight=False)


app = Application(
    name="credentials",
    help="Save, list, test and remove credentials, and allow where they go. Credentials that are saved, or set in "
    "variables, are a profile, with a name. No value is printed, and no secret is taken from an argument.",
    epilog="Start with **toolkit credentials add default --environment paper**.",
)
app.add("add", add, summary="Save credentials, sealed with a key in the system's keyring.", examples=EPILOG)
app.add(
    "list",
    list_,
    summary="List profiles and where they come from.",
    examples=terminal.examples("toolkit credentials list", "toolkit credentials list --environment broker-live"),
)
app.add(
    "test",
    probe_,
    summary="Call each interface once, and say what works.",
    examples=terminal.examples(
        "toolkit credentials test --environment paper", "toolkit credentials test fund --environment broker-live"
    ),
)
app.add(
    "allow",
    allow,
    summary="Let credentials go where this project sends them.",
    examples=terminal.examples(
        "toolkit credentials allow default --environment paper",
        "toolkit credentials allow fund --environment broker-live --yes",
    ),
)
app.add(
    "remove",
    remove,
    summary="Remove a saved profile.",
    examples=terminal.examples(
        "toolkit credentials remove fund --environment broker-live",
        "toolkit credentials remove fund --environment broker-live --yes",
    ),
)
