"""Notebooks that give today what they gave when they were stored: run in replay, compared byte by byte.

`verify` does it; a `Verdict` says what became of one notebook.
"""

from toolkit.verification.verdict import (
    CellPlace,
    Difference,
    Failure,
    Kind,
    Outcome,
    Verdict,
    VersionChange,
)
from toolkit.verification.verifier import Progress, verify

__all__ = [
    "CellPlace",
    "Difference",
    "Failure",
    "Kind",
    "Outcome",
    "Progress",
    "Verdict",
    "VersionChange",
    "verify",
]
