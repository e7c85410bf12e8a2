"""The tries of a call, below the cassette: which credentials it gets, when it is sent, and whether it is sent again.

A call is sent again in two cases only:

- after a 401 to a token that should be good: once, with a new token (`auth.authorizers`);
- GET and HEAD after 429, 503 or a connection that broke before an answer began, within the limits of a `Retry`
  (`transport.retry`).

Each time the call waits for its turn if a rate limits all calls with its credentials (`transport.pacing`), and is
granted credentials anew: a token may have expired while it waited.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from toolkit.auth.authorizers import Authorizer
from toolkit.auth.credentials import Credentials
from toolkit.auth.grants import AuthorizedRequest, Grant, RawHeaders
from toolkit.core.clock import Clock
from toolkit.core.ledger import Call
from toolkit.transport.family import httpx
from toolkit.transport.flow import Discard, Flow, Pause
from toolkit.transport.pacing import Pace, Rate, nap, pace_of
from toolkit.transport.retry import Retry, seconds_before_retry


class Gentleness(NamedTuple):
    """The limits within which a session calls the service.

    Attributes:
        retry: limits for sending a failed call again.
        pace: the schedule of all calls with these credentials.
        rate: the rate that the session asks for, or None.
        jitter: returns a random number from 0 to 1, which pauses are multiplied with.
    """

    retry: Retry
    pace: Pace
    rate: Rate | None = None
    jitter: Callable[[], float] = random.random

    @classmethod
    def of(cls, retry: Retry, per_second: float | None, credentials: Credentials | None, clock: Clock) -> Gentleness:
        """Return the gentleness of a session; its rate counts from here on.

        Args:
            retry: limits for sending a failed call again.
            per_second: the most calls a second that the session asks for, or None.
            credentials: who calls; None if nothing can be sent.
            clock: the session's clock.
        """
        pace = Pace() if credentials is None else pace_of(credentials.fingerprint(), clock)
        return cls(retry, pace, None if per_second is None else pace.add(per_second))

    def end(self) -> None:
        """Stop counting the rate of this session."""
        if self.rate is not None:
            self.pace.drop(self.rate)


def send_with_tries(
    request: httpx.Request,
    raw: RawHeaders,
    call: Call,
    *,
    authorizer: Authorizer,
    clock: Clock,
    gentleness: Gentleness,
) -> Flow[httpx.Response]:
    """Send a request with credentials, and again where that may help; return the last answer.

    Args:
        request: the request without credentials.
        raw: its raw headers.
        call: has just been started; notes the last try and the number of tries.
        authorizer: grants the credentials.
        clock: where time comes from.
        gentleness: limits and rate.

    Raises:
        httpx.TransportError: the error of the last try.
        TokenError, Unreachable: if no token is available for it.
    """
    first_sent, is_renewed = 0.0, False
    call.tries = 0
    while True:
        grant = authorizer.grant_at(call.sent_at, call.since)
        if grant is None or gentleness.pace.is_limited:
            grant = yield from _grant_in_turn(call, authorizer, clock, gentleness.pace)
        if call.tries == 0:
            first_sent = call.since
        call.tries += 1
        call.authorized_by = grant.authorization
        try:
            answer: httpx.Response = yield AuthorizedRequest(request, grant, raw)
        except httpx.TransportError as error:
            pause = _pause_after(error, request, call.tries, first_sent, clock, gentleness)
            if pause is None:
                raise
        else:
            if authorizer.note_answer(request, answer.status_code, grant) and not is_renewed:
                is_renewed, pause = True, 0.0
            else:
                pause = _pause_after(answer, request, call.tries, first_sent, clock, gentleness)
            if pause is None:
                return answer
            yield Discard(answer)
        if pause:
            yield Pause(pause, clock)
        call.start(clock)


def _grant_in_turn(call: Call, authorizer: Authorizer, clock: Clock, pace: Pace) -> Flow[Grant]:
    """Return credentials that are good at the instant at which it is the call's turn; the call starts then.

    The turn comes last: calls that wait for a token together must not be sent together.
    """
    number = pace.number(call.since)
    while True:
        grant = authorizer.grant_at(call.sent_at, call.since)
        if grant is None:
            grant = yield from authorizer.obtain()
            call.start(clock)
        pause = nap(pace, number, clock)
        if pause is None:
            return grant
        yield pause
        call.start(clock)


def _pause_after(
    outcome: httpx.Response | httpx.TransportError,
    request: httpx.Request,
    tries: int,
    first_sent: float,
    clock: Clock,
    gentleness: Gentleness,
) -> float | None:
    """Return the seconds to wait before the next try, or None if this was the last."""
    elapsed, now, jitter = clock.monotonic() - first_sent, clock.now(), gentleness.jitter()
    return seconds_before_retry(
        gentleness.retry, request, outcome, tries=tries, elapsed=elapsed, now=now, jitter=jitter
    )
