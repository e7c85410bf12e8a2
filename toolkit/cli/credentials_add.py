"""`toolkit credentials add`: save credentials under a name. No option takes a secret, and no value is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.auth import checks
from toolkit.auth.destinations import new_in_environment
from toolkit.auth.profiles.fields import DEFAULT, REQUIRED, Profile
from toolkit.auth.profiles.saved import profile_at
from toolkit.auth.profiles.saving import destinations_to_save, save_credentials, survey
from toolkit.auth.typed_secrets import can_ask
from toolkit.cli import terminal, values
from toolkit.cli.credentials_destinations import confirm_new, print_destinations, print_missing_addresses
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings

EPILOG: Final = terminal.examples(
    "toolkit credentials add default --environment paper",
    "toolkit credentials add fund -e broker-live --key-file ~/keys/broker.pem --key-id key-1 --scope accounts.read",
    "pass show broker | toolkit credentials add fund -e broker-live --client-id CLIENT_ID --stdin",
)
EnvironmentOption = Annotated[
    Environment,
    terminal.environment_option(f"Environment of the credentials: {terminal.ENVIRONMENTS}."),
]


def add(
    name: Annotated[str, typer.Argument(help="Name of the profile to save; not a secret.")],
    environment: EnvironmentOption,
    kind: Annotated[
        values.KindOption | None, typer.Option(help="By default the kind that the environment and the options imply.")
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="Client ID, not a secret; asked for if missing.")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Private key (PEM or JWK), which is copied; asked for if missing."),
    ] = None,
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid) by which the service knows the private key.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="JWS algorithm; by default that of the key.")] = None,
    audience: Annotated[str | None, typer.Option(help="token-endpoint (the default), issuer, or a text.")] = None,
    assertion_typ: Annotated[str | None, typer.Option(help="Type of assertions: JWT (the default) or none.")] = None,
    assertion_lifetime: Annotated[int | None, typer.Option(help="Seconds for which an assertion is valid.")] = None,
    scope: Annotated[str | None, typer.Option(help="Scope of the tokens to request.")] = None,
    form_field: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="Another field of token requests; not a secret.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="How a key pair is sent: headers (the default) or basic.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the values from standard input, one per line.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of that name without asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about new addresses.")] = False,
) -> None:
    """Save credentials in a file that only you can read, sealed with a key in the system's keyring if there is one.

    The command asks for the secret values and does not show what you type. No option takes a secret: it would land in
    the history of the shell, and every user of the machine could see it in the list of processes.

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
    values.check_options(environment, chosen_kind, provided)
    destinations = destinations_to_save(environment, chosen_kind, settings)
    checks.profile_name(name)
    source = values.value_source(environment, piped=stdin, is_needed=not provided.issuperset(REQUIRED[chosen_kind]))
    _confirm_replacing(environment, name, replace=replace, piped=stdin or not can_ask())
    if key_file is not None:
        fields["private_key"] = values.read_key_file(key_file, "the file that --key-file names")
    # Before the secrets are typed: the project may be a stranger's.
    print_destinations(console, destinations)
    print_missing_addresses(console, environment, name, settings)
    new = new_in_environment(environment, chosen_kind, settings)
    if any(change.earlier for change in new):  # the first addresses of an environment are only printed
        confirm_new(console, new, yes=yes, piped=stdin)
    credentials = values.collect_fields(environment, name, chosen_kind, fields, source).credentials()
    saved = save_credentials(credentials, name, settings=settings)
    console.print(
        f"Saved [bold]{terminal.escape(name)}[/] for {environment} ({saved.kind}) in {terminal.escape(saved.source)}.",
        highlight=False,
        soft_wrap=True,
    )
    _warn_if_hidden(console, settings, saved)
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


def _confirm_replacing(environment: Environment, name: str, *, replace: bool, piped: bool) -> None:
    if replace or not profile_at(environment, name).file.exists():
        return
    if piped:
        raise ConfigurationError(
            f"A profile of that name exists already for {environment}.",
            "Add --replace to replace it, or choose another name.",
            about="name",
        )
    typer.confirm(f"The profile {name} exists already for {environment}. Replace it?", abort=True)


def _warn_if_hidden(console: Console, settings: Settings, saved: Profile) -> None:
    for entry in survey(settings, None):
        is_same = (entry.environment, entry.name) == (saved.environment, saved.name)
        if is_same and entry.comes_first and entry.outcome != saved:
            place = entry.outcome.source if isinstance(entry.outcome, Profile) else entry.outcome.what
            console.print(
                "[yellow]Note:[/] the saved profile is not used yet, because an earlier place has a profile of "
                f"that name. Remove it there: {terminal.escape(place)}",
                highlight=False,
                soft_wrap=True,
            )
