"""The place of a sweep, from the path or address that the user names."""

from __future__ import annotations

import os
from pathlib import Path

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.local.files import expanded
from toolkit.sweeps.storage import LocalPlace, SweepPlace


def place_of(into: str | Path) -> SweepPlace:
    """Return the place of a path or of an fsspec address such as `s3://bucket/positions`.

    Raises:
        ConfigurationError: if it does not name a folder, or fsspec or its package for this address is not installed.
    """
    if isinstance(into, str) and "://" in into:
        from toolkit.sweeps.remote import remote_place

        return remote_place(into)
    if not isinstance(into, str | Path):
        raise ConfigurationError(
            f"A sweep writes into a folder, given as a path or an address, not as {type(into).__name__}.",
            'For example into="sweeps/positions".',
            about="into",
        )
    folder = Path(absolute(into))
    if not folder.name or (folder.exists() and not folder.is_dir()):
        raise ConfigurationError(
            f"{excerpt(str(into))} cannot be the folder of a sweep.",
            'For example into="sweeps/positions".',
            about="into",
        )
    return LocalPlace(folder)


def absolute(into: str | Path) -> str:
    """Return the path or address of a folder in a form that means the same in any working directory."""
    if isinstance(into, str) and "://" in into:
        return into
    return os.path.abspath(expanded(into, about="into"))  # noqa: PTH100 - links stay as they are
