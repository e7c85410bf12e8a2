"""Answers that go wrong on purpose, so that a caller's handling of them can be tried."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, get_args

from toolkit.core.errors import ConfigurationError

Place = Literal["token", "interfaces"]
Body = Literal["json", "malformed", "html"]
_NO_BODY: Final = frozenset({204, 205, 304})  # RFC 9110 section 15: these end with their headers


class ConnectionDroppedError(Exception):
    """A fault says to close the connection without an answer; for the server to carry out."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail.

    Attributes:
        status: HTTP status code of the answer.
        body: "json" for an error object, "malformed" for JSON that breaks off, "html" for a page.
        retry_after: value of the Retry-After header (RFC 9110 section 10.2.3): seconds, or any text.
        dropped: close the connection without an answer; the rest is then of no effect.
        error: what the error object names, such as "invalid_scope" (RFC 6749 section 5.2).
    """

    status: int = 503
    body: Body = "json"
    retry_after: int | str | None = None
    dropped: bool = False
    error: str = "fault"

    def __post_init__(self) -> None:
        if not isinstance(self.status, int) or not 200 <= self.status <= 599 or self.status in _NO_BODY:
            raise ConfigurationError(
                "A fault's status is not that of an answer with a body.",
                "Use one from 200 to 599 but 204, 205 and 304.",
            )
        if self.body not in get_args(Body):
            raise ConfigurationError("There is no such fault body.", f"Use one of {', '.join(get_args(Body))}.")
        if self.retry_after is not None and not _fits_header(str(self.retry_after)):
            raise ConfigurationError("retry_after is not the text of a header.", "Use seconds, such as 2.")
        if not isinstance(self.error, str) or not self.error.isprintable():
            raise ConfigurationError("A fault's error is no text.", "Use a code such as invalid_scope.")

    @property
    def content(self) -> bytes:
        """The body of the answer."""
        if self.body == "html":
            return f"<!DOCTYPE html>\n<title>{self.status}</title>\n<h1>A fault on purpose</h1>\n".encode()
        if self.body == "malformed":
            return b'{"message": "this object breaks o'
        return json.dumps({"error": self.error, "message": "A fault on purpose."}, separators=(",", ":")).encode()

    @property
    def content_type(self) -> str:
        return "text/html; charset=utf-8" if self.body == "html" else "application/json"


class Faults:
    """The faults still to come, for the token endpoints and for the other interfaces apart.

    Faults of one place happen in the order in which they were injected. Safe to use from any thread
    while the service runs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Each fault with how many requests it is still for; None is for good.
        self._queues: dict[str, deque[tuple[Fault, int | None]]] = {place: deque() for place in get_args(Place)}

    def __repr__(self) -> str:
        with self._lock:
            waiting = ", ".join(f"{len(queue)} for {place}" for place, queue in self._queues.items())
        return f"<Faults {waiting}>"

    def inject(
        self,
        place: Place,
        status: int = 503,
        *,
        body: Body = "json",
        retry_after: int | str | None = None,
        dropped: bool = False,
        error: str = "fault",
        times: int | None = 1,
    ) -> None:
        """Let the next `times` requests to a place fail; with `times=None` all of them, until `clear()`.

        Args:
            place: "token" for the token endpoints, "interfaces" for everything else.
            status: HTTP status code of the answer.
            body: "json", "malformed" (JSON that breaks off) or "html".
            retry_after: value of a Retry-After header.
            dropped: close the connection without an answer instead.
            error: what the error object names, such as "invalid_scope".
            times: how many requests.

        Raises:
            ConfigurationError: a value is none that can be sent, or there is no such place.
        """
        fault = Fault(status, body, retry_after, dropped, error)
        if times is not None and (not isinstance(times, int) or times < 1):
            raise ConfigurationError("times is not a number of requests.", "Use 1 or more, or None for all of them.")
        with self._lock:
            self._queue(place).append((fault, times))

    def clear(self, place: Place | None = None) -> None:
        """Forget the faults of a place, or all of them."""
        with self._lock:
            for queue in self._queues.values() if place is None else (self._queue(place),):
                queue.clear()

    def take(self, place: Place) -> Fault | None:
        """The fault for the request at hand, now used up once; None when it is to go well."""
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
            raise ConfigurationError("There is no such place for a fault.", f"Use one of {', '.join(self._queues)}.")
        return self._queues[place]


def _fits_header(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isascii() and text.isprintable()
