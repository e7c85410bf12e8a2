"""What users inject into a practice service, and what they read from it: failures, and counts of requests."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from toolkit.core.errors import ConfigurationError, as_choice, as_count

FaultPlace = Literal["token", "interfaces"]
Body = Literal["json", "malformed", "html"]
_NO_BODY: Final = frozenset({204, 205, 304})  # RFC 9110 section 15: these end with their headers


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
        as_choice(self.body, get_args(Body), about="body")
        if as_count(self.status, about="status", least=200, most=599) in _NO_BODY:
            raise ConfigurationError(
                "The status of a fault must be that of a response with a body.", "Use another.", about="status"
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
        times = None if times is None else as_count(times, about="times", least=1)
        with self._lock:
            self._queues[as_choice(place, self._queues, about="place")].append((fault, times))

    def clear(self, place: FaultPlace | None = None) -> None:
        """Remove the faults of a place, or by default all faults."""
        with self._lock:
            for name in self._queues if place is None else (as_choice(place, self._queues, about="place"),):
                self._queues[name].clear()

    def take(self, place: FaultPlace) -> Fault | None:
        """Take and return the fault for a request, or None if it should succeed."""
        with self._lock:
            queue = self._queues[place]
            if not queue:
                return None
            fault, times = queue.popleft()
            if times != 1:
                queue.appendleft((fault, times and times - 1))
            return fault


@dataclass(slots=True)
class Stats:
    """Counts of requests, which the thread of the service adds to and any thread may read.

    A request counts as a token request or a call when it arrives, whatever the response. A request with a foreign
    Host header is refused and counts as neither.

    Attributes:
        token_requests: requests to a token endpoint.
        calls: all other requests.
        refused: requests that the service answered with a 4xx status, faults not included.
        faulted: requests that met a fault.
        rate_limited: calls that exceeded the rate limit; they count as refused too.
        by_endpoint: requests by address and endpoint, such as `broker GET /v1/accounts`. The identifiers of accounts
            stand as `{account_id}`. Requests to unknown endpoints count as `broker other`, because a path may hold
            anything.
        by_credentials: requests that were let in, by the name of the credentials and what they sent:
            `paper · headers`, `paper · basic`, `sandbox-key · assertion`, `sandbox-key · token`.
        by_status: responses by address and endpoint, and by status: `by_status["broker GET /v1/accounts"][200]`.
            A connection that a fault closed has no response.
    """

    token_requests: int = 0
    calls: int = 0
    refused: int = 0
    faulted: int = 0
    rate_limited: int = 0
    by_endpoint: Counter[str] = field(default_factory=Counter)
    by_credentials: Counter[str] = field(default_factory=Counter)
    by_status: dict[str, Counter[int]] = field(default_factory=dict)

    def reset(self) -> None:
        """Set every count to zero."""
        new = Stats()
        for name in self.__slots__:
            setattr(self, name, getattr(new, name))
