"""Send a token request again if that may help.

429, 5xx, `temporarily_unavailable` and broken connections may pass: such a request is sent again after a pause, within
the limits that calls have too (`transport.retry`). The service document shows no rate limits; the bounds are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.errors import TokenError, TokenRefused, Unreachable
from toolkit.transport.flow import Flow, Pause
from toolkit.transport.retry import Retry

# RFC 6749 section 5.2: the same request is refused again until somebody changes something.
LASTING: Final = frozenset(
    {"invalid_client", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type"}
)
LASTING_IS_REMEMBERED: Final = 30.0  # seconds
PASSING_IS_REMEMBERED: Final = 1.0  # seconds; for callers who waited for the request that failed
LONGEST_REMEMBERED: Final = 60.0  # seconds; bounds a Retry-After


def with_retries(
    attempt: Callable[[int], Flow[Token]],
    clock: Clock,
    retry: Retry,
    *,
    jitter: Callable[[], float] = random.random,
) -> Flow[Token]:
    """Send a token request until it gives a token, fails for good, or reaches the limits.

    Args:
        attempt: makes and sends a new request, because an assertion is valid for one request only; takes the number of
            the try, from 1.
        clock: where time comes from.
        retry: the limits.
        jitter: returns a random number from 0 to 1, which a pause is multiplied with.

    Raises:
        TokenError, Unreachable: the error of the last try, with the number of tries in its message.
    """
    first_sent, tries = clock.monotonic(), 0
    while True:
        tries += 1
        failure: TokenRefused | Unreachable
        try:
            return (yield from attempt(tries))
        except (TokenRefused, Unreachable) as error:
            failure = error
        retry_after = failure.retry_after if isinstance(failure, TokenRefused) else None
        elapsed = clock.monotonic() - first_sent
        pause = retry.pause(tries, elapsed, retry_after, jitter=jitter()) if failure.is_passing else None
        if pause is None:  # raised outside of the handler, so that the error has no context
            raise failure if tries == 1 else failure.reworded(f"{failure.what} {tries} tries.", failure.next_step)
        yield Pause(pause, clock)


def seconds_until_another_try(error: TokenError | Unreachable, *, needs_token: bool = True) -> float:
    """Return for how many seconds to remember a failure instead of sending another request; 0 for not at all.

    Args:
        error: the failure.
        needs_token: True if no valid token can be used in the meantime.
    """
    if isinstance(error, TokenRefused) and error.error in LASTING:
        return LASTING_IS_REMEMBERED
    if not isinstance(error, TokenRefused | Unreachable) or not error.is_passing:
        return 0.0 if needs_token else PASSING_IS_REMEMBERED
    retry_after = error.retry_after if isinstance(error, TokenRefused) else None
    return min(max(retry_after or 0.0, PASSING_IS_REMEMBERED), LONGEST_REMEMBERED)
