"""Clocks, timestamp conversion, and the record of a session's calls and their authorization.

The source of time is passed in as a `Clock`. The call and token tables are made from a `Ledger`. A recording stores the
same facts with each interaction, so that a replay gives the same tables. Each response carries a `ResponseSource`:
where it came from, and the call that it answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, Protocol

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import wrong_type

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)  # the time of a recording that does not have one
TRIES: Final = "toolkit.tries"  # request extension: how often the request was sent
_SOURCE: Final = "toolkit.source"  # response extension: its `ResponseSource`
_MOST: Final = 10**9  # a larger number is not a count, and may be too long to print
# How many calls went over the network, and how many a cassette answered. Threads may lose some increments.
TRAFFIC: Final = SimpleNamespace(sent=0, played=0)


class Clock(Protocol):
    """The toolkit's source of time. If a clock also has a `sleep(seconds)` method, every pause uses that method."""

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; the reading never decreases."""
        ...


class SystemClock:
    """The system clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def as_clock(clock: Any) -> Clock:
    """Return the given clock, or a SystemClock if it is None."""
    clock = SystemClock() if clock is None else clock
    if isinstance(clock, type) or not all(callable(getattr(clock, name, None)) for name in ("now", "monotonic")):
        raise wrong_type("clock", "an object with the methods now and monotonic", clock, "Leave it out.")
    return clock  # type: ignore[no-any-return]


def instant_text(instant: datetime) -> str:
    """Return a datetime as an RFC 3339 timestamp in UTC with microseconds."""
    # isoformat rather than strftime, whose %Y pads a year before 1000 on some platforms only.
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_instant(text: str) -> datetime:
    """Parse an RFC 3339 timestamp and return it in UTC.

    Raises:
        ValueError: if the text is not a timestamp, has no UTC offset, or is outside the years 1 to 9999 in UTC.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("a timestamp needs a UTC offset, such as Z")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("a timestamp must be between the years 1 and 9999 in UTC") from None


def parse_http_date(text: str) -> datetime | None:
    """Parse an HTTP date (RFC 9110 section 5.6.7) and return it in UTC, or None if it is not valid."""
    from email.utils import parsedate_to_datetime

    try:
        instant = parsedate_to_datetime(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class Authorization(NamedTuple):
    """The authorization of a call, without secrets.

    Attributes:
        kind: kind of credentials.
        environment: the credentials' environment.
        profile: name of the profile.
        token: number of the token in its session, from 1; None for a key pair.
        issued_at: when the token's lifetime began, or None.
        expires_at: when the token expires, or None.
    """

    kind: CredentialKind
    environment: Environment
    profile: str
    token: int | None = None
    issued_at: datetime | None = None
    expires_at: datetime | None = None

    def to_fields(self) -> dict[str, Any]:
        """Return the fields to store in a recording, as text and integers, omitting those that are None."""
        texts: dict[type, Callable[[Any], Any]] = {type(None): lambda _: None, datetime: instant_text, int: int}
        fields = {name: texts.get(type(value), str)(value) for name, value in self._asdict().items()}
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Authorization:
        """Return the authorization that a recording's fields describe.

        Raises:
            ValueError, KeyError, TypeError: if they do not describe an authorization.
        """
        if not isinstance(fields, Mapping):
            raise TypeError(f"an authorization must be a mapping, not {type(fields).__name__}")
        token, issued_at, expires_at = fields.get("token"), fields.get("issued_at"), fields.get("expires_at")
        return cls(
            kind=CredentialKind(fields["kind"]),
            environment=Environment(fields["environment"]),
            profile=str(fields["profile"]),
            token=None if token is None else checked_count(token, "the token number"),
            issued_at=None if issued_at is None else parse_instant(issued_at),
            expires_at=None if expires_at is None else parse_instant(expires_at),
        )


def checked_count(value: Any, what: str) -> int:
    """Return a count from a recording; raise ValueError unless it is a whole number of at least 1."""
    if type(value) is not int or not 1 <= value < _MOST:
        raise ValueError(f"{what} must be a whole number of at least 1")
    return value


@dataclass(slots=True)
class Call:
    """A request that was sent.

    If it was sent several times, all attributes but `tries` describe the last attempt.

    Attributes:
        sent_at: when it was sent.
        interface: name of the interface, or the host if the address does not belong to the service.
        method: HTTP method.
        path: path without the address and the query.
        status: HTTP status code; 599 if no response came.
        elapsed: time from sending to the end of the body, or to the failure; None while the call is unfinished.
        authorized_by: how it was authorized; None for a token request.
        tries: number of times it was sent, at least 1.
        since: monotonic clock reading when it was sent, in seconds; meaningless for a replayed call.
    """

    sent_at: datetime
    interface: str
    method: str
    path: str
    status: int | None = None
    elapsed: timedelta | None = None
    authorized_by: Authorization | None = None
    tries: int = 1
    since: float = field(default=0.0, compare=False, repr=False)

    def start(self, clock: Clock) -> None:
        """Record the current time as the time at which the request was sent."""
        self.sent_at, self.since = clock.now(), clock.monotonic()

    def end(self, clock: Clock) -> None:
        """Record that the call ends now, unless its end is already recorded."""
        if self.elapsed is None:
            self.elapsed = timedelta(0, clock.monotonic() - self.since)

    @property
    def ended_at(self) -> datetime:
        """The time at which the call ended, or at which it was sent if it is unfinished."""
        return self.sent_at if self.elapsed is None else self.sent_at + self.elapsed


class Ledger:
    """The calls of a session. Threads can share it, because appending to a list and copying a list are atomic."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def calls(self) -> list[Call]:
        """Return the calls so far, in the order in which they were sent."""
        return sorted(self._calls, key=lambda call: call.sent_at)

    def last_ended_at(self) -> datetime | None:
        """Return when the last call ended, or None if there are no calls."""
        return max((call.ended_at for call in list(self._calls)), default=None)


@dataclass(slots=True)
class ResponseSource:
    """Where a response came from. It is stored in the response's extensions, which pickling drops.

    Attributes:
        describe: returns the description of a new table, such as `live · live calls, as of …`, or None.
        call: method and path of the call that it answers; "" for a response that another client received.
        replayed_from: name of the cassette file that it was replayed from; "" for a live response.
    """

    describe: Callable[[], str | None] = lambda: None
    call: str = ""
    replayed_from: str = ""


def source_of(response: Any) -> ResponseSource:
    """Return a response's ResponseSource, to be read or filled in; for any other object, return a new, empty one."""
    extensions = getattr(response, "extensions", None)
    if not isinstance(extensions, dict):
        return ResponseSource()
    source: ResponseSource = extensions.setdefault(_SOURCE, ResponseSource())
    return source
