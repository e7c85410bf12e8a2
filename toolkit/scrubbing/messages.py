"""A request and a response as a recording holds them: what the scrubber reads and rewrites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HeaderList = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as a cassette holds it.

    Attributes:
        method: HTTP method in capitals.
        uri: absolute URI.
        headers: names and values in the order sent, repeats included.
        body: bytes as sent; empty when there was none.
    """

    method: str
    uri: str
    headers: HeaderList = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A response as a cassette holds it. Text of headers stands for bytes as Latin-1 does.

    Attributes:
        status: HTTP status code.
        reason: reason phrase, often empty.
        headers: names and values in the order received, repeats included.
        body: bytes as received, content encoding included.
        http_version: such as "HTTP/1.1"; empty when unknown.
    """

    status: int
    reason: str = ""
    headers: HeaderList = ()
    body: bytes = b""
    http_version: str = ""


def header_bytes(value: str) -> bytes:
    """The bytes of a header's value, which text of ours stands for as Latin-1; of vcrpy's text, its UTF-8."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape")


def header_text(value: Any) -> str:
    """The text that stands for the bytes of a header's value."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
