"""What to do about a finding, by its kind."""

from __future__ import annotations

from typing import Final

_GENERAL: Final = ("Revoke or rotate it, remove it from the file, and take it out of git's history.",)


def advice_for(kind: str) -> tuple[str, ...]:  # noqa: ARG001 - one sentence serves all kinds
    """Return the steps to take about a finding of a kind, in order."""
    return _GENERAL
