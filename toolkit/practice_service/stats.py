"""What reached the practice service, counted."""

from __future__ import annotations

import threading
from collections import Counter


class Stats:
    """Counts of requests; safe to read and reset from any thread while the service runs.

    A request counts as a token request or a call when it arrives, however it is then answered; one
    with a foreign Host is refused and counts as neither.

    Attributes:
        token_requests: requests to a token endpoint.
        calls: all other requests.
        refused: requests that the service answered with a 4xx of its own.
        faulted: requests that met a fault.
        by_endpoint: arrivals by address and endpoint, such as `broker GET /v1/accounts`; what is no
            endpoint counts as `broker other`, as a path may hold anything.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: Counter[str] = Counter()
        self._arrivals: Counter[str] = Counter()

    def __repr__(self) -> str:
        return (
            f"<Stats {self.token_requests} token requests, {self.calls} calls, "
            f"{self.refused} refused, {self.faulted} faulted>"
        )

    @property
    def token_requests(self) -> int:
        return self._total("token_requests")

    @property
    def calls(self) -> int:
        return self._total("calls")

    @property
    def refused(self) -> int:
        return self._total("refused")

    @property
    def faulted(self) -> int:
        return self._total("faulted")

    @property
    def by_endpoint(self) -> dict[str, int]:
        with self._lock:
            return dict(sorted(self._arrivals.items()))

    def reset(self) -> None:
        """Set every count to zero."""
        with self._lock:
            self._totals.clear()
            self._arrivals.clear()

    def count_arrival(self, address_name: str, endpoint: str, *, token_request: bool) -> None:
        with self._lock:
            self._totals["token_requests" if token_request else "calls"] += 1
            self._arrivals[f"{address_name} {endpoint}"] += 1

    def count_refusal(self) -> None:
        with self._lock:
            self._totals["refused"] += 1

    def count_fault(self) -> None:
        with self._lock:
            self._totals["faulted"] += 1

    def _total(self, name: str) -> int:
        with self._lock:
            return self._totals[name]
