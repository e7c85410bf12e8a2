"""The parts of headers and bodies: cookies (RFC 6265 section 4), and parts of multipart bodies (RFC 7578)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from toolkit.core.patterns import compiled

_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "partitioned", "priority", "version"}
)
_SEPARATOR: Final = r"(;\s*+|,\s*+(?=[!#$%&'*+.^_`|~0-9A-Za-z-]++=))"
_BOUNDARY: Final = r"(?i)boundary\s{0,8}+=\s{0,8}+(?:\"([^\"]{1,200}+)\"|([^\s;,]{1,200}+))"
_FIRST_LINE: Final = rb"\A\s*+--([^\r\n]{1,200}+)\r?\n"
_NAME: Final = (
    rb"(?i)(?<![\w-])name(?:\*\s{0,8}+=\s{0,8}+[\w-]{0,40}+'[\w-]{0,40}+'|\s{0,8}+=\s{0,8}+)"
    rb"(?:\"([^\"\r\n]{0,1000}+)\"|([^\s;\"]{1,1000}+))"
)
_LINE_END_BEFORE: Final = re.compile(rb"(?:\r?\n)?\Z")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")


def replace_cookies(header: str, value: str, stand_in: Callable[[str, str], str]) -> str:
    """Return a header's value with a stand-in for each cookie's value; names, quotes and attributes stay.

    Args:
        header: the name of the header in lower case.
        value: the value of the header.
        stand_in: takes the name of a cookie and its value, and returns what to write instead of the value.
    """
    is_setting = header.startswith("set-")
    parts = compiled(_SEPARATOR).split(value)
    is_first = True
    for number in range(0, len(parts), 2):
        if number:
            is_first = parts[number - 1].startswith(",")
        written = parts[number].rstrip()
        end = parts[number][len(written) :]
        name, sign, cookie = written.partition("=")
        if is_setting and not is_first and name.strip().lower() in _ATTRIBUTES:
            continue
        if not sign:
            name, cookie = "", name
            if not is_first and is_setting:
                continue
        quote = '"' if len(cookie) > 1 and cookie[0] == cookie[-1] == '"' else ""
        inner = cookie[1:-1] if quote else cookie
        if inner:
            parts[number] = f"{name}{sign}{quote}{stand_in(name.strip(), inner)}{quote}{end}"
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
        boundary = first[1].rstrip(b" \t")
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
