"""Find the values that a message names as credentials, and replace them where they are."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote_plus, unquote

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.escapes import without_escapes
from toolkit.scrubbing.finding.fields import (
    TITLES,
    CredentialField,
    Fields,
    Notation,
    cells_in,
    columns_in,
    elements_in,
    pairs_in,
)
from toolkit.scrubbing.finding.shapes import SHORTEST_SHAPED, credentials_in
from toolkit.scrubbing.finding.walking import Walker, replace_cookies
from toolkit.scrubbing.normal_form import spliced
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import (
    COOKIE,
    COOKIE_HEADERS,
    SCHEME,
    Decision,
    MessageKind,
    Place,
    credential_kind,
    decision_on,
    is_core_name,
    is_ordinary_header,
    is_placeholder,
    needs_strong_value,
    password_of_pair,
)

_TELLING: Final = 12  # characters; a shorter weak value that a request used may be a word
_SCHEME_OF_HEADER: Final = r"[A-Za-z][\w-]{0,40}+ {1,20}+"
_MAY_NAME_ONE: Final = (b"pass", b"secret", b"token", b"key", b"pwd", b"auth", b"session", b"credential")
_NOT_DATA: Final = ("html", "javascript", "css")  # media types of pages and code
# Headers that are in nearly every message and never have the name of a credential.
_WITHOUT_CREDENTIALS: Final = frozenset(
    "accept accept-encoding connection content-encoding content-length content-type date host server transfer-encoding"
    " user-agent vary".split()
)
_SHORTEST_FIELD: Final = 3  # characters
_LINE_START: Final = r"\s{0,40}+(?:-|export|set)?\s{0,40}+[\w.\-\"']{1,80}+\s{0,20}+[:=]\s{0,20}+\Z"
_LINE_END: Final = r"[\"']?[,;]?[ \t\r]{0,40}+(?:\n|\Z)"
_LONGEST_START: Final = 200  # characters of a line before a value
# An escaped letter in JSON, separator in a URL or quote in HTML: names and values may be escaped as well.
_SIGN_OF_ESCAPES: Final = r"\\u00|%(?:25|3[DdAa]|22|40)|&(?:quot|#34|#x22|#39);"
_BLOCK: Final = 1 << 12  # characters that are searched for a sign at once
_BEFORE_SIGN: Final = 1 << 10  # characters, including the name of a value
_AFTER_SIGN: Final = 1 << 14  # characters, including the value; a longer value is a document


def without_credentials(body: bytes) -> bytes:
    """Return a response body with placeholders for the values under names that always mean a credential."""
    lower = body.lower()
    if body.isascii() and not any(word in lower for word in _MAY_NAME_ONE):
        return body
    finder = Finder(
        MessageKind.ANSWER, lambda kind, _: f"<{kind}>", lambda name: not is_core_name(name, Place.JSON), {}
    )
    return finder.body("", body)


class Finder(Walker):
    """A walker that replaces and notes the credentials in a message.

    Args:
        message: the kind of message.
        placeholder: returns the placeholder for a value, given its kind and text.
        has_rule: returns whether the user's rules name a field; if so, the rules decide what replaces its value.
        whole: short credentials from requests in the recording, with their placeholders.
        others: strings that have another meaning in the message, such as the segments of its path.
    """

    def __init__(
        self,
        message: MessageKind,
        placeholder: Callable[[str, str], str],
        has_rule: Callable[[str], bool],
        whole: Mapping[str, str],
        *,
        others: Iterable[str] = (),
    ) -> None:
        self._is_page = False
        self._message = message
        self._placeholder = placeholder
        self._has_rule = has_rule
        self._whole = whole
        self._others = set(others)
        self._has_code = False
        self._strong: dict[str, str] = {}  # text and kind of what is replaced everywhere, unless it is in `others`
        self._shaped: dict[str, str] = {}  # likewise, even if it is in `others`
        self._used: dict[str, str] = {}

    def body(self, content_type: str, body: bytes) -> bytes:
        """Return a decompressed body with credentials replaced; in pages and code, weak values are left unchanged."""
        is_data = body.lstrip()[:1] in (b"{", b"[")
        self._is_page = not is_data and any(word in content_type.lower() for word in _NOT_DATA)
        changed = super().body(content_type, body)
        self._is_page = False
        return changed

    def result(self) -> tuple[list[tuple[str, Secret]], dict[str, str]]:
        """Return the secrets to replace everywhere, and placeholders for short ones to replace only as whole values."""
        texts = {text: kind for text, kind in self._strong.items() if text not in self._others} | self._shaped
        texts |= {text: kind for text, kind in self._used.items() if len(text) >= _TELLING and text not in texts}
        short = {
            text: self._placeholder(kind, text)
            for text, kind in self._used.items()
            if len(text) < _TELLING and not text.isdecimal()
        }
        return [(kind, Secret(text)) for text, kind in texts.items()], short

    def form(self, text: str, place: Place, *, plus: Callable[[str], str] = quote_plus) -> str:
        """Return a form or query with credentials replaced, including the authorization `code` of a token request."""
        before, self._has_code = self._has_code, self._has_code or "grant_type=" in text
        changed = super().form(text, place, plus=plus)
        self._has_code = before
        return changed

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return the placeholder for a named value, or None if it is not a credential."""
        if value in self._whole:
            return self._whole[value]
        if self._has_rule(name):
            return None
        if self._has_code and name == "code" and not is_placeholder(value):
            is_random = grade(value) is Strength.STRONG
            return self._replaced(Decision("CODE", is_everywhere=is_random, is_weak=False), value)
        decision = decision_on(name, value, place, self._message)
        return None if decision is None else self._replaced(decision, value)

    def header(self, name: str, value: str) -> str:
        """Return a header value with credentials replaced."""
        lower = name.lower()
        if lower in _WITHOUT_CREDENTIALS:
            return value
        if lower in COOKIE_HEADERS:
            return replace_cookies(lower, value, self._cookie)
        kind = credential_kind(name, Place.HEADER)
        if kind is not None and not self._has_rule(name):
            return self._credential_header(name, kind, value)
        if lower == "location" and self._message is not MessageKind.REQUEST:
            self.note_shapes(value)
            self._has_code = True
            changed = self.uri(value)
            self._has_code = False
            return changed
        if self._message is not MessageKind.REQUEST or is_ordinary_header(name) or self._has_rule(name):
            return self.text(value)
        if value not in self._whole and (is_placeholder(value) or grade(value) is not Strength.STRONG):
            return self.text(value)
        self.note_shapes(value)
        return self._whole.get(value) or self._placeholder("HEADER", value)

    def text(self, text: str) -> str:
        """Return a string with placeholders for its credentials, and note those in escaped strings within it."""
        if len(text) < _SHORTEST_FIELD or (len(text) < SHORTEST_SHAPED and text.isalnum()):
            return text
        is_markup = text.lstrip("\ufeff \t\r\n")[:1] == "<"
        spans = []
        for field in self._fields_of(text):
            changed = self._field(text, field)
            if changed is None:
                continue
            _, start, end, form, _ = field.written
            changed = html.escape(changed) if is_markup or form is Notation.ELEMENT else changed
            spans.append((start, end, f'"{changed}"' if form is Notation.NUMBER else changed))
        self.note_shapes(text)
        spans += self._whole_values(text)
        for level in _levels_below(text):
            for field in self._fields_of(level):
                decision = self._decision(field)
                if decision is not None and decision.is_everywhere:
                    self._replaced(decision, field.written.value)
        return spliced(text, sorted(spans))

    def note_shapes(self, text: str) -> None:
        for credential in credentials_in(text):
            if len(credential.value) >= SHORTEST_SECRET and not is_placeholder(credential.value):
                self._shaped.setdefault(credential.value, credential.kind)

    def _fields_of(self, text: str) -> Iterator[CredentialField]:
        yield from columns_in(text)
        if not any(map(text.__contains__, '=:<"')):
            return
        fields = Fields(text)
        yield from fields
        self._others |= fields.keys
        yield from pairs_in(text)
        yield from elements_in(text)

    def _field(self, text: str, field: CredentialField) -> str | None:
        decision = self._decision(field)
        if decision is None or (decision.is_weak and not self._is_plainly_a_value(text, field)):
            return None
        return self._replaced(decision, field.written.value)

    def _decision(self, field: CredentialField) -> Decision | None:
        if self._has_rule(field.name):
            return None
        decision = decision_on(field.name, field.written.value, field.place, self._message)
        return None if decision is not None and decision.is_weak and not field.written.is_named else decision

    def _is_plainly_a_value(self, text: str, field: CredentialField) -> bool:
        """Check whether a weak value is in data or in a line of settings, rather than in a sentence."""
        written = field.written
        if (self._is_page and not _is_input(text, written.start)) or (
            self._message is MessageKind.ERROR and written.form in (Notation.NUMBER, Notation.BARE)
        ):
            return False
        if written.form is Notation.NUMBER:
            return is_core_name(field.name, field.place)
        if written.form is Notation.ELEMENT or field.place is Place.QUERY:
            return True
        if text[written.start - 1] == '"':  # in an error, quoted text is an example
            return self._message is not MessageKind.ERROR or text[written.start - 2] != "\\"
        first = max(0, written.start - _LONGEST_START)
        start = text.rfind("\n", first, written.start) + 1 or first
        if re.compile(_LINE_END).match(text, written.end) is None or text.lstrip()[:1] in ("{", "["):
            return False
        return re.compile(_LINE_START).match(text[start : written.start].rstrip("\"'")) is not None

    def _whole_values(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield replacements for JSON strings and XML contents that are exactly a short credential."""
        whole = dict(self._whole)
        for name, value in cells_in(text) if TITLES & self._others else ():
            if not self._has_rule(name) and (decision := decision_on(name, value, Place.JSON, self._message)):
                whole[value] = self._replaced(decision, value)
        for value, placeholder in whole.items():
            forms = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], html.escape(value)
            if any(map(text.__contains__, forms)):
                escaped, plain, content = map(re.escape, forms)
                pattern = rf'(?<=")(?:{escaped}|{plain})(?="(?!\s{{0,40}}:))|(?<=>){content}(?=</)'
                for start, end in (match.span() for match in re.finditer(pattern, text)):
                    yield start, end, html.escape(placeholder) if text[start - 1] == ">" else placeholder

    def _cookie(self, name: str, value: str) -> str:
        text = unquote(value)
        decision = None if is_placeholder(value) else decision_on(name, text, Place.COOKIE, self._message)
        if decision is None:
            return value
        return self._replaced(decision, text) if decision.is_everywhere else f"<{COOKIE}>"

    def _credential_header(self, name: str, kind: str, value: str) -> str:
        if not value or is_placeholder(value):
            return value
        self.note_shapes(f"{name}: {value}")
        scheme = re.compile(_SCHEME_OF_HEADER).match(value)
        text = value[scheme.end() :] if scheme else value
        password = password_of_pair(text) if scheme and scheme[0].lower().rstrip() == "basic" else ""
        decision = decision_on(name, text, Place.HEADER, self._message)
        if self._message is not MessageKind.REQUEST:
            return value if decision is None else self._replaced(decision, value)
        if password:
            self._used.setdefault(password, "PASSWORD")
        elif decision is not None and decision.is_everywhere:
            self._replaced(decision, text)
        elif not needs_strong_value(name, Place.HEADER):
            self._used.setdefault(text, kind)
        return f"<{kind}>"

    def _replaced(self, decision: Decision, value: str) -> str:
        scheme = SCHEME.match(value)
        before, text = (scheme[0], value[scheme.end() :]) if scheme else ("", value)
        if decision.is_everywhere:
            self._strong.setdefault(text, decision.kind)
        elif decision.is_weak and self._message is MessageKind.REQUEST:
            self._used.setdefault(text, decision.kind)
        return before + self._placeholder(decision.kind, text)


def _is_input(text: str, position: int) -> bool:
    """Check whether a position is in an `<input>` tag, which has a name and a value."""
    return text.startswith("<input", max(0, text.rfind("<", max(0, position - _LONGEST_START), position)))


def _levels_below(text: str) -> Iterator[str]:
    """Yield the result of each step of undoing one kind of escape, for each part of a string that has escapes."""
    for part in _parts_with_escapes(text) if any(map(text.__contains__, "%\\&")) else ():
        data = part.encode("utf-8", "surrogatepass")
        for level in [*dict.fromkeys((data, *without_escapes(data)))][1:]:  # the part itself has been searched already
            yield level.decode("utf-8", "replace")


def _parts_with_escapes(text: str) -> Iterator[str]:
    """Yield the parts of a string that contain escapes, with some text around them; most strings have few or none."""
    sign = re.compile(_SIGN_OF_ESCAPES)
    start = end = 0
    for at in range(0, len(text), _BLOCK):
        if sign.search(text, at, at + _BLOCK + _BEFORE_SIGN) is None:
            continue
        if at > end > 0:
            yield text[start:end]
        start = at if at > end else start
        end = at + _BLOCK + _BEFORE_SIGN + _AFTER_SIGN
    if end:
        yield text[start:end]
