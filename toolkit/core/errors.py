"""All toolkit errors, grouped by kind of problem.

Catch ToolkitError to catch them all. Messages contain names, places and types, but no secrets.

An invalid argument to a public function or command raises a ConfigurationError whose `about` names the argument. The
functions at the end check arguments, and quote only short strings, because a misplaced argument may be a secret. Three
mistakes raise a plain TypeError: the wrong number of arguments, an unknown keyword, and a `Secret` made from anything
but a string.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from toolkit.core.text import excerpt, masked, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Self

_LARGEST: Final = sys.float_info.max
_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=str)
LONGEST_QUOTE: Final = 20  # characters; a string that is longer may be a misplaced secret
_SLIP: Final = 4  # characters that a misspelt name may have more
_TYPE_WORDS: Final = {"str": "a string", "NoneType": "None", "function": "a function"}


def _safe(text: str) -> str:
    """Return a string with known secrets removed, because a message may quote a secret passed as the wrong argument."""
    return masked(printable(masked(text)))


class ToolkitError(Exception):
    """Base class for all toolkit errors. Its strings are safe to print.

    Attributes:
        what: what happened, and where.
        next_step: what to do about it; empty if there is nothing to do.
        about: the argument or setting that the error is about, such as "secret_key" or "auth_sandbox", so that code
            does not have to parse messages; empty if there is none.

    Subclasses with additional attributes also take them as keyword arguments.
    """

    def __init__(self, what: str, next_step: str = "", *, about: str = "", **details: Any) -> None:
        self.what = _safe(what)
        self.next_step = _safe(next_step)
        self.about = about
        vars(self).update(details)
        super().__init__(self.what, self.next_step)

    def __str__(self) -> str:
        return f"{self.what}\n{self.next_step}" if self.next_step else self.what

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"  # one string: of two, a log might mask the second

    def __reduce__(self) -> tuple[Any, ...]:
        # A live response has a connection and unscrubbed bytes.
        kept = {name: value for name, value in vars(self).items() if name != "response"}
        return type(self), (self.what, self.next_step), kept

    def reworded(self, what: str, next_step: str) -> Self:
        """Return a copy with another message and without a traceback."""
        details = {name: value for name, value in vars(self).items() if name not in ("what", "next_step")}
        return type(self)(what, next_step, **details)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython's signature
        printer.text("\n".join(self._render_traceback_()))

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback."""
        return f"{type(self).__name__}: {self}".split("\n", 1)


class ConfigurationError(ToolkitError):
    """A setting, credential, profile or argument is missing or invalid; the message says where to set it."""


class UnknownName(ConfigurationError, ValueError, AttributeError):
    """A string is not one of the choices, or a session has no attribute of that name; the message says what to use.

    Also a ValueError, as enums raise for an unknown value, and an AttributeError, so that `hasattr` works.
    """


class AccessError(ToolkitError):
    """The toolkit refused a call before anything was sent (section 1 of the service document)."""


class InterfaceNotAllowed(AccessError, AttributeError):
    """The environment does not have this interface.

    Also an AttributeError, so that `hasattr(session, "broker")` works.
    """


class CredentialsMismatch(AccessError):
    """The credentials belong to another environment, or are of a kind that this environment does not take."""


class UnsafeAddress(AccessError):
    """The request would send credentials to an address that does not belong to the interface."""


class NetworkBlocked(AccessError):
    """A test that replays a cassette tried to reach the network, which the pytest plugin blocks."""


class TokenError(ToolkitError):
    """The token endpoint did not return a usable token."""


class TokenRefused(TokenError):
    """The token endpoint answered with an error status.

    Attributes:
        status: the HTTP status code.
        error: the error code of RFC 6749 section 5.2, safe to print, or None if the body has none.
        clock_offset: how far this machine's clock is ahead of the server's, or None if unknown.
        retry_after: seconds to wait before the next request, or None if the service does not say.
    """

    status: int = 0
    error: str | None = None
    clock_offset: timedelta | None = None
    retry_after: float | None = None

    @property
    def is_passing(self) -> bool:
        """True if a retry may succeed, as after too many requests or a server error (RFC 9110 section 15.6)."""
        return self.status in (408, 429) or self.status >= 500 or self.error == "temporarily_unavailable"


class TokenResponseInvalid(TokenError):
    """The token endpoint's response is not a token response; the message contains no values."""


class Unreachable(ToolkitError):
    """The service or the token endpoint could not be reached.

    Attributes:
        is_passing: True if a retry may succeed, as after a dropped connection but not after a certificate error.
    """

    is_passing: bool = True


class ServiceError(ToolkitError):
    """A response that the toolkit has to read, such as the one to `accounts()`, is an error or has an unreadable body.

    Attributes:
        status: the HTTP status code.
        response: the response with its body read, or None if it could not be read.
    """

    status: int = 0
    response: Any = None


class CassetteError(ToolkitError):
    """A cassette could not be opened, read or written.

    Attributes:
        response: the live response that could not be recorded, with its body read; None if there was no response.
    """

    response: Any = None


class CassetteMiss(CassetteError):
    """No recording matches this request, or the cassette does not exist.

    Attributes:
        nearest: the most similar recorded request and its differences, safe to print; empty if there are no recordings.
    """

    nearest: Sequence[str] = ()


class CassetteCorrupt(CassetteError):
    """The file is not a cassette; the message says what is wrong, and where. The file is not changed."""


class CassetteBusy(CassetteError):
    """Another process is recording to this cassette; nothing was sent."""


class SecretLeak(CassetteError):
    """A secret would have reached the disk, so nothing was written; the message says where, but not what it is."""


class PublishError(ToolkitError):
    """A notebook cannot be published as is, so nothing was written; the message says why."""


class SweepError(ToolkitError):
    """A sweep's folder could not be read or written; everything already written is kept."""


class SweepBusy(SweepError):
    """Another process or thread is running a sweep in this folder; nothing was sent."""


class TabulationError(ToolkitError):
    """A value does not fit its column; the message names the row, the column, the expected type and the actual type."""


def how_to_install(extra: str) -> str:
    """Return the next step for an error about a missing package that an extra installs."""
    return f"Install the toolkit with the extra {extra}. In a clone of the repository, run pip install '.[{extra}]'."


def wrong_type(about: str, expected: str, value: object, next_step: str) -> ConfigurationError:
    """Return the error for a value of the wrong type: "per_second must be a number, not a string"."""
    name = type(value).__name__
    return ConfigurationError(f"{about} must be {expected}, not {_TYPE_WORDS.get(name, name)}.", next_step, about=about)


def as_choice(value: object, choices: Iterable[_Choice], *, about: str) -> _Choice:
    """Check that a value is one of the choices, and return it.

    Raises:
        UnknownName: if it is not one of them; the error suggests the nearest.
    """
    names = list(choices)
    if isinstance(value, str) and value in names:
        return names[names.index(value)]
    listed = f"Choose one of {', '.join(names)}."
    if not isinstance(value, str):
        raise UnknownName(wrong_type(about, "a string", value, "").what, listed, about=about)
    likely = nearest(value[:LONGEST_QUOTE].casefold(), names)
    # Only what looks like a misspelt choice is shown: anything else may be a secret, even if it begins like a choice.
    quoted = f" {excerpt(value)!r}" if likely and len(value) < len(likely) + _SLIP else ""
    meant = f"Did you mean {likely}? " if likely else ""
    raise UnknownName(f"{about}{quoted} is not known.", f"{meant}{listed}", about=about)


def as_text(value: object, *, about: str, example: str) -> str:
    """Check that a value is a non-empty string, and return it."""
    text = as_instance(value, str, about=about, example=example, expected="a string")
    if not text.strip():
        raise ConfigurationError(f"{about} is empty.", f"For example {about}={example}.", about=about)
    return text


def as_several(value: object, kind: Any, *, about: str, example: str) -> tuple[Any, ...]:
    """Return a value, or the values of an iterable, as a tuple; each must be an instance of `kind`."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)
    values = tuple(cast("Iterable[Any]", value)) if is_list else (value,)
    return tuple(as_instance(each, kind, about=about, example=example, expected="strings") for each in values)


def as_count(value: object, *, about: str, least: int = 0, most: float = _LARGEST) -> int:
    """Check that a value is a whole number within limits, and return it."""
    return int(as_number(value, about=about, least=least, most=most, example=max(least, 1), is_whole=True))


def as_number(
    value: object, *, about: str, least: float, most: float = _LARGEST, example: object = 1, is_whole: bool = False
) -> float:
    """Check that a value is a finite number within limits, and return it."""
    kind = "a whole number" if is_whole else "a number"
    limits = f"{kind} of at least {least:,}" if most == _LARGEST else f"{kind} from {least:,} to {most:,}"
    next_step = f"For example {about}={example}."
    if isinstance(value, bool) or not isinstance(value, Integral if is_whole else Real):
        raise wrong_type(about, limits, value, next_step)
    number: Any = value
    if not least <= number <= most:
        limits = f"at least {least:,}" if number < least and most == _LARGEST else limits
        raise ConfigurationError(f"{about} must be {limits}.", next_step, about=about)
    return number if is_whole else float(number)


def as_instance(value: object, kind: type[_T], *, about: str, example: str, expected: str = "") -> _T:
    """Check that a value is an instance of a class, and return it. `expected` describes the class in the error."""
    if isinstance(value, kind):
        return value
    raise wrong_type(about, expected or f"a {kind.__name__}", value, f"For example {about}={example}.")


def as_mapping(value: object, *, about: str, example: str) -> Mapping[Any, Any]:
    """Check that a value is a mapping, such as a dict, and return it."""
    return as_instance(value, Mapping, about=about, example=example, expected="a dict")  # type: ignore[type-abstract]
