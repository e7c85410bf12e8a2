"""The cassette of the running cell: what `%%cassette` puts in place for sessions that have none of their own."""

from __future__ import annotations

from toolkit.cassettes.cassette import Cassette

# Of the process rather than of a context: threads and tasks that a cell starts belong to the cell.
_open: list[Cassette] = []


def current() -> Cassette | None:
    """The cassette in place, or None."""
    return _open[-1] if _open else None


def put_in_place(cassette: Cassette) -> None:
    """Have sessions without a cassette of their own use this one, until `take_away`."""
    _open.append(cassette)


def take_away(*, well: bool) -> None:
    """End what was put in place; with mode `all` the new recording replaces the old one if all went well."""
    while _open:
        cassette = _open.pop()
        if well:
            cassette.close()
        else:
            cassette.abandon()
