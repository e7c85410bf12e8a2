"""Failures on purpose, to try how a caller handles them."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, get_args

from toolkit.core.errors import ConfigurationError

FaultPlace = Literal["token", "interfaces"]
Body = Literal["json", "malformed", "html"]
_NO_BODY: Final = frozenset({204, 205, 304})  # RFC 9110 section 15: these end with their headers


class ConnectionDroppedError(Exception):
    """Makes the server close the connection without a response."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure to inject.

    Attributes:
        status: HTTP status code of the response.
        body: "json" for an error object, "malformed" for JSON that breaks off, "html" for a page.
        retry_after: value of the Retry-After header (RFC 9110 section 10.2.3): seconds, or any text.
        dropped: close the connection without a response; the other attributes then have no effect.
        error: error code of the error object, such as "invalid_scope" (RFC 6749 section 5.2).
    """

    status: int = 503
    body: Body = "json"
    retry_after: int | str | None = None
    dropped: bool = False
    error: str = "fault"

    def __post_init__(self) -> None:
        if not isinstance(self.status, int) or not 200 <= self.status <= 599 or self.status in _NO_BODY:
            raise ConfigurationError(
                "The status of a fault must be that of a response with a body.",
                "Use a number from 200 to 599 except 204, 205 and 304.",
                about="status",
            )
        if self.body not in get_args(Body):
            raise ConfigurationError(
                "A fault cannot have this body.", f"Use one of {', '.join(get_args(Body))}.", about="body"
            )
        if self.retry_after is not None and not _fits_header(str(self.retry_after)):
            raise ConfigurationError(
                "retry_after is not valid in a header.", "Use a number of seconds, such as 2.", about="retry_after"
            )
        if not isinstance(self.error, str) or not self.error.isprintable():
            raise ConfigurationError(
                "The error of a fault is not printable text.", "Use a code such as invalid_scope.", about="error"
            )

    @property
    def content(self) -> bytes:
        """The body of the response."""
        if self.body == "html":
            return f"<!DOCTYPE html>\n<title>{self.status}</title>\n<h1>A fault on purpose</h1>\n".encode()
        if self.body == "malformed":
            return b'{"message": "this object breaks o'
        return json.dumps({"error": self.error, "message": "A fault on purpose."}, separators=(",", ":")).encode()

    @property
    def content_type(self) -> str:
        return "text/html; charset=utf-8" if self.body == "html" else "application/json"


class Faults:
    """The injected faults, separate for the token endpoints and the other interfaces.

    The faults of a place happen in the order in which they were injected. All methods can be called from any thread
    while the service runs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Each fault with its remaining number of requests; None means until cleared.
        self._queues: dict[str, deque[tuple[Fault, int | None]]] = {place: deque() for place in get_args(FaultPlace)}

    def __repr__(self) -> str:
        with self._lock:
            waiting = ", ".join(f"{len(queue)} for {place}" for place, queue in self._queues.items())
        return f"<Faults {waiting}>"

    def inject(
        self,
        place: FaultPlace,
        status: int = 503,
        *,
        body: Body = "json",
        retry_after: int | str | None = None,
        dropped: bool = False,
        error: str = "fault",
        times: int | None = 1,
    ) -> None:
        """Let the next requests to a place fail.

        Args:
            place: "token" for the token endpoints, "interfaces" for everything else.
            status, body, retry_after, dropped, error: the attributes of a `Fault`.
            times: number of requests, or None for all requests until `clear()`.

        Raises:
            ConfigurationError: if a value cannot be sent, or the place does not exist; `about` is the argument.
        """
        fault = Fault(status, body, retry_after, dropped, error)
        if times is not None and (not isinstance(times, int) or times < 1):
            raise ConfigurationError(
                "times is not a number of requests.", "Use 1 or more, or None for all requests.", about="times"
            )
        with self._lock:
            self._queue(place).append((fault, times))

    def clear(self, place: FaultPlace | None = None) -> None:
        """Remove the faults of a place, or by default all faults."""
        with self._lock:
            for queue in self._queues.values() if place is None else (self._queue(place),):
                queue.clear()

    def take(self, place: FaultPlace) -> Fault | None:
        """Take and return the fault for a request, or None if it should succeed."""
        with self._lock:
            queue = self._queue(place)
            if not queue:
                return None
            fault, times = queue[0]
            if times == 1:
                queue.popleft()
            elif times is not None:
                queue[0] = fault, times - 1
            return fault

    def _queue(self, place: str) -> deque[tuple[Fault, int | None]]:
        if place not in self._queues:
            raise ConfigurationError(
                "Faults cannot be injected at this place.", f"Use one of {', '.join(self._queues)}.", about="place"
            )
        return self._queues[place]


def _fits_header(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isascii() and text.isprintable()
