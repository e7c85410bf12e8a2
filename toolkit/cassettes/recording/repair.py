"""What becomes of a file that is to be appended to: complete, laid out as we write it, and without known secrets."""

from __future__ import annotations

from dataclasses import replace

from toolkit.cassettes.format import contents, interactions, layout
from toolkit.cassettes.format.contents import Unparsed
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.core.errors import SecretLeak
from toolkit.scrubbing import leak_check
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber


def encoded(interaction: Interaction, scrubber: Scrubber) -> bytes:
    """An interaction as it may be written.

    Raises:
        SecretLeak: it cannot be checked for secrets.
    """
    failure = interaction.failure
    if failure is None:
        request, response = scrubber.exchange(interaction.request, interaction.response)
        return interactions.encode(replace(interaction, request=request, response=response))
    # Its message may name an address or hold a secret, as a body may.
    told = replace(interaction.response, headers=(), body=failure.message.encode("utf-8", "replace"))
    request, scrubbed = scrubber.exchange(interaction.request, told)
    message = scrubbed.body.decode("utf-8", "replace")
    return interactions.encode(replace(interaction, request=request, failure=replace(failure, message=message)))


def mended(data: bytes, scrubber: Scrubber, *, source: str) -> bytes:
    """What is to stay of a file's bytes, and can be appended to; none when it holds no interaction.

    Interactions stand as they stood, unless something else laid them out or a known secret is in them.

    Raises:
        CassetteCorrupt: it is no cassette.
        SecretLeak: a secret cannot be taken out.
    """
    held = contents.read(data, source=source)
    while True:
        known = len(scrubber.known)
        whole = _mended_items(held, scrubber, source) if isinstance(held, Unparsed) else _laid_out(held, scrubber)
        if len(scrubber.known) == known:  # else some are known by their place in a later interaction
            break
    leak_check.check(whole, scrubber.known, where=f"{source}, as it is rewritten,")
    return whole


def holds_secret(data: bytes, known: KnownSecrets) -> bool:
    """Whether bytes of a file hold a known secret."""
    try:
        leak_check.check(data, known, where="")
    except SecretLeak:
        return True
    return False


def _laid_out(held: contents.Contents, scrubber: Scrubber) -> bytes:
    items = [encoded(held.interaction(number), scrubber) for number in range(len(held))]
    return HEADER + b"".join(items) if items else b""


def _mended_items(held: Unparsed, scrubber: Scrubber, source: str) -> bytes:
    whole = layout.appendable(held.layout)
    if not holds_secret(whole, scrubber.known):
        return whole
    items = held.layout.items
    pieces = [HEADER]
    for number, item in enumerate(items):
        piece = whole[item.start : item.end if number + 1 < len(items) else len(whole)]
        if holds_secret(piece, scrubber.known):
            piece = encoded(held.interaction(number), scrubber)
            if holds_secret(piece, scrubber.known):
                raise SecretLeak(
                    f"{source}, line {item.line}: the interaction there holds a secret that cannot be taken out.",
                    "Remove that interaction, or the file, and change the secret if the file was passed on.",
                )
        pieces.append(piece)
    return b"".join(pieces)
