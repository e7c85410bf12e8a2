"""Answers that are hard to search: 20 hostile shapes, and honest rows beside them; `real_answers` has more.

A shape is a function of a size in bytes. The number makes each body different from the last, so that nothing
remembered helps.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """A body of any size.

    Attributes:
        name: what the body repeats.
        make: from a size and a number to the body.
        media_type: of the body.
        header: the header of the answer that holds it instead.
    """

    name: str
    make: Callable[[int, int], bytes] = field(repr=False)
    media_type: str = "text/plain"
    header: str = ""


def repeated(name: str, unit: bytes, media_type: str = "text/plain", before: bytes = b"", after: bytes = b"") -> Shape:
    """Return a shape that repeats one text."""

    def make(size: int, number: int) -> bytes:
        return before + (unit * (size // len(unit) + 1))[:size] + after + b" %d" % number

    return Shape(name, make, media_type)


def _tiny_members(size: int, number: int) -> bytes:
    member = gzip.compress(b"v", mtime=0)
    return member * (size // len(member)) + gzip.compress(b"%d" % number, mtime=0)


def _deep_json(size: int, number: int) -> bytes:
    return b'{"n": %d, "a": ' % number + b"[" * (size // 2) + b"]" * (size // 2) + b"}"


def _tokens(size: int, number: int) -> bytes:
    numbers = random.Random(number)  # noqa: S311
    items = [{"id": at, "access_token": numbers.randbytes(30).hex()} for at in range(size // 93)]
    return json.dumps(items).encode()


def _one_letter(size: int, number: int) -> bytes:
    return base64.b64encode(b"V" * (size * 3 // 4)) + b" %d" % number


J, B = "application/json", "application/octet-stream"
HOSTILE = [
    repeated("backslashes", b"\\"),
    repeated("one name and value", b'"password":"x",', J, b"{", b'"a":1}'),
    repeated("backslash and quote", b'\\"', J, b'{"a": "', b'"}'),
    repeated("percent signs, %25", b"%25"),
    repeated("gzip's magic number", b"\x1f\x8b\x08\x00", B),
    repeated("gzip's header with all flags", b"\x1f\x8b\x08\x1fAAAAAA\1\1", B),
    repeated("members of gzip that hold the next ones", b"\x1f\x8b\x08\0\0\0\0\0\0\3\0\xff\xff\0\0", B),
    Shape("tiny members of gzip", _tiny_members, "application/gzip"),
    repeated("zip's magic number", b"PK\x03\x04\x14\x00\x00\x00\x08\x00", B),
    repeated("?token=", b"?token="),
    repeated("dotted words after bearer", b"a.b.c.d.", "text/plain", b"authorization: bearer "),
    Shape(
        "spaces and semicolons in a cookie",
        lambda size, number: b"a=%d" % number + b"  ; , a" * (size // 7),
        "",
        "Set-Cookie",
    ),
    Shape("deep JSON", _deep_json, J),
    Shape("tokens, each another", _tokens, J),
    repeated("tags that nothing closes", b"<a ", "text/html"),
    repeated("entities of entities", b"&amp;amp;", "text/html"),
    repeated(r"\u0041", b"\\u0041", J, b'{"a": "', b'"}'),
    Shape("base64 of one letter", _one_letter),
    repeated("a word without an end", b"aB3"),
    repeated("start of a private key", b"-----BEGIN PRIVATE KEY-----"),
]


def _rows(size: int, number: int) -> bytes:
    row = {"id": number, "account": "savings", "currency": "EUR", "balance": "1044.20", "note": "paid, with thanks"}
    return json.dumps([row] * (size // len(json.dumps(row)))).encode()


HONEST = [Shape("rows of accounts", _rows, J)]
