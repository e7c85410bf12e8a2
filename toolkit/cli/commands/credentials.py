"""`toolkit credentials`: save, list, test and remove credentials. No value is ever printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth.profiles.document import origins_of
from toolkit.auth.profiles.lookup import survey
from toolkit.auth.profiles.prompt import can_ask
from toolkit.auth.profiles.saved import profile_at
from toolkit.auth.profiles.saving import Profile, remove_credentials, save_credentials
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cli import terminal
from toolkit.cli.commands import asking
from toolkit.cli.commands.probe import try_out
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings, is_offline
from toolkit.session.session import Session

app = typer.Typer(
    name="credentials",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Save, list, test and remove credentials; no value is ever printed, nor taken from an argument.",
    epilog="Start with **toolkit credentials add default --environment paper**.",
)

EnvironmentOption = Annotated[Environment, typer.Option("--environment", "-e", help="Environment that they are for.")]


@app.command(
    epilog=terminal.examples(
        "toolkit credentials add default --environment paper",
        "toolkit credentials add fund -e broker-live --key-file ~/keys/broker.pem --kid key-1 --scope accounts.read",
        "pass show broker | toolkit credentials add fund -e broker-live --client-id CLIENT_ID --stdin",
    )
)
def add(
    name: Annotated[str, typer.Argument(help="Name to save them under; no secret.")],
    environment: EnvironmentOption,
    kind: Annotated[
        asking.Kind | None, typer.Option(help="By default what the environment takes, and the other options tell.")
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="Client ID, which is no secret; else asked for.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="File of the private key (PEM or JWK), copied; else asked for.")
    ] = None,
    kid: Annotated[str | None, typer.Option(help="Key ID that the service knows the private key by.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="JWS algorithm; by default the key's.")] = None,
    audience: Annotated[str | None, typer.Option(help="token-endpoint (the default), issuer, or a text.")] = None,
    assertion_typ: Annotated[str | None, typer.Option(help="Type of assertions, JWT by default, or none.")] = None,
    assertion_lifetime: Annotated[int | None, typer.Option(help="Seconds for which an assertion is good.")] = None,
    scope: Annotated[str | None, typer.Option(help="Scope to ask tokens for.")] = None,
    form_field: Annotated[
        list[str] | None, typer.Option(help="NAME=TEXT of a further field of token requests; no secret.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="How a key pair is sent: headers (the default) or basic.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the values from standard input, one a line.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of that name without asking.")] = False,
) -> None:
    """Save credentials in the system keyring, or where there is none in a file that only you can read.

    The secret values are asked for and typed unseen. No option takes one: an argument would land in the
    history of the shell, and in the list of processes that every user of the machine can see.

    With --stdin they are piped in, one a line, in this order: key ID and secret key; client ID (unless
    given) and client secret; client ID (unless given), private key (unless given) and, if that is
    encrypted, its passphrase. Further lines are left alone.
    """
    console = Console()
    settings = Settings.load()
    origins = origins_of(environment, settings)
    options = {
        "client_id": client_id,
        "private_key_id": kid,
        "algorithm": algorithm,
        "audience": audience,
        "assertion_typ": assertion_typ,
        "assertion_lifetime": None if assertion_lifetime is None else str(assertion_lifetime),
        "form_fields": asking.form_of(scope, form_field or ()),
        "scheme": scheme,
    }
    values = {field: Secret(text) for field, text in options.items() if text is not None}
    chosen = asking.kind_of(environment, kind, {*values, *(["private_key"] if key_file else [])})
    asking.check_name(environment, name)
    source = asking.source_of(environment, piped=stdin)
    _confirm_replacing(environment, name, replace=replace, piped=stdin)
    if key_file is not None:
        values["private_key"] = asking.key_in(key_file, "the file that --key-file names")
    # Said before anything is asked for: the project that one stands in may name addresses of its own.
    where = terminal.escape(str(settings.file))
    console.print(
        f"They go to these addresses of {where} and the TOOLKIT_* variables, and nowhere else:", soft_wrap=True
    )
    for address, origin in origins.items():
        console.print(f"  {address}  {terminal.escape(origin)}", highlight=False, soft_wrap=True)
    credentials = asking.gather(environment, name, chosen, values, source).credentials()
    saved = save_credentials(credentials, name, settings=settings)
    console.print(
        f"Saved [bold]{terminal.escape(name)}[/] for {environment} ({saved.kind}) in {terminal.escape(saved.source)}.",
        highlight=False,
        soft_wrap=True,
    )
    _say_if_hidden(console, settings, saved)
    terminal.print_next_steps(
        console,
        [
            (f"toolkit credentials test {name} --environment {environment}", "one call of each interface"),
            (f'tk.Session("{environment}", "{name}")', "the same in Python"),
        ],
    )


@app.command(
    "list", epilog=terminal.examples("toolkit credentials list", "toolkit credentials list --environment broker-live")
)
def list_(
    environment: Annotated[
        Environment | None, typer.Option("--environment", "-e", help="Only those of this environment.")
    ] = None,
) -> None:
    """Show what credentials there are and where from, never a value; no keyring is opened."""
    console = Console()
    found = [each for each in survey(Settings.load(), None) if environment in (None, each.environment)]
    if not found:
        console.print(f"There are no credentials{f' for {environment}' if environment else ''}.", highlight=False)
        example = environment or Environment.PAPER
        terminal.print_next_steps(
            console,
            [
                (f"toolkit credentials add default --environment {example}", "save yours"),
                ("toolkit practice", "a local service with throwaway credentials"),
            ],
        )
        return
    table = terminal.table("environment", "profile", "kind", "source", "remark")
    for each in found:
        remark = "" if each.comes_first else "not used: a place that comes first has this name"
        if isinstance(each.outcome, Profile):
            cells = each.name, str(each.outcome.kind), each.outcome.source, remark
        else:
            cells = each.name, "", "", f"broken: {each.outcome.what}"
        table.add_row(each.environment, *map(terminal.escape, cells))
    console.print(table, highlight=False)
    for each in found:
        if not isinstance(each.outcome, Profile):
            console.print(f"{terminal.escape(each.name)}: {terminal.escape(each.outcome.next_step)}", highlight=False)


@app.command(
    "test",
    epilog=terminal.examples(
        "toolkit credentials test --environment paper", "toolkit credentials test fund --environment broker-live"
    ),
)
def try_(
    environment: EnvironmentOption,
    name: Annotated[str | None, typer.Argument(help="Name of the profile; by default the only one.")] = None,
) -> None:
    """Make one call of each interface that the environment has, live, and say what works.

    The calls only read, and no body is shown. Exit status 1 when an interface refuses, fails or is not reached.
    """
    console = Console()
    if is_offline():
        raise ConfigurationError("TOOLKIT_OFFLINE is set, so nothing is sent.", "Unset it and run this again.")
    with Session(environment, name, settings=Settings.load(), token_store=MemoryTokenStore()) as session:
        terminal.print_opening(console, session)
        if environment.rules.real_account:
            console.print("The calls go to the real account; they only read.", highlight=False)
        trials = try_out(session)
    terminal.print_trials(console, trials)
    if any(each.works is False for each in trials) or not any(each.works for each in trials):
        raise typer.Exit(1)


@app.command(
    epilog=terminal.examples(
        "toolkit credentials remove fund --environment broker-live",
        "toolkit credentials remove fund --environment broker-live --yes",
    )
)
def remove(
    name: Annotated[str, typer.Argument(help="Name of the saved profile.")],
    environment: EnvironmentOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove saved credentials from the keyring and from the folder of saved profiles.

    Environment variables are yours to unset, and `.env` files yours to edit: nothing there is removed.
    """
    console = Console()
    if not yes and profile_at(environment, name).file.exists():
        if not can_ask():
            raise ConfigurationError("There is no terminal to ask whether to remove them.", "Add --yes.")
        typer.confirm(f"Remove {name} of {environment}?", abort=True)
    remove_credentials(name, environment)
    console.print(f"Removed [bold]{terminal.escape(name)}[/] of {environment}.", highlight=False)
    for each in survey(Settings.load(), None):
        if (each.environment, each.name) == (environment, name) and isinstance(each.outcome, Profile):
            where = terminal.escape(each.outcome.source)
            console.print(f"{where} still gives credentials of that name; they are yours to take out.", highlight=False)


def _confirm_replacing(environment: Environment, name: str, *, replace: bool, piped: bool) -> None:
    if replace or not profile_at(environment, name).file.exists():
        return
    if piped:
        raise ConfigurationError(
            f"There is a profile of that name for {environment} already.",
            "Add --replace to replace it, or choose another name.",
        )
    typer.confirm(f"There is a profile {name} of {environment} already. Replace it?", abort=True)


def _say_if_hidden(console: Console, settings: Settings, saved: Profile) -> None:
    for each in survey(settings, None):
        is_same = (each.environment, each.name) == (saved.environment, saved.name)
        if is_same and each.comes_first and each.outcome != saved:
            where = each.outcome.source if isinstance(each.outcome, Profile) else each.outcome.what
            console.print(
                f"[yellow]Note:[/] a place that comes first has credentials of that name, so those saved are not used "
                f"until they are taken out there: {terminal.escape(where)}",
                highlight=False,
                soft_wrap=True,
            )
