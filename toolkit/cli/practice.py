"""`toolkit practice`: run the practice service until Ctrl+C, and print how to call it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkit.auth.profiles.fields import DEFAULT, REQUIRED, decompose, variable
from toolkit.cli import terminal
from toolkit.core.arguments import as_choice
from toolkit.core.shells import Form, assignment, comment, usual_form
from toolkit.local.variables import variable_name

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

EXAMPLES: Final = terminal.examples(
    "toolkit practice --format powershell --client-keys", "toolkit practice --accounts 100 --port 8800"
)
# Names of the practice service's credentials.
_SECRETS: Final = ("live", "paper", "broker-secret", "sandbox-secret")
_KEYS: Final = ("live", "paper", "broker-key", "sandbox-key")


def practice(
    accounts: Annotated[int, typer.Option(help="Accounts of each broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds to wait before each answer.")] = 0.0,
    rate_limit: Annotated[float | None, typer.Option(help="Calls a second for each holder; more get 429.")] = None,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 picks free ones.")] = 0,
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"How to print variables: {', '.join(Form)}; by default as this shell does."),
    ] = None,
    client_keys: Annotated[
        bool, typer.Option("--client-keys", help="Print the client keys of broker partners in place of their secrets.")
    ] = False,
) -> None:
    """Run a local service to practise with.

    It runs on this machine until Ctrl+C. The command prints its addresses and credentials, ready to paste.
    """
    from toolkit.practice_service import practice as start_practice  # its server is an extra

    terminal.check_online("the practice service does not start")
    chosen = Form(as_choice(form or usual_form(os.name, os.environ), list(Form), about="format"))
    with start_practice(
        accounts=accounts, token_validity=token_validity, delay=delay, rate_limit=rate_limit, port=port
    ) as service:
        credentials = {name: service.credentials[name] for name in (_KEYS if client_keys else _SECRETS)}
        for line in how_to_call(chosen, service.settings.addresses, credentials):
            typer.echo(line)
        sys.stdout.flush()
        _wait_for_interrupt()
    typer.echo(comment(chosen, "Stopped."))


def how_to_call(form: Form, addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Iterator[str]:
    """Yield the lines that name the practice service's addresses and credentials. Nothing else prints credentials."""
    yield comment(form, "A practice service, for this machine only. Its credentials stop working when it stops.")
    table = ["[addresses]", *(assignment(Form.TOML, name, address) for name, address in addresses.items())]
    if form is Form.TOML:
        yield comment(form, "[addresses] is for toolkit.toml, which holds no credentials.")
        yield "\n".join(table)
    elif form is Form.ENV:
        yield comment(form, "The toolkit takes no addresses from .env. For toolkit.toml:")
        yield from (comment(form, line) for line in table)
    else:
        command = "toolkit record mine --environment broker-sandbox"
        yield comment(form, terminal.pasteable(f"Paste into another shell, then run: {command}"))
        yield from (assignment(form, variable_name(name), address) for name, address in addresses.items())
    for name, each in credentials.items():
        fields = decompose(each)
        used = [field for field in (*REQUIRED[each.kind], "private_key_id") if field in fields]
        if form is Form.TOML:
            yield f"\n[credentials.{name}]\n{assignment(form, 'environment', each.environment)}"
        for field in used:
            # A PEM is read without its line breaks too, which cmd cannot write.
            text = fields[field].reveal()
            text = text.replace("\n", " ").strip() if form is Form.CMD else text
            yield assignment(form, field if form is Form.TOML else variable(each.environment, DEFAULT, field), text)
    yield "\n" + comment(form, "Running. Press Ctrl+C to stop.")


def _wait_for_interrupt() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell lets programs in the background ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(1)
