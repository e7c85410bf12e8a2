"""The rooms of the package and the floors they stand on.

A module imports from its own room and from floors below it, wherever in the file the import stands.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


class Source(NamedTuple):
    """What a module imports.

    Attributes:
        imports: all its imports, late ones included.
        for_type_checkers: those of them that only a type checker sees.
    """

    imports: list[ast.Import | ast.ImportFrom]
    for_type_checkers: set[ast.Import | ast.ImportFrom]


@functools.cache
def source_of(path: Path) -> Source:
    """Read a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    return Source(
        [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)],
        {
            child
            for node in nodes
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            for child in ast.walk(node)
            if isinstance(child, ast.Import | ast.ImportFrom)
        },
    )


def room_of(path: Path) -> str:
    """Return the room of a module: the first folder below the package, or `__init__`."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@functools.cache
def imported_modules(path: Path) -> list[tuple[int, str]]:
    """Return the line and the dotted name of everything that a file imports, late imports included.

    Imports for type checkers count as well: an annotation that names a higher floor is a dependency.
    """
    return [
        (node.lineno, alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}")
        for node in source_of(path).imports
        for alias in node.names
    ]


def test_every_room_has_a_floor() -> None:
    """Every module and folder at the top of the package is a room with a floor, and every floor's rooms exist."""
    assert {room_of(path) for path in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("room", sorted(FLOOR_OF))
def test_a_room_imports_only_from_floors_below(room: str) -> None:
    """No import points upward or sideways, so there is no circle of rooms and each floor can be read alone."""
    wrong = []
    for path in (path for path in MODULES if room_of(path) == room):
        for line, name in imported_modules(path):
            package, _, rest = name.partition(".")
            target = rest.split(".")[0]
            if package == "toolkit" and target != room and FLOOR_OF.get(target, len(FLOORS)) >= FLOOR_OF[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong


def test_modules_form_no_circle() -> None:
    """Imports have a direction within a room, too. Those for type checkers only do not count."""
    pending = {dotted_name(path): set(loaded_modules(path)) & MODULE_NAMES - {dotted_name(path)} for path in MODULES}
    while free := [module for module, targets in pending.items() if not targets]:
        for module in free:
            del pending[module]
        for targets in pending.values():
            targets.difference_update(free)
    assert not pending, f"these modules import each other: {sorted(pending)}"


def loaded_modules(path: Path) -> Iterator[str]:
    """Yield what a module imports when it runs: names of modules, and of what is taken from them."""
    source = source_of(path)
    for node in source.imports:
        if isinstance(node, ast.ImportFrom) and node not in source.for_type_checkers:
            full_names = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = full_names & MODULE_NAMES
            yield from submodules
            if submodules != full_names:
                yield str(node.module)


def test_httpx_is_imported_in_few_rooms() -> None:
    """Rooms that make no requests do not know the HTTP library."""
    importers = {
        room_of(path) for path in MODULES if any(name.split(".")[0] == "httpx" for _, name in imported_modules(path))
    }
    assert importers <= {"auth", "cassettes", "cli", "session", "sharing", "sweeps", "transport"}
