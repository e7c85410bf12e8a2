"""The cassettes of a folder, and the facts about one of them, such as its size and environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.cassettes.cassette import is_stale
from toolkit.cassettes.catalog.showing import frame_of
from toolkit.core.ledger import Clock, as_clock

if TYPE_CHECKING:
    import pandas as pd
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, read_bytes
from toolkit.cassettes.paths import find_cassette, same_name_in_project
from toolkit.cassettes.replay import differences
from toolkit.core.errors import LONGEST_QUOTE, CassetteError, ConfigurationError
from toolkit.core.ledger import EPOCH
from toolkit.core.text import count_text
from toolkit.local.files import UnfitFile, expanded, read_file
from toolkit.local.settings import Settings, as_settings

SUFFIXES: Final = (".yaml", ".yml", ".json")
_PART: Final = ".part"
# In the cassettes of vcrpy and of most other programs.
_SIGN: Final = re.compile(rb"""(?m)^(?:\xef\xbb\xbf)?(?:http_)?interactions:|["'](?:http_)?interactions["']""")


def _facts_of(path: Path, settings: Settings, now: datetime) -> tuple[Any, ...]:
    """Return the row of a file in the table of `list_cassettes`."""
    name, size = name_of(path, settings), path.stat().st_size if path.is_file() else 0
    problem, opened = None, contents.Contents()
    try:
        data = read_bytes(path)
        opened = contents.read(data, source=str(path))
        if not data.strip():
            problem = f"{path} is empty."
    except CassetteError as error:
        problem = error.what
    last = opened.interaction_or_error(len(opened) - 1) if len(opened) else None
    instants = [opened.recorded_at, getattr(last, "recorded_at", None)]
    first_at, last_at = (None if at == EPOCH else at for at in instants)
    stale = is_stale(first_at, settings.stale_after_days, now)
    written_by = None if problem else "vcrpy" if opened.is_foreign else "toolkit"
    environments = ", ".join(opened.environments) or None
    return name, environments, len(opened), first_at, last_at, stale, size, written_by, problem


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
        ConfigurationError: if the folder does not exist.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"The folder {folder} does not exist.", "Record something first, or name another folder.", about="folder"
        )
    files = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        paths = (Path(where, name) for name in names if not name.startswith("."))
        files += [path for path in paths if path.suffix in ("", *SUFFIXES) and _may_be_cassette(path)]
    return sorted(files)


def cassettes_at(place: str | Path | None, settings: Settings | None = None) -> list[Path]:
    """Return the cassettes that a folder, a file or a name stands for; for None, those of the project."""
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


_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")


class Opened(NamedTuple):
    """A cassette that was read: its file, the bytes of it, and its interactions."""

    path: Path
    data: bytes
    contents: Contents


def read_cassette(cassette: str | Path, settings: Settings | None = None) -> Opened:
    """Return the contents of a cassette, given by name or path.

    Raises:
        CassetteMiss: if the file does not exist, or it is empty.
        CassetteCorrupt: if it is not a cassette.
        CassetteError: if it cannot be read.
        ConfigurationError: if the name is not a valid one.
    """
    path = find_cassette(cassette, settings)
    data = read_bytes(path)
    if not data.strip():
        elsewhere = same_name_in_project(path, settings)
        raise differences.missing(path, elsewhere=elsewhere, to_record="see which there are: toolkit cassettes list")
    return Opened(path, data, contents.read(data, source=str(path)))


def parse_numbers(texts: Iterable[str | int], count: int) -> set[int]:
    """Return the interactions, from 0, that texts such as `3` and `5-7,9` name, of a recording with `count` of them.

    Raises:
        ConfigurationError: if a text is not a number or a range, or if there is no such interaction.
    """
    numbers: set[int] = set()
    for text in (part for each in texts for part in str(each).split(",") if part.strip()):
        match = _RANGE.match(text.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= count:
            quoted = repr(text) if len(text) < LONGEST_QUOTE else "A text"
            raise ConfigurationError(
                f"{quoted} names no interaction: the cassette has {count_text(count, 'interaction')}, numbered from 1.",
                "Write numbers such as 3, and ranges such as 5-7; toolkit cassettes show lists them.",
                about="numbers",
            )
        numbers.update(range(first - 1, last))
    return numbers


def list_cassettes(
    folder: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None
) -> pd.DataFrame:
    """Return the recordings in a folder and below it, one row each.

    Args:
        folder: by default the cassettes folder of the project.
        settings: by default those of the project.
        clock: by default the machine's; it decides what is stale.

    Returns:
        Sorted by path:
            name (str): what to open it by.
            environments (str): names of the environments that were called, separated by commas.
            interactions (int64): how many there are.
            recorded, last (datetime64[us, UTC]): when the first and the last interaction were recorded; missing if
                that is not known.
            stale (bool): whether the first is older than `stale_after` in toolkit.toml.
            size (int64): bytes of the file.
            written_by (str): "toolkit" or "vcrpy"; missing if it cannot be read.
            problem (str): why it cannot be read as a cassette; missing if it can.

    Raises:
        ConfigurationError: if the folder does not exist.
    """
    settings = as_settings(settings)
    now = as_clock(clock).now()
    files = cassettes_in(settings.cassettes_folder if folder is None else expanded(folder, about="folder"))
    names = "name environments interactions recorded last stale size written_by problem"
    return frame_of(names, [_facts_of(path, settings, now) for path in files])
