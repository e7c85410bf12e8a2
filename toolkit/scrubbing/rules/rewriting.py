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
from functools import partial
from typing import Final

from toolkit.core.patterns import compiled
from toolkit.scrubbing.finding.walking import Walker
from toolkit.scrubbing.rules.model import STAND_IN, CompiledRules, KeyPath
from toolkit.scrubbing.vocabulary import Place

# Takes the treatment, the value, and whether it is a JSON number; returns what to write instead.
Replace = Callable[[str, str, bool], str]

# Of the path of a value that lies deeper, the outer and the inner parts are compared with rules.
_OUTER: Final = 20
_INNER: Final = 6
# A text that is not closed reaches to the end.
_TOKEN: Final = re.compile(r'([{}\[\],:])|("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|([^\s{}\[\],:"]++)', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BARE: Final = re.compile(rb"[:\[,]\s*[-+.0-9eE]*<[A-Z]")
_BOOLEANS: Final = frozenset({"true", "false"})
_ELEMENT: Final = r"(<([\w.:\-]{1,80}+)(?:\s[^<>]{0,400}+)?>(?:<!\[CDATA\[)?)([^<\]]{1,16384}+)"
_ATTRIBUTE: Final = r"((?<![\w\-.:])([\w\-.:]{1,80}+)\s{0,20}+=\s{0,20}+[\"'])([^\"'<>]{1,16384}+)"


class Rewriter(Walker):
    """A walk over messages that replaces the values at the places that rules name.

    Args:
        rules: the rules.
        replace: returns what to write instead of a value.
    """

    def __init__(self, rules: CompiledRules, replace: Replace) -> None:
        self._rules = rules
        self._replace = replace

    def named(self, name: str, place: Place, value: str) -> str | None:  # noqa: ARG002 - rules name no places
        """Return what to write instead of a value beside a name, or None if no rule has the name."""
        treatment = self._rules.of_name(name)
        return None if treatment is None else self._replace(treatment, value, False)

    def text(self, text: str) -> str:
        """Return a text with values replaced in JSON and XML, also for several of these in one text."""
        if self._rules.names and "<" in text:
            text = compiled(_ATTRIBUTE).sub(self._attribute, text)
            text = compiled(_ELEMENT).sub(partial(self._element, {}), text)
        return self._json(text) if "{" in text or "[" in text or '"' in text else text

    def _element(self, closed: dict[str, bool], match: re.Match[str]) -> str:
        """Return an element with its text replaced; `closed` remembers which names the text has an end tag of.

        What was scrubbed before has placeholders, which look like elements but have no end tag.
        """
        if self._rules.is_placeholder(match[1]):
            if match[2] not in closed:
                closed[match[2]] = f"</{match[2]}" in match.string
            if not closed[match[2]]:
                return match[0]
        return self._tagged(match, match[2].rpartition(":")[2])

    def _attribute(self, match: re.Match[str]) -> str:
        return self._tagged(match, match[2])

    def _tagged(self, match: re.Match[str], name: str) -> str:
        treatment = self._rules.of_name(name)
        if treatment is None or not match[3].strip():
            return match[0]
        return match[1] + html.escape(self._replace(treatment, html.unescape(match[3]), False))

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
            deepest = within if len(within) <= _OUTER + _INNER else (*within[:_OUTER], *within[-_INNER:])
            yield (*above, *(each.part for each in deepest)), match.start(), match.end()


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
