"""The floors of the package: a module imports only from floors below it, or from beside itself in its own folder."""

import ast
from pathlib import Path

import pytest

import toolkit

ROOT = Path(toolkit.__file__).parent
FLOORS = [
    ["escaping", "tracebacks", "warning", "traffic"],
    ["errors", "secret", "clock", "service", "private_files"],
    ["addresses", "ledger", "cell_source", "problem", "file_locks", "project"],
    ["credential_text"],
    ["keys"],
    ["settings", "assertion"],
    ["long_work"],
    ["credentials"],
    ["flow"],
    ["tokens"],
    ["auth"],
    ["cassettes"],
    ["tabulation", "session_secrets"],
    ["logs"],
    ["comparison"],
    ["tables"],
    ["profiles"],
    ["scope", "network", "connection_errors", "answers"],
    ["calling"],
    ["opening", "report"],
    ["session"],
    ["rich_display"],
    ["charts"],
    ["practice_service"],
    ["tour", "shipped"],
    ["notebook", "terminal", "verification"],
    ["commands"],
    ["cli"],
]
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
MODULES = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def part_of(path: Path) -> str:
    """The module or folder directly below the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """Parts of the package that a file imports when it is loaded; imports inside functions are late on purpose."""
    found = set()
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "toolkit":
            found |= {alias.name for alias in node.names if alias.name in FLOOR_OF}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolkit."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("toolkit.")}
        pending.extend(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_floors_below(path: Path) -> None:
    """No import points upward or sideways, so there is no cycle and each floor can be read alone."""
    part = part_of(path)
    assert part in FLOOR_OF, f"give {part} a floor"
    upward = {name for name in imported_parts(path) - {part} if FLOOR_OF[name] >= FLOOR_OF[part]}
    assert not upward


def test_httpx_is_imported_in_few_places() -> None:
    """Its successor has the same API; whoever moves to it finds the places quickly."""
    importers = {part_of(path) for path in MODULES if "\nimport httpx" in path.read_text(encoding="utf-8")}
    assert importers <= {
        "answers",
        "auth",
        "calling",
        "cassettes",
        "connection_errors",
        "flow",
        "network",
        "report",
        "scope",
        "session",
    }
