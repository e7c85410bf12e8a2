"""Read a cassette as it is: nothing is repaired, and nothing counts as played."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.paths import find_cassette, same_name_in_project
from toolkit.cassettes.replay import misses
from toolkit.local.files import read_file
from toolkit.local.settings import Settings


class Opened(NamedTuple):
    """A cassette that was read.

    Attributes:
        path: the file.
        data: its bytes.
        contents: its interactions.
    """

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
        raise misses.missing(path, elsewhere=elsewhere, to_record="see which there are: toolkit cassettes list")
    return Opened(path, data, contents.read(data, source=str(path)))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; none if the file does not exist.

    Raises:
        CassetteError: if it cannot be read.
    """
    try:
        return read_file(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise misses.unreadable(path, error) from None
