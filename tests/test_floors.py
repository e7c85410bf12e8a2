"""The rooms of the package and the floors they stand on.

A module imports from its own room and from floors below it, wherever in the file the import stands.
"""

import ast
import functools
from pathlib import Path

import pytest

import toolkit

ROOT = Path(toolkit.__file__).parent
FLOORS = [
    {"core"},
    {"local", "transport"},
    {"tables", "auth", "scrubbing", "verification"},
    {"cassettes"},
    {"session"},
    {"notebook", "sharing", "practice_service"},
    {"sweeps", "cli"},
    {"__init__"},
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS, start=1) for room in rooms}
MODULES = sorted(ROOT.rglob("*.py"))


def dotted_name(path: Path) -> str:
    """Return the name under which a module is imported."""
    return ".".join(("toolkit", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULE_NAMES = {dotted_name(path) for path in MODULES}


def room_of(path: Path) -> str:
    """Return the room of a module: the first folder below the package, or `__init__`."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@functools.cache
def imports_of(path: Path) -> list[tuple[int, str, bool]]:
    """Return line and dotted name of all that a module imports, late or not, and whether only type checkers see it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    guarded = {child for guard in guards for child in ast.walk(guard)}
    return [
        (node.lineno, alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}", node in guarded)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]


def modules_loaded_by(path: Path) -> set[str]:
    """Return the other modules of the package that a module loads, or takes names from, when it runs."""
    names = {name for _, name, is_guarded in imports_of(path) if not is_guarded}
    return {name if name in MODULE_NAMES else name.rpartition(".")[0] for name in names} - {dotted_name(path)}


def test_every_room_has_a_floor() -> None:
    """Every module and folder at the top of the package is a room with a floor, and every floor's rooms exist."""
    assert {room_of(path) for path in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("room", sorted(FLOOR_OF))
def test_a_room_imports_only_from_floors_below(room: str) -> None:
    """No import points upward or sideways, not even for a type checker, so each floor can be read alone."""
    wrong = []
    for path in (path for path in MODULES if room_of(path) == room):
        for line, name, _ in imports_of(path):
            package, _, rest = name.partition(".")
            target = rest.split(".")[0]
            if package == "toolkit" and target != room and FLOOR_OF.get(target, len(FLOORS)) >= FLOOR_OF[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong


def test_modules_form_no_circle() -> None:
    """Imports have a direction within a room, too. Those for type checkers only do not count."""
    pending = {dotted_name(path): modules_loaded_by(path) & MODULE_NAMES for path in MODULES}
    while free := [module for module, targets in pending.items() if not targets]:
        for module in free:
            del pending[module]
        for targets in pending.values():
            targets.difference_update(free)
    assert not pending, f"these modules import each other: {sorted(pending)}"


def test_httpx_is_imported_in_few_rooms() -> None:
    """Rooms that make no requests do not know the HTTP library."""
    importers = {
        room_of(path) for path in MODULES if any(name.split(".")[0] == "httpx" for _, name, _ in imports_of(path))
    }
    assert importers <= {"auth", "cassettes", "cli", "session", "sharing", "sweeps", "transport"}
