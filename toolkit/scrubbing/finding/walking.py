"""A walk over the places of a message: URI, headers, cookies, forms, multipart parts and text.

Three walkers follow it: one learns credentials, one replaces weak credentials in requests, and one follows the user's
rules. What a walker leaves alone stays as it was written, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from toolkit.core.patterns import compiled
from toolkit.scrubbing.finding.parts import parts_of
from toolkit.scrubbing.vocabulary import Place

_FORM: Final = r"[\w.\[\]%+-]{1,200}+=[^\s<>{\"]*+\Z"
_MOST_FIELDS: Final = 10_000  # of a form; a body with more is read as text


class Walker:
    """A walk over messages that leaves everything as it is. A subclass says what is replaced.

    Text is walked only if it is UTF-8, since nothing else can be rewritten.
    """

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return what to write instead of a value beside a name, or None if the name is of no interest."""
        raise NotImplementedError

    def text(self, text: str) -> str:
        """Return what to write instead of a text of any format without a name."""
        raise NotImplementedError

    def read(self, body: bytes, head: bytes = b"") -> str | None:  # noqa: ARG002 - for subclasses
        """Return the text of a body, or of the part of one that begins with `head`; None if it is not text."""
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return None

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
        """Return the value of a header that is not a cookie with values replaced."""
        changed = self.named(name, Place.HEADER, value) if value else value
        return self.text(value) if changed is None else changed

    def body(self, content_type: str, body: bytes) -> bytes:
        """Return a decompressed body with values replaced, or the same object if nothing changes."""
        media_type = content_type.partition(";")[0].strip().lower()
        if media_type.startswith("multipart/"):
            return self._multipart(content_type, body)
        text = self.read(body)
        if text is None:
            return body
        changed = self.form(text, Place.FORM) if _is_form(media_type, text) else self.text(text)
        return body if changed == text else changed.encode("utf-8")

    def form(self, text: str, place: Place, *, plus: Callable[[str], str] = quote_plus) -> str:
        """Return a form or query with values replaced.

        Args:
            text: the form, percent-encoded.
            place: FORM or QUERY.
            plus: `quote` if a plus is not a space, as in a fragment.
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
        pieces: list[bytes] = []
        done = 0
        for part in islice(parts_of(content_type, body), _MOST_FIELDS):
            text = self.read(body[part.start : part.end], part.head)
            if text is None:
                continue
            changed = self.named(part.name, Place.FORM, text) if part.name else None
            if changed is None:
                changed = self.text(text)
            if changed != text:
                pieces += [body[done : part.start], changed.encode("utf-8")]
                done = part.end
        return b"".join((*pieces, body[done:])) if pieces else body


def _is_form(media_type: str, text: str) -> bool:
    if media_type.endswith("x-www-form-urlencoded"):
        return True
    return not media_type and compiled(_FORM).match(text) is not None
