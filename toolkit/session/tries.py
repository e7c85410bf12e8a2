"""Below the cassette: when a call is sent with which credentials, and whether it is sent again.

It is sent again in two cases only:

- after a 401 to a token that should be good: once, with a new token (`auth.authorizers`);
- GET and HEAD after 429, 503 or a connection that broke before an answer began, within the limits of a `Retry`
  (`transport.retry`).

Each time the call waits for its turn if a rate limits all calls with its credentials (`transport.pacing`), and is
granted credentials anew: a token may have expired while it waited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from toolkit.auth.authorizers import Authorizer
from toolkit.auth.grants import AuthorizedRequest, Grant, RawHeaders
from toolkit.core.clock import Clock
from toolkit.core.ledger import Call
from toolkit.transport.flow import Discard, Flow, Pause
from toolkit.transport.pacing import Pace, nap
from toolkit.transport.retry import Retry, seconds_before_retry


def send_with_tries(
    request: httpx.Request,
    raw: RawHeaders,
    call: Call,
    *,
    authorizer: Authorizer,
    clock: Clock,
    retry: Retry,
    pace: Pace,
    jitter: Callable[[], float],
) -> Flow[httpx.Response]:
    """Send a request with credentials, and again where that may help; return the last answer.

    Args:
        request: the request without credentials.
        raw: its raw headers.
        call: has just been started; notes the last try and the number of tries.
        authorizer: grants the credentials.
        clock: where time comes from.
        retry: limits for sending a failed call again.
        pace: the schedule of all calls with these credentials.
        jitter: returns a random number from 0 to 1, which pauses are multiplied with.

    Raises:
        httpx.TransportError: the error of the last try.
        TokenError, Unreachable: if no token is available for it.
    """
    first_sent, is_renewed = 0.0, False
    pause: float | None
    call.tries = 0
    while True:
        grant = authorizer.grant_at(call.sent_at, call.since)
        if grant is None or pace.is_limited:
            grant = yield from _grant_in_turn(call, authorizer, clock, pace)
        if call.tries == 0:
            first_sent = call.since
        call.tries += 1
        call.authorized_by = grant.authorization
        outcome = yield from _outcome(AuthorizedRequest(request, grant, raw))
        answer = outcome if isinstance(outcome, httpx.Response) else None
        if answer is not None and authorizer.note_answer(request, answer.status_code, grant) and not is_renewed:
            is_renewed, pause = True, 0.0
        else:
            elapsed, now = clock.monotonic() - first_sent, clock.now()
            pause = seconds_before_retry(
                retry, request, outcome, tries=call.tries, elapsed=elapsed, now=now, jitter=jitter()
            )
        if pause is None:
            if answer is None:
                raise outcome
            return answer
        if answer is not None:
            yield Discard(answer)
        if pause:
            yield Pause(pause, clock)
        call.start(clock)


def _outcome(request: AuthorizedRequest) -> Flow[Any]:
    """Send a request; return the answer, or the error that there was instead."""
    try:
        return (yield request)
    except httpx.TransportError as error:
        return error


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
