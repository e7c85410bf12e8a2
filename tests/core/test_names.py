from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import toolkit

PACKAGE = Path(toolkit.__file__).parent


def test_names_of_classes():
    """Classes of different modules have different names."""
    modules = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(str(file.relative_to(PACKAGE)))
    assert modules
    assert {name: files for name, files in modules.items() if len(files) > 1} == {}
