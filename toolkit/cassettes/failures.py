"""Calls that got no answer: recorded as what httpx raised, and replayed as the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import httpx

from toolkit.cassettes.format import FAILURES, NO_ANSWER, Failure, Interaction, RecordedRequest
from toolkit.errors import CassetteError
from toolkit.ledger import Authorization
from toolkit.warning import warn

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette

# What a network or a service causes. What the caller caused (UnsupportedProtocol, LocalProtocolError) is not recorded.
RECORDABLE: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)


def record_failure(
    cassette: Cassette,
    request: RecordedRequest,
    error: httpx.TransportError,
    *,
    sent_at: datetime,
    elapsed: timedelta,
    authorized_by: Authorization | None = None,
) -> None:
    """Record that a request got no answer. Where that cannot be recorded, warn: the caller is to get `error`.

    Args:
        error: one of RECORDABLE.
    """
    # A class of a transport's own is recorded as httpx's that it is derived from.
    name = next(one.__name__ for one in type(error).__mro__ if one.__name__ in FAILURES)
    interaction = Interaction(
        request=request,
        response=NO_ANSWER,
        recorded_at=sent_at,
        elapsed=elapsed,
        authorized_by=authorized_by,
        failure=Failure(name, str(error)),
    )
    try:
        cassette.record(interaction)
    except CassetteError as unrecorded:
        warn(f"The failed {request.method} is not recorded. {unrecorded.what}")


def as_error(failure: Failure, request: httpx.Request | None) -> httpx.TransportError:
    """What to raise for a recorded failure of the same request."""
    kind: type[httpx.TransportError] = getattr(httpx, failure.type)  # of FAILURES, or there were no Failure
    return kind(failure.message, request=request)
