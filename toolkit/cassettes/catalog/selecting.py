"""Choose interactions of a recording: by number, by method and URI, or because nothing plays them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from toolkit.cassettes.format.contents import Contents
from toolkit.core.arguments import LONGEST_QUOTE
from toolkit.core.errors import ConfigurationError
from toolkit.core.words import count_text

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")


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
        if match is None or first > last:
            raise ConfigurationError(
                f"{repr(text) if len(text) < LONGEST_QUOTE else 'A text'} is neither a number nor a range of numbers.",
                "Write numbers such as 3, and ranges such as 5-7.",
                about="numbers",
            )
        if not 1 <= first <= last <= count:
            raise ConfigurationError(
                f"Interaction {first if not 1 <= first <= count else last} does not exist: "
                f"the cassette has {count_text(count, 'interaction')}, numbered from 1.",
                "List them: toolkit cassettes show, with the name of the cassette.",
                about="numbers",
            )
        numbers.update(range(first - 1, last))
    return numbers


def matching_calls(
    opened: Contents, *, method: str | None = None, uri: str | None = None, played: Container[int] | None = None
) -> set[int]:
    """Return the calls, from 0, that fit all conditions given; none without a condition. Token requests do not count.

    Args:
        opened: the recording.
        method: the method, in any case.
        uri: a pattern for the URI, or for its path with or without the query: `*` stands for any text, `?` for a
            character.
        played: the interactions that something plays; the others fit.
    """
    if method is None and uri is None and played is None:
        return set()
    token_requests = set(opened.token_requests)
    return {
        number
        for number in range(len(opened))
        if number not in token_requests
        and (played is None or number not in played)
        and (method is None or opened.head(number).method.upper() == method.upper())
        and (uri is None or _fits(opened.head(number).uri, uri))
    }


def selected(
    opened: Contents,
    numbers: Iterable[str | int] = (),
    *,
    method: str | None = None,
    uri: str | None = None,
    played: Container[int] | None = None,
) -> set[int]:
    """Return the interactions, from 0, with these numbers, the calls that fit the conditions, and their token requests.

    Raises:
        ConfigurationError: as `parse_numbers` does.
    """
    calls = matching_calls(opened, method=method, uri=uri, played=played)
    return with_token_requests(opened, parse_numbers(numbers, len(opened)) | calls)


def with_token_requests(opened: Contents, dropped: Iterable[int]) -> set[int]:
    """Return interactions to drop, with the token requests of which they are the last calls."""
    dropped = set(dropped)
    token_requests = {opened.interaction(number).token_obtained: number for number in opened.token_requests}
    calls: dict[int, set[int]] = {}
    for number in range(len(opened)):
        caller = opened.interaction(number).authorized_by
        token_request = None if caller is None else token_requests.get(caller)
        if token_request is not None:
            calls.setdefault(token_request, set()).add(number)
    return dropped | {token_request for token_request, numbers in calls.items() if numbers <= dropped}


def _fits(uri: str, pattern: str) -> bool:
    parts = urlsplit(uri)
    with_query = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return any(fnmatchcase(text, pattern) for text in (uri, parts.path, with_query))
