"""Look into one text: for the secrets that the process knows, and for values in the places of credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scanning.findings import fingerprint_of
from toolkit.scrubbing.unknown_secrets import secrets_in_text

_COLOUR: Final = re.compile(r"\x1b\[[0-?]{0,40}+[ -/]{0,4}+[@-~]")


class Sighting(NamedTuple):
    """A place in a text that holds a secret.

    Attributes:
        line: its line, from 1.
        kind: what it is, in words.
        fingerprint: its fingerprint.
    """

    line: int
    kind: str
    fingerprint: str


def sightings_in(text: str, known: KnownSecrets) -> list[Sighting]:
    """Return the places in a text that hold a secret, by line and kind, each with its fingerprint once."""
    if "\x1b" in text:  # colours stand between a name and its value
        text = _COLOUR.sub("", text)
    places = secrets_in_text(text)
    unknown = [Sighting(place.line, place.kind, fingerprint_of(place.kind, place.value)) for place in places]
    return sorted({*unknown, *_known_in(text, known)})


def _known_in(text: str, known: KnownSecrets) -> Iterator[Sighting]:
    """Yield the line and kind of every known secret; for a key in several lines, its first line."""
    if not len(known):
        return
    data = text.encode("utf-8", "surrogatepass")
    anywhere = known.find(data)
    if anywhere is None:
        return
    keys = {known.placeholder_of(secret) for secret, _ in known.since(0) if "\n" in secret.reveal().strip()}
    hits = [known.find(line) for line in data.split(b"\n")]
    is_in_a_line = False
    for number, (before, hit) in enumerate(pairwise([None, *hits]), start=1):
        if hit is not None and (hit != before or hit[0] not in keys):
            is_in_a_line = True
            yield _known(number, f"known secret, {hit[1]}")
    if not is_in_a_line:
        yield _known(1, f"known secret across lines, {anywhere[1]}")


def _known(line: int, kind: str) -> Sighting:
    return Sighting(line, kind, fingerprint_of(kind))
