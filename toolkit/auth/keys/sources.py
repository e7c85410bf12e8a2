"""Read a private key from any form: text, bytes, a mapping, a file or an object."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from toolkit.auth.keys.jwk import load_jwk
from toolkit.auth.keys.pem import load_der, load_pem
from toolkit.auth.keys.signer import PRIVATE_HALF, LoadedKey, key_error, key_type_error, not_encrypted_error
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import attempt

LARGEST_KEY_FILE: Final = 262_144  # bytes; a key with its whole chain of certificates has a tenth
_LONGEST_PATH: Final = 4096  # characters
_DER_BODY: Final = re.compile(r"M[A-Za-z0-9+/=\s]{39,}")  # base64 of a DER sequence; a path has a dot or is shorter
_KEY_SUFFIXES: Final = (".pem", ".key", ".der", ".jwk", ".jwks", ".json", ".p8", ".pk8")
_ATTRIBUTES_OF_KEYS: Final = ("sign", "private_bytes", "public_bytes")


def as_secret(private_key: Any) -> Any:
    """Return a private key in a form that hides it: key text as a Secret; a Path, key object or Signer as it is."""
    if isinstance(private_key, Secret):
        return private_key
    if isinstance(private_key, str):
        return Secret(private_key)
    if isinstance(private_key, bytes | bytearray):
        return Secret(attempt(lambda: _text_of(bytes(private_key)), otherwise=_unknown_form))
    if isinstance(private_key, Mapping):
        not_a_jwk = partial(key_error, "The mapping given as a private key is not a JWK.")
        return Secret(attempt(lambda: json.dumps(dict(private_key)), otherwise=not_a_jwk))
    if isinstance(private_key, Path):
        if _is_key_text(str(private_key)):
            raise key_error("The key itself was given as a Path.")
        return private_key
    if isinstance(private_key, type):
        raise key_error(f"The class {private_key.__name__} was given as a private key.", "Give an instance of it.")
    is_key = attempt(
        lambda: any(hasattr(private_key, attribute) for attribute in _ATTRIBUTES_OF_KEYS),
        otherwise=lambda: key_type_error(private_key),
    )
    if not is_key:
        raise key_type_error(private_key)
    return private_key


def load(private_key: Any, key_id: str | None, passphrase: Secret | None) -> LoadedKey:
    """Read a private key from what `as_secret` returned; `key_id` chooses the key of a JWK set."""
    if isinstance(private_key, Path):
        return _load_text(_read(private_key), key_id, passphrase)
    if isinstance(private_key, Secret):
        text = private_key.reveal()
        if _is_file_name(text):
            raise key_error(
                "The private key is text that names a file, but text must be the key itself.",
                "Give a file as a pathlib.Path: Path(...).",
            )
        return _load_text(text, key_id, passphrase)
    if passphrase is not None:
        raise not_encrypted_error()
    if hasattr(private_key, "public_bytes") and not hasattr(private_key, "private_bytes"):
        kind = "certificate" if hasattr(private_key, "issuer") else "public key"
        raise key_error(f"This is a {kind}, not a private key.", PRIVATE_HALF)
    return LoadedKey(private_key)


def _load_text(text: str, key_id: str | None, passphrase: Secret | None) -> LoadedKey:
    text = text.removeprefix("\ufeff")
    if _is_der(text):
        return load_der(attempt(lambda: text.encode("latin-1"), otherwise=_unknown_form), passphrase)
    text = text.strip()
    if text.startswith("{"):
        loaded = load_jwk(text, key_id)
        if passphrase is not None:
            raise not_encrypted_error()
        return loaded
    if "-----BEGIN" not in text:
        raise _unknown_form()
    return load_pem(text, passphrase)


def _read(file: Path) -> str:
    try:
        with file.expanduser().open("rb") as stream:
            data = stream.read(LARGEST_KEY_FILE + 1)
    except OSError as error:
        reason = error.strerror or "it is not a file"
    except (ValueError, RuntimeError):  # a null character in the name; no home folder
        reason = "this does not name a file"
    else:
        if len(data) <= LARGEST_KEY_FILE:
            return attempt(lambda: _text_of(data), otherwise=lambda: _file_error(file, "it is not text"))
        reason = "it is too large for a key"
    raise _file_error(file, reason)


def _text_of(data: bytes) -> str:
    """Return bytes as text, in the encodings that editors and shells write; DER is kept byte for byte.

    Raises:
        UnicodeDecodeError: if the bytes are neither text nor DER.
    """
    text = data.decode("latin-1")
    if _is_der(text):
        return text
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as `>` in PowerShell writes it
    return data.decode("utf-16" if is_utf16 else "utf-8-sig")


def _is_der(text: str) -> bool:
    """Return True for a DER sequence, which has a control character near its start if it is a private key."""
    return text.startswith("0") and any(character < "\t" for character in text[1:12])


def _is_key_text(text: str) -> bool:
    return "-----BEGIN" in text or text.startswith("{") or _DER_BODY.fullmatch(text) is not None


def _is_file_name(text: str) -> bool:
    """Return True for text that looks like a file name: a mistake, because text is taken as the key itself."""
    name = text.strip()
    if not name or len(name) > _LONGEST_PATH or not name.isprintable() or _is_key_text(name):
        return False
    # The methods of Path would raise for names that the system does not allow.
    return name.lower().endswith(_KEY_SUFFIXES) or os.path.isfile(os.path.expanduser(name))  # noqa: PTH111, PTH113


def _unknown_form() -> ConfigurationError:
    return key_error("The private key is neither PEM nor JWK text.")


def _file_error(file: Path, reason: str) -> ConfigurationError:
    return key_error(f"Cannot read the private key file {file}: {reason}.")
