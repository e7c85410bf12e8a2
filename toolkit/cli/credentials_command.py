"""`toolkit credentials`: save, list, test and remove credentials, and allow where they go. No value is ever printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth import checks
from toolkit.auth.destination_memory import DestinationMemory, new_in_environment, uses_of
from toolkit.auth.destinations import changes
from toolkit.auth.profiles.fields import REQUIRED, Profile
from toolkit.auth.profiles.lookup import survey
from toolkit.auth.profiles.prompt import can_ask
from toolkit.auth.profiles.saved import profile_at
from toolkit.auth.profiles.saving import (
    destinations_to_save,
    find_credentials,
    remove_credentials,
    save_credentials,
)
from toolkit.auth.profiles.variables import DEFAULT
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cli import probe, terminal, values
from toolkit.cli.credentials_destinations import (
    confirm_new,
    print_changes,
    print_destinations,
    print_missing_addresses,
)
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.files import shown
from toolkit.local.settings import Settings, is_offline
from toolkit.session.session import Session

app = typer.Typer(
    name="credentials",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="markdown",
    help="Save, list, test and remove credentials, and allow where they go. No value is printed, and no secret is "
    "taken from an argument.",
    epilog="Start with **toolkit credentials add default --environment paper**.",
)

EnvironmentOption = Annotated[
    Environment,
    typer.Option(
        "--environment", "-e", metavar="NAME", help=f"Environment of the credentials: {terminal.ENVIRONMENTS}."
    ),
]


@app.command(
    epilog=terminal.examples(
        "toolkit credentials add default --environment paper",
        "toolkit credentials add fund -e broker-live --key-file ~/keys/broker.pem --key-id key-1 --scope accounts.read",
        "pass show broker | toolkit credentials add fund -e broker-live --client-id CLIENT_ID --stdin",
    ),
    short_help="Save credentials, sealed with a key in the system's keyring.",
)
def add(
    name: Annotated[str, typer.Argument(help="Name to save them under; not a secret.")],
    environment: EnvironmentOption,
    kind: Annotated[
        values.KindOption | None, typer.Option(help="By default the kind that the environment and the options imply.")
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="Client ID, not a secret; asked for if missing.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="File of the private key (PEM or JWK), which is copied; asked for if missing.")
    ] = None,
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid) by which the service knows the private key.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="JWS algorithm; by default that of the key.")] = None,
    audience: Annotated[str | None, typer.Option(help="token-endpoint (the default), issuer, or a text.")] = None,
    assertion_typ: Annotated[str | None, typer.Option(help="Type of assertions: JWT (the default) or none.")] = None,
    assertion_lifetime: Annotated[int | None, typer.Option(help="Seconds for which an assertion is valid.")] = None,
    scope: Annotated[str | None, typer.Option(help="Scope of the tokens to request.")] = None,
    form_field: Annotated[
        list[str] | None, typer.Option(help="NAME=TEXT, another field of token requests; not a secret.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="How a key pair is sent: headers (the default) or basic.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the values from standard input, one per line.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of that name without asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about addresses that are new.")] = False,
) -> None:
    """Save credentials in a file that only you can read, sealed with a key in the system's keyring if there is one.

    You are asked for the secret values, and they are not shown while you type. No option takes a secret: an argument
    would land in the history of the shell, and every user of the machine could see it in the list of processes.

    With --stdin the values are read from a pipe, one per line, in this order: key ID and secret key; client ID (unless
    it is an option) and client secret; client ID and private key (unless they are options) and, if the key is
    encrypted, its passphrase. Further lines are ignored.
    """
    console = Console()
    settings = Settings.load()
    options = {
        "client_id": client_id,
        "private_key_id": key_id,
        "algorithm": algorithm,
        "audience": audience,
        "assertion_typ": assertion_typ,
        "assertion_lifetime": None if assertion_lifetime is None else str(assertion_lifetime),
        "form_fields": values.encode_form(scope, form_field or ()),
        "scheme": scheme,
    }
    fields = {field: Secret(text) for field, text in options.items() if text is not None}
    provided = {*fields, *(["private_key"] if key_file else [])}
    chosen_kind = values.credential_kind(environment, kind, provided)
    destinations = destinations_to_save(environment, chosen_kind, settings)
    checks.profile_name(name)
    source = values.value_source(environment, piped=stdin, is_needed=not provided.issuperset(REQUIRED[chosen_kind]))
    _confirm_replacing(environment, name, replace=replace, piped=stdin or not can_ask())
    if key_file is not None:
        fields["private_key"] = values.read_key_file(key_file, "the file that --key-file names")
    # Before the secrets are typed: the project may be a stranger's.
    print_destinations(console, destinations)
    confirm_new(console, new_in_environment(environment, chosen_kind, settings), yes=yes, piped=stdin)
    credentials = values.collect_fields(environment, name, chosen_kind, fields, source).credentials()
    saved = save_credentials(credentials, name, settings=settings)
    console.print(
        f"Saved [bold]{terminal.escape(name)}[/] for {environment} ({saved.kind}) in {terminal.escape(saved.source)}.",
        highlight=False,
        soft_wrap=True,
    )
    _warn_if_hidden(console, settings, saved)
    print_missing_addresses(console, environment, name, settings)
    terminal.print_next_steps(
        console,
        [
            (f"toolkit credentials test {name} --environment {environment}", "call each interface once"),
            (
                f'tk.Session("{environment}")' if name == DEFAULT else f'tk.Session("{environment}", "{name}")',
                "use them in Python",
            ),
        ],
    )


@app.command(
    "list",
    epilog=terminal.examples("toolkit credentials list", "toolkit credentials list --environment broker-live"),
    short_help="List credentials and where they come from.",
)
def list_(
    environment: Annotated[
        Environment | None,
        typer.Option("--environment", "-e", metavar="NAME", help="List only credentials of this environment."),
    ] = None,
) -> None:
    """List credentials and where they come from, never a value. No keyring is opened."""
    console = Console()
    entries = [entry for entry in survey(Settings.load(), None) if environment in (None, entry.environment)]
    if not entries:
        console.print(f"There are no credentials{f' for {environment}' if environment else ''}.", highlight=False)
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
            remark = "" if entry.comes_first else "not used: an earlier place has credentials of that name"
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
            console.print(f"{terminal.escape(entry.name)}: {terminal.escape(entry.outcome.next_step)}", highlight=False)


@app.command(
    "test",
    epilog=terminal.examples(
        "toolkit credentials test --environment paper", "toolkit credentials test fund --environment broker-live"
    ),
    short_help="Call each interface once, and say what works.",
)
def probe_(
    environment: EnvironmentOption,
    name: Annotated[
        str | None, typer.Argument(help="Name of the profile; by default the only one, or `default`.")
    ] = None,
) -> None:
    """Call each interface of the environment once, live, and say what works.

    The calls only read, and no body is shown. The exit status is 1 if an interface refuses, fails or is unreachable.
    """
    console = Console()
    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so nothing is sent.", "Unset it and run this again.", about="TOOLKIT_OFFLINE"
        )
    with Session(environment, name, settings=Settings.load(), token_store=MemoryTokenStore()) as session:
        terminal.print_opening(console, session)
        if environment.rules.real_account:
            console.print("The calls go to the real account; they only read.", highlight=False)
        results = probe.probe(session)
        caller, settings = session.credentials, session.settings
    probe.print_probes(console, results)
    if caller is not None:
        print_missing_addresses(console, environment, caller.name, settings)
    if any(result.works is False for result in results) or not any(result.works for result in results):
        raise typer.Exit(1)


@app.command(
    epilog=terminal.examples(
        "toolkit credentials allow default --environment paper",
        "toolkit credentials allow fund --environment broker-live --yes",
    ),
    short_help="Let credentials go where this project sends them.",
)
def allow(
    name: Annotated[str, typer.Argument(help="Name of the profile.")],
    environment: EnvironmentOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let credentials go where this project sends them, after their first use or their saving elsewhere.

    Run it in the folder of the project. Where the credentials may go so far, they may still go.
    """
    console = Console()
    settings = Settings.load()
    credentials = find_credentials(environment, name, settings=settings)
    destinations = destinations_to_save(environment, credentials.kind, settings)
    new = changes(destinations, uses_of(credentials))
    if credentials.binding is not None:
        new = [change for change in new if not credentials.binding.allows(change.destination)]
    who = f"[bold]{terminal.escape(name)}[/] for {environment} ({terminal.escape(credentials.loaded_from)})"
    if not new:
        console.print(f"The credentials {who} may already go there.", highlight=False, soft_wrap=True)
        return
    console.print(f"The credentials {who} would go elsewhere:", highlight=False, soft_wrap=True)
    print_changes(console, new)
    if not yes:
        if not can_ask():
            raise ConfigurationError("There is no terminal to confirm the new destination.", "Add --yes.", about="yes")
        typer.confirm("Do you trust it with these credentials?", abort=True)
    memory = DestinationMemory()
    try:
        memory.add(credentials, destinations)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {shown(memory.file)}: {error.strerror or error}.", "Fix the folder, then run this again."
        ) from None
    console.print("Allowed.", highlight=False)


@app.command(
    epilog=terminal.examples(
        "toolkit credentials remove fund --environment broker-live",
        "toolkit credentials remove fund --environment broker-live --yes",
    ),
    short_help="Remove saved credentials.",
)
def remove(
    name: Annotated[str, typer.Argument(help="Name of the saved profile.")],
    environment: EnvironmentOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove saved credentials.

    Environment variables and `.env` files stay as they are.
    """
    console = Console()
    if not yes and profile_at(environment, name).file.exists():
        if not can_ask():
            raise ConfigurationError("There is no terminal to confirm the removal.", "Add --yes.", about="yes")
        typer.confirm(f"Remove {name} of {environment}?", abort=True)
    remove_credentials(name, environment)
    console.print(f"Removed [bold]{terminal.escape(name)}[/] of {environment}.", highlight=False)
    for entry in survey(Settings.load(), None):
        if (entry.environment, entry.name) == (environment, name) and isinstance(entry.outcome, Profile):
            place = terminal.escape(entry.outcome.source)
            console.print(f"There are still credentials of that name in: {place}. Remove them there.", highlight=False)


def _confirm_replacing(environment: Environment, name: str, *, replace: bool, piped: bool) -> None:
    if replace or not profile_at(environment, name).file.exists():
        return
    if piped:
        raise ConfigurationError(
            f"There is already a profile of that name for {environment}.",
            "Add --replace to replace it, or choose another name.",
            about="name",
        )
    typer.confirm(f"There is already a profile {name} of {environment}. Replace it?", abort=True)


def _warn_if_hidden(console: Console, settings: Settings, saved: Profile) -> None:
    for entry in survey(settings, None):
        is_same = (entry.environment, entry.name) == (saved.environment, saved.name)
        if is_same and entry.comes_first and entry.outcome != saved:
            place = entry.outcome.source if isinstance(entry.outcome, Profile) else entry.outcome.what
            console.print(
                "[yellow]Note:[/] the saved credentials are not used yet, because an earlier place has credentials of "
                f"that name. Remove them there: {terminal.escape(place)}",
                highlight=False,
                soft_wrap=True,
            )
