"""The facts about one cassette, such as its size and environments, and the cassettes of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from toolkit.cassettes.format import contents
from toolkit.cassettes.opening import read_bytes
from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.recording.recorder import part_of
from toolkit.core.errors import CassetteCorrupt, CassetteError, ConfigurationError
from toolkit.core.ledger import EPOCH
from toolkit.local.files import expanded, read_file
from toolkit.local.private_files import UnfitFile
from toolkit.local.settings import Settings, as_settings

SUFFIXES: Final = (".yaml", ".yml", ".json")
OURS, VCRPY = "toolkit", "vcrpy"
_PART: Final = ".part"
# In the cassettes of vcrpy and of most other programs.
_SIGN: Final = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?(?:http_)?interactions:|["'](?:http_)?interactions["']""")


@dataclass(frozen=True, slots=True)
class CassetteFacts:
    """The contents of a file in figures.

    Attributes:
        name: the name to open it by: for a file in the project's cassettes folder its name without suffix, else a path.
        path: the file.
        size: bytes of the file.
        interactions: how many there are.
        environments: names of the environments that were called.
        recorded_at: when the first interaction was recorded; None if that is not known.
        last_recorded_at: when the last interaction was recorded; None if that is not known.
        written_by: "toolkit" or "vcrpy"; "" if it cannot be read as a cassette.
        is_torn: whether it ends in an incomplete interaction.
        part: an interrupted recording with mode `all` beside it, or None.
        problem: why it cannot be read as a cassette; "" if it can.
    """

    name: str
    path: Path
    size: int
    interactions: int = 0
    environments: tuple[str, ...] = ()
    recorded_at: datetime | None = None
    last_recorded_at: datetime | None = None
    written_by: str = ""
    is_torn: bool = False
    part: Path | None = None
    problem: str = ""


def facts_of(path: Path, settings: Settings) -> CassetteFacts:
    """Return what is in a file. A file that cannot be read as a cassette has a `problem`."""
    name = name_of(path, settings)
    part = part_of(path)
    beside = part if part.exists() else None
    try:
        data = read_bytes(path)
        if not data.strip():
            return CassetteFacts(name, path, len(data), part=beside, problem=f"{path} is empty.")
        opened = contents.read(data, source=str(path))
        instants = [at for at in _instants(opened) if at not in (None, EPOCH)]
    except CassetteError as error:
        size = path.stat().st_size if path.is_file() else 0
        return CassetteFacts(name, path, size, part=beside, problem=error.what)
    return CassetteFacts(
        name,
        path,
        len(data),
        len(opened),
        tuple(opened.environments),
        instants[0] if instants else None,
        instants[-1] if instants else None,
        VCRPY if opened.is_foreign else OURS,
        opened.is_torn,
        beside,
    )


def _instants(opened: contents.Contents) -> Iterator[datetime]:
    """Yield when the first and the last interaction were recorded."""
    if opened.recorded_at is not None:
        yield opened.recorded_at
    with suppress(CassetteCorrupt):
        if len(opened) and (last := opened.interaction(len(opened) - 1).recorded_at) is not None:
            yield last


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
