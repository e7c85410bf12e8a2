"""Every error of the toolkit, split by whose fault it is.

ToolkitError
├─ ConfigurationError        an address, credential or profile is missing or malformed
├─ AccessError               refused here, before anything is sent
│  ├─ InterfaceNotAllowed    this environment has no such interface
│  ├─ CredentialsMismatch    credentials of another environment or kind
│  └─ UnsafeAddress          the request would leave the interface's own address
├─ TokenError                the token endpoint gave no token
│  ├─ TokenRefused           it answered with an error status
│  └─ TokenResponseInvalid   its reply is no token response
├─ Unreachable               the service or the token endpoint cannot be reached
├─ ServiceError              a call of ours was answered with an error status
├─ CassetteError
│  ├─ CassetteMiss           nothing recorded answers this request
│  ├─ CassetteCorrupt        the file is no cassette
│  ├─ CassetteBusy           another process is recording to it
│  └─ SecretLeak             a secret would have reached the disk; nothing was written
└─ TabulationError           a value does not fit its column

Catch ToolkitError to catch them all. Messages hold names, places and types, never a secret.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from toolkit.core.escaping import excerpt, printable
from toolkit.core.html import notice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Self


class ToolkitError(Exception):
    """Root of all errors of the toolkit.

    Text that came from outside is made safe to print here, once for all subclasses.

    Attributes:
        what: what happened, and where.
        next_step: what to do about it; empty when there is nothing to do.
        about: the argument or setting that the error is about, such as "secret_key" or "auth_sandbox", so that
            nobody has to parse messages; empty when there is none.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "") -> None:
        self.what = printable(what)
        self.next_step = printable(next_step)
        self.about = about
        super().__init__(self.what, self.next_step)

    def __str__(self) -> str:
        return f"{self.what}\n{self.next_step}" if self.next_step else self.what

    def reworded(self, what: str, next_step: str) -> Self:
        """The same error in other words, without a traceback: for another caller, or another try."""
        error = copy.copy(self)
        error.what, error.next_step = printable(what), printable(next_step)
        error.args = (error.what, error.next_step)
        return error

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        printer.text("\n".join(self._render_traceback_()))

    def _repr_html_(self) -> str:
        return notice(type(self).__name__, [self.what, self.next_step])

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: what happened, and what next."""
        lines = [f"{type(self).__name__}: {self.what}"]
        return [*lines, self.next_step] if self.next_step else lines


class ConfigurationError(ToolkitError):
    """A setting, credential or profile is missing or malformed; says which, and where it was looked for."""


class AccessError(ToolkitError):
    """Refused by the toolkit before anything was sent (section 1 of the service document)."""


class InterfaceNotAllowed(AccessError, AttributeError):
    """The environment has no such interface.

    Also an AttributeError, so that `hasattr(session, "broker")` answers the question.
    """


class CredentialsMismatch(AccessError):
    """The credentials belong to another environment, or are of a kind that it does not take."""


class UnsafeAddress(AccessError):
    """The request would take credentials somewhere other than the interface's own address."""


class TokenError(ToolkitError):
    """The token endpoint gave no usable token."""


class TokenRefused(TokenError):
    """The token endpoint answered with an error status.

    Attributes:
        status: the HTTP status code.
        error: the error code of RFC 6749 section 5.2, safe to print, or None when the body held none.
        clock_offset: this machine's clock minus the server's, or None when unknown.
        retry_after: seconds that the service asks to wait before the next request, or None.
    """

    def __init__(
        self,
        what: str,
        next_step: str = "",
        *,
        about: str = "",
        status: int = 0,
        error: str | None = None,
        clock_offset: timedelta | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(what, next_step, about=about)
        self.status = status
        self.error = None if error is None else excerpt(error)
        self.clock_offset = clock_offset
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Whether another try may fare better: too many requests, a service in trouble (RFC 9110 section 15.6)."""
        return self.status in (408, 429) or self.status >= 500 or self.error == "temporarily_unavailable"


class TokenResponseInvalid(TokenError):
    """The token endpoint's reply is no token response; names and types of its fields, never values."""


class Unreachable(ToolkitError):
    """The service or the token endpoint could not be reached.

    Attributes:
        is_passing: whether another try may fare better: a dropped connection may, a wrong certificate not.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", is_passing: bool = True) -> None:
        super().__init__(what, next_step, about=about)
        self.is_passing = is_passing


class ServiceError(ToolkitError):
    """A call that the toolkit made for its user was answered with an error, or with something unreadable.

    Attributes:
        status: the HTTP status code.
        response: the answer as it came, its body read; None when none could be read.
    """

    def __init__(
        self, what: str, next_step: str = "", *, about: str = "", status: int = 0, response: Any = None
    ) -> None:
        super().__init__(what, next_step, about=about)
        self.status = status
        self.response = response

    def __reduce__(self) -> tuple[Any, ...]:
        return _without_response(self)


class CassetteError(ToolkitError):
    """A cassette could not be opened, read or written.

    Attributes:
        response: the live response that could not be recorded, its body read, for a caller who wants it all the
            same; None when no response had come.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", response: Any = None) -> None:
        super().__init__(what, next_step, about=about)
        self.response = response

    def __reduce__(self) -> tuple[Any, ...]:
        return _without_response(self)


class CassetteMiss(CassetteError):
    """Nothing recorded answers this request, or there is no such cassette.

    Attributes:
        nearest: descriptions of the nearest recorded requests and what differs, best first, safe to print.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(what, next_step, about=about)
        self.nearest = tuple(printable(description) for description in nearest)


class CassetteCorrupt(CassetteError):
    """The file is no cassette; says where and what was expected. The file is left as it was."""


class CassetteBusy(CassetteError):
    """Another process is recording to this cassette; nothing was sent."""


class SecretLeak(CassetteError):
    """A secret would have reached the disk; says where and of what kind, not what. Nothing was written."""


class TabulationError(ToolkitError):
    """A value does not fit its column; says row and column, type expected and type found."""


def _without_response(error: ServiceError | CassetteError) -> tuple[Any, ...]:
    """How to make it again elsewhere: a live response holds a connection and unscrubbed bytes, and stays here."""
    return type(error), (error.what, error.next_step), {**error.__dict__, "response": None}


__all__ = [
    "AccessError",
    "CassetteBusy",
    "CassetteCorrupt",
    "CassetteError",
    "CassetteMiss",
    "ConfigurationError",
    "CredentialsMismatch",
    "InterfaceNotAllowed",
    "SecretLeak",
    "ServiceError",
    "TabulationError",
    "TokenError",
    "TokenRefused",
    "TokenResponseInvalid",
    "ToolkitError",
    "Unreachable",
    "UnsafeAddress",
]
