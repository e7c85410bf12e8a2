"""Reach the user's code: the line that a warning points at, and the IPython shell that runs it."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from toolkit.core.escaping import masked

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
