"""Check the arguments of public functions, so that a wrong one is an error of the toolkit and not of a library.

Each function returns the value, or raises ConfigurationError with the name of the argument as `about`. Messages name
the type of a wrong value and quote only short texts, because a misplaced argument may be a secret.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from toolkit.core.errors import ConfigurationError, UnknownName
from toolkit.core.secret import Secret
from toolkit.core.text import excerpt, nearest

if TYPE_CHECKING:
    from toolkit.core.clock import Clock

T = TypeVar("T")
C = TypeVar("C", bound=str)
LONGEST_QUOTE: Final = 20  # characters; a text that is longer may be a misplaced secret
_SLIP: Final = 4  # characters by which a misspelt name may be longer
_TYPE_WORDS: Final = {"str": "text", "NoneType": "None", "function": "a function"}


def wrong_type(about: str, expected: str, value: object, next_step: str) -> ConfigurationError:
    """Return the error for a value of a wrong type: "per_second must be a number, not text"."""
    name = type(value).__name__
    return ConfigurationError(f"{about} must be {expected}, not {_TYPE_WORDS.get(name, name)}.", next_step, about=about)


def as_choice(value: object, choices: Iterable[C], *, about: str) -> C:
    """Return a text that is one of the choices.

    Raises:
        UnknownName: if it is not one of them; the error suggests the nearest.
    """
    names = list(choices)
    if isinstance(value, str) and value in names:
        return names[names.index(value)]
    listed = f"Choose one of {', '.join(names)}."
    if not isinstance(value, str):
        raise UnknownName(wrong_type(about, "a text", value, "").what, listed, about=about)
    likely = nearest(value[:LONGEST_QUOTE].casefold(), names)
    # Only what looks like a misspelt choice is shown: anything else may be a secret, even if it begins like one.
    quoted = f" {excerpt(value)!r}" if likely and len(value) < len(likely) + _SLIP else ""
    raise UnknownName(
        f"{about}{quoted} is not known.", f"Did you mean {likely}? {listed}" if likely else listed, about=about
    )


def as_text(value: object, *, about: str, example: str) -> str:
    """Return a text that is not empty and can be encoded."""
    next_step = f"For example {about}={example}."
    if not isinstance(value, str):
        raise wrong_type(about, "a text", value, next_step)
    if not value.strip():
        raise ConfigurationError(f"{about} is empty.", next_step, about=about)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ConfigurationError(f"{about} has a lone surrogate, which cannot be encoded.", next_step, about=about)
    return value


def as_texts(value: object, *, about: str, example: str) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return tuple(as_text(each, about=about, example=example) for each in _each(value, str, about, "texts", example))


def as_secrets(value: object, *, about: str) -> tuple[Secret, ...]:
    """Return one secret or several, as texts or as Secrets, as a tuple."""
    example = 'os.environ["MY_SECRET"]'
    secrets = _each(value, str | Secret, about, "secrets", example)
    for each in secrets:
        if not isinstance(each, str | Secret):
            raise wrong_type(f"each of {about}", "a text or a tk.Secret", each, f"For example {about}={example}.")
    return tuple(map(Secret, secrets))


def as_count(value: object, *, about: str, least: int = 0, most: int | None = None) -> int:
    """Return a whole number within limits."""
    limits, next_step = f"a whole number {_range(least, most)}", f"For example {about}={max(least, 1)}."
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise wrong_type(about, limits, value, next_step)
    count = operator.index(value)
    if count < least or (most is not None and count > most):
        raise ConfigurationError(f"{about} must be {limits}.", next_step, about=about)
    return count


def as_number(value: object, *, about: str, least: float, most: float | None = None, example: object = 1) -> float:
    """Return a finite number within limits."""
    limits, next_step = f"a number {_range(least, most)}", f"For example {about}={example}."
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(about, limits, value, next_step)
    # A huge integer has no float, so it is compared as it is.
    if not least <= value <= (sys.float_info.max if most is None else most):  # type: ignore[operator]
        raise ConfigurationError(f"{about} must be {limits}.", next_step, about=about)
    return float(value)


def as_instance(value: object, kind: type[T], *, about: str, next_step: str, expected: str = "") -> T:
    """Return a value of a class; `expected` names the class in the error, by default as it is called."""
    if isinstance(value, kind):
        return value
    raise wrong_type(about, expected or f"a {kind.__name__}", value, next_step)


def as_flag(value: object, *, about: str) -> bool:
    """Return True or False; a text such as "no" would count as True."""
    return as_instance(value, bool, about=about, next_step=f"For example {about}=True.", expected="True or False")


def as_mapping(value: object, *, about: str, example: str) -> Mapping[Any, Any]:
    """Return a mapping, such as a dict."""
    next_step = f"For example {about}={example}."
    return as_instance(value, Mapping, about=about, next_step=next_step, expected="a dict")  # type: ignore[type-abstract]


def as_function(value: object, *, about: str, example: str) -> Callable[..., Any]:
    """Return something that can be called."""
    next_step = f"For example {about}={example}."
    return as_instance(value, Callable, about=about, next_step=next_step, expected="a function")  # type: ignore[arg-type]


def as_clock(value: object) -> Clock | None:
    """Return a clock, or None for the machine's."""
    if value is None or has_methods(value, "now", "monotonic"):
        return cast("Clock | None", value)
    raise wrong_type("clock", "an object with the methods now and monotonic", value, "Leave it out for the machine's.")


def has_methods(value: object, *names: str) -> bool:
    """Check whether an object, not a class, has these methods."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)


def _range(least: float, most: float | None) -> str:
    return f"from {least:,}{'' if most is None else f' to {most:,}'}"


def _each(value: object, kind: Any, about: str, noun: str, example: str) -> tuple[Any, ...]:
    if isinstance(value, kind):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | Mapping):
        return tuple(value)
    raise wrong_type(about, f"a list of {noun}", value, f"For example {about}=[{example}].")
