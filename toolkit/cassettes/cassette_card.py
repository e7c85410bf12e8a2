"""A cassette in words and as a card for a notebook: its contents, their age, and how much was played."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from toolkit.core.escaping import as_html
from toolkit.core.html import badge, card
from toolkit.core.ledger import EPOCH
from toolkit.core.words import count_text, date_text, instant_words

if TYPE_CHECKING:
    from pathlib import Path

_MODES: Final = {
    "none": "none: replays only",
    "once": "once: records a file that does not exist, replays one that does",
    "new_episodes": "new_episodes: replays what is recorded, and records the rest",
    "all": "all: records everything again",
}


class Recording(Protocol):
    """The facts of a `Cassette` that are shown; each is explained there."""

    @property
    def path(self) -> Path: ...

    @property
    def mode(self) -> str: ...

    @property
    def replays(self) -> bool: ...

    @property
    def records(self) -> bool: ...

    @property
    def recorded_at(self) -> datetime | None: ...

    @property
    def environments(self) -> list[str]: ...

    @property
    def play_count(self) -> int: ...

    @property
    def unplayed(self) -> list[str]: ...

    def __len__(self) -> int: ...


def cassette_text(cassette: Recording) -> str:
    """Return what the cassette does, such as `replaying 3 interactions, recorded 12 May 2026`."""
    count = count_text(len(cassette), "interaction")
    if cassette.records and not cassette.replays:
        return f"recording, {count}"
    at = cassette.recorded_at
    when = f", recorded {date_text(at)}" if at is not None and at != EPOCH else ""
    return f"{'replaying and adding to' if cassette.records else 'replaying'} {count}{when}"


def kind_text(cassette: Recording | None) -> str:
    """Return where answers come from: `live calls`, `live calls, recorded` or `replayed, recorded 12 May 2026`.

    Args:
        cassette: the cassette in use, or None for live calls.
    """
    if cassette is None:
        return "live calls"
    if not cassette.replays:
        return "live calls, recorded" if cassette.records else "replayed, nothing recorded"
    at = cassette.recorded_at
    recorded = f"recorded {date_text(at)}" if at is not None and at != EPOCH else "recorded on an unknown day"
    return f"replayed and added to, {recorded}" if cassette.records else f"replayed, {recorded}"


def source_text(cassette: Recording | None, ended: datetime | None) -> str:
    """Return where answers come from, and when they were received.

    Args:
        cassette: the cassette in use, or None for live calls.
        ended: when the last call ended, or None before the first call. Live answers are dated by it, because
            a saved display must not depend on the day on which it is shown.
    """
    if cassette is not None and (cassette.replays or not cassette.records):
        return kind_text(cassette)
    return kind_text(cassette) + (f", as of {instant_words(ended)}" if ended else ", no call yet")


def cassette_html(cassette: Recording) -> str:
    """Return the card: mode, number of interactions, environments, and how much was played."""
    rows = [("Mode", as_html(_MODES[cassette.mode])), ("Interactions", f"{len(cassette):,}")]
    if cassette.environments:
        rows.append(("Calls of", as_html(", ".join(cassette.environments))))
    if cassette.replays:
        unplayed = len(cassette.unplayed)
        rows.append(("Played", f"{count_text(cassette.play_count, 'time')}; {unplayed:,} not played yet"))
    source = source_text(cassette, None) if cassette.replays or not cassette.records else "recording"
    return card(f"Cassette {cassette.path.name}", [badge(source)], rows)
