"""Scrub imported interactions as if they were recorded here, and check the result as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from toolkit.cassettes.catalog.rescrubbing import ADDRESS, OTHER, replacement_counts
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.recording.repair import holds_secret, scrub
from toolkit.core.errors import SecretLeak
from toolkit.scrubbing import gate
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse, header_bytes
from toolkit.scrubbing.scrubber import Scrubber

_UNCHECKABLE: Final = "it holds data that cannot be checked for secrets"
_NO_SECRETS: Final = frozenset({ADDRESS, OTHER})
_INSEPARABLE: Final = "a secret in it cannot be replaced"


class Cleaned(NamedTuple):
    """Interactions in a form that is safe to write.

    Attributes:
        data: the whole file; empty without interactions.
        imported: number of interactions in it.
        reasons: why interactions were left out, by their positions among those that were given.
        replaced: number of places where something was replaced, by the kind of what stood there.
    """

    data: bytes
    imported: int
    reasons: dict[int, str]
    replaced: Counter[str]


def cleaned(interactions: Sequence[Interaction], hints: Sequence[RecordedRequest], scrubber: Scrubber) -> Cleaned:
    """Scrub interactions until none reveals a secret that another one may hold, and check the result.

    Args:
        interactions: the interactions, in their order.
        hints: further messages in which secrets are looked for.
        scrubber: its known secrets grow.
    """
    scrubbed, reasons = _scrubbed(interactions, hints, scrubber)
    items = {position: encode(interaction) for position, interaction in scrubbed.items()}
    known = scrubber.known
    if holds_secret(_file(items), known):
        for position, item in tuple(items.items()):
            if gate.holds_secret(item, known):
                reasons[position] = _INSEPARABLE
                del items[position]
    replaced: Counter[str] = Counter()
    for position in items:
        replaced.update(replacement_counts(interactions[position], scrubbed[position], scrubber))
    for kind in _NO_SECRETS:
        replaced.pop(kind, None)
    return Cleaned(_file(items), len(items), reasons, replaced)


def _scrubbed(
    interactions: Sequence[Interaction], hints: Sequence[RecordedRequest], scrubber: Scrubber
) -> tuple[dict[int, Interaction], dict[int, str]]:
    """Return the scrubbed interactions, and why others cannot be scrubbed, both by their positions."""
    scrubbed: dict[int, Interaction] = {}
    reasons: dict[int, str] = {}
    known_count = -1
    while len(scrubber.known) != known_count:
        known_count = len(scrubber.known)
        for position, interaction in enumerate(interactions):
            if position in reasons or not _is_due(scrubbed.get(position), scrubber):
                continue
            try:
                scrubbed[position], _ = scrub(interaction, scrubber)
            except SecretLeak:
                reasons[position] = _UNCHECKABLE
                scrubbed.pop(position, None)
        # After the interactions, which say best what kind of secret a value is.
        for hint in hints:
            with suppress(SecretLeak):
                scrubber.lookup_request(hint)  # for the secrets that it learns
        hints = ()
    return scrubbed, reasons


def _is_due(scrubbed: Interaction | None, scrubber: Scrubber) -> bool:
    """Check whether an interaction is to be scrubbed, for the first time or because more secrets are known."""
    if scrubbed is None or scrubber.has_rules or _is_encoded(scrubbed.request) or _is_encoded(scrubbed.response):
        return True
    return scrubber.known.may_hold(_whole(scrubbed))


def _is_encoded(message: RecordedRequest | RecordedResponse) -> bool:
    return any(name.lower() == "content-encoding" for name, _ in message.headers)


def _file(items: dict[int, bytes]) -> bytes:
    return HEADER + b"".join(items.values()) if items else b""


def _whole(interaction: Interaction) -> bytes:
    request, response = interaction.request, interaction.response
    values = [header_bytes(value) for _, value in (*request.headers, *response.headers)]
    return b"\n".join((request.uri.encode("utf-8", "replace"), *values, request.body, response.body))
