"""Drop interactions from a recording."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from toolkit.cassettes.catalog.rescrubbing import rescrubbed
from toolkit.cassettes.catalog.rewriting import rewrite
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, Parsed, Unparsed
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.recording.repair import repaired
from toolkit.core.errors import ConfigurationError
from toolkit.core.words import count_text
from toolkit.scrubbing.scrubber import Scrubber


def prune(path: Path, dropped: Collection[int], scrubber: Scrubber) -> None:
    """Drop interactions, by their numbers from 0. The others keep their bytes; a recording of vcrpy becomes ours.

    Raises:
        ConfigurationError: if nothing would be left, or the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        SecretLeak: if what is left holds a secret that cannot be removed; nothing was changed.
        CassetteError: if the file cannot be written.
    """
    rewrite(path, scrubber, lambda data: without(data, dropped, scrubber, source=str(path)))


def without(data: bytes, dropped: Collection[int], scrubber: Scrubber, *, source: str) -> bytes:
    """Return the bytes of a cassette without some interactions, checked as if they were recorded now.

    Raises:
        ConfigurationError: if nothing would be left.
        SecretLeak: if what is left holds a secret that cannot be removed.
    """
    if not dropped:
        return data
    opened = contents.read(data, source=source)
    kept = [number for number in range(len(opened)) if number not in dropped]
    if not kept:
        raise ConfigurationError(
            f"This would drop all {count_text(len(opened), 'interaction')} of {source}.",
            "To remove the whole recording, delete the file.",
            about="numbers",
        )
    if opened.is_foreign:
        left = Parsed([opened.interaction(number) for number in kept], is_foreign=True)
        return rescrubbed(data, left, scrubber, source=source).data
    scrubber.recall(data)
    return repaired(b"".join((HEADER, *_pieces(opened, kept))), scrubber, source=source)


def _pieces(opened: Contents, kept: list[int]) -> list[bytes]:
    if not isinstance(opened, Unparsed):
        return [encode(opened.interaction(number)) for number in kept]
    items = (opened.layout.items[number] for number in kept)
    pieces = (opened.layout.data[item.start : item.end] for item in items)
    return [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces]
