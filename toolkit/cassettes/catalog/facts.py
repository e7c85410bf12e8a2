"""The cassettes of a folder, and the facts about one of them, such as its size and environments."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from toolkit.cassettes.format import contents
from toolkit.cassettes.opening import read_bytes
from toolkit.cassettes.paths import find_cassette
from toolkit.core.errors import CassetteError, ConfigurationError
from toolkit.core.ledger import EPOCH
from toolkit.local.files import expanded, read_file
from toolkit.local.private_files import UnfitFile
from toolkit.local.settings import Settings, as_settings

SUFFIXES: Final = (".yaml", ".yml", ".json")
_PART: Final = ".part"
# In the cassettes of vcrpy and of most other programs.
_SIGN: Final = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?(?:http_)?interactions:|["'](?:http_)?interactions["']""")


class CassetteFacts(NamedTuple):
    """The contents of a file in figures; `list_cassettes` documents its fields."""

    name: str
    environments: str | None
    interactions: int
    recorded: datetime | None
    last: datetime | None
    size: int
    written_by: str | None
    problem: str | None


def facts_of(path: Path, settings: Settings) -> CassetteFacts:
    """Return what is in a file. A file that cannot be read as a cassette has a `problem`."""
    name, size = name_of(path, settings), path.stat().st_size if path.is_file() else 0
    try:
        data = read_bytes(path)
        opened = contents.read(data, source=str(path))
    except CassetteError as error:
        return CassetteFacts(name, None, 0, None, None, size, None, error.what)
    if not data.strip():
        return CassetteFacts(name, None, 0, None, None, size, None, f"{path} is empty.")
    last = opened.interaction_or_error(len(opened) - 1) if len(opened) else None
    instants = [opened.recorded_at, getattr(last, "recorded_at", None)]
    first_at, last_at = (None if at == EPOCH else at for at in instants)
    environments = ", ".join(opened.environments) or None
    written_by = "vcrpy" if opened.is_foreign else "toolkit"
    return CassetteFacts(name, environments, len(opened), first_at, last_at, size, written_by, None)


def name_of(path: Path, settings: Settings) -> str:
    """Return what to type to open a file: its name in the project's cassettes folder, else a path."""
    folder = settings.cassettes_folder
    if path.suffix == ".yaml" and "." not in path.stem and path.absolute().parent == folder:
        return path.stem
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def cassettes_in(folder: Path) -> list[Path]:
    """Return the cassettes in a folder and below it, sorted; hidden folders and other files are left out.

    Raises:
        ConfigurationError: if the folder does not exist, or is a whole disk.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"The folder {folder} does not exist.", "Record something first, or name another folder.", about="folder"
        )
    if folder.resolve().parent == folder.resolve():
        raise ConfigurationError(
            f"{folder} is a whole disk, in which the search for cassettes would not end soon.",
            "Name a folder in it.",
            about="folder",
        )
    files = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        paths = (Path(where, name) for name in names if not name.startswith("."))
        files += [path for path in paths if path.suffix in ("", *SUFFIXES) and _may_be_cassette(path)]
    return sorted(files)


def cassettes_at(place: str | Path | None, settings: Settings | None = None) -> list[Path]:
    """Return the cassettes that a folder, a file or a name stands for; for None, those of the project.

    Raises:
        ConfigurationError: if the folder does not exist, or it is not a valid name.
    """
    if place is None:
        return cassettes_in(as_settings(settings).cassettes_folder)
    folder = expanded(place, about="cassettes")
    if folder.is_dir():
        return cassettes_in(folder)
    return [folder] if folder.is_file() and not folder.suffix else [find_cassette(place, settings)]


def _may_be_cassette(path: Path) -> bool:
    if path.stem.endswith(_PART) and path.with_stem(path.stem.removesuffix(_PART)).exists():
        return False  # it is listed with the cassette that it was to replace
    try:
        data = read_file(path)
    except UnfitFile:
        return False
    except OSError:
        return True  # whoever reads it says why not
    is_empty = path.suffix != "" and not data.strip()
    return is_empty or contents.is_ours(data) or _SIGN.search(data) is not None
