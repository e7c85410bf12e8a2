"""The leak check: reads the very bytes about to be written, and refuses on a hit.

Also `scan`, which looks through files that are there already.
"""

from __future__ import annotations

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.archives import contents_of, may_be_packed
from toolkit.scrubbing.content_encodings import AFTER_THE_CALL
from toolkit.scrubbing.encoded_forms import without_whitespace
from toolkit.scrubbing.known import KnownSecrets


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret.

    Args:
        data: what is about to be written.
        known: the secrets.
        where: what it is, for the message.

    Raises:
        SecretLeak: says of what kind and in what form, not what.
    """
    # Also without white space: a binary body is base64 with line breaks in it.
    hit = known.find_across_lines(data)
    if hit is not None:
        placeholder, form = hit
        raise SecretLeak(
            f"{where} would hold the secret that {placeholder} stands for, {form}; nothing was written.",
            f"{AFTER_THE_CALL} make it without a cassette, and please report this with the shape of the request.",
        )
    check_packed(without_whitespace(data), known)  # such as a compressed body, recorded before a secret in it was known


def check_packed(data: bytes, known: KnownSecrets) -> None:
    """Refuse something compressed with a known secret in it, which cannot be taken out of there.

    Raises:
        SecretLeak: says of what kind; or what is compressed cannot be opened.
    """
    if not len(known) or not may_be_packed(data):
        return
    for inner in contents_of(data):
        hit = known.find_across_lines(inner)
        if hit is not None:
            raise SecretLeak(
                f"Something compressed in a body holds the secret that {hit[0]} stands for; nothing was written.",
                f"{AFTER_THE_CALL} ask for it uncompressed, or make it without a cassette.",
            )


def check_wide(data: bytes, known: KnownSecrets) -> None:
    """Refuse a known secret in UTF-16 or UTF-32, in which it is not looked for elsewhere.

    Args:
        data: a body from which what is in it in other ways was taken out already.

    Raises:
        SecretLeak: says of what kind.
    """
    if not len(known) or b"\0" not in data:
        return
    hit = known.find_across_lines(data.replace(b"\0", b""))
    if hit is not None:
        raise SecretLeak(
            f"A body in UTF-16 or UTF-32 holds the secret that {hit[0]} stands for; nothing was written.",
            f"It is not rewritten in there. {AFTER_THE_CALL} ask for UTF-8, or make it without a cassette.",
        )
