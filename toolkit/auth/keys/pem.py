"""PEM and DER of private keys: PKCS#8, PKCS#1 and SEC 1, encrypted too (RFC 7468, 1421, 5958, 8017, 5915).

PEM text often arrives mangled: on one line, as an environment variable or a JSON file holds it, between the
attributes that OpenSSL prints, or beside certificates. So this module searches for the block and restores its lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from toolkit.auth.keys.signer import KEYS_THAT_SIGN, PRIVATE_HALF, LoadedKey, key_error, not_encrypted_error
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

_MARKER: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
_WRITTEN_OUT: Final = re.compile(r"\\+[rn]")  # a line break as an environment variable or a JSON file holds it
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
# RFC 1421 section 4.6.1. The length of the vector tells where it ends when the line breaks are gone.
_ENCRYPTION: Final = re.compile(
    r"Proc-Type:\s*4,\s*ENCRYPTED\s*DEK-Info:\s*"
    r"(?:((?:AES|CAMELLIA|ARIA)-\d{3}-CBC),\s*([0-9A-Fa-f]{32})|(DES(?:-EDE3)?-CBC),\s*([0-9A-Fa-f]{16}))"
)
_LINE: Final = 64  # characters; RFC 7468 section 2
_NOT_PRIVATE: Final = {
    "CERTIFICATE": "certificate",
    "X509 CERTIFICATE": "certificate",
    "TRUSTED CERTIFICATE": "certificate",
    "CERTIFICATE REQUEST": "certificate request",
    "PUBLIC KEY": "public key",
    "RSA PUBLIC KEY": "public key",
}


class _Block(NamedTuple):
    label: str
    body: str
    source: str


def load_pem(text: str, passphrase: Secret | None) -> LoadedKey:
    """Return the only private key among the blocks of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = list(_blocks(text))
    private = {_WRITTEN_OUT.sub("", block.body).strip(): block for block in blocks if _is_private(block)}
    if len(private) > 1:
        raise key_error("This PEM holds several private keys.", "Give only the key to sign with.")
    if not private:
        raise _no_private_key(text, blocks)
    (block,) = private.values()
    if block.label == "OPENSSH PRIVATE KEY":
        raise key_error(
            "This private key is in the format of OpenSSH.", "Convert a copy: ssh-keygen -p -m PKCS8 -f COPY."
        )
    rebuilt = _rebuilt(block)
    key = _decode(load_pem_private_key, rebuilt.encode("ascii"), passphrase, "PEM")
    return LoadedKey(key, texts=(Secret(block.source), Secret(rebuilt)), passphrase=passphrase)


def load_der(data: bytes, passphrase: Secret | None) -> LoadedKey:
    """Return the private key of a DER structure."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    if _is_public_der(data):
        raise key_error("This DER is a public key.", PRIVATE_HALF)
    return LoadedKey(_decode(load_der_private_key, data, passphrase, "DER"), passphrase=passphrase)


def _is_public_der(data: bytes) -> bool:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        load_der_public_key(data)
    except Exception:  # noqa: BLE001 - several kinds, depending on how far it reads
        return False
    return True


def _blocks(text: str) -> Iterator[_Block]:
    begin: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        if begin is not None and marker[1] == "END" and marker[2] == begin[2]:
            yield _Block(begin[2], text[begin.end() : marker.start()], text[begin.start() : marker.end()])
        begin = marker if marker[1] == "BEGIN" else None


def _is_private(block: _Block) -> bool:
    return block.label.endswith("PRIVATE KEY")


def _no_private_key(text: str, blocks: list[_Block]) -> ConfigurationError:
    if "PRIVATE KEY-----" in text:
        return key_error(
            "The PEM of the private key is cut off: its BEGIN or its END line is missing.", "Copy all of it."
        )
    instead = next((_NOT_PRIVATE[block.label] for block in blocks if block.label in _NOT_PRIVATE), None)
    what = "This PEM does not hold a private key." if instead is None else f"This PEM holds a {instead} only."
    return key_error(what, PRIVATE_HALF)


def _rebuilt(block: _Block) -> str:
    """Return a block with its line breaks and headers where RFC 7468 and RFC 1421 want them."""
    body, headers = _WRITTEN_OUT.sub("\n", block.body).strip(), ""
    if ":" in body:
        match = _ENCRYPTION.match(body)
        if match is None:
            raise key_error(
                "The lines Proc-Type and DEK-Info of this encrypted PEM cannot be read.",
                "Give its file as a pathlib.Path, or keep its line breaks.",
            )
        cipher, vector = match[1] or match[3], match[2] or match[4]
        headers = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: {cipher},{vector}\n\n"
        body = body[match.end() :]
    data = "".join(body.split())
    if not _BASE64.fullmatch(data):
        raise _unreadable("PEM")
    lines = "\n".join(data[start : start + _LINE] for start in range(0, len(data), _LINE))
    return f"-----BEGIN {block.label}-----\n{headers}{lines}\n-----END {block.label}-----"


def _decode(load: Callable[[bytes, bytes | None], Any], data: bytes, passphrase: Secret | None, form: str) -> Any:
    """Return the key object; the error of `cryptography`, which may hold the key, is replaced and not chained."""
    password = None if passphrase is None else passphrase.reveal().encode("utf-8", "surrogatepass")
    try:
        return load(data, password)
    except Exception as error:  # noqa: BLE001
        problem = _decoding_error(error, form, has_passphrase=passphrase is not None)
    raise problem


def _decoding_error(error: Exception, form: str, *, has_passphrase: bool) -> ConfigurationError:
    """Return what an error of `cryptography` means."""
    from cryptography.exceptions import UnsupportedAlgorithm

    if isinstance(error, TypeError):  # a passphrase is missing, or superfluous
        if has_passphrase:
            return not_encrypted_error()
        return ConfigurationError(
            "This private key is encrypted with a passphrase.", 'Add passphrase="...".', about="passphrase"
        )
    is_unsupported = isinstance(error, UnsupportedAlgorithm)
    if is_unsupported and not has_passphrase:
        return key_error("This private key is of a kind that does not sign assertions.", f"{KEYS_THAT_SIGN}.")
    if not has_passphrase or not isinstance(error, ValueError | UnsupportedAlgorithm):
        return _unreadable(form)
    if is_unsupported or "unknown" in str(error).lower():
        return key_error(
            "The private key is encrypted with a cipher that is not supported.",
            "Encrypt it again: openssl pkcs8 -topk8 -in OLD.pem -out NEW.pem.",
        )
    return ConfigurationError(
        "The private key cannot be decrypted with this passphrase.",
        "Check the passphrase; if it is right, the key is damaged.",
        about="passphrase",
    )


def _unreadable(form: str) -> ConfigurationError:
    return key_error(f"The {form} of the private key cannot be read.")
