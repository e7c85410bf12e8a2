"""The state of a practice service: its options, its counts, and everything the application works with."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolkit.core.errors import ConfigurationError
from toolkit.practice_service.faults import Faults
from toolkit.practice_service.holders import Holders, Tokens

if TYPE_CHECKING:
    from toolkit.core.clock import Clock
    from toolkit.practice_service.holders import Caller


_MOST_ACCOUNTS: Final = 100_000
_SHORTEST_VALIDITY: Final = 2  # seconds; expires_in is a whole number below it and above zero
_LONGEST_VALIDITY: Final = 86_400  # seconds
_LONGEST_DELAY: Final = 3_600  # seconds
_LOWEST_RATE: Final = 0.01  # calls a second
_HUGE: Final = 1e300
_HIGHEST_RATE: Final = 1_000_000  # calls a second


class Stats:
    """Counts of requests. They can be read and reset from any thread while the service runs.

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

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def __repr__(self) -> str:
        return (
            f"<Stats {self.token_requests} token requests, {self.calls} calls, "
            f"{self.refused} refused, {self.faulted} faulted>"
        )

    @property
    def by_endpoint(self) -> dict[str, int]:
        with self._lock:
            return dict(sorted(self._requests.items()))

    @property
    def by_credentials(self) -> dict[str, int]:
        with self._lock:
            return dict(sorted(self._callers.items()))

    @property
    def by_status(self) -> dict[str, dict[int, int]]:
        counts: dict[str, dict[int, int]] = {}
        with self._lock:
            for (endpoint, status), count in sorted(self._responses.items()):
                counts.setdefault(endpoint, {})[status] = count
        return counts

    def reset(self) -> None:
        """Set every count to zero."""
        with self._lock:
            self.token_requests = self.calls = self.refused = self.faulted = self.rate_limited = 0
            self._requests: Counter[str] = Counter()
            self._callers: Counter[str] = Counter()
            self._responses: Counter[tuple[str, int]] = Counter()

    def count_request(self, endpoint: str, *, token_request: bool) -> None:
        with self._lock:
            self.token_requests += token_request
            self.calls += not token_request
            self._requests[endpoint] += 1

    def count_caller(self, caller: Caller) -> None:
        with self._lock:
            self._callers[f"{caller.name} · {caller.sent}"] += 1

    def count_response(self, endpoint: str, status: int) -> None:
        with self._lock:
            self._responses[endpoint, status] += 1

    def count_refusal(self) -> None:
        with self._lock:
            self.refused += 1

    def count_rate_limited(self) -> None:
        with self._lock:
            self.rate_limited += 1

    def count_fault(self) -> None:
        with self._lock:
            self.faulted += 1


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a practice service; `practice()` explains them.

    Raises:
        ConfigurationError: if a value is out of range; `about` is its name.
    """

    accounts: int = 25
    token_validity: float = 900
    delay: float = 0.0
    token_delay: float = 0.0
    rate_limit: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.accounts, int):
            raise ConfigurationError(
                "accounts is not a whole number.", "Pass the number of accounts, such as 25.", about="accounts"
            )
        _check_range("accounts", self.accounts, 0, _MOST_ACCOUNTS)
        _check_range("token_validity", self.token_validity, _SHORTEST_VALIDITY, _LONGEST_VALIDITY)
        _check_range("delay", self.delay, 0, _LONGEST_DELAY)
        _check_range("token_delay", self.token_delay, 0, _LONGEST_DELAY)
        if self.rate_limit is not None:
            _check_range("rate_limit", self.rate_limit, _LOWEST_RATE, _HIGHEST_RATE)


@dataclass(frozen=True, slots=True)
class World:
    """Everything the application works with, shared with the code that runs and inspects it.

    Attributes:
        clock: the time of the service, also for the Date header.
        options: accounts, token validity and delays.
        holders: the account holders and their credentials.
        stats: counts of requests.
        faults: the injected failures.
        tokens: the tokens that were issued.
    """

    clock: Clock
    options: Options = field(default_factory=Options)
    holders: Holders = field(default_factory=Holders)
    stats: Stats = field(default_factory=Stats)
    faults: Faults = field(default_factory=Faults)
    tokens: Tokens = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", Tokens(self.options.token_validity, self.clock))


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
        raise ConfigurationError(f"{name} is not a number.", f"Pass a number from {least} to {most}.", about=name)
    if not least <= value <= most:
        raise ConfigurationError(
            f"{name} is {value}, out of range.", f"Pass a number from {least} to {most}.", about=name
        )
