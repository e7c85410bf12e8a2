"""What a strict cassette says: each recording plays once, and all of them do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolkit.cassettes.format import RecordedRequest
from toolkit.errors import CassetteError, CassetteMiss
from toolkit.escaping import excerpt

_SHOWN: Final = 10


def spent(file_name: str, request: RecordedRequest, count: int) -> CassetteMiss:
    """The error for a request whose recordings were all played.

    Args:
        request: scrubbed.
        count: how many recordings answer it.
    """
    recordings = "The one recording" if count == 1 else f"Each of the {count} recordings"
    return CassetteMiss(
        f"{recordings} in {file_name} of {request.method} {excerpt(request.uri, 160)} was played already.",
        "A strict cassette plays each once; without strict=True the last one repeats.",
    )


def left_over(file_name: str, count: int, unplayed: Sequence[str]) -> CassetteError:
    """The error for recordings that were not played.

    Args:
        count: how many there are in the file.
        unplayed: method and URI of those that were not played.
    """
    shown = "".join(f"\n  {excerpt(one, 160)}" for one in unplayed[:_SHOWN])
    more = f"\n  and {len(unplayed) - _SHOWN} more" if len(unplayed) > _SHOWN else ""
    return CassetteError(
        f"Not played, though {file_name} is strict: {len(unplayed)} of the {count} interactions.{shown}{more}",
        "A strict cassette is played whole. Record it anew if the calls are no longer meant to be made.",
    )
