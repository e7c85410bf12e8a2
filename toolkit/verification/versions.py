"""Versions of the libraries that shape outputs: stored with them, and compared with those that run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import toolkit
from toolkit.verification.verdict import VersionChange

_LIBRARIES: Final = ("anywidget", "ipykernel", "ipython", "ipywidgets", "matplotlib", "numpy", "pandas", "pyarrow")


def running_versions() -> dict[str, str]:
    """Of Python, the toolkit, and whichever of the libraries are installed, by name."""
    found = {"python": platform.python_version(), "toolkit": toolkit.__version__}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def changes(stored: Mapping[str, str], running: Mapping[str, str]) -> tuple[VersionChange, ...]:
    """Libraries in another version than stored, by name; none where no versions are stored."""
    if not stored:
        return ()
    names = sorted({*stored, *running})
    pairs = ((name, stored.get(name), running.get(name)) for name in names)
    return tuple(VersionChange(*each) for each in pairs if each[1] != each[2])


def in_words(found: tuple[VersionChange, ...]) -> str:
    """One library after the other, as in "made with pandas 3.1.0, here 3.2.1"; empty when none changed."""
    return "; ".join(
        f"made {f'with {each.name} {each.stored}' if each.stored else f'without {each.name}'}, "
        f"here {each.running or 'it is not installed'}"
        for each in found
    )
