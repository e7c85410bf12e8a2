"""Reach the user's code: the line that a warning points at, the IPython shell that runs it, and names in it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from toolkit.core.escaping import masked

_PARTS: Final[WeakKeyDictionary[object, Callable[[], str]]] = WeakKeyDictionary()
# The last is between a context manager and its `with`.
_PASSED_OVER = frozenset({"toolkit", "httpx", "httpx2", "contextlib"})


def warn(message: str) -> None:
    """Warn at the nearest caller outside the toolkit and its HTTP library, however many functions lie between.

    Known secrets are masked: a warning may quote names from an answer.
    """
    level, frame = 1, sys._getframe()  # noqa: SLF001 - warnings can skip files by prefix only since Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(masked(message), stacklevel=level)


def shell() -> Any | None:
    """Return the running InteractiveShell, or None outside IPython, which is not imported."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def note_name(part: object, name: Callable[[], str]) -> None:
    """Note the expression for an object that may have no variable: `panel.session` for the session of a panel.

    Args:
        part: the object.
        name: returns the expression, or "" if there is none.
    """
    _PARTS[part] = name


def name_of(value: object) -> str:
    """Return the name of an object in the user's notebook: its first variable, else the noted name, else ""."""
    names: dict[str, Any] = getattr(shell(), "user_ns", {})
    own = (name for name, held in [*names.items()] if held is value and not name.startswith("_"))
    return next(own, "") or _PARTS.get(value, str)()
