"""How many calls of this process went out and how many were replayed: what tells live work from a replay."""
# MERGE: What a session did: its calls, and how each was authorized. The records behind the tables of calls and tokens. A recording keeps the same facts beside each interaction, so that a replay tells the same story.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from toolkit.core.document import CredentialKind, Environment

_MOST_TOKENS: Final = 10**9  # what is above is no count, and may be too long to print


EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)  # when a recording does not say


@dataclass(frozen=True, slots=True)
class Authorization:
    """How a call was authorized. Holds no secret.

    Attributes:
        kind: kind of credentials.
        environment: whose credentials.
        profile: name of the credentials.
        token: number of the token in its session, from 1; None for a key pair.
        issued_at: when the token counts from, or None.
        expires_at: when the token ends, or None.
    """

    kind: CredentialKind
    environment: Environment
    profile: str
    token: int | None = None
    issued_at: datetime | None = None
    expires_at: datetime | None = None

    def to_fields(self) -> dict[str, Any]:
        """As the plain values of a recording, without those that are None."""
        fields: dict[str, Any] = {
            "kind": str(self.kind),
            "environment": str(self.environment),
            "profile": self.profile,
            "token": self.token,
            "issued_at": self.issued_at and instant_text(self.issued_at),
            "expires_at": self.expires_at and instant_text(self.expires_at),
        }
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Authorization:
        """From the plain values of a recording.

        Raises:
            ValueError, KeyError, TypeError: they are none.
        """
        if not isinstance(fields, Mapping):
            raise TypeError(f"an authorization is a mapping, not {type(fields).__name__}")
        token, issued, expires = fields.get("token"), fields.get("issued_at"), fields.get("expires_at")
        if token is not None and (type(token) is not int or not 1 <= token < _MOST_TOKENS):
            raise ValueError("the number of a token is a whole number from 1")
        return cls(
            kind=CredentialKind(fields["kind"]),
            environment=Environment(fields["environment"]),
            profile=str(fields["profile"]),
            token=token,
            issued_at=None if issued is None else parse_instant(issued),
            expires_at=None if expires is None else parse_instant(expires),
        )


@dataclass(slots=True)
class Call:
    """One request that went out.

    Attributes:
        sent_at: when it was sent.
        interface: name of the interface, or the host for an address that is none of the service's.
        method: HTTP method.
        path: path without the address and without the query.
        status: HTTP status code; 599 when no answer came.
        elapsed: from sending to the end of the body, or to the failure; None while it is unfinished.
        authorized_by: how it was authorized; None for a token request.
    """

    sent_at: datetime
    interface: str
    method: str
    path: str
    status: int | None = None
    elapsed: timedelta | None = None
    authorized_by: Authorization | None = None

    @property
    def ended_at(self) -> datetime:
        """When it ended, or, while it is unfinished, when it was sent."""
        return self.sent_at if self.elapsed is None else self.sent_at + self.elapsed


class Ledger:
    """The calls of one session. Threads share it: appending to and copying a list are one step each."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def calls(self) -> list[Call]:
        """The calls so far, in the order in which they were sent."""
        return sorted(self._calls, key=lambda call: call.sent_at)

    def last_ended_at(self) -> datetime | None:
        """When the last call ended; None before the first."""
        return max((call.ended_at for call in list(self._calls)), default=None)


def instant_text(instant: datetime) -> str:
    """An instant as RFC 3339 text in UTC with microseconds.

    Raises:
        ValueError: it is naive.
    """
    if instant.utcoffset() is None:
        raise ValueError("an instant is aware, such as datetime(2026, 1, 1, tzinfo=UTC)")
    # isoformat rather than strftime, whose %Y pads a year before 1000 on some platforms only.
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_instant(text: str) -> datetime:
    """The instant of an RFC 3339 text, in UTC.

    Raises:
        ValueError: it is none, has no offset, or lies outside the years 1 to 9999 in UTC.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("an instant needs an offset, such as Z")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("an instant lies in the years 1 to 9999") from None


@dataclass(slots=True)
class Traffic:
    """Counts that only grow. Threads may lose a count to each other, never all of them.

    Attributes:
        sent: calls that went out.
        played: calls that a cassette answered.
    """

    sent: int = 0
    played: int = 0


TRAFFIC: Final = Traffic()
