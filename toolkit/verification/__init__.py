"""Verify notebooks: run them in replay and compare their outputs with the stored ones, byte for byte.

`changes` asks git which notebooks changed. `verify` runs several notebooks at once. For each of them, in this order:

1. `notebook_files` finds and reads the file, and refuses what is not a Python notebook of format 4;
2. `kernel_environment` prepares folders and variables for a kernel without the user's secrets;
3. `run_notebook` starts a fresh kernel (`in_kernel/` is what runs inside it, without a network) and runs the cells;
4. `normalize` removes from the outputs what depends on the run or the machine: addresses, folders, times;
5. `comparing` lists the differences from the stored notebook, and `diff` shows each of them as lines;
6. `verdict` holds the result of one notebook, with the library versions that the outputs were made with.

With `update`, `verifier` stores the new outputs if a second run gives the same ones. `saving` keeps the notebooks as
executed in another folder. `report` writes verdicts as text, as JSON, and as annotations of GitHub at the cells.
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
