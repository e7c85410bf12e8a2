"""The cassette for sessions without one of their own: `%%cassette` sets that of a cell, the pytest plugin a test's."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
