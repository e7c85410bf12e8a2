"""Learn credentials from a message: strong values beside names of credentials, and texts with their shape.

A learned value is secret from then on, wherever it occurs. So a value is learned only if it looks like what a machine
made, and if the message does not use it for something else as well: as a key of JSON, or as a part of the path.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from toolkit.core.errors import SecretLeak
from toolkit.core.patterns import compiled
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.content_encodings import AFTER_THE_CALL
from toolkit.scrubbing.finding.fields import Fields, NamedValue
from toolkit.scrubbing.finding.parts import replace_cookies
from toolkit.scrubbing.finding.shapes import credentials_in, is_weak_pair
from toolkit.scrubbing.finding.walking import Walker
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import COOKIE, COOKIE_HEADERS, Place, credential_kind, is_placeholder

_MOST_FOUND: Final = 5_000  # that are looked for everywhere, because they cannot be replaced in their places
_LEVELS: Final = 3  # of texts within texts, such as URLs in URLs
_PERCENT_SIGNS: Final = ("%3D", "%3d", "%22", "%3A", "%3a", "%40")
_QUOTES_OF_HTML: Final = (("&quot;", '"'), ("&#34;", '"'), ("&#x22;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_ESCAPED_LETTER: Final = r"\\u00(4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9Aa]|2[Dd]|3[0-9])"
_SIGNS: Final = "=:<"
_SCHEME: Final = r"[A-Za-z][\w-]{0,40}+ {1,20}+"


class Learned(NamedTuple):
    """The credentials that were found in a message.

    Attributes:
        secrets: kind and secret of each.
        in_body: kind and text of those that stand in fields of the body, without escapes.
    """

    secrets: list[tuple[str, Secret]]
    in_body: frozenset[tuple[str, str]] = frozenset()


class Learner(Walker):
    """A walk over a message that notes its credentials and changes nothing.

    Args:
        others: texts that the message uses for something else, such as the parts of its path.
    """

    def __init__(self, others: Collection[str] = ()) -> None:
        self._others = set(others)
        self._weak: set[tuple[str, str]] = set()  # names and values that are not secret
        self._found: dict[tuple[str, str], bool] = {}  # kind and text; True if others do not count
        self._plain: dict[tuple[str, str], None] = {}  # kind and text of fields of the body without escapes
        self._is_plain = False

    def result(self) -> Learned:
        """Return the credentials that were found."""
        plain = [(kind, text) for kind, text in self._plain if text not in self._others]
        pairs = [pair for pair, is_certain in self._found.items() if is_certain or pair[1] not in self._others]
        kinds: dict[str, str] = {}
        for kind, text in (*pairs, *plain):
            kinds.setdefault(text, kind)
        secrets = [(kind, Secret(text)) for text, kind in kinds.items()]
        return Learned(secrets, frozenset(plain))

    def body(self, content_type: str, body: bytes) -> bytes:
        """Note the credentials in a decompressed body."""
        with suppress(UnicodeDecodeError):
            body.decode("utf-8")  # otherwise nothing can be replaced in its place
            self._is_plain = True
        super().body(content_type, body)
        self._is_plain = False
        return body

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Note the value of a field."""
        kind = credential_kind(name, place)
        if kind is None:
            return None
        if not self._note(name, kind, place, value):
            self.text(value)
        return value

    def header(self, name: str, value: str) -> str:
        """Note the credential in a header with a name of credentials."""
        kind = credential_kind(name, Place.HEADER)
        if kind is None:
            return value
        scheme = compiled(_SCHEME).match(value)
        text = value[scheme.end() :] if scheme is not None else value
        if secret_kind(name, text, Place.HEADER) and not is_weak_pair(text):
            self._found[kind, text] = True
        self.text(value)
        return value

    def cookies(self, header: str, value: str) -> None:
        """Note the cookies in a header, whose name is in lower case."""

        def note(name: str, cookie: str) -> str:
            text = unquote(cookie)
            if secret_kind(name, text, Place.COOKIE):
                self._found[COOKIE, text] = True
            return cookie

        replace_cookies(header, value, note)

    def text(self, text: str) -> str:
        """Note the credentials in a text of any format, and in texts that are written in it with escapes."""
        if len(text) < SHORTEST_SECRET:
            return text
        is_plain = self._is_plain
        for level in _levels(text):
            if any(map(level.__contains__, _SIGNS)):
                fields = Fields(level)
                fields.accepted(self._accepts)
                self._others |= fields.keys
            self._is_plain = False  # for the levels below, where escapes are undone
            for credential in credentials_in(level):
                if not is_placeholder(credential.value) and len(credential.value) >= SHORTEST_SECRET:
                    self._found.setdefault((credential.kind, credential.value), True)
        self._is_plain = is_plain
        return text

    def read(self, body: bytes, head: bytes = b"") -> str | None:
        """Return the text of a body in any encoding of Unicode, or None if it is binary."""
        if head and b"base64" in head.lower():
            with suppress(binascii.Error):
                body = base64.b64decode(body)
        if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in body[:4]:
            return body.decode(json.detect_encoding(body[:4]), "replace")
        return None if b"\0" in body[:1024] else body.decode("utf-8", "replace")

    def _accepts(self, field: NamedValue) -> bool:
        return self._note(field.name, field.kind, field.place, field.value)

    def _note(self, name: str, kind: str, place: Place, value: str) -> bool:
        if len(value) < SHORTEST_SECRET or (name, value) in self._weak:
            return False
        if secret_kind(name, value, place) is None or (kind == "AUTHORIZATION" and is_weak_pair(value)):
            self._weak.add((name, value))
            return False
        if self._is_plain:
            self._plain[kind, value] = None
        elif (kind, value) not in self._plain:
            self._found.setdefault((kind, value), False)
        if len(self._found) > _MOST_FOUND:
            raise SecretLeak(
                f"A message has more than {_MOST_FOUND:,} different values in the places of credentials, too many to "
                "look for; nothing was written.",
                f"{AFTER_THE_CALL} ask for less at a time, or make it without a cassette.",
            )
        return True


def learned(
    message: RecordedRequest | RecordedResponse, body: bytes, *, request: RecordedRequest | None = None
) -> Learned:
    """Return the credentials found in a message.

    Args:
        message: a request or a response.
        body: its body, decompressed.
        request: the request of a response, whose path is not a place for credentials.

    Raises:
        SecretLeak: if there are too many to look for.
    """
    request = message if isinstance(message, RecordedRequest) else request
    parts = urlsplit(request.uri) if request is not None else None
    learner = Learner([unquote(segment) for segment in parts.path.split("/")] if parts is not None else ())
    others = []
    for name, value in message.headers:
        lower = name.lower()
        if lower in COOKIE_HEADERS:
            learner.cookies(lower, value)
        elif credential_kind(name, Place.HEADER) is not None:
            learner.header(name, value)
        else:
            others.append(value)
    learner.text("\n".join(others))
    if message is request and parts is not None:
        learner.uri(message.uri)
        learner.text(unquote(parts.path))
        if parts.username is not None:
            learner.text(message.uri)
    if body:
        learner.body(header_value(message.headers, "content-type"), body)
    return learner.result()


def _levels(text: str) -> Iterator[str]:
    """Yield a text, then the text with escapes of letters, entities of quotes and percent escapes undone."""
    yield text
    if "\\u00" in text and compiled(_ESCAPED_LETTER).search(text):
        text = compiled(_ESCAPED_LETTER).sub(lambda escape: chr(int(escape[1], 16)), text)
        yield text
    if any(entity in text for entity, _ in _QUOTES_OF_HTML[:-1]):
        text = without_entities(text)
        yield text
    for _ in range(_LEVELS):
        if "%" not in text or not (any(map(text.__contains__, _PERCENT_SIGNS)) or "%25" in text):
            return
        plainer = unquote(text)
        if plainer == text:
            return
        yield plainer
        text = plainer


def without_entities(text: str) -> str:
    """Return a text with quotes and ampersands in the place of their HTML entities."""
    for entity, sign in _QUOTES_OF_HTML:
        text = text.replace(entity, sign)
    return text
