"""Replace the values at the places that a user's rules name, in any format; everything else stays byte for byte.

JSON is read token by token rather than loaded and dumped: numbers, escapes, white space, repeated names and the
order of keys stay as they were, and so do event streams, lines of JSON and text with JSON in it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from toolkit.scrubbing.message_parts import parts_of
from toolkit.scrubbing.rules.model import STAND_IN, CompiledRules, KeyPath

# Takes the treatment, the value, and whether it is a JSON number; returns what to write instead.
Replace = Callable[[str, str, bool], str]

_TOKEN: Final = re.compile(r'([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+)', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BARE: Final = re.compile(rb"[:\[,]\s*[-+.0-9eE]*<[A-Z]")
_BOOLEANS: Final = frozenset({"true", "false"})
_TAG_VALUE: Final = (
    r"(?i)(<(?:[\w.-]{{1,40}}:)?({names})(?:\s[^<>]{{0,400}})?>)(?:<!\[CDATA\[)?([^<\]]{{1,16384}})"
    r"|((?<![\w-])({names})\s*=\s*[\"'])([^\"'<>]{{1,16384}})"
)


class Rewriter:
    """A rewriter of messages, which replaces the values at the places that rules name.

    Args:
        rules: the rules.
        replace: returns what to write instead of a value.
    """

    def __init__(self, rules: CompiledRules, replace: Replace) -> None:
        self._rules = rules
        self._replace = replace
        names = "|".join(re.sub(r"\\?[-_]", "[-_]?", re.escape(name)) for name in rules.names)
        self._tag = re.compile(_TAG_VALUE.format(names=names)) if names else None

    def uri(self, uri: str) -> str:
        """Return a URI with values replaced in its query, and in a fragment that looks like a query."""
        parts = urlsplit(uri)
        query = self._form(parts.query, plus=quote_plus)
        fragment = self._form(parts.fragment, plus=quote) if "=" in parts.fragment else parts.fragment
        if query == parts.query and fragment == parts.fragment:
            return uri
        # Not geturl(), which drops an empty query.
        head = uri[: uri.find("?")] if parts.query else uri.partition("#")[0]
        return head + (f"?{query}" if parts.query else "") + (f"#{fragment}" if parts.fragment else "")

    def header(self, name: str, value: str) -> str:
        """Return a header's value with values replaced."""
        treatment = self._rules.of_name(name)
        if treatment is None:
            return self._json(value) if value.lstrip()[:1] in ("{", "[") else value
        return self._replace(treatment, value, False) if value else value

    def body(self, content_type: str, body: bytes) -> bytes:
        """Return a decompressed body with values replaced, or the same object if nothing changes."""
        media_type = content_type.partition(";")[0].strip().lower()
        if media_type.startswith("multipart/"):
            return self._multipart(content_type, body)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return body
        changed = self._form(text, plus=quote_plus) if self._is_form(media_type, text) else self._text(text)
        return body if changed == text else changed.encode("utf-8")

    @staticmethod
    def _is_form(media_type: str, text: str) -> bool:
        if media_type.endswith("x-www-form-urlencoded"):
            return True
        return not media_type and bool(re.match(r"[\w.\[\]%+-]{1,200}=[^\s<>{]*\Z", text))

    def _text(self, text: str) -> str:
        if self._tag is not None and "<" in text:
            text = self._tag.sub(self._tagged, text)
        # Also for several JSON texts in one body, and in event streams.
        return self._json(text) if "{" in text or "[" in text or '"' in text else text

    def _tagged(self, match: re.Match[str]) -> str:
        group = 3 if match[1] else 6
        treatment = self._rules.of_name(match[group - 1])
        value = match[group]
        if treatment is None or not value.strip():
            return match[0]
        changed = self._replace(treatment, html.unescape(value), False)
        return f"{match[group - 2]}{'<![CDATA[' if '<![CDATA[' in match[0] else ''}{html.escape(changed)}"

    def _form(self, text: str, *, plus: Callable[[str], str]) -> str:
        fields = text.split("&")
        for number, field in enumerate(fields):
            name, sign, value = field.partition("=")
            if not value:
                continue
            treatment = self._rules.of_name(unquote_plus(name))
            plain = unquote_plus(value) if plus is quote_plus else unquote(value)
            if treatment is not None:
                changed = self._replace(treatment, plain, False)
            else:
                changed = self._json(plain) if plain.lstrip()[:1] in ("{", "[") else plain
            if changed != plain:
                fields[number] = f"{name}{sign}{plus(changed)}"
        return "&".join(fields)

    def _multipart(self, content_type: str, body: bytes) -> bytes:
        pieces, done = [], 0
        for part in parts_of(content_type, body):
            content = body[part.start : part.end]
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
            treatment = self._rules.of_name(part.name) if part.name else None
            changed = self._text(text) if treatment is None else self._replace(treatment, text, False)
            if changed != text:
                pieces += [body[done : part.start], changed.encode("utf-8")]
                done = part.end
        return b"".join((*pieces, body[done:])) if pieces else body

    def _json(self, text: str, above: KeyPath = ()) -> str:
        pieces, done = [], 0
        for path, start, end in _scalars(text, above):
            written = text[start:end]
            changed = self._scalar(path, written)
            if changed != written:
                pieces += [text[done:start], changed]
                done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _scalar(self, path: KeyPath, written: str) -> str:
        is_text = written.startswith('"')
        if not is_text and not _NUMBER.fullmatch(written) and written not in _BOOLEANS:
            return written
        try:
            value = json.loads(written, strict=False) if is_text else written
        except ValueError:
            return written
        treatment = self._rules.of_path(path)
        if treatment is None:
            changed = self._json(value, path) if is_text and value.lstrip()[:1] in ("{", "[") else value
        elif not value or (written in _BOOLEANS and treatment == STAND_IN):
            return written  # true and false have no look-alike
        else:
            changed = self._replace(treatment, value, not is_text)
        if changed == value:
            return written
        return changed if not is_text and _NUMBER.fullmatch(changed) else json.dumps(changed)


@dataclass(slots=True)
class _Open:
    """An object or array that is not closed yet, with the name or index of the current value in it."""

    is_object: bool
    part: str | int
    awaits_name: bool

    def advance(self) -> None:
        """Move to the next value, after a comma."""
        if self.is_object:
            self.awaits_name = True
        elif isinstance(self.part, int):
            self.part += 1


def _scalars(text: str, above: KeyPath) -> Iterator[tuple[KeyPath, int, int]]:
    """Yield the path of every scalar value in JSON, and where it starts and ends in the text."""
    within: list[_Open] = []
    for match in _TOKEN.finditer(text):
        if match[1]:
            _step(match[1], within)
        elif within and within[-1].awaits_name:
            within[-1].part = _name(match[0])
        elif within or above or match[2]:
            yield (*above, *(each.part for each in within)), match.start(), match.end()


def _step(sign: str, within: list[_Open]) -> None:
    if sign == "{":
        within.append(_Open(is_object=True, part="", awaits_name=True))
    elif sign == "[":
        within.append(_Open(is_object=False, part=0, awaits_name=False))
    elif not within:
        return
    elif sign == ",":
        within[-1].advance()
    elif sign == ":":
        within[-1].awaits_name = False
    else:
        within.pop()


def _name(written: str) -> str:
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return written


def keep_json(before: bytes, after: bytes) -> bytes:
    """Return `after` with quotes around placeholders that replaced JSON numbers, so that JSON stays JSON.

    Args:
        before: a body of any kind.
        after: the body with placeholders, which are capital letters in angle brackets.
    """
    if after == before or not _BARE.search(after) or not _is_json(before) or _is_json(after):
        return after
    quoted = _TOKEN.sub(lambda match: f'"{match[3]}"' if "<" in (match[3] or "") else match[0], after.decode("utf-8"))
    return quoted.encode("utf-8") if _is_json(quoted.encode("utf-8")) else after


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
