"""Whether and when a request that failed is sent again: one rule for calls and for token requests.

The pauses grow: the n-th is a random fraction of 0.5 * 2 ** (n - 1) seconds, so that callers that failed at the same
time do not all retry at the same time ("full jitter"). If the service asks for a pause with Retry-After (RFC 9110
section 10.2.3), the random pause is added to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import httpx

from toolkit.core.errors import as_count, as_instance, as_number
from toolkit.core.ledger import parse_http_date
from toolkit.transport.failures import is_lasting

FIRST_PAUSE: Final = 0.5  # seconds; the longest pause before the second try if there is no Retry-After
_MOST_TRIES: Final = 100
_MOST_DIGITS: Final = 9  # of a Retry-After; more would be over thirty years
_REPEATED_METHODS: Final = frozenset({"GET", "HEAD"})
_REPEATED_STATUSES: Final = frozenset({429, 503})  # RFC 6585 section 4, RFC 9110 section 15.6.4
# The connection broke before a response began. Read timeouts are not included: the service may still be working.
_BROKEN: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.WriteError,
    httpx.RemoteProtocolError,
)


@dataclass(frozen=True, slots=True)
class Retry:
    """Limits for sending a failed call again.

    Attributes:
        tries: the maximum number of times a call is sent, including the first; 1 means no retries.
        within: seconds after the first try within which another try may begin.

    Raises:
        ConfigurationError: if `tries` is not a whole number from 1 to 100, or `within` is not a number of seconds that
            is at least 0.
    """

    tries: int = 4
    within: float = 30.0

    def __post_init__(self) -> None:
        as_count(self.tries, about="tries", least=1, most=_MOST_TRIES)
        as_number(self.within, about="within", least=0, example=30.0)

    def pause(self, tries: int, elapsed: float, retry_after: float | None, *, jitter: float) -> float | None:
        """Return the seconds to wait before the next try, or None if there should not be another try.

        Args:
            tries: number of times the request has been sent so far.
            elapsed: seconds since it was first sent.
            retry_after: seconds that the service asks the client to wait, or None.
            jitter: a random number from 0 to 1.
        """
        asked = retry_after or 0.0
        left = self.within - elapsed
        if tries >= self.tries or asked > left:
            return None
        return min(asked + FIRST_PAUSE * 2.0 ** (tries - 1) * jitter, left)


def as_retry(retry: object) -> Retry:
    """Return the limits for a session's `retry` argument: the defaults for True, a single try for False."""
    if isinstance(retry, bool):
        return Retry() if retry else Retry(tries=1)
    return as_instance(retry, Retry, about="retry", example="tk.Retry(tries=4, within=30.0)")


def may_be_repeated(request: httpx.Request, outcome: httpx.Response | httpx.TransportError) -> bool:
    """Check whether a call may be sent again: GET and HEAD, after a response or error that may be temporary."""
    if request.method not in _REPEATED_METHODS or not can_be_sent_again(request):
        return False
    if isinstance(outcome, httpx.Response):
        return outcome.status_code in _REPEATED_STATUSES
    return isinstance(outcome, _BROKEN) and not is_lasting(outcome)


def can_be_sent_again(request: httpx.Request) -> bool:
    """Check whether the body is in memory, and not a stream that was consumed when the request was first sent."""
    return isinstance(request.stream, httpx.ByteStream)


def retry_after_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the number of seconds that the service asks the client to wait (RFC 9110 section 10.2.3), or None.

    A date in Retry-After is compared with the response's Date header, since clocks may differ, or else with `now`.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:_MOST_DIGITS])
    instant = parse_http_date(text)
    if instant is None:
        return None
    return max((instant - (parse_http_date(headers.get("date", "")) or now)).total_seconds(), 0.0)
