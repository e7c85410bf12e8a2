"""Where a response came from, in words, so that a table or an error made of it can say so.

A session describes the response by the time that the table is made: its last call may have ended later.
The notes are extensions of the response; pickling it drops them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolkit.transport.family import httpx

_EXTENSION: Final = "toolkit.provenance"
_CALL: Final = "toolkit.call"
_REPLAYED: Final = "toolkit.replayed_from"
_RECORDED: Final = "toolkit.recorded_in"


def note_provenance(response: httpx.Response, describe: Callable[[], str]) -> httpx.Response:
    """Return the response with a note; `describe` returns words such as `live · live calls, as of …`."""
    response.extensions[_EXTENSION] = describe
    return response


def provenance_of(response: Any) -> str | None:
    """Return the words of the note, or None for a response without a note and for anything else."""
    describe = _note(response, _EXTENSION)
    return str(describe()) if callable(describe) else None


def note_call(response: httpx.Response, describe: Callable[[httpx.Response], str]) -> None:
    """Note what describes the call that a response answers: its method and URL, without a secret."""
    response.extensions[_CALL] = describe


def call_of(response: Any) -> str:
    """Return method and URL of the call of a session that a response answers; "" for any other response."""
    describe = _note(response, _CALL)
    return str(describe(response)) if callable(describe) else ""


def note_replay(response: httpx.Response, file_name: str) -> None:
    """Note the name of the cassette's file that a response was replayed from."""
    response.extensions[_REPLAYED] = file_name


def replayed_from(response: Any) -> str | None:
    """Return the name of the cassette's file that a response was replayed from; None for a live one."""
    return _text(_note(response, _REPLAYED))


def note_recording(response: httpx.Response, file_name: str) -> None:
    """Note the name of the cassette's file that a live response is recorded in, and replayed from later."""
    response.extensions[_RECORDED] = file_name


def recorded_in(response: Any) -> str | None:
    """Return the name of the cassette's file that later replays a live response; None if there is none."""
    return _text(_note(response, _RECORDED))


def _note(response: Any, name: str) -> Any:
    extensions = getattr(response, "extensions", None)
    return extensions.get(name) if isinstance(extensions, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
