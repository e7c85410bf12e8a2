"""The forms that a secret takes in bytes: as it is, percent-encoded, escaped, in base64 or hex, and these combined.

The scrubber replaces these forms and the leak check looks for them; both use the description in this module.
Mail and PEM break base64 into lines: `without_whitespace` joins such text, and `replace_across_lines` replaces in
the original what was found in the joined text.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final
from urllib.parse import quote, quote_plus

_ESCAPES: Final = re.compile(rb"[%\\&'+]")
_RUN: Final = re.compile(r"[A-Za-z0-9]+")
# Parts of patterns that ignore case. Repetition is bounded, so that no text takes long to search.
_PERCENT: Final = rb"%(?:25){0,4}"  # a URL within a URL encodes the percent sign too
_BACKSLASH: Final = rb"(?:\\|" + _PERCENT + rb"5c)"
_BEFORE: Final = _BACKSLASH + rb"{0,15}"  # each level of JSON within JSON doubles the backslashes
_AND: Final = rb"(?:&(?:amp;){0,4}|" + _PERCENT + rb"26|" + _BACKSLASH + rb"{1,15}u0026)"
_NUMBER: Final = rb"(?:#|" + _PERCENT + rb"23)"
_END: Final = rb"(?:;|" + _PERCENT + rb"3b)"
_ESCAPED_BEFORE: Final = frozenset("\"'/<>&")  # some encoders put a backslash before these
_LETTERS: Final = {"\n": b"n", "\r": b"r", "\t": b"t", "\f": b"f", "\b": b"b"}
_ENTITIES: Final = {'"': b"quot", "'": b"apos", "&": b"amp", "<": b"lt", ">": b"gt"}
# The codes of digits and letters, in hex and as decimal numbers in HTML. Each pattern begins with a fixed character,
# which the regex engine can jump to.
_LETTER_CODE: Final = rb"(?:3[0-9]|[46][1-9a-f]|[57][0-9a])"
_LETTER_NUMBER: Final = rb"(?:0{0,5}[4-9][0-9]|0{0,5}1[0-2][0-9]|x0{0,5}" + _LETTER_CODE + rb")"
_ESCAPED_LETTERS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _PERCENT + rb"(?:" + _LETTER_CODE + rb"|5c(?:u00|x)" + _LETTER_CODE + rb"|23" + _LETTER_NUMBER + rb"%)",
        rb"\\(?:u00|x)" + _LETTER_CODE,
        rb"#" + _LETTER_NUMBER + rb"[;%]",
    )
)
_IN_BASE64: Final = rb"(?:[a-z0-9+/_-]|" + _PERCENT + rb"2[bf])"
# One ASCII character as URLs, JSON, source code and HTML escape it.
_ESCAPED_ASCII: Final = re.compile(
    rb"%([0-7][0-9a-f])|\\+(?:u00|x)([0-7][0-9a-f])|&(?:amp;){0,4}#(?:0{0,5}([1-9][0-9]{0,2})|x0{0,5}([0-7]?[0-9a-f]));",
    re.IGNORECASE,
)
_ESCAPE_SIGNS: Final = (b"%", b"\\", b"#")  # every escape of a letter contains one of these
_LEVELS: Final = 12  # of escapes within escapes that are undone; the patterns do not allow for more
SHORTEST_ANCHOR: Final = 7  # characters


class Forms:
    """All forms of one secret.

    Searching text without the secret is cheap: one substring search for each fixed form. The pattern of escaped
    spellings takes long to compile for a long secret, so it is compiled only when part of a spelling is present.
    """

    __slots__ = ("_base64", "_hex", "_literal", "_run", "_spelled", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._literal = text.encode("utf-8", "surrogatepass")
        # The text within base64 or hex may be escaped itself, as in JSON or a URL.
        inner = dict.fromkeys(
            form.encode("utf-8", "surrogatepass") for form in (text, json.dumps(text)[1:-1], *_quoted(text))
        )
        digits = [form.hex().encode() for form in inner]
        self._hex = tuple(written for form in digits for written in (form, form.upper()))
        self._base64 = tuple(core for form in inner for core in _base64_cores(form))
        self._spelled: re.Pattern[bytes] | None = None
        # Every spelling contains the longest run of letters and digits plainly, unless letters are escaped too.
        self._run = max(_RUN.findall(text), key=len, default="").encode("ascii")

    def found_in(self, data: bytes) -> str | None:
        """Return the name of a form in which `data` holds the secret, or None."""
        if self._literal in data:
            return "as it is"
        if any(form in data for form in self._hex):
            return "in hex"
        if any(core.is_in(data) for core in self._base64):
            return "in base64"
        if self._may_be_spelled_in(data) and self._pattern().search(data):
            return "percent-encoded or escaped"
        return None

    def replace_in(self, data: bytes, placeholder: bytes) -> bytes:
        """Return `data` with the placeholder in place of every form of the secret."""
        # Escaped spellings first: replacing the plain text would leave a backslash beside it, and break JSON.
        if self._may_be_spelled_in(data):
            data = self._pattern().sub(lambda _: placeholder, data)
        data = data.replace(self._literal, placeholder)
        for form in self._hex:
            data = data.replace(form, placeholder)
        for core in self._base64:
            if core.is_in(data):
                data = core.pattern().sub(lambda _: placeholder, data)
        return data

    def spans_in(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where each form starts and ends in `data`; spans may overlap."""
        patterns = [re.compile(b"|".join(map(re.escape, (self._literal, *self._hex))))]
        patterns += [core.pattern() for core in self._base64 if core.is_in(data)]
        if self._may_be_spelled_in(data):
            patterns.append(self._pattern())
        for pattern in patterns:
            yield from (match.span() for match in pattern.finditer(data))

    def anchors(self) -> tuple[bytes, ...] | None:
        """Return a run of letters and digits for each form, or None.

        Data that holds the secret contains one of these runs, as it is or in one of its `unescaped_levels`. The result
        is None if a form has no run of SHORTEST_ANCHOR characters, or if undoing escapes would change the secret.
        """
        if any(True for _ in unescaped_levels(self._literal)):
            return None
        runs = [_last_long_run(_RUN.findall(self._text)), *(form.decode("ascii") for form in self._hex)]
        runs += [_last_long_run(core.runs) for core in self._base64]
        return None if "" in runs else tuple(run.encode("ascii") for run in runs)

    def _may_be_spelled_in(self, data: bytes) -> bool:
        if not _ESCAPES.search(data):
            return False
        return self._run in data or any(pattern.search(data) for pattern in _ESCAPED_LETTERS)

    def _pattern(self) -> re.Pattern[bytes]:
        if self._spelled is None:
            self._spelled = re.compile(_spellings(self._text), re.IGNORECASE)
        return self._spelled


class PlainForms(Forms):
    """The plain and the escaped forms only, for a text that is base64 itself."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._hex, self._base64 = (), ()


def unescaped_levels(data: bytes) -> Iterator[bytes]:
    """Yield `data` with ASCII escapes undone, level by level, as long as escapes hide letters or digits."""
    for _ in range(_LEVELS):
        if not any(sign in data for sign in _ESCAPE_SIGNS):
            return
        if not any(pattern.search(data) for pattern in _ESCAPED_LETTERS):
            return
        plainer = _ESCAPED_ASCII.sub(_unescaped, data)
        if plainer == data:
            return
        data = plainer
        yield data


def _unescaped(match: re.Match[bytes]) -> bytes:
    percent, backslash, decimal, hexadecimal = match.groups()
    code = int(decimal) if decimal else int(percent or backslash or hexadecimal, 16)
    return bytes((code,)) if code < 0x80 else match[0]


class PlacedForms:
    """The forms of a short secret, which counts only as the value of a credential's field.

    Elsewhere its text is ordinary text.

    Args:
        names: a pattern for the names of such fields.
    """

    __slots__ = ("_pattern",)

    def __init__(self, text: str, names: bytes) -> None:
        quotes = rb"(?:" + _BEFORE + rb"[\"']|" + _PERCENT + rb"22)?"
        # Between name and value: a sign, the rest of an XML tag, or the headers of a multipart part.
        between = (
            rb"(?:\s*(?:[:=]|" + _PERCENT + rb"3[ad])\s*|(?:\s[^<>\n]{0,200})?>\s*"
            rb"|[^\n]{0,200}\r?\n(?:[^\r\n]{1,200}\r?\n){0,8}\r?\n)"
        )
        before = rb"((?<![a-z_-])" + names + quotes + between + quotes + rb")"
        self._pattern = re.compile(before + _spellings(text) + rb"(?![a-z0-9])", re.IGNORECASE)

    def found_in(self, data: bytes) -> str | None:
        """Return the name of the form in which `data` holds the secret, or None."""
        return "where a credential stands" if self._pattern.search(data) else None

    def replace_in(self, data: bytes, placeholder: bytes) -> bytes:
        """Return `data` with the placeholder in place of the secret."""
        return self._pattern.sub(lambda match: match[1] + placeholder, data)


class _Core:
    """The part of a base64 text that depends on the secret alone, whatever comes before and after the secret."""

    __slots__ = ("_core", "_edges", "_literal", "_pattern", "_runs", "runs")

    def __init__(self, core: str, *, before: bool, after: bool) -> None:
        self._core = core
        self._literal = core.encode("ascii")
        self.runs: list[str] = _RUN.findall(core)  # URLs and JSON escape the rest
        self._runs = tuple(run.encode("ascii") for run in self.runs)
        self._edges = (_IN_BASE64 if before else b"", _IN_BASE64 if after else b"")
        self._pattern: re.Pattern[bytes] | None = None

    def is_in(self, data: bytes) -> bool:
        if self._literal in data:
            return True
        if len(self._runs) == 1 and len(self._runs[0]) == len(self._literal):
            return False
        return all(run in data for run in self._runs) and self.pattern().search(data) is not None

    def pattern(self) -> re.Pattern[bytes]:
        """Return a pattern for the core and the characters beside it that hold bits of the secret."""
        if self._pattern is None:
            padding = rb"(?:=|" + _PERCENT + rb"3d){0,2}"
            spelled = self._edges[0] + _spellings(self._core) + self._edges[1] + padding
            self._pattern = re.compile(spelled, re.IGNORECASE)
        return self._pattern


def _last_long_run(runs: list[str]) -> str:
    # The last run rather than the first: signed tokens have their first runs in common.
    return next((run for run in reversed(runs) if len(run) >= SHORTEST_ANCHOR), "")


def _quoted(text: str) -> tuple[str, ...]:
    try:
        return quote(text, safe=""), quote_plus(text)
    except UnicodeEncodeError:  # URLs cannot hold a lone surrogate
        return ()


def _base64_cores(literal: bytes) -> list[_Core]:
    """Return the cores for each of the three offsets at which the text may start, in both alphabets."""
    cores: dict[str, _Core] = {}
    for offset, first in enumerate((0, 2, 3)):  # `first` characters hold bits of what comes before
        encoded = base64.b64encode(b"\0" * offset + literal).decode("ascii")
        bits = (offset + len(literal)) * 8
        core = encoded[first : bits // 6]  # without the character that holds bits of what comes after
        for written in (core, core.translate(str.maketrans("+/", "-_"))):
            if written and written not in cores:
                cores[written] = _Core(written, before=offset > 0, after=bits % 6 > 0)
    return list(cores.values())


def _spellings(text: str) -> bytes:
    """Return a pattern for each way in which URLs, JSON, HTML and YAML write a text; compile it with IGNORECASE."""
    return b"".join(_repeated(character, len(list(run))) for character, run in groupby(text))


def _repeated(character: str, count: int) -> bytes:
    if character == "\\":
        # Each level of JSON doubles backslashes; more may follow, which escape the next character.
        levels = [_BACKSLASH + b"{%d}" % (count << level) for level in (4, 3, 2, 1, 0)]
        return b"(?:" + _escapes(character) + b"{%d}|" % count + b"|".join(levels) + b")"
    # YAML doubles the apostrophe. A repetition of either spelling would take long to fail.
    most = 2 * count if character == "'" else count
    spelling = _spelling(character)
    return spelling if most == 1 else spelling + b"{%d,%d}" % (count, most)


def _spelling(character: str) -> bytes:
    literal = re.escape(character).encode("utf-8", "surrogatepass")
    # Escapes first: the escape of a percent sign begins with a percent sign.
    options = [_escapes(character), b"(?-i:" + literal + b")" if _RUN.match(character) else b"(?:" + literal + b")"]
    if character == " ":
        options += [rb"\+", _escapes("+")]  # as HTML forms write it, and escaped once more in a URL
    before = _BEFORE if character in _ESCAPED_BEFORE else b""
    return b"(?:" + before + b"(?:" + b"|".join(options) + b"))"


def _escapes(character: str) -> bytes:
    """Return a pattern for the escapes of one character, longer ones first."""
    code = ord(character)
    options = [_AND + _NUMBER + b"(?:0{0,5}%d|x0{0,5}%x)" % (code, code) + _END]
    if character in _ENTITIES:
        options.append(_AND + _ENTITIES[character] + _END)
    options.append(_BACKSLASH + rb"{1,15}" + _code(code))
    if character in _LETTERS:
        options.append(_BACKSLASH + rb"{1,15}" + _LETTERS[character])
    if character != "\\":  # a percent-encoded backslash is part of the levels above
        options.append(b"".join(_PERCENT + b"%02x" % byte for byte in character.encode("utf-8", "surrogatepass")))
    return b"(?:" + b"|".join(options) + b")"


def _code(code: int) -> bytes:
    if code < 0x100:
        return b"(?:u00|x)%02x" % code
    if code < 0x10000:
        return b"u%04x" % code
    pair = code - 0x10000
    halves = (0xD800 + (pair >> 10), 0xDC00 + (pair & 0x3FF))
    return b"(?:u%08x|u%04x%su%04x)" % (code, halves[0], _BACKSLASH + rb"{1,15}", halves[1])


# White space as it is, in the escapes of JSON and URLs, and in JSON's escapes within URLs.
_SPACE: Final = re.compile(
    rb"(?:\s|(?:\\|" + _PERCENT + rb"5[Cc])+[nrt]|" + _PERCENT + rb"(?:0[AaDd9]|20))+",
)
_PLAIN_SPACE: Final = b" \t\n\r\x0b\x0c"


def without_whitespace(data: bytes) -> bytes:
    """Return `data` without spaces and line breaks, including escaped ones."""
    if b"\\" in data or b"%" in data:
        return _SPACE.sub(b"", data)
    return data.translate(None, _PLAIN_SPACE)


def replace_across_lines(data: bytes, spans: Iterable[tuple[int, int]], placeholder: bytes) -> bytes:
    """Return `data` with the placeholder in place of these spans of `without_whitespace(data)`."""
    # The start of each piece between white space, without white space and in `data`.
    starts, origins = [0], [0]
    length = 0
    for match in _SPACE.finditer(data):
        length += match.start() - origins[-1]
        starts.append(length)
        origins.append(match.end())

    def origin(position: int) -> int:
        piece = bisect_right(starts, position) - 1
        return origins[piece] + position - starts[piece]

    parts, done = [], 0
    for start, end in sorted(spans):
        first, last = origin(start), origin(end - 1) + 1
        if last <= done:
            continue
        if first >= done:
            parts += [data[done:first], placeholder]
        done = last
    return b"".join((*parts, data[done:]))
