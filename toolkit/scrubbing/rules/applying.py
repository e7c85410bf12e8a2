"""Apply a user's rules to messages in any format; everything else stays the same, byte for byte.

Values are replaced where the rules find them; long ones are added to the secrets of the recording, so that they are
replaced everywhere. JSON is read token by token rather than loaded and dumped, so numbers, escapes, white space,
repeated names and the order of keys stay as they were. This also works in event streams, JSON Lines and text that
contains JSON.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.finding.walking import Walker
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList, header_value
from toolkit.scrubbing.normal_form import spliced
from toolkit.scrubbing.rules.model import STAND_IN, CompiledRules, KeyPath, Rules
from toolkit.scrubbing.rules.pseudonyms import Pseudonyms, user_key
from toolkit.scrubbing.vocabulary import Place, is_placeholder

Replace = Callable[[str, str], str]  # called with the treatment and the value; returns what to write instead

# A string that is not closed extends to the end.
_TOKEN: Final = re.compile(r'([{}\[\],:])|("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|([^\s{}\[\],:"]++)', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BOOLEANS: Final = frozenset({"true", "false"})
_ELEMENT: Final = r"(<([\w.:\-]{1,80}+)(?:\s[^<>]{0,400}+)?>(?:<!\[CDATA\[)?)([^<\]]{1,16384}+)(?=(?:\]\]>)?</\2)"
_ATTRIBUTE: Final = r"((?<![\w\-.:])([\w\-.:]{1,80}+)\s{0,20}+=\s{0,20}+[\"'])([^\"'<>]{1,16384}+)"


class Rewriter(Walker):
    """A walker over messages that replaces the values at the places named by the rules.

    Args:
        rules: the rules.
        replace: returns what to write instead of a value.
    """

    def __init__(self, rules: CompiledRules, replace: Replace) -> None:
        self._rules = rules
        self._replace = replace

    def named(self, name: str, place: Place, value: str) -> str | None:  # noqa: ARG002 - rules ignore the place
        """Return the replacement for a named value, or None if no rule contains the name."""
        treatment = self._rules.of_name(name)
        return None if treatment is None else self._replace(treatment, value)

    def text(self, text: str) -> str:
        """Return a string with the values in its JSON and XML replaced; the string may contain several documents."""
        if "<" in text:
            text = re.compile(_ATTRIBUTE).sub(self._tagged, text)
            text = re.compile(_ELEMENT).sub(self._tagged, text)
        return self._json(text)

    def _tagged(self, match: re.Match[str]) -> str:
        treatment = self._rules.of_name(match[2].rpartition(":")[2])
        if treatment is None or not match[3].strip():
            return match[0]
        return match[1] + html.escape(self._replace(treatment, html.unescape(match[3])))

    def _json(self, text: str, above: KeyPath = ()) -> str:
        scalars = ((start, end, self._scalar(path, text[start:end])) for path, start, end in _scalars(text, above))
        return spliced(text, (each for each in scalars if each[2] != text[each[0] : each[1]]))

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
            return written  # true and false have no stand-in
        else:
            changed = self._replace(treatment, value)
        if changed == value:
            return written
        return changed if not is_text and _NUMBER.fullmatch(changed) else json.dumps(changed)


def _scalars(text: str, above: KeyPath) -> Iterator[tuple[KeyPath, int, int]]:
    """Yield the path of every scalar in JSON, and its start and end in the text."""
    path: list[str | int] = []  # name or index of the current value in each object or array that is not closed yet
    awaits_name: list[bool] = []
    for match in _TOKEN.finditer(text):
        sign = match[1]
        if sign in ("{", "["):
            path.append("" if sign == "{" else 0)
            awaits_name.append(sign == "{")
        elif sign and path:
            if sign in ("}", "]"):
                path.pop()
                awaits_name.pop()
            elif isinstance(path[-1], str):
                awaits_name[-1] = sign == ","
            elif sign == ",":
                path[-1] += 1
        elif path and awaits_name[-1]:
            path[-1] = _name(match[0])
        elif not sign and (path or above or match[2]):
            yield (*above, *path), match.start(), match.end()


def _name(written: str) -> str:
    try:
        return str(json.loads(written))
    except ValueError:
        return written


_SHORTEST_PART: Final = 3  # characters of a part of a URL that is compared with short values


class AppliedRules:
    """Rules, and the values that they found in a cassette's messages.

    Args:
        rules: the rules.
        known: receives the values that the rules find, if they are long enough to be searched for everywhere.
    """

    def __init__(self, rules: Rules, known: KnownSecrets) -> None:
        self.rules = rules
        self._known = known
        self._compiled = rules.compiled
        key = rules.key
        self.pseudonyms = Pseudonyms(user_key if key is None else lambda _: key.reveal().encode())
        self._short: dict[str, str] = {}  # values with their stand-ins
        self._without: dict[frozenset[str], AppliedRules] = {}

    def without_pseudonyms(self, replaced: Iterable[str]) -> AppliedRules:
        """Return a copy of these rules that leaves out the given pseudonym rules and shares the stand-ins."""
        key = frozenset(replaced)
        rules = self._without.get(key)
        if rules is None:
            left = tuple(rule for rule in self.rules.pseudonyms if rule not in key)
            rules = AppliedRules(replace(self.rules, pseudonyms=left), self._known)
            rules.pseudonyms, rules._short = self.pseudonyms, self._short
            self._without[key] = rules
        return rules

    def stand_ins_in(self, uri: str, headers: HeaderList, body: bytes) -> set[str]:
        """Return the values in a recorded message that the pseudonym rules apply to."""
        values: set[str] = set()

        def note(treatment: str, text: str) -> str:
            if treatment == STAND_IN and not self._is_placeholder(text):
                values.add(text)
            return text

        if self._compiled.has_stand_ins:
            self._rewritten(Rewriter(self._compiled, note), uri, headers, body)
        return values

    def has_name(self, name: str) -> bool:
        """Check whether a rule names a field or header."""
        return self._compiled.of_name(name) is not None

    def apply(
        self, uri: str, headers: HeaderList, body: bytes, *, is_request: bool, records: bool = True
    ) -> tuple[str, HeaderList, bytes]:
        """Return the URI, headers and decompressed body of a message, with the values that the rules find replaced.

        Long values are noted, and replaced in other messages too.
        """
        if self._compiled.has_places:
            replace = self._replace(is_request=is_request, records=records)
            uri, headers, body = self._rewritten(Rewriter(self._compiled, replace), uri, headers, body)
        if self._compiled.has_stand_ins:
            uri = self._parts_of_url_replaced(uri, records=records)
        if self._compiled.patterns:
            self._matches_replaced(unquote(uri))  # notes what is percent-encoded in it
            uri = self._matches_replaced(uri, in_url=True)
            headers = tuple((name, self._matches_replaced(value)) for name, value in headers)
            text = body.decode("utf-8", "surrogateescape")
            changed = self._matches_replaced(text)
            body = body if changed is text else changed.encode("utf-8", "surrogateescape")
        return uri, headers, body

    @staticmethod
    def _rewritten(rewriter: Rewriter, uri: str, headers: HeaderList, body: bytes) -> tuple[str, HeaderList, bytes]:
        content_type = header_value(headers, "content-type")
        return (
            rewriter.uri(uri),
            tuple((name, rewriter.header(name, value)) for name, value in headers),
            rewriter.body(content_type, body),
        )

    def _replace(self, *, is_request: bool, records: bool) -> Replace:
        def replace(treatment: str, text: str) -> str:
            if self._is_placeholder(text):
                return text
            if treatment != STAND_IN:
                return self._placeholder(treatment, text)
            stand_ins = self.pseudonyms
            stand_in = stand_ins.of_request(text, records=records) if is_request else stand_ins.stand_in(text)
            if stand_in != text and len(text) < SHORTEST_SECRET:
                self._short[text] = stand_in
            elif stand_in != text:
                self._known.add_stand_ins([(Secret(text), stand_in)])
            return stand_in

        return replace

    def _placeholder(self, kind: str, text: str) -> str:
        placeholder = self._known.placeholder(kind, Secret(text))
        if len(text) >= SHORTEST_SECRET:
            self._known.add_stand_ins([(Secret(text), placeholder)])
        return placeholder

    def _is_placeholder(self, text: str) -> bool:
        return is_placeholder(text) or self._compiled.is_placeholder(text)

    def _matches_replaced(self, text: str, *, in_url: bool = False) -> str:
        for find, kind in self._compiled.patterns:
            spans = []
            for start, end in find(text):
                value = text[start:end]
                if not self._is_placeholder(value):
                    placeholder = self._placeholder(kind, value)
                    spans.append((start, end, quote(placeholder) if in_url else placeholder))
            text = spliced(text, spans)
        return text

    def _parts_of_url_replaced(self, uri: str, *, records: bool) -> str:
        """Return a URL with stand-ins for values that make up a whole path segment or query parameter.

        A replay does not know the values, so it treats a part as a value if its stand-in is in the recording and the
        part itself is not.
        """
        parts = urlsplit(uri)
        segments = [self._part_replaced(text, unquote(text), records=records) for text in parts.path.split("/")]
        fields = [field.partition("=") for field in parts.query.split("&")]
        query = "&".join(
            f"{name}{sign}{self._part_replaced(value, unquote_plus(value), records=records)}"
            for name, sign, value in fields
        )
        changed = "/".join(segments)
        if changed == parts.path and query == parts.query:
            return uri
        return parts._replace(path=changed, query=query).geturl()

    def _part_replaced(self, written: str, text: str, *, records: bool) -> str:
        if len(text) < _SHORTEST_PART or self._is_placeholder(text):
            return written
        stand_in = self._short.get(text)
        if stand_in is None and not records:
            stand_in = self.pseudonyms.of_recorded(text)
        return written if stand_in is None else quote(stand_in, safe=":@")
