"""What `import toolkit` costs beside `import httpx`, each in a fresh interpreter. Target: at most 1.3 times."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.pairs import in_turn


def main() -> None:
    """Print the figures."""
    ways = {
        name: lambda name=name: subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
        for name in ("httpx", "toolkit")
    }
    figures = in_turn(
        {**ways, "nothing": lambda: subprocess.run([sys.executable, "-c", ""], check=True)}, rounds=25, repeats=1
    )
    bare = figures.seconds["nothing"]
    for name in ("httpx", "toolkit"):
        print(
            f"import {name:10}{(figures.seconds[name] - bare) * 1e3:8.1f} ms "
            f"(whole process {figures.seconds[name] * 1e3:.1f} ms)"
        )
    ratio = (figures.seconds["toolkit"] - bare) / (figures.seconds["httpx"] - bare)
    print(f"ratio {ratio:.2f} without the interpreter's own start, {figures.ratios['toolkit']:.2f} with it")


if __name__ == "__main__":
    main()
