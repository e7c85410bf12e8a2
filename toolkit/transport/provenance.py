"""Where a response came from, in words, so that a table made of it can say so.

A session describes the response by the time that the table is made: its last call may have ended later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolkit.transport.family import httpx

# Name among the extensions of a response; pickling a response drops them.
_EXTENSION: Final = "toolkit.provenance"


def note_provenance(response: httpx.Response, describe: Callable[[], str]) -> httpx.Response:
    """Return the response with a note; `describe` returns words such as `live · live calls, as of …`."""
    response.extensions[_EXTENSION] = describe
    return response


def provenance_of(response: Any) -> str | None:
    """Return the words of the note, or None for a response without a note and for anything else."""
    extensions = getattr(response, "extensions", None)
    describe = extensions.get(_EXTENSION) if isinstance(extensions, dict) else None
    return str(describe()) if callable(describe) else None
