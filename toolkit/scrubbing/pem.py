"""The parts of a private key in PEM that are secrets of their own."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from toolkit.core.secret import SHORTEST_SECRET, Secret

_SHORTEST_LINE: Final = 32  # characters of base64; the last line of a key may be short and give nothing away
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]{1,60}-----")
_END: Final = re.compile(r"-----END [A-Z ]{1,60}-----")


def parts_of_keys(text: str) -> Iterator[tuple[Secret, bool]]:
    """Yield the base64 of each private key as one line, as other formats write it, and each of its lines.

    Each comes with a flag: True to look for it as it is only, not in hex or base64.
    """
    for pem in _pems(text):
        if "PRIVATE KEY-----" not in pem:  # a certificate beside it
            continue
        lines = pem.split("-----")[2].split()
        body = "".join(lines)
        if len(body) < SHORTEST_SECRET:
            continue
        yield Secret(body), False
        # In a list or in quotes, the lines are separated by more than white space.
        public = _public_part(pem)
        for line in lines:
            if len(line) >= _SHORTEST_LINE and line != body and line not in public:
                yield Secret(line), True


def _pems(text: str) -> Iterator[str]:
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None and (end := _END.search(text, begin.end())) is not None:
        yield text[begin.start() : end.end()]
        at = end.end()


def _public_part(pem: str) -> str:
    """Return the base64 of the public key, which repeats some lines of older private key formats."""
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(
            pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
        ).public_key()
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    except Exception:  # noqa: BLE001 - encrypted, or not a key: all of its lines are secret
        return ""
    return b64encode(der).decode("ascii")
