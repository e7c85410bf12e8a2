"""Put a publication in its place, whole or not at all: as a folder, an archive or a page."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import PARTIAL, shown, write_atomically
from toolkit.local.folders import SETTINGS_FILE
from toolkit.sharing.publishing.companions import README, REQUIREMENTS, SETTINGS_COMMENT

_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)  # of a ZIP archive
_READABLE: Final = 0o100644 << 16
_OURS: Final = frozenset({README, REQUIREMENTS, SETTINGS_FILE})
_OUR_SUFFIXES: Final = (".ipynb", ".yaml", ".yml", ".json")
_OTHER_FILES: Final = (".pdf", ".md", ".py", ".tex", ".tar", ".gz", ".tgz", ".7z", ".docx", ".pptx", ".odt")
_CHECKPOINTS: Final = ".ipynb_checkpoints"


class TargetShape(Enum):
    """The kinds of publications: a folder, an archive or a page."""

    FOLDER = "folder"
    ARCHIVE = "archive"
    PAGE = "page"


def shape_of(target: Path) -> TargetShape:
    """Return what the name of a target asks for.

    Raises:
        ConfigurationError: if it has the suffix of a notebook, or of a kind of file that is not written.
    """
    suffix = target.suffix.lower()
    if suffix == ".ipynb":
        raise ConfigurationError(
            f"A published notebook has recordings beside it, so {target.name} cannot be a single notebook.",
            "Name a folder, a file that ends in .zip, or a page that ends in .html.",
            about="to",
        )
    if suffix in _OTHER_FILES:
        raise ConfigurationError(
            f"A publication is not a {suffix} file, so it cannot be {target.name}.",
            "Name a folder, a file that ends in .zip, or a page that ends in .html (which a browser prints as PDF).",
            about="to",
        )
    return {".zip": TargetShape.ARCHIVE, ".html": TargetShape.PAGE, ".htm": TargetShape.PAGE}.get(
        suffix, TargetShape.FOLDER
    )


def check_target(target: Path, shape: TargetShape, *, replace: bool) -> None:
    """Refuse a target that exists or cannot be written.

    Raises:
        ConfigurationError: if it exists and is not to be overwritten, or is something else than a publication; or if
            no folder can be made there.
    """
    parent = next((folder for folder in target.parents if os.path.lexists(folder)), None)
    if parent is None:
        raise ConfigurationError(f"{shown(target)} cannot be replaced.", "Name a folder in it.", about="to")
    if not parent.is_dir():
        raise ConfigurationError(f"{shown(parent)} is not a folder.", "Choose another place.", about="to")
    if not os.access(parent, os.W_OK):
        raise ConfigurationError(f"{shown(parent)} cannot be written to.", "Choose another place.", about="to")
    if not os.path.lexists(target):
        return
    if not replace:
        raise ConfigurationError(
            f"{shown(target)} exists already.",
            "Choose another name, or replace it: replace=True.",
            about="to",
        )
    if shape is TargetShape.FOLDER:
        stranger = _stranger_in(target)
        if stranger is not None:
            raise ConfigurationError(
                f"{shown(target)} is not replaced: {stranger}.",
                "Choose another name, or move what is not part of the publication out of it.",
                about="to",
            )
    elif target.is_dir() or target.is_symlink():
        raise ConfigurationError(f"{shown(target)} is not a file to replace.", "Choose another name.", about="to")


def _stranger_in(folder: Path) -> str | None:
    """Return why a folder is not a publication that may be replaced, or None if it is."""
    settings = folder / SETTINGS_FILE
    if folder.is_symlink() or not settings.is_file():
        return "it is not a published folder"
    if not settings.read_bytes().startswith(SETTINGS_COMMENT.encode()):
        return "it is not a published folder"
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        is_ours = place.as_posix() in _OURS or path.suffix in _OUR_SUFFIXES
        if (
            path.is_symlink()
            or (path.is_file() and not is_ours)
            or (path.name.startswith(".") and path.name != _CHECKPOINTS)
        ):
            return f"it has {place.as_posix()} in it, which is not published"
    return None


def archive_of(files: Mapping[str, bytes], folder: str) -> bytes:
    """Return a ZIP archive of files below one folder: sorted and undated, so that equal files give equal bytes."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _FIRST_DATE)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, _READABLE, 3
            archive.writestr(entry, files[name])
    return stream.getvalue()


def write_file(target: Path, data: bytes) -> None:
    """Write an archive or a page in one step.

    Raises:
        ConfigurationError: if it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data, durable=True)
    except OSError as error:
        raise _cannot_write(target, error) from None


def write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder beside its place and move it there; an older publication is removed after that.

    Raises:
        ConfigurationError: if it cannot be written. The older one stays, and nothing else is left.
    """
    mark = os.urandom(4).hex()
    new, old = (target.with_name(f".{target.name}.{mark}.{what}{PARTIAL}") for what in ("new", "old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_files(new, files)
        if target.exists():
            target.rename(old)
            try:
                new.rename(target)
            except OSError:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            new.rename(target)
    except OSError as error:
        raise _cannot_write(target, error) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a new folder."""
    folder.mkdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:  # never through a link
            stream.write(data)


def _cannot_write(target: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot write {shown(target)}: {error.strerror or type(error).__name__}.",
        "Choose another place, or fix its permissions.",
        about="to",
    )
