"""What `import toolkit` costs beside `import httpx`, each in a fresh interpreter. Target: at most 1.3 times."""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.benchmarks.pairs import in_turn


def main() -> None:
    """Print the figures."""
    codes = {
        "import httpx": "import httpx",
        "import toolkit": "import toolkit",
        "import toolkit, use Session": "import toolkit; toolkit.Session",
        "nothing": "",
    }
    with TemporaryDirectory() as compiled:
        # As installed: compiled once, wherever this runs.
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ["PYTHONPYCACHEPREFIX"] = compiled
        ways = {
            name: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True, env=environ)
            for name, code in codes.items()
        }
        for start in ways.values():
            start()
        figures = in_turn(ways, rounds=25, repeats=1)
    bare = figures.seconds["nothing"]
    httpx = figures.seconds["import httpx"] - bare
    print(f"{'without the start of the interpreter':36}{'':12}{'to httpx':>9}")
    for name in codes:
        if name != "nothing":
            more = figures.seconds[name] - bare
            print(f"{name:36}{more * 1e3:9.1f} ms{more / httpx:9.2f}")


if __name__ == "__main__":
    main()
