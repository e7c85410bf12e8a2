"""The parts of headers and bodies: cookies (RFC 6265 section 4), and parts of multipart bodies (RFC 7578)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from toolkit.core.patterns import compiled
from toolkit.core.secret import SHORTEST_SECRET

_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "partitioned", "priority", "version"}
)
_SEPARATOR: Final = r"(\s*;\s*|\s*,\s*(?=[!#$%&'*+.^_`|~0-9A-Za-z-]+=))"
# Values that may be long but are not credentials: dates, instants, other numbers, and words such as a region, a time
# zone or a choice. Replacing them wherever they occur would remove data or break its JSON.
_ORDINARY: Final = (
    r"\d{4}-\d\d-\d\d(?:[T ][0-9:.]+Z?)?|-?\d{1,15}(?:\.\d{1,15})?"
    r"|[A-Z]?[a-z]{1,10}(?:[/_-](?:[A-Z]?[a-z]{1,10}|[A-Z]{2,3}|\d{1,2})){0,3}|[a-z]{11}"
)
_BOUNDARY: Final = r"(?i)boundary\s*=\s*(?:\"([^\"]+)\"|([^\s;,]+))"
_FIRST_LINE: Final = rb"\A\s*--([^\r\n]{1,200}?)[ \t]*\r?\n"
_NAME: Final = rb"(?i)(?<![\w-])name(?:\*\s*=\s*[\w-]*'[\w-]*'|\s*=\s*)(?:\"([^\"\r\n]*)\"|([^\s;\"]+))"
_LINE_END_BEFORE: Final = re.compile(rb"(?:\r?\n)?\Z")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")


def cookie_values(header: str, value: str) -> Iterator[str]:
    """Yield the cookie values of a header that are long and unusual enough to be searched for everywhere."""
    cookies: list[str] = []

    def note(cookie: str) -> str:
        cookies.append(cookie)
        return cookie

    replace_cookies(header, value, note)
    for cookie in cookies:
        if len(cookie) >= SHORTEST_SECRET and not compiled(_ORDINARY).fullmatch(cookie):
            yield cookie


def replace_cookies(header: str, value: str, stand_in: Callable[[str], str]) -> str:
    """Return a header's value with a stand-in for each cookie's value; names, quotes and attributes stay.

    Args:
        header: the name of the header in lower case.
        value: the value of the header.
        stand_in: returns what to write instead of a cookie's value.
    """
    is_setting = header.startswith("set-")
    parts = compiled(_SEPARATOR).split(value)
    is_first = True
    for number in range(0, len(parts), 2):
        if number:
            is_first = "," in parts[number - 1]
        name, sign, cookie = parts[number].partition("=")
        if is_setting and not is_first and name.strip().lower() in _ATTRIBUTES:
            continue
        if not sign:
            name, cookie = "", name
            if not is_first and is_setting:
                continue
        quote = '"' if len(cookie) > 1 and cookie[0] == cookie[-1] == '"' else ""
        inner = cookie[1:-1] if quote else cookie
        if inner:
            parts[number] = f"{name}{sign}{quote}{stand_in(inner)}{quote}"
    return "".join(parts)


class Part(NamedTuple):
    """A part of a multipart body.

    Attributes:
        name: the name of the field, or "".
        head: the header lines.
        start: position in the body where the content starts.
        end: position in the body where the content ends.
    """

    name: str
    head: bytes
    start: int
    end: int


def parts_of(content_type: str, body: bytes) -> Iterator[Part]:
    """Yield the parts of a multipart body; nothing if it does not contain the boundary."""
    declared = compiled(_BOUNDARY).search(content_type)
    boundary = (declared[1] or declared[2]).encode("utf-8", "replace") if declared else b""
    if not boundary or b"--" + boundary not in body:
        first = compiled(_FIRST_LINE).match(body)
        if first is None:
            return
        boundary = first[1]
    delimiter = b"--" + boundary
    position = body.find(delimiter)
    while position >= 0:
        start = position + len(delimiter)
        position = body.find(delimiter, start)
        end = position if position >= 0 else len(body)
        head_start = start + 2 if body[start : start + 2] == b"\r\n" else start + 1
        # A part without headers begins with the empty line.
        gap = _END_OF_HEAD.search(body, start, end)
        if gap is None:
            continue
        # The line break before a delimiter belongs to the delimiter.
        end -= len(_LINE_END_BEFORE.search(body, max(gap.end(), end - 2), end)[0])  # type: ignore[index]
        head = body[head_start : gap.start()]
        name = compiled(_NAME).search(head)
        text = (name[1] or name[2] or b"").decode("utf-8", "replace") if name else ""
        yield Part(text, head, gap.end(), end)
