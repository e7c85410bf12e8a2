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

    __slots__ = ("_remembered", "_scrubber")

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        # One object, because another thread may replace both at any time.
        self._remembered: tuple[Hashable, dict[WrittenRequest, RecordedRequest]] = (None, {})

    def get(self, written: WrittenRequest) -> RecordedRequest | None:
        """Return the scrubbed form of a request, or None if it is not remembered."""
        state, requests = self._remembered
        return requests.get(written) if state == self._scrubber.state else None

    def put(self, written: WrittenRequest, scrubbed: RecordedRequest, state: Hashable) -> None:
        """Remember the scrubbed form of a request, and the `state` of the scrubber before it was scrubbed."""
        if state is None or len(written[3]) > _LARGEST:
            return
        remembered = self._remembered
        if state != remembered[0] or len(remembered[1]) >= _MOST:
            remembered = self._remembered = (state, {})
        remembered[1][written] = scrubbed
