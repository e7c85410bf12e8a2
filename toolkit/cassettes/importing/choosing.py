"""Choose the exchanges to import by host and path, as the option `--only` names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from toolkit.core.errors import ConfigurationError

_LONGEST: Final = 200  # characters of a pattern
_STARS: Final = re.compile(r"\*+")
_PATIENCE: Final = 10  # stars in a pattern


class EntryChoice:
    """Patterns, of which a request must match one; without patterns every request is chosen.

    `api.example.com` chooses a host and `*.example.com` several; `api.example.com/v1/*` chooses paths, where `*`
    stands for any text. A scheme before the host is ignored, and so is the query of a request.

    Raises:
        ConfigurationError: if a pattern is empty or too long.
    """

    def __init__(self, patterns: str | Sequence[str]) -> None:
        texts = [patterns] if isinstance(patterns, str) else list(patterns)
        self._patterns = [_pieces(text) for text in texts]

    def has(self, uri: str) -> bool:
        """Check whether a request to this URI is chosen."""
        if not self._patterns:
            return True
        try:
            parts = urlsplit(uri)
        except ValueError:
            return False
        host = parts.netloc.rpartition("@")[2].lower()
        names = {host, host.partition(":")[0]}
        return any(
            any(_matches(pieces, name + (parts.path or "/") if has_path else name) for name in names)
            for pieces, has_path in self._patterns
        )


def _pieces(pattern: str) -> tuple[list[str], bool]:
    """Return the texts between the stars of a pattern, and whether it has a path."""
    text = pattern.strip() if isinstance(pattern, str) else ""
    text = text.partition("://")[2] if "://" in text else text
    if not text or len(text) > _LONGEST or text.count("*") > _PATIENCE:
        raise ConfigurationError(
            "A pattern of the requests to import is empty, too long, or has too many stars.",
            "Name a host, or a host and a path: api.example.com/v1/*.",
            about="only",
        )
    host, slash, path = text.partition("/")
    return _STARS.split(host.lower() + slash + path), bool(slash)


def _matches(pieces: list[str], text: str) -> bool:
    """Check whether a text is these pieces with any text between them; each is taken where it first fits."""
    first, *rest = pieces
    if not rest:
        return text == first
    if not text.startswith(first):
        return False
    at, last = len(first), rest[-1]
    for piece in rest[:-1]:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return len(text) - len(last) >= at and text.endswith(last)
