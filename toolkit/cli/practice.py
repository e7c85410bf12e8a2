"""`toolkit practice`: run the practice service until Ctrl+C, and print how to call it."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkit.auth.profiles.fields import DEFAULT, REQUIRED, decompose, variable
from toolkit.cli import terminal
from toolkit.core.errors import as_choice
from toolkit.local.files import toml_string
from toolkit.local.settings import VARIABLES

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

EXAMPLES: Final = terminal.examples(
    "toolkit practice --format powershell --client-keys", "toolkit practice --accounts 100 --port 8800"
)
_FORMS: Final = ("bash", "powershell", "env")
_SECRETS: Final = ("live", "paper", "broker-secret", "sandbox-secret")
_KEYS: Final = ("live", "paper", "broker-key", "sandbox-key")


def practice(
    accounts: Annotated[int, typer.Option(help="Number of accounts per broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds to wait before each response.")] = 0.0,
    rate_limit: Annotated[float | None, typer.Option(help="Calls per second per caller; any more get 429.")] = None,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 picks free ones.")] = 0,
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"Format of the variables: {', '.join(_FORMS)}; by default this shell's format."),
    ] = None,
    client_keys: Annotated[
        bool, typer.Option("--client-keys", help="Print the client keys of broker partners instead of their secrets.")
    ] = False,
) -> None:
    """Run a local service to practise with.

    The service runs on this machine until you press Ctrl+C. Its addresses and credentials are printed, ready to paste.
    """
    from toolkit.practice_service import practice as start_practice  # needs the server, which is an optional dependency

    terminal.check_online("the practice service does not start")
    usual = "powershell" if os.name == "nt" and "SHELL" not in os.environ else "bash"  # Git's Bash sets SHELL
    chosen = as_choice(form or usual, _FORMS, about="format")
    with start_practice(
        accounts=accounts, token_validity=token_validity, delay=delay, rate_limit=rate_limit, port=port
    ) as service:
        credentials = {name: service.credentials[name] for name in (_KEYS if client_keys else _SECRETS)}
        for line in how_to_call(chosen, service.settings.addresses, credentials):
            typer.echo(line)
        sys.stdout.flush()
        _wait_for_interrupt()
    typer.echo("# Stopped.")


def how_to_call(form: str, addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Iterator[str]:
    """Yield the lines with the practice service's addresses and credentials. No other function prints credentials."""
    yield "# A practice service, for this machine only. Its credentials stop working when it stops."
    if form == "env":
        yield "# The toolkit does not read addresses from .env. Copy them to toolkit.toml:\n# [addresses]"
        yield from (f"# {name} = {toml_string(address)}" for name, address in addresses.items())
    else:
        yield f"# Paste into another shell, then run: {terminal.pasteable('toolkit record mine -e broker-sandbox')}"
        yield from (assignment(form, VARIABLES[name], address) for name, address in addresses.items())
    for each in credentials.values():
        fields = decompose(each)
        for field in (*REQUIRED[each.kind], "private_key_id"):
            if field in fields:
                yield assignment(form, variable(each.environment, DEFAULT, field), fields[field].reveal())
    yield "\n# Running. Press Ctrl+C to stop."


def assignment(form: str, name: str, value: str) -> str:
    """Return the line or lines that set a variable. Values are URLs, hexadecimal numbers, names and PEM strings."""
    if form == "bash":
        return f"export {name}={shlex.quote(value)}"
    if form == "powershell":
        return f"$env:{name} = '{value}'"
    return f"{name}={toml_string(value)}"  # on one line, since many programs read such files line by line


def _wait_for_interrupt() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # shells make background programs ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(1)
