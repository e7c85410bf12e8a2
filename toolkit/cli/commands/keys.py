"""`toolkit keys`: make a key pair for a ClientKey."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth.keys.new_key import NewKey, new_key, write_new_file
from toolkit.auth.keys.signer import ALGORITHMS
from toolkit.auth.profiles.prompt import ask_unseen, can_ask
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

APPLICATION = "service-access-toolkit"
_THUMBPRINT_IN_NAME = 8  # characters
_WITHOUT_IT = "Run this in a terminal, or leave --passphrase out."

app = typer.Typer(no_args_is_help=True, help="Make a key pair for signed client assertions.")


@app.callback()
def _group() -> None:
    """Keeps `new` a command of its own while there is no other."""


@app.command(
    epilog="Examples:\n\n`toolkit keys new`\n\n`toolkit keys new ~/keys/desk.pem --passphrase`\n\n"
    "`toolkit keys new desk.pem --algorithm PS256 --key-id desk-2026`"
)
def new(
    file: Annotated[
        Path | None, typer.Argument(help="File for the private half; by default one in your configuration folder.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(ALGORITHMS)}.")] = "ES256",
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid); by default the thumbprint.")] = None,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase to encrypt it with.")] = False,
) -> None:
    """Make a key pair: the private half goes into a new file that only you may read, the public half is printed."""
    made = new_key(algorithm, key_id=key_id, passphrase=_asked() if passphrase else None)
    target = (_default_file(made) if file is None else file.expanduser()).absolute()
    write_new_file(target, made.private_pem)
    console = Console()
    protection = ", encrypted with your passphrase" if passphrase else ""
    console.print(f"The private half is in {terminal.escape(str(target))}", soft_wrap=True, highlight=False)
    console.print(f"Only you may read it{protection}. It never leaves this machine: do not send or commit it.")
    console.print("\n[bold]Register this public half with the service, as PEM or as JWK[/]\n")
    typer.echo(made.public_pem)
    typer.echo(json.dumps(made.public_jwk, indent=2))
    console.print()
    for what, value in (
        ("Algorithm", made.algorithm),
        ("Key ID (kid)", made.key_id),
        ("Thumbprint (RFC 7638)", made.thumbprint),
    ):
        console.print(f"{what.ljust(22)} {terminal.escape(value)}", soft_wrap=True, highlight=False)
    terminal.print_next_steps(
        console, [("toolkit credentials add", "saves the client ID together with this key, once the service knows it")]
    )
    typer.echo(f"\nIn Python:\n\n{_in_python(made, target, encrypted=passphrase)}")


def _in_python(made: NewKey, file: Path, *, encrypted: bool) -> str:
    """Lines to paste, with everything that the file alone does not say."""
    options = f", key_id={json.dumps(made.key_id)}"
    if made.algorithm[:2] in {"RS", "PS"}:  # an RSA key signs with any of six
        options += f", algorithm={json.dumps(made.algorithm)}"
    modules = ["from pathlib import Path", "import toolkit as tk"]
    if encrypted:
        modules.insert(0, "import getpass")
        options += ", passphrase=getpass.getpass()"
    path = f"Path({json.dumps(str(file))})"
    return "\n".join(
        (*modules, f'credentials = tk.ClientKey("CLIENT_ID", {path}, environment="broker-sandbox"{options})')
    )


def _default_file(made: NewKey) -> Path:
    from platformdirs import user_config_dir  # needed here alone

    name = f"{made.algorithm.lower()}-{made.thumbprint[:_THUMBPRINT_IN_NAME]}.pem"
    return Path(user_config_dir(APPLICATION, appauthor=False)) / "keys" / name


def _asked() -> Secret:
    """A passphrase, typed twice and unseen.

    Raises:
        ConfigurationError: nobody is there to type it, it would be seen, it is empty, or it was mistyped.
    """
    if not can_ask():
        raise ConfigurationError("Cannot ask for a passphrase: nobody is there to type it.", _WITHOUT_IT)
    typed = [_answer(question) for question in ("Passphrase: ", "The same again: ")]
    if not typed[0]:
        raise ConfigurationError("The passphrase is empty.", "Type one, or leave --passphrase out.")
    if typed[0] != typed[1]:
        raise ConfigurationError("The two passphrases differ.", "Run the command again.")
    return typed[0]


def _answer(question: str) -> Secret:
    try:
        return Secret(ask_unseen(question))
    except EOFError:
        reason = "there was no answer"
    except getpass.GetPassWarning:
        reason = "what you type would be seen"
    raise ConfigurationError(f"Cannot ask for a passphrase: {reason}.", _WITHOUT_IT)
