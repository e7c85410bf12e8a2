"""Save notebooks as they were executed beside each other in a folder, for nbdime or a pipeline's artifacts."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import write_atomically


def saved_paths(notebooks: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Return where in a folder each notebook is saved, and make the folder.

    Paths in the folder are relative to the working directory if all notebooks lie below it, otherwise to the folder
    that all of them lie in.

    Raises:
        ConfigurationError: if the folder cannot be made or written to, or a notebook would be replaced.
    """
    absolute = [path.absolute() for path in notebooks]
    base = Path.cwd()
    if not all(path.is_relative_to(base) for path in absolute):
        base = Path(os.path.commonpath([path.parent for path in absolute]))
    targets = {path: folder / file.relative_to(base) for path, file in zip(notebooks, absolute, strict=True)}
    originals = {path.resolve() for path in notebooks}
    for target in targets.values():
        if target.resolve() in originals:
            raise ConfigurationError(
                f"Saving to {folder} would replace the notebook {target}.", "Name another folder.", about="save_to"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_save(folder, error) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _cannot_save(folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return targets


def save_notebook(target: Path, data: bytes) -> None:
    """Write a notebook as executed; an earlier one is replaced.

    Raises:
        ConfigurationError: if it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
    except OSError as error:
        raise _cannot_save(target, error) from None


def _cannot_save(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"{path} cannot be written: {error.strerror}.",
        "Name another folder, or change its permissions.",
        about="save_to",
    )
