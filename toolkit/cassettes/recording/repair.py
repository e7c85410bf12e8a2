"""Scrub interactions, and bring a cassette into a state that can be appended to.

Then it is complete, in our layout, and without the secrets that are known at that moment. Interactions that were
written before a secret became known are not searched for it: `toolkit cassettes scrub` does that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolkit.cassettes.format import contents, interactions, layout
from toolkit.cassettes.format.contents import Unparsed
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.core.errors import SecretLeak
from toolkit.scrubbing import gate
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

_BATCH: Final = 1 << 20  # bytes


def scrub(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction in a form that is safe to record.

    Raises:
        SecretLeak: if it cannot be checked for secrets.
    """
    failure = interaction.failure
    replaced = interaction.pseudonyms
    interaction = interaction._replace(pseudonyms=tuple(dict.fromkeys((*replaced, *scrubber.pseudonyms))))
    if failure is None:
        request, response = scrubber.exchange(interaction.request, interaction.response, replaced=replaced)
        return interaction._replace(request=request, response=response)
    # The message of an error may contain an address or a secret, so it is scrubbed like a body.
    as_body = interaction.response._replace(headers=(), body=failure.message.encode("utf-8", "replace"))
    request, scrubbed = scrubber.exchange(interaction.request, as_body, replaced=replaced)
    failure = replace(failure, message=scrubbed.body.decode("utf-8", "replace"))
    return interaction._replace(request=request, failure=failure)


def repaired(data: bytes, scrubber: Scrubber, *, source: str) -> bytes:
    """Return the repaired bytes of a file, to which an item can be appended; empty without a complete interaction.

    Interactions keep their bytes unless the file has another layout or they contain a known secret.

    Raises:
        CassetteCorrupt: if the file is not a cassette.
        SecretLeak: if a secret cannot be removed.
    """
    opened = contents.read(data, source=source)
    if isinstance(opened, Unparsed):
        result = _repaired_items(opened, scrubber, source)
    else:
        result = _encoded_anew(opened, scrubber)
    if result is not data:  # what is not changed was checked
        gate.check(result, scrubber.known, where=f"{source}, as it is rewritten,")
    return result


def holds_secret(data: bytes, known: KnownSecrets) -> bool:
    """Return True if the bytes of a file contain a known secret, or cannot be checked for one."""
    file_layout = layout.lay_out(data)
    if file_layout is None or not file_layout.items:
        return gate.holds_secret(data, known)
    start = 0
    for item in file_layout.items:  # several at a time, which is quicker, but not all, which takes memory
        if item.end - start >= _BATCH:
            if gate.holds_secret(data[start : item.end], known):
                return True
            start = item.end
    return gate.holds_secret(data[start:], known)


def _encoded_anew(opened: contents.Contents, scrubber: Scrubber) -> bytes:
    items = [interactions.encode(scrub(opened.interaction(number), scrubber)) for number in range(len(opened))]
    return HEADER + b"".join(items) if items else b""


def _repaired_items(opened: Unparsed, scrubber: Scrubber, source: str) -> bytes:
    complete = layout.appendable(opened.layout)
    if not holds_secret(complete, scrubber.known):
        return complete
    items = opened.layout.items
    pieces = [HEADER]
    for number, item in enumerate(items):
        piece = complete[item.start : item.end if number + 1 < len(items) else len(complete)]
        if gate.holds_secret(piece, scrubber.known):
            piece = interactions.encode(scrub(opened.interaction(number), scrubber))
            if gate.holds_secret(piece, scrubber.known):
                raise SecretLeak(
                    f"{source}, line {item.line}: the interaction there contains a secret that cannot be removed.",
                    "Remove that interaction or the file, and change the secret if you have passed the file on.",
                    about="cassette",
                )
        pieces.append(piece)
    return b"".join(pieces)
