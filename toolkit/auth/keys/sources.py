"""What people give as a private key: text, bytes, a mapping, a file or an object."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolkit.auth.keys.jwk import load_jwk
from toolkit.auth.keys.local_key import HOW_TO_GIVE_A_KEY, KEYS_THAT_SIGN, PRIVATE_HALF, Loaded, not_encrypted
from toolkit.auth.keys.pem import load_der, load_pem
from toolkit.core.problem import Problem, attempt
from toolkit.core.secret import Secret

LARGEST_KEY_FILE: Final = 262_144  # bytes; a key with its whole chain of certificates has a tenth of it
_LONGEST_PATH: Final = 4096  # characters
_DER_BODY: Final = re.compile(r"M[A-Za-z0-9+/=\s]{39,}")  # base64 of a DER sequence; a path has a dot or is shorter
_KEY_SUFFIXES: Final = (".pem", ".key", ".der", ".jwk", ".jwks", ".json", ".p8", ".pk8")
_NEITHER: Final = Problem("The private key is neither PEM nor JWK text.", HOW_TO_GIVE_A_KEY)
_PARTS_OF_A_KEY: Final = ("sign", "private_bytes", "public_bytes")


def hidden(given: Any) -> Any:
    """The same as a Secret, a Path, a key object or a Signer: nothing whose repr shows a key; else a Problem."""
    if isinstance(given, Secret | Problem):
        return given
    if isinstance(given, str):
        return Secret(given)
    if isinstance(given, bytes | bytearray):
        text = _text_of(bytes(given))
        return _NEITHER if text is None else Secret(text)
    if isinstance(given, Mapping):
        text = attempt(lambda: json.dumps(dict(given)))
        return (
            Problem("The mapping given as a private key is no JWK.", HOW_TO_GIVE_A_KEY)
            if text is None
            else Secret(text)
        )
    if isinstance(given, Path):
        return Problem("The key itself was given as a Path.", HOW_TO_GIVE_A_KEY) if _is_key_text(str(given)) else given
    if isinstance(given, type):
        return Problem(f"The class {given.__name__} was given as a private key.", "Give an object of it.")
    if any(attempt(lambda part=part: hasattr(given, part)) for part in _PARTS_OF_A_KEY):  # type: ignore[misc]
        return given
    return Problem(
        f"An object of type {type(given).__name__} is no private key that signs an assertion.",
        f"{KEYS_THAT_SIGN}, or a Signer with algorithm, key_id and sign.",
    )


def load(given: Any, key_id: str | None, passphrase: Secret | None) -> Loaded | Problem:
    """The private key in what `hidden` made of it.

    Args:
        given: a Secret with key text, a Path, or a key object.
        key_id: chooses the key of a JWK set.
        passphrase: opens an encrypted key.
    """
    if isinstance(given, Path):
        read = _read(given)
        return read if isinstance(read, Problem) else _load_text(read.reveal(), key_id, passphrase)
    if isinstance(given, Secret):
        text = given.reveal()
        return _file_name_problem(text) or _load_text(text, key_id, passphrase)
    if passphrase is not None:
        return not_encrypted()
    if hasattr(given, "public_bytes") and not hasattr(given, "private_bytes"):
        held = "a certificate" if hasattr(given, "issuer") else "a public key"
        return Problem(f"This is {held}, and no private key.", PRIVATE_HALF)
    return Loaded(given)


def _load_text(text: str, key_id: str | None, passphrase: Secret | None) -> Loaded | Problem:
    text = text.removeprefix("\ufeff")
    if _is_der(text):
        data = attempt(lambda: text.encode("latin-1"))
        return _NEITHER if data is None else load_der(data, passphrase)
    text = text.strip()
    if text.startswith("{"):
        found = load_jwk(text, key_id)
        return not_encrypted() if isinstance(found, Loaded) and passphrase is not None else found
    return load_pem(text, passphrase) if "-----BEGIN" in text else _NEITHER


def _read(file: Path) -> Secret | Problem:
    try:
        with file.expanduser().open("rb") as stream:
            data = stream.read(LARGEST_KEY_FILE + 1)
    except OSError as error:
        reason = error.strerror or "it is no file"
    except (ValueError, RuntimeError):  # a null character; no home folder
        reason = "this names no file"
    else:
        text = _text_of(data)
        if text is not None and len(data) <= LARGEST_KEY_FILE:
            return Secret(text)
        reason = "it is not text" if text is None else "it is too large for a key"
    return Problem(f"Cannot read the private key file {file}: {reason}.", HOW_TO_GIVE_A_KEY)


def _text_of(data: bytes) -> str | None:
    """The text in bytes, as editors and shells of several systems write it; DER byte for byte; None for others."""
    text = data.decode("latin-1")
    if _is_der(text):
        return text
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # a PowerShell `>` writes it
    found = attempt(lambda: data.decode("utf-16" if is_utf16 else "utf-8-sig"))
    return found if isinstance(found, str) else None


def _is_der(text: str) -> bool:
    """Whether this is a DER sequence: of a private key, a number or an algorithm comes first, in control characters."""
    return text.startswith("0") and any(character < "\t" for character in text[1:12])


def _is_key_text(text: str) -> bool:
    return "-----BEGIN" in text or text.startswith("{") or _DER_BODY.fullmatch(text) is not None


def _file_name_problem(text: str) -> Problem | None:
    """A file name given as text is a slip: it is never read, since text is key text."""
    name = text.strip()
    if not name or len(name) > _LONGEST_PATH or not name.isprintable() or _is_key_text(name):
        return None
    if name.lower().endswith(_KEY_SUFFIXES) or attempt(lambda: os.path.isfile(os.path.expanduser(name))):  # noqa: PTH111, PTH113 - a Path's raise
        return Problem(
            "The private key is text that names a file, and text is taken as the key itself.",
            "For a file give a path: Path(...) of pathlib.",
        )
    return None
