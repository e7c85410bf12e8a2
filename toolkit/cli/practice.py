"""`toolkit practice`: run the practice service until Ctrl+C, and print how to call it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkit.auth.profiles.fields import DEFAULT, REQUIRED, decompose, variable
from toolkit.cli import terminal
from toolkit.cli.programs import pasteable
from toolkit.core.errors import ConfigurationError
from toolkit.core.shells import Form, assignment, comment, usual_form
from toolkit.local.variables import is_offline, variable_name

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

EPILOG: Final = terminal.examples(
    "toolkit practice",
    "toolkit practice --format powershell --client-keys",
    "toolkit practice --accounts 100 --port 8800",
    "toolkit practice --token-validity 60 --rate-limit 5",
)
_PAIRS: Final = ("live", "paper")  # names of the practice service's credentials
_SECRETS: Final = ("broker-secret", "sandbox-secret")
_KEYS: Final = ("broker-key", "sandbox-key")
_PASTE: Final = "Paste into another shell, then run: toolkit record mine --environment broker-sandbox"
_HEADS: Final = {
    Form.BASH: _PASTE,
    Form.POWERSHELL: _PASTE,
    Form.CMD: _PASTE,
    Form.ENV: "The credentials are for .env, the addresses for toolkit.toml: the toolkit takes none from .env.",
    Form.TOML: "[addresses] is for toolkit.toml, which holds no credentials.",
}


def practice(
    accounts: Annotated[int, typer.Option(help="Accounts of each broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds to wait before each answer.")] = 0.0,
    rate_limit: Annotated[
        float | None, typer.Option(help="Calls a second for each holder; further calls get 429.")
    ] = None,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 picks free ones.")] = 0,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            metavar="FORM",
            help=f"How to print addresses and credentials: {', '.join(Form)}; by default as this shell takes them.",
        ),
    ] = None,
    client_keys: Annotated[
        bool, typer.Option("--client-keys", help="Print the client keys of broker partners in place of their secrets.")
    ] = False,
) -> None:
    """Run the practice service on this machine until Ctrl+C, and print how to call it."""
    from toolkit.practice_service import practice as start_practice  # its server is an extra

    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so the practice service does not start.",
            "Unset it and run this again.",
            about="TOOLKIT_OFFLINE",
        )
    form = form or usual_form(os.name, os.environ)
    with start_practice(
        accounts=accounts, token_validity=token_validity, delay=delay, rate_limit=rate_limit, port=port
    ) as service:
        names = [*_PAIRS, *(_KEYS if client_keys else _SECRETS)]
        credentials = {name: service.credentials[name] for name in names}
        for line in how_to_call(form, service.settings.addresses, credentials):
            typer.echo(line)
        sys.stdout.flush()
        _wait_for_interrupt()
    typer.echo(comment(form, "Stopped."))


def how_to_call(form: Form, addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Iterator[str]:
    """Yield the lines that name the practice service's addresses and credentials. Nothing else prints credentials."""
    yield comment(form, "A practice service, for this machine only. Its credentials stop working when it stops.")
    yield comment(form, pasteable(_HEADS[form])) + "\n"
    if form is Form.TOML:
        yield from _toml(addresses, credentials)
    elif form is Form.ENV:
        yield from _variables(form, {}, credentials)
        yield ""
        yield from (comment(form, line) for line in _toml(addresses, {}))
    else:
        yield from _variables(form, addresses, credentials)
    yield "\n" + comment(form, "Running. Press Ctrl+C to stop.")


def _variables(form: Form, addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Iterator[str]:
    for name, address in addresses.items():
        yield assignment(form, variable_name(name), address)
    for each in credentials.values():
        for field, text in _fields(each).items():
            # A PEM is read without its line breaks too, which cmd cannot write.
            value = text.replace("\n", " ").strip() if form is Form.CMD else text
            yield assignment(form, variable(each.environment, DEFAULT, field), value)


def _toml(addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Iterator[str]:
    yield "[addresses]"
    for name, address in addresses.items():
        yield assignment(Form.TOML, name, address)
    for name, each in credentials.items():
        yield f"\n[credentials.{name}]"
        yield assignment(Form.TOML, "environment", each.environment)
        for field, text in _fields(each).items():
            yield assignment(Form.TOML, field, text)


def _fields(credentials: Credentials) -> dict[str, str]:
    """Return the fields that every reader of the credentials needs, as text."""
    fields = decompose(credentials)
    names = [*REQUIRED[credentials.kind], "private_key_id"]
    return {name: fields[name].reveal() for name in names if name in fields}


def _wait_for_interrupt() -> None:
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    while not stopped.wait(0.2):  # on Windows, a wait without a timeout would not see the signal
        pass
