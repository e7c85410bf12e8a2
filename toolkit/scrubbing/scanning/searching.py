"""Look into one text: for the secrets that the process knows, and for values in the places of credentials."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from toolkit.core.register import REGISTER
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scanning.file_text import FileText
from toolkit.scrubbing.scanning.findings import fingerprint_of
from toolkit.scrubbing.scanning.unknown_secrets import secrets_in_text


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


def sightings_in(text: FileText, known: KnownSecrets) -> set[Sighting]:
    """Return the places in a text that hold a secret; places that are alike are listed once."""
    sightings = set(_known_in(text, known))
    if text.secret_kind:
        return sightings | {_without_value(1, text.secret_kind)}
    for place in secrets_in_text(text.text):
        if text.start <= place.start < text.end or _is_whole_line(text, place.start, place.end):
            sightings.add(Sighting(place.line, place.kind, fingerprint_of(place.kind, place.value)))
    return sightings


def _is_whole_line(text: FileText, start: int, end: int) -> bool:
    """Check whether a place is a whole line that is partly in a slice, as for a secret with escapes."""
    return (
        start < text.end
        and end > text.start
        and text.text[start - 1 : start] in ("", "\n")
        and text.text[end : end + 1] in ("", "\n")
    )


def _known_in(text: FileText, known: KnownSecrets) -> Iterator[Sighting]:
    """Yield the line and kind of every known secret; for a key in several lines, its first line."""
    raw = text.text if text.raw is None else text.raw
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    anywhere = known.find(data)
    if anywhere is None:
        return
    keys = {known.placeholder_of(secret) for _, secret in REGISTER.since(0) if "\n" in secret.reveal().strip()}
    hits = [known.find(line) for line in data.split(b"\n")]
    is_in_a_line = False
    for number, (before, hit) in enumerate(pairwise([None, *hits]), start=1):
        if hit is not None and (hit != before or hit[0] not in keys):
            is_in_a_line = True
            yield _without_value(number, f"known secret, {hit[1]}")
    if not is_in_a_line:
        yield _without_value(1, f"known secret across lines, {anywhere[1]}")


def _without_value(line: int, kind: str) -> Sighting:
    return Sighting(line, kind, fingerprint_of(kind))
