"""PEM and DER of private keys: PKCS#8, PKCS#1 and SEC 1, encrypted ones too (RFC 7468, 1421, 5958, 8017, 5915).

PEM text reaches us mangled: on one line, as an environment variable or a JSON file holds it, between the
attributes that OpenSSL prints, or beside certificates. The block is found and set in lines again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from toolkit.auth.keys.local_key import HOW_TO_GIVE_A_KEY, KEYS_THAT_SIGN, PRIVATE_HALF, Loaded, not_encrypted
from toolkit.core.problem import Problem
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
_HELD_INSTEAD: Final = {
    "CERTIFICATE": "it is a certificate",
    "X509 CERTIFICATE": "it is a certificate",
    "TRUSTED CERTIFICATE": "it is a certificate",
    "CERTIFICATE REQUEST": "it is a certificate request",
    "PUBLIC KEY": "it is a public key",
    "RSA PUBLIC KEY": "it is a public key",
}
_AS_PKCS8: Final = "openssl pkcs8 -topk8 -in OLD.pem -out NEW.pem"


class _Block(NamedTuple):
    label: str
    body: str
    as_given: str


def load_pem(text: str, passphrase: Secret | None) -> Loaded | Problem:
    """The one private key among the blocks of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = list(_blocks(text))
    private = list({_WRITTEN_OUT.sub("", block.body).strip(): block for block in blocks if _is_private(block)}.values())
    if len(private) > 1:
        return Problem("This PEM holds several private keys.", "Give the one to sign with.")
    if not private:
        return _without_private_key(text, blocks)
    block = private[0]
    if block.label == "OPENSSH PRIVATE KEY":
        return Problem(
            "This private key is in the format of OpenSSH.", "Convert a copy: ssh-keygen -p -m PKCS8 -f COPY."
        )
    body, headers = _WRITTEN_OUT.sub("\n", block.body).strip(), ""
    if ":" in body:
        found = _ENCRYPTION.match(body)
        if found is None:
            return Problem(
                "The lines Proc-Type and DEK-Info of this encrypted PEM cannot be read.",
                "Give its file as a pathlib.Path, or keep its line breaks.",
            )
        cipher, vector = found[1] or found[3], found[2] or found[4]
        headers = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: {cipher},{vector}\n\n"
        body = body[found.end() :]
    data = "".join(body.split())
    if not _BASE64.fullmatch(data):
        return _unreadable("PEM")
    lines = "\n".join(data[at : at + _LINE] for at in range(0, len(data), _LINE))
    mended = f"-----BEGIN {block.label}-----\n{headers}{lines}\n-----END {block.label}-----"
    key = _decoded(load_pem_private_key, mended.encode("ascii"), passphrase, "PEM")
    if isinstance(key, Problem):
        return key
    return Loaded(key, texts=(Secret(block.as_given), Secret(mended)), passphrase=passphrase)


def load_der(data: bytes, passphrase: Secret | None) -> Loaded | Problem:
    """The private key of a DER structure."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_der_public_key

    key = _decoded(load_der_private_key, data, passphrase, "DER")
    if isinstance(key, Problem):
        public = _decoded(lambda given, _: load_der_public_key(given), data, None, "DER")
        return key if isinstance(public, Problem) else Problem("This DER is a public key.", PRIVATE_HALF)
    return Loaded(key, passphrase=passphrase)


def _blocks(text: str) -> Iterator[_Block]:
    begun: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        if begun is not None and marker[1] == "END" and marker[2] == begun[2]:
            yield _Block(begun[2], text[begun.end() : marker.start()], text[begun.start() : marker.end()])
        begun = marker if marker[1] == "BEGIN" else None


def _is_private(block: _Block) -> bool:
    return block.label.endswith("PRIVATE KEY")


def _without_private_key(text: str, blocks: list[_Block]) -> Problem:
    if "PRIVATE KEY-----" in text:
        return Problem(
            "The PEM of the private key is cut off: its BEGIN or its END line is missing.", "Copy all of it."
        )
    held = next((_HELD_INSTEAD[block.label] for block in blocks if block.label in _HELD_INSTEAD), None)
    return Problem(f"This PEM holds no private key{f': {held}' if held else ''}.", PRIVATE_HALF)


def _decoded(load: Callable[[bytes, bytes | None], Any], data: bytes, passphrase: Secret | None, form: str) -> Any:
    """The key, or what is wrong with it; the errors of `cryptography` are read here and dropped."""
    from cryptography.exceptions import UnsupportedAlgorithm

    password = None if passphrase is None else passphrase.reveal().encode("utf-8", "surrogatepass")
    try:
        return load(data, password)
    except TypeError:  # a passphrase is missing, or is one too many
        if passphrase is not None:
            return not_encrypted()
        return Problem("This private key is encrypted with a passphrase.", 'Give it too: passphrase="...".')
    except UnsupportedAlgorithm:
        if passphrase is None:
            return Problem("This private key is of a kind that signs no assertion.", f"{KEYS_THAT_SIGN}.")
        return _unsupported_encryption()
    except ValueError as error:
        if passphrase is None:
            return _unreadable(form)
        if "unknown" in str(error).lower():
            return _unsupported_encryption()
    except Exception:  # noqa: BLE001 - whatever else it raises may hold the key
        return _unreadable(form)
    return Problem(
        "The private key cannot be decrypted with this passphrase.",
        "Check the passphrase; if it is right, the key was damaged on its way.",
    )


def _unreadable(form: str) -> Problem:
    return Problem(f"The {form} of the private key cannot be read.", HOW_TO_GIVE_A_KEY)


def _unsupported_encryption() -> Problem:
    return Problem(
        "The private key is encrypted with a cipher that is not supported.", f"Encrypt it anew: {_AS_PKCS8}."
    )
