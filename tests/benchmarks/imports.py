"""Compare `import toolkit` with `import httpx`, each in a new interpreter. Target: at most 1.3 times as long."""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.benchmarks.measuring import Table, time_in_turn

STATEMENTS = ("import httpx", "import toolkit", "import toolkit; toolkit.Session")


def main() -> None:
    """Measure the statements, less the start of the interpreter."""
    with TemporaryDirectory() as compiled:
        # Modules are compiled once, as in an installed package.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        ways = {
            code: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            for code in ("", *STATEMENTS)
        }
        for run in ways.values():
            run()
        seconds = time_in_turn(ways, rounds=25, repeats=1).seconds
    table = Table("statement, without interpreter start", "time", "ratio to httpx")
    for code in STATEMENTS:
        own, httpx = (seconds[statement] - seconds[""] for statement in (code, "import httpx"))
        table.print_row(code, f"{own * 1e3:.1f} ms", f"{own / httpx:.2f}")


if __name__ == "__main__":
    main()
