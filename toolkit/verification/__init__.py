"""Verify notebooks: run them in replay, and compare their outputs with the stored ones.

1. `notebooks` finds and reads files, and asks git which files changed;
2. `run` starts a fresh kernel without a network (`in_kernel`) for each notebook, runs it, and stores new outputs;
3. `compare` normalizes stored and new outputs, and lists the cells that differ;
4. `report` defines the verdicts, and writes them as text, JSON or annotations.
"""

from toolkit.verification.compare import CellPlace, Difference
from toolkit.verification.report import FORMATS, Failure, Outcome, Verdict
from toolkit.verification.run import verify

__all__ = ["FORMATS", "CellPlace", "Difference", "Failure", "Outcome", "Verdict", "verify"]
