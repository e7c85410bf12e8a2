"""`toolkit keys`: create a key pair for a ClientKey."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from toolkit.auth.credentials import can_ask
from toolkit.auth.private_keys import ALGORITHMS, new_key, write_key_file
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.files import expanded
from toolkit.local.folders import config_folder

app = terminal.command_group("keys", help="Create a key pair for signed client assertions.")


@app.command(epilog=terminal.examples("toolkit keys new", "toolkit keys new desk.pem --passphrase --key-id desk-2026"))
def new(
    file: Annotated[
        Path | None, typer.Argument(help="File for the private key; by default one in your configuration folder.")
    ] = None,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(ALGORITHMS)}.")] = "ES256",
    key_id: Annotated[str | None, typer.Option(help="Key ID (kid) of the new key; by default its thumbprint.")] = None,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase to encrypt the key.")] = False,
) -> None:
    """Create a key pair, and print its public key.

    The private key is written to a new file that only you can read.
    """
    key = new_key(algorithm, key_id=key_id, passphrase=_ask_for_passphrase() if passphrase else None)
    algorithm, key_id = key.public_jwk["alg"], key.public_jwk["kid"]
    default = config_folder() / "keys" / f"{algorithm.lower()}-{key.thumbprint[:8]}.pem"
    target = (default if file is None else expanded(file, about="file")).absolute()
    write_key_file(target, key.private_pem)
    terminal.say(f"The private key is in {target}")
    protection = ", and it is encrypted with your passphrase" if passphrase else ""
    terminal.say(f"Only you can read it{protection}. Keep it on this machine: do not send or commit it.")
    terminal.say("\nRegister this public key with the service, as PEM or as JWK\n", "bold")
    terminal.say(key.public_pem)
    terminal.say(json.dumps(key.public_jwk, indent=2))
    terminal.say(f"\n{'Algorithm':22} {algorithm}\n{'Key ID (kid)':22} {key_id}")
    terminal.say(f"{'Thumbprint (RFC 7638)':22} {key.thumbprint}")
    words = ["toolkit credentials add default --environment broker-sandbox --key-file", shlex.quote(str(target))]
    words += ["--key-id", shlex.quote(key_id)]
    if algorithm[:2] in {"RS", "PS"}:  # an RSA key can sign with six algorithms, and the file does not say which
        words += ["--algorithm", algorithm]
    terminal.print_next_steps((" ".join(words), "once the key is registered, save the client ID with it"))


def _ask_for_passphrase() -> Secret:
    if not can_ask():
        what, next_step = "A passphrase can be entered only in a terminal.", "Leave --passphrase out."
        raise ConfigurationError(what, next_step, about="passphrase")
    return Secret(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True))


@app.callback()
def _group() -> None:
    """Make `new` a subcommand: without this callback, Typer would turn the only command into the group itself."""
