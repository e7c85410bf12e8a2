"""All errors of the toolkit, split by whose fault they are.

ToolkitError
├─ ConfigurationError        an address, credential, profile or argument is missing or malformed
│  └─ UnknownName            a text is not one of the choices, such as a misspelt environment
├─ AccessError               refused by the toolkit, before anything was sent
│  ├─ InterfaceNotAllowed    this environment does not have the interface
│  ├─ CredentialsMismatch    credentials of another environment or kind
│  ├─ UnsafeAddress          the request would leave the interface's own address
│  └─ NetworkBlocked         a test that replays tried to connect
├─ TokenError                the token endpoint did not give a token
│  ├─ TokenRefused           it answered with an error status
│  └─ TokenResponseInvalid   its reply is not a token response
├─ Unreachable               the service or the token endpoint cannot be reached
├─ ServiceError              a call made by the toolkit was answered with an error status
├─ CassetteError
│  ├─ CassetteMiss           no recording matches this request
│  ├─ CassetteCorrupt        the file is not a cassette
│  ├─ CassetteBusy           another process is recording to it
│  └─ SecretLeak             a secret would have reached the disk; nothing was written
├─ PublishError              a notebook cannot be given away as it is; nothing was written
├─ SweepError                the folder of a sweep cannot be read or written
│  └─ SweepBusy              another process or thread sweeps into it
└─ TabulationError           a value does not fit its column

Catch ToolkitError to catch them all. Messages hold names, places and types, but no secrets.

A wrong argument of a public function or command is a ConfigurationError whose `about` is the argument; `core.arguments`
checks it before a library can raise an error of its own. Three mistakes stay Python's own TypeError: a wrong number of
arguments, an unknown keyword, and a `Secret` made of something other than text, because this module imports `secret`.
Two errors are built-in errors as well, because Python relies on them: InterfaceNotAllowed and UnknownName are an
AttributeError for `hasattr`, and UnknownName is a ValueError for enumerations.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from toolkit.core.text import excerpt, masked, notice, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import timedelta
    from typing import Self


def _safe(text: str) -> str:
    """Return a text that is safe to print, without the known secrets: a message may quote a misplaced argument."""
    return masked(printable(masked(text)))


class ToolkitError(Exception):
    """Base class of all errors of the toolkit. Its texts are made safe to print.

    Attributes:
        what: what happened, and where.
        next_step: what to do about it; empty if there is nothing to do.
        about: the argument or setting that the error is about, such as "secret_key" or "auth_sandbox", so that
            nobody has to parse messages; empty if there is none.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "") -> None:
        self.what = _safe(what)
        self.next_step = _safe(next_step)
        self.about = about
        super().__init__(self.what, self.next_step)

    def __str__(self) -> str:
        return f"{self.what}\n{self.next_step}" if self.next_step else self.what

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"  # of two texts, a log would mask one as the value of the other

    def reworded(self, what: str, next_step: str) -> Self:
        """Return a copy with another message and without a traceback."""
        error = copy.copy(self)
        error.__dict__.update(self.__dict__)  # a copy for pickling leaves out the response
        error.what, error.next_step = _safe(what), _safe(next_step)
        error.args = (error.what, error.next_step)
        return error

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        printer.text("\n".join(self._render_traceback_()))

    def _repr_html_(self) -> str:
        return notice(type(self).__name__, [self.what, self.next_step])

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback."""
        return f"{type(self).__name__}: {self}".split("\n", 1)


class ConfigurationError(ToolkitError):
    """A setting, credential, profile or argument is missing or malformed; the message says where to set it."""


class UnknownName(ConfigurationError, ValueError, AttributeError):
    """A text is not one of the choices, or a session has no attribute of that name; the message says what to write.

    Also a ValueError, which enumerations raise for an unknown value, and an AttributeError for `hasattr`.
    """


class AccessError(ToolkitError):
    """Refused by the toolkit before anything was sent (section 1 of the service document)."""


class InterfaceNotAllowed(AccessError, AttributeError):
    """The environment does not have this interface.

    Also an AttributeError, so that `hasattr(session, "broker")` works.
    """


class CredentialsMismatch(AccessError):
    """The credentials belong to another environment, or are of a kind that this environment does not take."""


class UnsafeAddress(AccessError):
    """The request would send credentials elsewhere than to the interface's own address."""


class NetworkBlocked(AccessError):
    """A test that replays a cassette tried to reach the network, which the pytest plugin refuses."""


class TokenError(ToolkitError):
    """The token endpoint did not give a usable token."""


class TokenRefused(TokenError):
    """The token endpoint answered with an error status.

    Attributes:
        status: the HTTP status code.
        error: the error code of RFC 6749 section 5.2, safe to print, or None if the body has none.
        clock_offset: this machine's clock minus the server's, or None if unknown.
        retry_after: seconds to wait before the next request, or None if the service does not say.
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
        """True if another try may succeed: too many requests, or a failing service (RFC 9110 section 15.6)."""
        return self.status in (408, 429) or self.status >= 500 or self.error == "temporarily_unavailable"


class TokenResponseInvalid(TokenError):
    """The token endpoint's reply is not a token response; the message has no values."""


class Unreachable(ToolkitError):
    """The service or the token endpoint could not be reached.

    Attributes:
        is_passing: True if another try may succeed, as after a dropped connection but not with a wrong certificate.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", is_passing: bool = True) -> None:
        super().__init__(what, next_step, about=about)
        self.is_passing = is_passing


class ServiceError(ToolkitError):
    """A call made by the toolkit, such as `accounts()`, was answered with an error or an unreadable body.

    Attributes:
        status: the HTTP status code.
        response: the response with its body read, or None if it could not be read.
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
        response: the live response that could not be recorded, with its body read, for callers who want it
            anyway; None if there was no response.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", response: Any = None) -> None:
        super().__init__(what, next_step, about=about)
        self.response = response

    def __reduce__(self) -> tuple[Any, ...]:
        return _without_response(self)


class CassetteMiss(CassetteError):
    """No recording matches this request, or the cassette does not exist.

    Attributes:
        nearest: the most similar recorded requests and what differs, best match first, safe to print.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(what, next_step, about=about)
        self.nearest = tuple(printable(description) for description in nearest)


class CassetteCorrupt(CassetteError):
    """The file is not a cassette; the message says where and what was expected. The file is not changed."""


class CassetteBusy(CassetteError):
    """Another process is recording to this cassette; nothing was sent."""


class SecretLeak(CassetteError):
    """A secret would have reached the disk, so nothing was written; the message says where it was, not what it is."""


class PublishError(ToolkitError):
    """A notebook cannot be given away as it is, so nothing was written; the message says why."""


class SweepError(ToolkitError):
    """The folder of a sweep could not be read or written; what is already written is kept."""


class SweepBusy(SweepError):
    """Another process or thread sweeps into this folder; nothing was sent."""


class TabulationError(ToolkitError):
    """A value does not fit its column; the message names row, column, expected type and actual type."""


def _without_response(error: ServiceError | CassetteError) -> tuple[Any, ...]:
    """Return the pickle of an error without its live response, which holds a connection and unscrubbed bytes."""
    return type(error), (error.what, error.next_step), {**error.__dict__, "response": None}


def how_to_install(extra: str) -> str:
    """Return the next step of an error about a package that an extra would bring."""
    return f"Install the toolkit with its extra {extra}: in a clone of it, pip install '.[{extra}]'."


def not_installed(
    error: ModuleNotFoundError, packages: Collection[str], user: str, extra: str, *, about: str
) -> Exception:
    """Return the error to raise for a missing package: with advice if an extra brings it, else the error itself.

    Args:
        error: names the package.
        packages: the packages of the extra.
        user: what needs them, such as "A loan".
        extra: the extra.
        about: the argument or setting that the error is about.
    """
    if (error.name or "").partition(".")[0] not in packages:
        return error
    return ConfigurationError(f"{user} needs {error.name}, which is not installed.", how_to_install(extra), about=about)
