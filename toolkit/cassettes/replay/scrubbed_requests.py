"""Requests as they were scrubbed, so that a request that is played again is not searched for secrets again.

Notebooks and tests make the same requests many times: searching one costs more than looking it up.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    from toolkit.scrubbing.scrubber import Scrubber

# Method, URI, raw headers and body of a request as the client made it.
WrittenRequest = tuple[str, str, tuple[tuple[bytes, bytes], ...], bytes]

_MOST: Final = 1_024  # requests
_LARGEST: Final = 4_096  # bytes of a body; the time for a larger one is spent on other things


class ScrubbedRequests:
    """The scrubbed forms of the latest requests, for as long as scrubbing them again gives the same.

    Args:
        scrubber: scrubs the requests; only its `state` is read.
    """

    __slots__ = ("_requests", "_scrubber", "_state")

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._state: Hashable = None
        self._requests: dict[WrittenRequest, RecordedRequest] = {}

    def get(self, written: WrittenRequest) -> RecordedRequest | None:
        """Return the scrubbed form of a request, or None if it is not remembered."""
        return self._requests.get(written) if self._state == self._scrubber.state else None

    def put(self, written: WrittenRequest, scrubbed: RecordedRequest) -> None:
        """Remember the scrubbed form of a request."""
        state = self._scrubber.state
        if state is None or len(written[3]) > _LARGEST:
            return
        if state != self._state or len(self._requests) >= _MOST:
            # A new dictionary, because another thread may be reading the old one.
            self._requests, self._state = {}, state
        self._requests[written] = scrubbed
