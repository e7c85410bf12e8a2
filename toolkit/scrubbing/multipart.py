"""The parts of multipart bodies (RFC 2046 section 5.1, RFC 7578), also of those that are written carelessly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BOUNDARY: Final = re.compile(r"boundary\s*=\s*(?:\"([^\"]+)\"|([^\s;,]+))", re.IGNORECASE)
_FIRST_LINE: Final = re.compile(rb"\A\s*--([^\r\n]{1,200}?)[ \t]*\r?\n")
_NAME: Final = re.compile(
    rb"(?<![\w-])name(?:\*\s*=\s*[\w-]*'[\w-]*'|\s*=\s*)(?:\"([^\"\r\n]*)\"|([^\s;\"]+))", re.IGNORECASE
)
_LINE_END_BEFORE: Final = re.compile(rb"(?:\r?\n)?\Z")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Part:
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
    """Yield the parts of a body; none if it does not contain the boundary."""
    declared = _BOUNDARY.search(content_type)
    boundary = (declared[1] or declared[2]).encode("utf-8", "replace") if declared else b""
    if not boundary or b"--" + boundary not in body:
        first = _FIRST_LINE.match(body)
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
        name = _NAME.search(head)
        text = (name[1] or name[2] or b"").decode("utf-8", "replace") if name else ""
        yield Part(text, head, gap.end(), end)
