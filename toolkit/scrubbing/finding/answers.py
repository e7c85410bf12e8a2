"""Replace what an answer has under the names of credentials: in JSON, XML, forms and headers.

Values under core names, such as `password`, count however weak they are, unless they say that there is none. In answers
with an error status, which talk about credentials, words do not count.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from toolkit.core.patterns import compiled, matches_in
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.finding.in_place import WeakCredentials
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade, is_dummy
from toolkit.scrubbing.vocabulary import Place, credential_kind, is_core_name, is_placeholder, needs_strong_value

_NO_VALUES: Final = frozenset(
    "required optional invalid missing string null none nil true false bearer basic mac undefined unknown empty n/a yes"
    " no boolean integer number object array text password hidden jwt".split()
)
_SENTENCE: Final = re.compile(r"\S+(?:\s+\S+){2}")
_WORDS: Final = re.compile(r"[^0-9]*|.*[^\x00-\x7f].*", re.DOTALL)
_NAME: Final = r'"([^"\\\n]{1,200}+)"\s{0,40}+:'
_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER: Final = r"-?[0-9]{1,40}+(?:\.[0-9]{1,40}+)?(?![\w.])"
_TOKEN: Final = rf"([{{}}\[\],:])|({_STRING})|[^\s{{}}\[\],:\"]++"
# Members of an object that hold the credential the object is named after.
_MEMBERS: Final = frozenset("value raw text data content string token secret key".split())
_VALUE: Final = r'"value"\s{0,40}+:\s{0,40}+'
_PAIR_NAME: Final = r'"(?:name|key)"\s{0,40}+:\s{0,40}+"([^"\\]{1,200}+)"'
_LONGEST_PAIR: Final = 2_000  # characters before or after a value among which its name is
_ELEMENT: Final = r"<([\w.:-]{1,80}+)(?:\s[^<>]{0,400}+)?>([^<]{1,16384}+)</"
_LONGEST: Final = 1 << 15  # characters of a match that begins at the end of a slice


class AnsweredCredentials(WeakCredentials):
    """A walk over an answer that replaces credentials under core names.

    Args:
        placeholder, has_rule: as for `WeakCredentials`.
        is_error: True if the answer talks about what is wrong, perhaps about credentials.
    """

    def __init__(
        self, placeholder: Callable[[str, str], str], has_rule: Callable[[str], bool], *, is_error: bool
    ) -> None:
        super().__init__(placeholder, has_rule)
        self._is_error = is_error

    def named(self, name: str, place: Place, value: str) -> str | None:
        """Return a placeholder for the value of a field with a core name."""
        kind = credential_kind(name, place)
        if kind is None or not self._counts(name, place, value):
            return None
        return self._placeholder(kind, value)

    def header(self, name: str, value: str) -> str:
        """Return a header's value without a credential, and a redirect's target without its authorization code."""
        if name == "location":
            return self.uri(compiled(r"([?&#]code=)([^&#<>\s]{1,4096}+)").sub(self._code, value))
        return self.named(name, Place.HEADER, value) or value

    def text(self, text: str) -> str:
        """Return JSON or XML with placeholders for values under core names; other text stays."""
        first = text.lstrip("\ufeff \t\r\n")[:1]
        if first == "<":
            return self._spliced(text, self._elements(text))
        if first in ("{", "[", "/", "d", "e", ":") and '"' in text:
            return self._spliced(text, [*self._members(text), *self._pairs(text)])
        return text

    def _code(self, match: re.Match[str]) -> str:
        value = unquote(match[2])
        if is_placeholder(value) or self._has_rule("code"):
            return match[0]
        placeholder = self._placeholder("CODE", value)
        return match[1] + placeholder.replace("<", "%3C").replace(">", "%3E")

    def _counts(self, name: str, place: Place, value: str) -> bool:
        if self._has_rule(name) or is_placeholder(value) or not value.strip():
            return False
        if secret_kind(name, value, place) is not None:
            return True
        if not is_core_name(name, place) or needs_strong_value(name, place):
            return False
        return not _says_none(value, is_error=self._is_error)

    @staticmethod
    def _spliced(text: str, found: list[tuple[int, int, str]]) -> str:
        pieces, done = [], 0
        for start, end, written in sorted(found):
            if start >= done:
                pieces += [text[done:start], written]
                done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _elements(self, text: str) -> list[tuple[int, int, str]]:
        found = []
        for match in matches_in(_ELEMENT, text, longest=_LONGEST):
            name = match[1].rpartition(":")[2]
            if _is_name(name):
                changed = self.named(name, Place.JSON, html.unescape(match[2]))
                if changed is not None:
                    found.append((*match.span(2), html.escape(changed)))
        return found

    def _members(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in matches_in(_NAME, text, longest=_LONGEST):
            if _is_name(match[1]):
                yield from self._value(text, match.end(), match[1])

    def _pairs(self, text: str) -> Iterator[tuple[int, int, str]]:
        if '"value"' not in text:
            return
        for match in matches_in(_VALUE, text, longest=_LONGEST):
            at = match.start()
            before = text[text.rfind("{", max(0, at - _LONGEST_PAIR), at) + 1 : at]
            end = text.find("}", match.end(), match.end() + _LONGEST_PAIR)
            after = text[match.end() : end] if end >= 0 else ""
            name = compiled(_PAIR_NAME).search(before) or compiled(_PAIR_NAME).search(after)
            if name is not None and _is_name(name[1]):
                yield from self._value(text, match.end(), name[1])

    def _value(self, text: str, position: int, name: str) -> Iterator[tuple[int, int, str]]:
        """Yield what to replace in the value of a name: a text, a number, or what an object or a list has in it."""
        depth, at, member = 0, "", ""
        whole: list[bool] = []  # for each open object or list: True if its values are named by its name
        is_list: list[bool] = []
        for token in compiled(_TOKEN).finditer(text, position):
            sign, string = token[1], token[2]
            if sign in ("{", "["):
                is_named = not whole or (whole[-1] and (is_list[-1] or member in _MEMBERS))
                whole.append(is_named)
                is_list.append(sign == "[")
                at, member = ("", "")
                depth += 1
            elif sign in ("}", "]"):
                depth -= 1
                if depth < 0:
                    return
                whole.pop()
                is_list.pop()
            elif sign == ",":
                at, member = "", ""
            elif sign == ":":
                at = "value"
            elif string is not None and depth and not is_list[-1] and at == "":
                member = string[1:-1]
            else:
                is_named = not whole or (whole[-1] and (is_list[-1] or member in _MEMBERS))
                changed = self._scalar(name, token[0], is_named=is_named, is_alone=not depth)
                if changed is not None:
                    yield (*token.span(), json.dumps(changed))
            if not depth and sign != ":":
                return

    def _scalar(self, name: str, written: str, *, is_named: bool, is_alone: bool) -> str | None:
        if written[0] == '"':
            try:
                value = str(json.loads(written, strict=False))
            except ValueError:
                return None
        elif is_alone and not self._is_error and compiled(_NUMBER).fullmatch(written) and not written.startswith("0."):
            value = written if is_core_name(name, Place.JSON) and len(written) > 1 else ""
        else:
            return None
        if is_named or grade(value) is Strength.STRONG:
            return self.named(name, Place.JSON, value)
        return None


@lru_cache(maxsize=8192)
def _is_name(name: str) -> bool:
    return credential_kind(name, Place.JSON) is not None


def _says_none(value: str, *, is_error: bool) -> bool:
    """Check whether a value under the name of a credential says something about it instead."""
    if value.strip().lower() in _NO_VALUES or _SENTENCE.match(value.strip()):
        return True
    is_word = len(value) < SHORTEST_SECRET or is_dummy(value) or _WORDS.fullmatch(value) is not None
    return is_error and is_word
