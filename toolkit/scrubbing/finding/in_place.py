"""Replace credentials in their places, however weak they are: passwords that people type, and short or dummy keys.

In requests that is every value under the name of a credential; in answers what `learning` has listed, and what
`answers` replaces. Distinct values get distinct placeholders; otherwise a request with one
password would be answered with the recording of another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection
from typing import Final

from toolkit.core.patterns import compiled
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.finding.fields import Fields, NamedValue
from toolkit.scrubbing.finding.walking import Walker
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import (
    Place,
    credential_kind,
    is_ordinary_header,
    is_placeholder,
    needs_strong_value,
)

_NOT_TEXT: Final = frozenset({"true", "false", "null", "none", "nil", "undefined"})
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,20}+(?:\.[0-9]{1,20}+)?")
_DIGITS_COUNT: Final = frozenset({"PASSWORD", "PIN", "OTP"})  # kinds of what people type in digits
_LINE_START: Final = r"\s{0,40}+(?:-|export|set)?\s{0,40}+[\w.\-\"']{1,80}+\s{0,20}+[:=]\s{0,20}+\Z"
_LINE_END: Final = r"[\"']?[,;]?[ \t\r]{0,40}+(?:\n|\Z)"
_LONGEST_START: Final = 200  # characters of a line before a value
_SHORTEST_NAME: Final = 3  # characters of a name and its sign


class WeakCredentials(Walker):
    """A walk over a request that replaces weak credentials. Strong ones are known, and are replaced as well.

    Args:
        placeholder: gives the placeholder of a value of a kind.
        has_rule: tells whether the user's rules name a field, which then decide what is written instead.

    Attributes:
        used: kind and text of each value that was replaced.
    """

    def __init__(self, placeholder: Callable[[str, str], str], has_rule: Callable[[str], bool]) -> None:
        self._placeholder = placeholder
        self._has_rule = has_rule
        self.used: dict[str, str] = {}

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return a placeholder for the value of a field with the name of a credential."""
        kind = credential_kind(name, place)
        if kind is None or self._has_rule(name):
            return None
        return self._replaced(kind, value) if _counts(name, kind, place, value) else None

    def header(self, name: str, value: str) -> str:
        """Return `<HEADER>` for a value that looks random in a header of an unknown name."""
        if is_ordinary_header(name) or grade(value) is not Strength.STRONG:
            return value
        if is_placeholder(value) or self._has_rule(name):
            return value
        return self._placeholder("HEADER", value)

    def text(self, text: str) -> str:
        """Return a text with placeholders for the values of fields with names of credentials."""
        if len(text) < _SHORTEST_NAME or not any(map(text.__contains__, "=:<")):
            return text
        is_json, is_markup = text.lstrip()[:1] in ("{", "[", '"'), text.lstrip()[:1] == "<"

        def accepts(field: NamedValue) -> bool:
            return not self._has_rule(field.name) and self._accepts(text, field, is_json=is_json)

        pieces, done = [], 0
        for field in Fields(text).accepted(accepts):
            placeholder = self._replaced(field.kind, field.value)
            pieces += [text[done : field.start], html.escape(placeholder) if is_markup else placeholder]
            done = field.end
        return "".join((*pieces, text[done:])) if pieces else text

    def _replaced(self, kind: str, value: str) -> str:
        self.used.setdefault(value, kind)
        return self._placeholder(kind, value)

    def _accepts(self, text: str, field: NamedValue, *, is_json: bool) -> bool:
        if not _counts(field.name, field.kind, field.place, field.value):
            return False
        before = text[field.start - 1 : field.start]
        return before in ('"', ">", "[") or field.place is Place.QUERY or (not is_json and _is_line(text, field))


class ListedCredentials(WeakCredentials):
    """A walk over a body that replaces the credentials that were found in it, in their places.

    Args:
        placeholder, has_rule: as for `WeakCredentials`.
        listed: kind and text of each credential.
    """

    def __init__(
        self,
        placeholder: Callable[[str, str], str],
        has_rule: Callable[[str], bool],
        listed: Collection[tuple[str, str]],
    ) -> None:
        super().__init__(placeholder, has_rule)
        self._listed = listed

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return a placeholder for a value that is listed."""
        kind = credential_kind(name, place)
        is_listed = kind is not None and (kind, value) in self._listed and not self._has_rule(name)
        return self._replaced(kind or "", value) if is_listed else None

    def _accepts(self, text: str, field: NamedValue, *, is_json: bool) -> bool:  # noqa: ARG002
        return (field.kind, field.value) in self._listed


def _counts(name: str, kind: str, place: Place, value: str) -> bool:
    """Check whether a value in a request is a credential, however weak it may be."""
    if not value.strip() or is_placeholder(value) or value.lower() in _NOT_TEXT:
        return False
    if secret_kind(name, value, place) is not None:
        return True
    if _NUMBER.fullmatch(value) and kind not in _DIGITS_COUNT:
        return False
    # A token may also be a currency or a word.
    is_word = name.lower() == "tokens" or (name.lower() == "token" and len(value) < SHORTEST_SECRET)
    return not is_word and not needs_strong_value(name, place)


def _is_line(text: str, field: NamedValue) -> bool:
    """Check whether a field is a line of settings by itself, rather than a part of a sentence."""
    first = max(0, field.start - _LONGEST_START)
    start = text.rfind("\n", first, field.start) + 1 or first
    end = compiled(_LINE_END).match(text, field.end)
    return end is not None and compiled(_LINE_START).match(text[start : field.start].rstrip("\"'")) is not None
