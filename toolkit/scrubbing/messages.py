"""Requests and responses in their recorded form, which the scrubber reads and rewrites."""

from __future__ import annotations

from typing import Any, NamedTuple

HeaderList = tuple[tuple[str, str], ...]


class RecordedRequest(NamedTuple):
    """A request in its recorded form.

    Attributes:
        method: HTTP method in capitals.
        uri: absolute URI.
        headers: names and values in the order sent, repeats included.
        body: bytes as sent; empty if there is no body.
    """

    method: str
    uri: str
    headers: HeaderList = ()
    body: bytes = b""


class RecordedResponse(NamedTuple):
    """A response in its recorded form. Headers are strings, decoded from bytes as Latin-1.

    Attributes:
        status: HTTP status code.
        reason: reason phrase, often empty.
        headers: names and values in the order received, repeats included.
        body: bytes as received, content encoding included.
        http_version: version, such as "HTTP/1.1"; empty if unknown.
    """

    status: int
    reason: str = ""
    headers: HeaderList = ()
    body: bytes = b""
    http_version: str = ""


def header_value(headers: HeaderList, name: str) -> str:
    """Return the first value of the header with this lower-case name, or "" if there is none."""
    return next((value for other, value in headers if other.lower() == name), "")


def header_bytes(value: str) -> bytes:
    """Return a header's value as bytes in Latin-1, or in UTF-8 if Latin-1 cannot encode it, as with text from vcrpy."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape")


def header_text(value: Any) -> str:
    """Return a header's value as text; bytes are decoded as Latin-1."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
