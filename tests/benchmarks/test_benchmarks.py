"""Benchmarks run to their end. Their figures are not looked at: quick runs are too small for that."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\ndef main() " in path.read_text())
ARGUMENTS = {"hostile": ["backslash", "members", "npm"]}  # only some of its shapes


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if name != "token_callers"])
def test_benchmark_runs(benchmark: str) -> None:
    """A quick run prints a table, and exits with status 0."""
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", "--quick", *ARGUMENTS.get(benchmark, [])]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert len(process.stdout.splitlines()) > 1
