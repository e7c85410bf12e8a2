"""`toolkit practice`: run the practice service until Ctrl+C, and print how to call it."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Annotated, Final

import typer

from toolkit.auth.credentials import ClientSecret, KeyPair
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import is_offline, variable_name

EPILOG: Final = terminal.examples(
    "toolkit practice",
    "toolkit practice --accounts 100 --port 8800",
    "toolkit practice --token-validity 60 --rate-limit 5",
)


def practice(
    accounts: Annotated[int, typer.Option(help="Accounts of each broker partner.")] = 25,
    token_validity: Annotated[float, typer.Option(help="Seconds for which a token is accepted.")] = 900,
    delay: Annotated[float, typer.Option(help="Seconds to wait before each answer.")] = 0.0,
    rate_limit: Annotated[
        float | None, typer.Option(help="Calls a second for each holder; further calls get 429.")
    ] = None,
    port: Annotated[int, typer.Option(help="First of eight consecutive ports; 0 picks free ones.")] = 0,
) -> None:
    """Run the practice service on this machine until Ctrl+C, and print how to call it."""
    from toolkit.practice_service import practice as start_practice  # its server is an extra

    if is_offline():
        raise ConfigurationError(
            "TOOLKIT_OFFLINE is set, so the practice service does not start.",
            "Unset it and run this again.",
            about="TOOLKIT_OFFLINE",
        )
    with start_practice(
        accounts=accounts, token_validity=token_validity, delay=delay, rate_limit=rate_limit, port=port
    ) as service:
        typer.echo("# A practice service, for this machine only. Its credentials stop working when it stops.")
        typer.echo("# Paste into another shell, then run: toolkit record mine --environment broker-sandbox\n")
        for name, address in service.settings.addresses.items():
            typer.echo(f"export {variable_name(name)}={address}")
        for name in ("live", "paper", "broker-secret", "sandbox-secret"):
            for variable, value in _variables(service.credentials[name]):
                typer.echo(f"export {variable}={value}")
        typer.echo("\n# Running. Press Ctrl+C to stop.")
        sys.stdout.flush()
        _wait_for_interrupt()
    typer.echo("# Stopped.")


def _variables(credentials: object) -> list[tuple[str, str]]:
    """Return variables that hold credentials of the practice service. Nothing else prints credentials."""
    if isinstance(credentials, KeyPair):
        values = {"KEY_ID": credentials.key_id.reveal(), "SECRET_KEY": credentials.secret_key.reveal()}
    elif isinstance(credentials, ClientSecret):
        values = {"CLIENT_ID": credentials.client_id, "CLIENT_SECRET": credentials.client_secret.reveal()}
    else:
        return []
    prefix = f"TOOLKIT_{credentials.environment.name}"
    return [(f"{prefix}_{name}", value) for name, value in values.items()]


def _wait_for_interrupt() -> None:
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    while not stopped.wait(0.2):  # on Windows, a wait without a timeout would not see the signal
        pass
