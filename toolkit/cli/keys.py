"""`toolkit keys`: create a key pair for a ClientKey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from toolkit.auth.private_keys import NewKey, new_key, write_key_file
from toolkit.auth.signers import ALGORITHMS
from toolkit.auth.typed_secrets import ask_secret, can_ask
from toolkit.cli import terminal
from toolkit.cli.application import Application
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.shells import shell_word
from toolkit.local.files import expanded
from toolkit.local.user_folders import config_folder

_THUMBPRINT_IN_NAME = 8  # characters
_NEXT_STEP = "Run this in a terminal, or leave --passphrase out."
_EXAMPLES = terminal.examples(
    "toolkit keys new",
    "toolkit keys new ~/keys/desk.pem --passphrase",
    "toolkit keys new desk.pem --algorithm PS256 --key-id desk-2026",
)


def new(
    file: Annotated[
        Path | None, typer.Argument(help="File for the private key; by default one in your configuration folder.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(ALGORITHMS)}.")] = "ES256",
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid) of the new key; by default its thumbprint.")] = None,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase to encrypt it with.")] = False,
) -> None:
    """Create a key pair: write the private key to a new file that only you can read, and print the public key."""
    key = new_key(algorithm, key_id=key_id, passphrase=_ask_for_passphrase() if passphrase else None)
    target = (_default_file(key) if file is None else expanded(file, about="file")).absolute()
    write_key_file(target, key.private_pem)
    console = Console()
    protection = ", encrypted with your passphrase" if passphrase else ""
    console.print(f"The private key is in {terminal.escape(str(target))}", soft_wrap=True, highlight=False)
    console.print(f"Only you can read it{protection}. It never leaves this machine: do not send or commit it.")
    console.print("\n[bold]Register this public key with the service, as PEM or as JWK[/]\n")
    typer.echo(key.public_pem)
    typer.echo(json.dumps(key.public_jwk, indent=2))
    console.print()
    for label, value in (
        ("Algorithm", key.algorithm),
        ("Key ID (kid)", key.key_id),
        ("Thumbprint (RFC 7638)", key.thumbprint),
    ):
        console.print(f"{label.ljust(22)} {terminal.escape(value)}", soft_wrap=True, highlight=False)
    terminal.print_next_steps(
        console, [(_command_to_save(key, target), "save the client ID with this key, once the service knows it")]
    )
    typer.echo(f"\nIn Python:\n\n{_in_python(key, target, is_encrypted=passphrase)}")


def _command_to_save(key: NewKey, file: Path) -> str:
    """Return the command that saves credentials with the key, with the options that the file does not determine."""
    words = ["toolkit credentials add default --environment broker-sandbox --key-file", shell_word(str(file))]
    words += ["--key-id", shell_word(key.key_id)]
    if _signs_in_several_ways(key):
        words += ["--algorithm", key.algorithm]
    return " ".join(words)


def _signs_in_several_ways(key: NewKey) -> bool:
    """Check whether the key alone leaves the algorithm open: an RSA key can sign with six."""
    return key.algorithm[:2] in {"RS", "PS"}


def _in_python(key: NewKey, file: Path, *, is_encrypted: bool) -> str:
    """Return lines to paste, with the options that the file alone does not determine."""
    options = f", key_id={json.dumps(key.key_id)}"
    if _signs_in_several_ways(key):
        options += f", algorithm={json.dumps(key.algorithm)}"
    modules = ["from pathlib import Path", "import toolkit as tk"]
    if is_encrypted:
        modules.insert(0, "import getpass")
        options += ", passphrase=getpass.getpass()"
    path = f"Path({json.dumps(str(file))})"
    return "\n".join(
        (*modules, f'credentials = tk.ClientKey("CLIENT_ID", {path}, environment="broker-sandbox"{options})')
    )


def _default_file(key: NewKey) -> Path:
    name = f"{key.algorithm.lower()}-{key.thumbprint[:_THUMBPRINT_IN_NAME]}.pem"
    return config_folder() / "keys" / name


def _ask_for_passphrase() -> Secret:
    """Ask twice for a passphrase, without showing it.

    Raises:
        ConfigurationError: if it cannot ask at a terminal, the passphrase would be visible or is empty, or the
            answers differ.
    """
    if not can_ask():
        raise ConfigurationError("A passphrase can be asked for at a terminal only.", _NEXT_STEP, about="passphrase")
    first, second = (ask_secret(question, next_step=_NEXT_STEP) for question in ("Passphrase: ", "Repeat it: "))
    if not first:
        raise ConfigurationError("The passphrase is empty.", _NEXT_STEP, about="passphrase")
    if first != second:
        raise ConfigurationError("The two passphrases differ.", "Run the command again.", about="passphrase")
    return first


app = Application(name="keys", help="Create a key pair for signed client assertions.")
app.add("new", new, summary="Create a key pair, and print its public key.", examples=_EXAMPLES)
