r"""Regular expressions of users, searched by RE2, so that no text makes them run for ever.

Recordings hold text from anybody, and the `toolkit.toml` of a cloned project can hold patterns too. RE2 does not try
every way to match, lets other threads run while it searches, and bounds the memory of a pattern. All matches of a text
together can still take long, as with `(?s)a.*b|a`, so a search has a limit of processor time.

RE2 reads `\d`, `\s` and `\w` as ASCII. They are rewritten, so that they stand for characters of any script, as in `re`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.core.escaping import excerpt

_MOST_SECONDS: Final = 5.0  # of processor time in one text
_MOST_MEMORY: Final = 8 << 20  # bytes of a compiled pattern and of RE2's cache for it
_MOST_STATES: Final = 50_000
_MOST_GROUPS: Final = 50
_LONGEST: Final = 200_000  # characters of a pattern
# One call of RE2 cannot be stopped. It takes 5 ns a byte and state at worst, so a large pattern sees less at a time.
_STATES_TIMES_BYTES: Final = 200_000_000
_SMALLEST_SLICE, _LARGEST_SLICE = 1 << 14, 1 << 18  # bytes

_DIGIT, _WORD, _SPACE = r"\p{Nd}", r"\p{L}\p{N}_", r"\s\x0b\x1c-\x1f\x{85}\p{Z}"
_ESCAPES: Final = {
    r"\d": f"[{_DIGIT}]",
    r"\D": f"[^{_DIGIT}]",
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
    r"\Z": r"\z",
    "{,": "{0,",
}
_ESCAPES_IN_CLASS: Final = {r"\d": _DIGIT, r"\D": r"\P{Nd}", r"\w": _WORD, r"\s": _SPACE}
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?|\]|\{,(?=\d+\})", re.DOTALL)


class UserPattern:
    """A compiled pattern.

    Attributes:
        group: the number of the group that is replaced, 0 for the whole match.
        name: the name of that group, or "".
    """

    def __init__(self, text: str, compiled: Any) -> None:
        self._text = text
        self._compiled = compiled
        names: dict[str, int] = compiled.groupindex
        self.name: str = min(names, key=names.__getitem__, default="")
        self.group: int = names[self.name] if names else min(compiled.groups, 1)
        self._slice = min(_LARGEST_SLICE, max(_SMALLEST_SLICE, _STATES_TIMES_BYTES // compiled.programsize))

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where the replaced group of each match begins and ends, if it is not empty.

        Args:
            data: text in UTF-8; bytes that are not UTF-8 count as question marks.

        Raises:
            SecretLeak: if the search takes too long.
        """
        text = data.decode("utf-8", "surrogateescape").encode("utf-8", "replace")
        deadline = time.thread_time() + _MOST_SECONDS
        position, size = 0, self._slice
        while position < len(text):
            # Slices overlap by their own size, so that a match that begins in the first half is seen whole.
            end = min(position + 2 * size, len(text))
            following, following_size = position + size, self._slice
            for match in self._compiled.finditer(text, position, end):
                if time.thread_time() > deadline:
                    raise self._too_long()
                if end < len(text) and match.end() == end:
                    following, following_size = match.start(), 2 * size  # it may go on
                    break
                if end < len(text) and match.start() >= following:
                    break
                start, stop = match.span(self.group)
                if stop > start:
                    yield start, stop
                following = max(following, match.end())
            if end == len(text):
                return
            if time.thread_time() > deadline:
                raise self._too_long()
            position, size = following, following_size

    def _too_long(self) -> SecretLeak:
        return SecretLeak(
            f"The pattern {excerpt(self._text)!r} takes too long on a text of this call; nothing was written.",
            'Write a pattern that ends soon after its beginning, as in account[^"]{1,40}"(\\d+)", or make the call '
            "without a cassette.",
        )


@cache
def compile_pattern(text: str) -> UserPattern:
    """Return the compiled pattern.

    Raises:
        ConfigurationError: if RE2 does not accept the pattern, or it is too large.
    """
    import re2

    options = re2.Options()
    options.max_mem = _MOST_MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(_in_syntax_of_re2(text), options) if len(text) <= _LONGEST else None
    except (re2.error, UnicodeError) as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        if "too large" not in reason:
            raise ConfigurationError(
                f"{excerpt(text)!r} is not a regular expression that RE2 accepts: {excerpt(reason)}.",
                "Use a group for the part to replace, as in id=(\\d+), instead of looking ahead or behind. Write "
                "alternatives instead of a backreference, a+ instead of a++, {1,1000} at most, and a character itself "
                "instead of \\u.",
                about="patterns",
            ) from None
        compiled = None
    if compiled is None or compiled.programsize > _MOST_STATES or compiled.groups > _MOST_GROUPS:
        raise ConfigurationError(
            f"The pattern {excerpt(text)!r} is too large.",
            "Write \\w+ instead of \\w{1,100}, [A-Za-z0-9] instead of \\w within a counted repetition, or several "
            "patterns.",
            about="patterns",
        )
    return UserPattern(text, compiled)


def _in_syntax_of_re2(text: str) -> str:
    """Return a pattern with classes of any script, and with what Python writes in another way.

    Raises:
        ConfigurationError: if a class excludes all that is not of a kind, which RE2 reads as ASCII.
    """
    opened = ""  # "[" or "[^" within a class

    def rewritten(match: re.Match[str]) -> str:
        nonlocal opened
        part = match[0]
        if part[0] == "[" and opened:
            opened = "" if part[-1] == "]" else opened
            return "\\" + part
        if part[0] == "[":
            opened = part.rstrip("]")
            return part.replace("]", "\\]")
        if opened == "[^" and part in {r"\W", r"\S"}:
            raise ConfigurationError(
                f"The pattern {excerpt(text)!r} excludes {part} in a class.",
                r"Write \p{L} for [^\W\d_], or [ \t] for [^\S\n].",
                about="patterns",
            )
        if part == "]":
            opened = ""
        return (_ESCAPES_IN_CLASS if opened else _ESCAPES).get(part, part)

    return _TOKEN.sub(rewritten, text)
