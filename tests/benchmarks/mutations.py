"""Break thirty lines of a room one by one, and count how many of them the room's own tests notice.

`python -m tests.benchmarks.mutations transport` changes an operator, a condition, a flag or a statement of a module,
runs `tests/transport`, and puts the line back. Target: at least 27 of 30 are noticed. Run it in a clean checkout; it
breaks the same lines in every run. Numbers stay, because no limit is promised to the digit, and so do the options of
dataclasses.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measuring import ARGUMENTS, IS_QUICK

ROOT = Path(__file__).resolve().parents[2]
COUNT = 2 if IS_QUICK else 30
TIMEOUT = 240  # seconds for the tests of a room
# Where the tests of a room are if not only in the folder of its name.
FOLDERS = {
    "sharing": ("sharing", "pytest_plugin", "publishing"),
    "sweeps": ("sweeps", "loans"),
    "verification": ("verification", "kernels/test_kernel_verification.py"),
}
OPERATORS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the whole text of each way to break a module."""
    starts = [0]  # of lines, in bytes
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text.encode()))
    data, tree = source.encode(), ast.parse(source)
    options = [each for node in ast.walk(tree) for each in getattr(node, "decorator_list", ())]
    options += [each for each in ast.walk(tree) if isinstance(each, ast.Call) and ast.unparse(each.func) == "field"]
    kept = {id(inner) for each in options for inner in ast.walk(each)}
    for node in (each for each in ast.walk(tree) if id(each) not in kept):
        for (line, column), (end_line, end_column), text in edits_of(node):
            start, end = starts[line - 1] + column, starts[end_line - 1] + end_column
            yield line, (data[:start] + text.encode() + data[end:]).decode()


def edits_of(node: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Yield where text is replaced to break a node: from and to as line and column, and the new text."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield end_of(node.left), start_of(node.comparators[0]), f" {OPERATORS[type(node.ops[0])]} "
    elif isinstance(node, ast.BoolOp):
        yield end_of(node.values[0]), start_of(node.values[1]), " or " if isinstance(node.op, ast.And) else " and "
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield start_of(node), start_of(node.operand), ""
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield start_of(node), end_of(node), str(not node.value)
    elif isinstance(node, ast.Raise | ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield start_of(node), end_of(node), "pass"


def compiles(text: str) -> bool:
    """Return True if a broken module is still Python."""
    try:
        compile(text, "broken", "exec")
    except SyntaxError:
        return False
    return True


def start_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return line and column at which a node starts."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return line and column at which a node ends."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def is_noticed(room: str) -> bool:
    """Run the tests of a room; return True if one of them fails or takes too long."""
    folders = [f"tests/{folder}" for folder in FOLDERS.get(room, (room,))]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--gate", *folders]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=TIMEOUT, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main() -> None:
    """Break lines of a room, and print those that no test noticed."""
    room = ARGUMENTS[0] if ARGUMENTS else "transport"
    if is_noticed(room):
        sys.exit(f"The tests of {room} fail, or take too long, before a line is broken.")
    paths = sorted((ROOT / "toolkit" / room).rglob("*.py"))
    sites = [(path, *mutant) for path in paths for mutant in mutants(path.read_text(encoding="utf-8"))]
    chance = random.Random(room)  # noqa: S311 - the same lines in every run
    chosen = [site for site in chance.sample(sites, COUNT) if compiles(site[2])]
    while len(chosen) < COUNT:
        site = chance.choice(sites)
        if site not in chosen and compiles(site[2]):
            chosen.append(site)
    survivors = 0
    for path, line, text in chosen:
        original = path.read_bytes()
        try:
            path.write_text(text, encoding="utf-8")
            if not is_noticed(room):
                survivors += 1
                broken = text.splitlines()[line - 1].strip()
                print(f"not noticed: {path.relative_to(ROOT)}:{line}: {broken}", flush=True)
        finally:
            path.write_bytes(original)
    print(f"{room}: {len(chosen) - survivors} of {len(chosen)} noticed")


if __name__ == "__main__":
    main()
