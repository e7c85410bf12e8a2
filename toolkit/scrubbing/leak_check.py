"""The leak check: the last step before the disk, which searches the very bytes about to be written."""

from __future__ import annotations

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.archives import compressed_contents, may_hold_compressed
from toolkit.scrubbing.content_encodings import AFTER_THE_CALL
from toolkit.scrubbing.encoded_forms import without_whitespace
from toolkit.scrubbing.known import KnownSecrets


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret.

    Args:
        data: the bytes about to be written.
        known: the secrets.
        where: what the bytes are, for the message.

    Raises:
        SecretLeak: if they hold a secret; names its kind and form, not its text.
    """
    # Also across lines: binary bodies are written as base64 with line breaks.
    hit = known.find_across_lines(data)
    if hit is not None:
        placeholder, form = hit
        raise SecretLeak(
            f"{where} would hold the secret that {placeholder} stands for, {form}; nothing was written.",
            f"{AFTER_THE_CALL} make it without a cassette, and please report this with the shape of the request.",
        )
    check_compressed(without_whitespace(data), known)  # such as a body recorded before its secret was known


def check_compressed(data: bytes, known: KnownSecrets) -> None:
    """Refuse compressed data that holds a known secret, which cannot be replaced in there.

    Raises:
        SecretLeak: if there is such data, or it cannot be decompressed to check it; names the kind of the secret.
    """
    if not len(known) or not may_hold_compressed(data):
        return
    for inner in compressed_contents(data):
        hit = known.find_across_lines(inner)
        if hit is not None:
            raise SecretLeak(
                f"Compressed data in a body holds the secret that {hit[0]} stands for; nothing was written.",
                f"{AFTER_THE_CALL} ask for it uncompressed, or make it without a cassette.",
            )


def check_utf_16(data: bytes, known: KnownSecrets) -> None:
    """Refuse a known secret in UTF-16 or UTF-32, which no other search looks for.

    Args:
        data: a body in which secrets in other forms were replaced already.
        known: the secrets.

    Raises:
        SecretLeak: if there is one; names its kind.
    """
    if not len(known) or b"\0" not in data:
        return
    hit = known.find_across_lines(data.replace(b"\0", b""))
    if hit is not None:
        raise SecretLeak(
            f"A body in UTF-16 or UTF-32 holds the secret that {hit[0]} stands for; nothing was written.",
            f"It cannot be replaced there. {AFTER_THE_CALL} ask for UTF-8, or make it without a cassette.",
        )
