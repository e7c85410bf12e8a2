"""What is wrong with something secret: found in one place, raised in another.

A verbose traceback shows the local variables of every frame. So whatever reads secrets returns a Problem
instead of raising, and its caller, which holds nothing but Secrets, raises the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolkit.core.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and what to do about it; safe to show."""

    what: str
    next_step: str

    def error(self) -> ConfigurationError:
        return ConfigurationError(self.what, self.next_step)


def attempt(call: Callable[[], Any]) -> Any:
    """What it returns, or None when it raises.

    The error is dropped rather than chained: cryptography, jwt, json and signers of others raise several
    kinds, some of which hold the text of the key.
    """
    try:
        return call()
    except Exception:  # noqa: BLE001
        return None
