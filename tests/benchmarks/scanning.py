"""Scan 100 MB with `tk.scan` and with detect-secrets, side by side.

The 100 MB are text files of installed packages, notebooks and recordings. Each scanner has an interpreter of its own;
detect-secrets takes minutes and uses all processors, as its command does. Target: faster than it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK, Table, peak_memory, run_in_new_interpreter
from tests.benchmarks.peers import version
from tests.planted_project import PROJECT

TIMED_BYTES = 100_000 if IS_QUICK else 100_000_000
TEXT_SUFFIXES = frozenset(
    {".py", ".pyi", ".json", ".js", ".md", ".rst", ".txt", ".css", ".html", ".ipynb", ".csv", ".c"}
)
Scanner = Callable[[Sequence[Path]], dict[str, int]]  # how many findings each file has


def scan_with_toolkit(paths: Sequence[Path]) -> dict[str, int]:
    """Return how many findings `tk.scan` has in each file."""
    import toolkit as tk

    counts: dict[str, int] = {}
    for finding in tk.scan(paths):
        counts[str(finding.path)] = counts.get(str(finding.path), 0) + 1
    return counts


def scan_with_detect_secrets(paths: Sequence[Path], processes: int = 1) -> dict[str, int]:
    """Return how many findings detect-secrets has in each file, with all its plugins and its usual filters."""
    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings

    secrets = SecretsCollection()
    names = [str(file) for path in paths for file in files_below(path)]
    with default_settings():
        if processes > 1:
            secrets.scan_files(*names, num_processors=processes)
        else:
            for name in names:
                secrets.scan_file(name)
    return {name: len(secrets[name]) for name in secrets.files if secrets[name]}


def files_below(path: Path) -> Iterator[Path]:
    """Yield a file, or all files below a folder in their order."""
    if path.is_file():
        yield path
    else:
        yield from sorted(file for file in path.rglob("*") if file.is_file())


SCANNERS: dict[str, Scanner] = {"tk.scan": scan_with_toolkit}
if importlib.util.find_spec("detect_secrets"):
    SCANNERS[f"detect-secrets {version('detect-secrets')}"] = scan_with_detect_secrets


def write_corpus(folder: Path, size: int) -> int:
    """Write about `size` bytes: nine tenths text of installed packages, the rest notebooks and recordings.

    Returns:
        the number of bytes.
    """
    written = 0
    documents = [file.build(*file.without_secrets()) for file in PROJECT if file.name.endswith(("ipynb", "yaml"))]
    for number in range(10**6):
        content = documents[number % len(documents)]
        if written + len(content) > size // 10:
            break
        (folder / f"document-{number}{'.ipynb' if content[:1] == b'{' else '.yaml'}").write_bytes(content)
        written += len(content)
    packages = Path(sysconfig.get_path("purelib")), Path(importlib.util.find_spec("pandas").origin).parents[1]  # type: ignore[union-attr,arg-type]
    for package in dict.fromkeys(packages):
        for number, file in enumerate(files_below(package)):
            if file.suffix not in TEXT_SUFFIXES or file.stat().st_size > 2_000_000:
                continue
            content = file.read_bytes()
            (folder / f"{number}-{file.name}").write_bytes(content)
            written += len(content)
            if written >= size:
                return written
    return written


def time_one(name: str, folder: Path, processes: int) -> None:
    """Scan a folder with a scanner, and print the figures as JSON."""
    scan = next(scan for label, scan in SCANNERS.items() if label.startswith(name))
    before = os.times()
    start = time.perf_counter()
    counts = scan_with_detect_secrets([folder], processes) if processes > 1 else scan([folder])
    seconds = time.perf_counter() - start
    after = os.times()
    processor = sum(after[:4]) - sum(before[:4])
    print(json.dumps({"seconds": seconds, "processor": processor, "memory": peak_memory(), "flagged": len(counts)}))


def print_times() -> None:
    """Print how long each scanner takes, in turn, each in a new interpreter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_corpus(folder, TIMED_BYTES)
        print(f"{size / 1e6:.1f} MB in {sum(1 for _ in folder.iterdir())} files")
        table = Table("scanner", "seconds", "MB/s", "processor", "memory, MB", "flagged", label_width=34)
        for label, scan in SCANNERS.items():
            processes = 1 if scan is scan_with_toolkit else os.cpu_count() or 1
            arguments = [argument for argument in ("--quick",) if IS_QUICK]
            output = run_in_new_interpreter("scanning", label.split()[0], name, str(processes), *arguments)
            figures = json.loads(output.splitlines()[-1])
            table.print_row(
                f"{label}, {processes} process{'' if processes == 1 else 'es'}",
                f"{figures['seconds']:.1f}",
                f"{size / 1e6 / figures['seconds']:.1f}",
                f"{figures['processor']:.1f}",
                f"{figures['memory']:.0f}",
                str(figures["flagged"]),
            )


def main() -> None:
    """Print the times, or scan one folder for them."""
    if ARGUMENTS:
        name, folder, processes = ARGUMENTS
        time_one(name, Path(folder), int(processes))
        return
    print_times()


if __name__ == "__main__":
    main()
