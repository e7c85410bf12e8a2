"""Read a cassette as it is, without repairing it, and choose interactions of it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.opening import read_bytes
from toolkit.cassettes.paths import find_cassette, same_name_in_project
from toolkit.cassettes.replay import differences
from toolkit.core.arguments import LONGEST_QUOTE
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text
from toolkit.local.settings import Settings

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")


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
        raise differences.missing(path, elsewhere=elsewhere, to_record="see which there are: toolkit cassettes list")
    return Opened(path, data, contents.read(data, source=str(path)))


def parse_numbers(texts: Iterable[str | int], count: int) -> set[int]:
    """Return the interactions, from 0, that texts such as `3` and `5-7` name: numbers from 1, and ranges.

    Args:
        texts: the numbers and ranges; commas may separate several.
        count: number of interactions in the recording.

    Raises:
        ConfigurationError: if a text is neither, or names an interaction that there is not.
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


def selected(
    opened: Contents,
    numbers: Iterable[str | int] = (),
    *,
    method: str | None = None,
    uri: str | None = None,
    played: Container[int] | None = None,
) -> set[int]:
    """Return the interactions, from 0, with these numbers, and the calls that fit all conditions.

    A token request is among them if all of its calls are, and otherwise only if its number is given.

    Args:
        opened: the recording.
        numbers: as `parse_numbers` takes them.
        method: the method, in any case.
        uri: a pattern for the URI, or for its path with or without the query: `*` stands for any text, `?` for a
            character.
        played: the interactions that something plays; the others fit.

    Raises:
        ConfigurationError: as `parse_numbers` does.
    """
    chosen = parse_numbers(numbers, len(opened))
    readable = opened.readable()
    token_requests = {readable[number].token_obtained: number for number in opened.token_requests if number in readable}
    calls: dict[int, set[int]] = {}
    for number, interaction in readable.items():
        head, caller = interaction.request, interaction.authorized_by
        has_condition = method is not None or uri is not None or played is not None
        if (
            has_condition
            and interaction.token_obtained is None
            and (played is None or number not in played)
            and (method is None or head.method.upper() == method.upper())
            and (uri is None or _fits(head.uri, uri))
        ):
            chosen.add(number)
        if caller in token_requests:
            calls.setdefault(token_requests[caller], set()).add(number)
    return chosen | {token_request for token_request, numbers in calls.items() if numbers <= chosen}


def _fits(uri: str, pattern: str) -> bool:
    parts = urlsplit(uri)
    with_query = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return any(fnmatchcase(text, pattern) for text in (uri, parts.path, with_query))
