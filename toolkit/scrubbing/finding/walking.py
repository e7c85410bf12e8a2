"""Walk over the places in a message that have values: URI, headers, cookies, forms, multipart parts and text.

One walker replaces what a message names as a credential, and another follows the user's rules. Everything that a walker
does not replace stays the same, byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from toolkit.scrubbing.normal_form import spliced
from toolkit.scrubbing.vocabulary import Place

_FORM: Final = r"[\w.\[\]%+-]{1,200}+=[^\s<>{\"]*+\Z"
_MOST_FIELDS: Final = 10_000  # of a form; a body with more is read as text
_LOOKED_AT: Final = 1024  # bytes that decide whether a body is text
_NOT_OF_TEXT: Final = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
_ATTRIBUTES: Final = frozenset(
    {"expires", "max-age", "domain", "path", "secure", "httponly", "samesite", "partitioned", "priority", "version"}
)
_SEPARATOR: Final = r"(;\s*+|,\s*+(?=[!#$%&'*+.^_`|~0-9A-Za-z-]++=))"
_BOUNDARY: Final = r"(?i)boundary\s{0,8}+=\s{0,8}+(?:\"([^\"]{1,200}+)\"|([^\s;,]{1,200}+))"
_NAME: Final = (
    rb"(?i)(?<![\w-])name(?:\*\s{0,8}+=\s{0,8}+[\w-]{0,40}+'[\w-]{0,40}+'|\s{0,8}+=\s{0,8}+)"
    rb"(?:\"([^\"\r\n]{0,1000}+)\"|([^\s;\"]{1,1000}+))"
)
_LINE_END_BEFORE: Final = re.compile(rb"(?:\r?\n)?\Z")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")


class Decoded(NamedTuple):
    """The text of a body, and a function that encodes other text in the same way."""

    text: str
    encode: Callable[[str], bytes]


class Walker:
    """The base class for walking over messages. Subclasses decide what is replaced."""

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return the replacement for a named value, or None if it should be treated as text without a name."""
        raise NotImplementedError

    def text(self, text: str) -> str:
        """Return the replacement for a string that has no name and may be of any format."""
        raise NotImplementedError

    def uri(self, uri: str) -> str:
        """Return a URI with values replaced in its query, and in a fragment that looks like a query."""
        if "?" not in uri and "#" not in uri:
            return uri
        head, mark, fragment = uri.partition("#")
        start, sign, query = head.partition("?")
        changed = self.form(query, Place.QUERY) if query else query
        changed_fragment = self.form(fragment, Place.QUERY, plus=quote) if "=" in fragment else fragment
        return f"{start}{sign}{changed}{mark}{changed_fragment}"

    def header(self, name: str, value: str) -> str:
        """Return the value of a header (other than a cookie header) with values in it replaced."""
        changed = self.named(name, Place.HEADER, value) if value else value
        return self.text(value) if changed is None else changed

    def body(self, content_type: str, body: bytes) -> bytes:
        """Return a decompressed body with values replaced, or the same object if nothing changes."""
        media_type = content_type.partition(";")[0].strip().lower()
        if media_type.startswith("multipart/"):
            return self._multipart(content_type, body)
        decoded = text_of(body)
        if decoded is None:
            return body
        text = decoded.text
        changed = self.form(text, Place.FORM) if _is_form(media_type, text) else self.text(text)
        return body if changed == text else decoded.encode(changed)

    def form(self, text: str, place: Place, *, plus: Callable[[str], str] = quote_plus) -> str:
        """Return a form or query with values replaced.

        Args:
            text: the form, percent-encoded.
            place: FORM or QUERY.
            plus: the function that percent-encodes a value; `quote` where `+` does not mean a space, as in a fragment.
        """
        fields = text.split("&", _MOST_FIELDS)
        if len(fields) > _MOST_FIELDS:
            return self.text(text)
        has_changed = False
        for number, field in enumerate(fields):
            name, sign, written = field.partition("=")
            if not written:
                continue
            value = unquote_plus(written) if plus is quote_plus else unquote(written)
            changed = self.named(unquote_plus(name) if "%" in name or "+" in name else name, place, value)
            if changed is None:
                changed = self.text(value)
            if changed != value:
                fields[number] = f"{name}{sign}{plus(changed)}"
                has_changed = True
        return "&".join(fields) if has_changed else text

    def _multipart(self, content_type: str, body: bytes) -> bytes:
        spans = []
        for part in islice(parts_of(content_type, body), _MOST_FIELDS):
            decoded = text_of(body[part.start : part.end], part.head)
            if decoded is None:
                continue
            changed = self.named(part.name, Place.FORM, decoded.text) if part.name else None
            if changed is None:
                changed = self.text(decoded.text)
            if changed != decoded.text:
                spans.append((part.start, part.end, decoded.encode(changed)))
        return spliced(body, spans)


def text_of(body: bytes, head: bytes = b"") -> Decoded | None:
    """Return the text of a body, or of a part with the header lines `head`; None if it is not text."""
    if b"base64" in head.lower():
        with suppress(binascii.Error, UnicodeDecodeError):
            return Decoded(base64.b64decode(body).decode("utf-8"), lambda text: base64.b64encode(text.encode()))
    codec = "utf-8"
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in body[:4]:
        codec = json.detect_encoding(body[:4])
    elif len(body[:_LOOKED_AT].translate(None, _NOT_OF_TEXT)) < len(body[:_LOOKED_AT]):
        return None
    with suppress(UnicodeDecodeError):
        return Decoded(body.decode(codec), lambda text: text.encode(codec))
    return Decoded(body.decode("latin-1"), lambda text: text.encode("latin-1")) if codec == "utf-8" else None


def _is_form(media_type: str, text: str) -> bool:
    if media_type.endswith("x-www-form-urlencoded"):
        return True
    return not media_type and re.compile(_FORM).match(text) is not None


def replace_cookies(header: str, value: str, stand_in: Callable[[str, str], str]) -> str:
    """Return a header value with a stand-in for each cookie value; names, quotes and attributes do not change.

    Args:
        header: the header name in lower case.
        value: the header value.
        stand_in: called with the name and value of a cookie; returns what to write instead of the value.
    """
    if value.count(";") > _MOST_FIELDS:
        return stand_in("", value)
    is_setting = header.startswith("set-")
    parts = re.compile(_SEPARATOR).split(value)
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
    """A part of a multipart body: the field name or "", the header lines, and the span of the content."""

    name: str
    head: bytes
    start: int
    end: int


def parts_of(content_type: str, body: bytes) -> Iterator[Part]:
    """Yield the parts of a multipart body, or nothing if the body does not contain the boundary."""
    declared = re.compile(_BOUNDARY).search(content_type)
    boundary = (declared[1] or declared[2]).encode("utf-8", "replace") if declared else b""
    if not boundary:
        return
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
        name = re.compile(_NAME).search(head)
        text = (name[1] or name[2] or b"").decode("utf-8", "replace") if name else ""
        yield Part(text, head, gap.end(), end)
