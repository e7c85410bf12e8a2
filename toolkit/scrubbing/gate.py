"""The gate before the disk: the bytes that are about to be written are searched once more, and refused with a secret.

It is the search that replaced the secrets in the messages, run again over the file's own bytes. It finds what cannot be
replaced, such as a secret in a member of an archive, and what putting the parts of a file together may have brought
about. Tests plant secrets with encoders of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.errors import SecretLeak
from toolkit.core.tracebacks import warn
from toolkit.scrubbing.compression import AFTER_THE_CALL, DecodingBudget
from toolkit.scrubbing.known import KnownSecrets

_PIECE: Final = 1 << 22  # bytes of a file that are searched at once, which bounds the memory


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret; warn if they hold more than can be decoded to look for one.

    Args:
        data: the bytes about to be written.
        known: the secrets.
        where: what the bytes are, for the message.

    Raises:
        SecretLeak: if they hold a secret, or something that grows out of all proportion when it is decompressed. Names
            the secret's kind and form, not its text.
    """
    is_exceeded = False
    for piece in _pieces(data):
        budget = DecodingBudget(len(piece))
        found = known.find(piece, budget)
        is_exceeded |= budget.is_exceeded
        if found is not None:
            stand_in, form = found
            is_secret = stand_in.startswith("<")
            value = f"a secret ({stand_in})" if is_secret else f"a value that is replaced by {stand_in!r}"
            raise SecretLeak(
                f"{where} would hold {value}, {form}; nothing was written.",
                f"{AFTER_THE_CALL} ask for it in a plain form, or make it without a cassette.",
            )
    if is_exceeded:
        warn(
            f"{where} holds compressed or encoded data, too much to search all of it for secrets. Its text was "
            "searched, also where it is decompressed; look at it before you pass it on."
        )


def holds_secret(data: bytes, known: KnownSecrets) -> bool:
    """Return True if bytes hold a known secret, or something that cannot be decompressed to look for one."""
    try:
        return any(known.find(piece) is not None for piece in _pieces(data))
    except SecretLeak:
        return True


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield a file in pieces, cut between the interactions of a cassette."""
    start = 0
    while len(data) - start > _PIECE and (end := data.find(b"\n- ", start + _PIECE)) >= 0:
        yield data[start:end]
        start = end
    yield data[start:] if start else data
