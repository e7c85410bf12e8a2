"""The rooms of the package and the floors they stand on.

A module imports from its own room and from floors below it, wherever in the file the import stands.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolkit

ROOT = Path(toolkit.__file__).parent
FLOORS = [
    {"core"},
    {"local", "transport", "tables"},
    {"auth", "scrubbing", "verification"},
    {"cassettes", "practice_service"},
    {"session"},
    {"notebook", "cli"},
    {"__init__"},
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS, start=1) for room in rooms}
MODULES = sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    """Return the room of a module: the first folder below the package, or `__init__`."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything that a file imports from the package, late imports included.

    Imports for type checkers count as well: an annotation that names a higher floor is a dependency.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_from_floors_below(path: Path) -> None:
    """No import points upward or sideways, so there is no circle of rooms and each floor can be read alone."""
    room = room_of(path)
    assert room in FLOOR_OF, f"give the room {room} a floor"
    wrong = []
    for line, name in imported_modules(path):
        package, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if package == "toolkit" and target != room and FLOOR_OF.get(target, len(FLOORS)) >= FLOOR_OF[room]:
            wrong.append(f"{path.name}:{line} imports {name}")
    assert not wrong


def test_modules_form_no_circle() -> None:
    """Within a room, too, imports have a direction. Imports for type checkers only do not count."""
    graph = {_dotted(path): set(_loaded_modules(path)) for path in MODULES}
    pending = {module: {target for target in targets if target in graph} for module, targets in graph.items()}
    while free := [module for module, targets in pending.items() if not targets]:
        for module in free:
            del pending[module]
        for targets in pending.values():
            targets.difference_update(free)
    assert not pending, f"these modules import each other: {sorted(pending)}"


def _dotted(path: Path) -> str:
    return ".".join(("toolkit", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def _loaded_modules(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_type_checkers = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    known = {_dotted(module) for module in MODULES}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node in for_type_checkers:
            continue
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            target = full if full in known else str(node.module)
            if target != _dotted(path):
                yield target


def test_httpx_is_imported_in_few_rooms() -> None:
    """Its successor has the same API; whoever moves to it finds the places quickly."""
    importers = {room_of(path) for path in MODULES if "\nimport httpx" in path.read_text(encoding="utf-8")}
    assert importers <= {"auth", "cassettes", "session", "transport"}
