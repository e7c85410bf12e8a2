# ruff: noqa: INP001 - a script, not part of a package
"""Start the kernel of a notebook that is verified; run as a script in the kernel's own process.

It repeats the identifiers that Jupyter creates again in each process. It does not import the toolkit, so that a
notebook finds Python as in any other kernel.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from typing import Any


def repeat_identifiers() -> None:
    """Let `uuid.uuid4` return the same sequence in each run, one sequence per calling module.

    Widgets, pandas Styler, matplotlib's SVG and others use it for names that end up in outputs. Because each module has
    its own sequence, an additional caller does not change the names of the others. A forked child gets random ones.
    """
    random_uuid4 = uuid.uuid4
    first_process = os.getpid()
    sequences: dict[str, random.Random] = {}

    def uuid4() -> uuid.UUID:
        if os.getpid() != first_process:
            return random_uuid4()
        caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001 - the cheapest way to the caller's name
        sequence = sequences.setdefault(caller, random.Random(f"uuid4 of {caller}"))  # noqa: S311 - names, not secrets
        return uuid.UUID(int=sequence.getrandbits(128), version=4)

    uuid.uuid4 = uuid4


def name_cells_by_number() -> None:
    """Call a cell's code "<cell 3>" in warnings and tracebacks, instead of a temporary file of this process."""
    from ipykernel.compiler import XCachingCompiler  # must come after the identifiers

    def get_code_name(_: object, _raw: str, _transformed: str, number: int) -> str:
        return f"<cell {number}>"

    compiler: Any = XCachingCompiler
    compiler.get_code_name = get_code_name


def main() -> None:
    """Run the kernel with the arguments of this script."""
    del sys.path[0]  # the folder of this script, which a notebook must not import from
    repeat_identifiers()
    name_cells_by_number()
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()


if __name__ == "__main__":
    main()
