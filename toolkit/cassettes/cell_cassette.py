"""The cassette of a session: its own, or that of the running cell (`%%cassette`) or test (the pytest plugin).

Also what a display says about where answers come from.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.cassettes.paths import as_mode
from toolkit.core.errors import CassetteMiss, ConfigurationError
from toolkit.core.text import instant_words
from toolkit.local.settings import Settings, is_offline

# A live session loads neither cassettes nor the scrubber, which would double the time of its first call.
if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette

# Belongs to the process rather than to a context: threads and tasks that a cell starts are part of the cell.
_open: list[Cassette] = []


def current() -> Cassette | None:
    """Return the cassette of the running cell or test, or None."""
    return _open[-1] if _open else None


def put_in_place(cassette: Cassette) -> None:
    """Let sessions without a cassette of their own use this one, until `take_away`."""
    _open.append(cassette)


def remove(cassette: Cassette) -> None:
    """Undo `put_in_place` for one cassette; it stays open."""
    _open[:] = [other for other in _open if other is not cassette]


def take_away(*, well: bool) -> None:
    """Close the cell's cassettes; with mode `all`, new recordings replace the old files only if the cell ended well."""
    while _open:
        cassette = _open.pop()
        if well:
            cassette.close()
        else:
            cassette.abandon()


def open_cassette(cassette: Cassette | str | Path | None, mode: str | None, *, settings: Settings) -> Cassette | None:
    """Return the cassette of a session: the one in the arguments, else that of the running cell, else None for live."""
    as_mode(mode)
    cassette = current() if cassette is None else cassette
    if cassette is None:
        if is_offline():
            raise CassetteMiss(
                "The session has no cassette to replay, and TOOLKIT_OFFLINE keeps calls from being sent.",
                "Name a cassette to replay; to go online, unset TOOLKIT_OFFLINE and start again.",
                about="cassette",
            )
        if mode is not None:
            what = f"The mode {mode} needs a cassette."
            raise ConfigurationError(what, 'Name a cassette, such as cassette="tour".', about="cassette")
        return None
    from toolkit.cassettes.cassette import Cassette

    if isinstance(cassette, str | Path):
        return Cassette(cassette, mode, settings=settings)
    if not isinstance(cassette, Cassette):
        raise ConfigurationError(
            f"A cassette is a name, a path or a Cassette, not {type(cassette).__name__}.",
            'For example cassette="tour".',
            about="cassette",
        )
    if mode is not None and as_mode(mode) != cassette.mode:
        raise ConfigurationError(
            f"The cassette is open with mode {cassette.mode}, not {mode}.",
            "Leave out mode, or name the cassette by its path.",
            about="mode",
        )
    register_with(cassette, settings)
    return cassette


def register_with(cassette: Cassette, settings: Settings) -> None:
    """Add the addresses, header prefix and rules of a session to the open cassette that it uses."""
    from toolkit.scrubbing.rules.model import project_rules

    cassette.scrubber.use_addresses(settings.addresses, settings.header_prefix)
    cassette.scrubber.add_rules(project_rules(settings))


def kind_text(cassette: Cassette | None) -> str:
    """Return where answers come from: `live calls`, or what the cassette in use says."""
    return "live calls" if cassette is None else cassette.source


def source_text(cassette: Cassette | None, ended: datetime | None) -> str:
    """Return where answers come from, and when they were received.

    Args:
        cassette: the cassette in use, or None for live calls.
        ended: when the last call ended, or None before the first call. Live answers are dated by it, because
            a saved display must not depend on the day on which it is shown.
    """
    if cassette is not None and (cassette.replays or not cassette.records):
        return kind_text(cassette)
    return kind_text(cassette) + (f", as of {instant_words(ended)}" if ended else ", no call yet")
