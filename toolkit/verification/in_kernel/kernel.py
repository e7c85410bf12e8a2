# ruff: noqa: INP001 - a script of its own, which Python is pointed to
"""Starts the kernel of a notebook that is verified; run as a script, in the kernel's own process.

It makes repeatable what Jupyter makes anew in each process, and imports nothing of the toolkit, so that a
notebook finds Python as any kernel does.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from typing import Any


def repeat_identifiers() -> None:
    """Give `uuid.uuid4` a sequence of its own for each module that calls it, the same in every run.

    Widgets, pandas Styler, matplotlib's SVG and others name things by it, and the names are in the outputs.
    By module, so that one caller more does not shift what others get. A forked child gets true ones again.
    """
    true_uuid4 = uuid.uuid4
    first_process = os.getpid()
    sequences: dict[str, random.Random] = {}

    def uuid4() -> uuid.UUID:
        if os.getpid() != first_process:
            return true_uuid4()
        caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001 - the caller's name costs nothing
        sequence = sequences.setdefault(caller, random.Random(f"uuid4 of {caller}"))  # noqa: S311 - names, no secrets
        return uuid.UUID(int=sequence.getrandbits(128), version=4)

    uuid.uuid4 = uuid4


def name_cells_by_number() -> None:
    """Let a cell's code be "<cell 3>" in warnings and tracebacks, rather than a temporary file of this process."""
    from ipykernel.compiler import XCachingCompiler  # after the identifiers

    def get_code_name(_: object, _raw: str, _transformed: str, number: int) -> str:
        return f"<cell {number}>"

    compiler: Any = XCachingCompiler
    compiler.get_code_name = get_code_name


def main() -> None:
    """Run the kernel with the arguments of this script."""
    del sys.path[0]  # the folder of this script, which a notebook has no business with
    repeat_identifiers()
    name_cells_by_number()
    from ipykernel.kernelapp import launch_new_instance  # last

    launch_new_instance()


if __name__ == "__main__":
    main()
