"""A user's rules applied to messages.

First `learn` adds the values that the rules find to the known secrets, so that they are replaced wherever they occur.
Then `apply` replaces the values where the rules find them, short ones included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList, header_value
from toolkit.scrubbing.rules.model import STAND_IN, Rules
from toolkit.scrubbing.rules.pseudonyms import Pseudonyms, user_key
from toolkit.scrubbing.rules.rewriting import Replace, Rewriter
from toolkit.scrubbing.vocabulary import is_placeholder

_SHORTEST_PART: Final = 3  # characters of a part of a URL that is compared with short values


class AppliedRules:
    """Rules, and the values that they found in the messages of a cassette.

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
        """Return these rules without some of pseudonyms, with the same stand-ins."""
        key = frozenset(replaced)
        rules = self._without.get(key)
        if rules is None:
            left = tuple(rule for rule in self.rules.pseudonyms if rule not in key)
            rules = AppliedRules(replace(self.rules, pseudonyms=left), self._known)
            rules.pseudonyms, rules._short = self.pseudonyms, self._short
            self._without[key] = rules
        return rules

    def learn(self, uri: str, headers: HeaderList, body: bytes, *, is_request: bool, records: bool = True) -> None:
        """Learn the values that the rules find in a message."""
        secrets: list[tuple[str, Secret]] = []
        stand_ins: list[tuple[Secret, str]] = []

        def note(treatment: str, text: str, is_number: bool) -> str:
            if self._is_placeholder(text):
                return text
            if treatment != STAND_IN:
                secrets.append((treatment, Secret(text)))
                return text
            stand_in = self._stand_in(text, is_number=is_number, is_request=is_request, records=records)
            if stand_in != text:
                stand_ins.append((Secret(text), stand_in))
            return text

        if self._compiled.has_places:
            self._rewritten(Rewriter(self._compiled, note), uri, headers, body)
        if self._compiled.patterns:
            texts = (unquote(uri), *(value for _, value in headers))
            for data in (*(text.encode("utf-8", "surrogatepass") for text in texts), body):
                secrets += self._matches_in(data)
        self._known.add_stand_ins(
            [(secret, self._known.placeholder(*pair)) for pair in secrets if _is_long(secret := pair[1])]
        )
        self._known.add_stand_ins([pair for pair in stand_ins if _is_long(pair[0])])
        self._short.update((value.reveal(), stand_in) for value, stand_in in stand_ins if not _is_long(value))

    def stand_ins_in(self, uri: str, headers: HeaderList, body: bytes) -> set[str]:
        """Return the values in a recorded message where the rules name pseudonyms."""
        values: set[str] = set()

        def note(treatment: str, text: str, is_number: bool) -> str:  # noqa: ARG001 - as Rewriter calls it
            if treatment == STAND_IN and not self._is_placeholder(text):
                values.add(text)
            return text

        if self._compiled.has_stand_ins:
            self._rewritten(Rewriter(self._compiled, note), uri, headers, body)
        return values

    def has_name(self, name: str) -> bool:
        """Check whether a rule names a field or header."""
        return self._compiled.of_name(name) is not None

    def _matches_in(self, data: bytes) -> Iterator[tuple[str, Secret]]:
        for pattern, kind in self._compiled.patterns:
            values = dict.fromkeys(data[start:end] for start, end in pattern.spans(data))
            for text in (value.decode("utf-8", "replace") for value in values):
                if not self._is_placeholder(text):
                    yield kind, Secret(text)

    def apply(
        self, uri: str, headers: HeaderList, body: bytes, *, is_request: bool, records: bool = True
    ) -> tuple[str, HeaderList, bytes]:
        """Return URI, headers and decompressed body of a message, after replacing the values that the rules find."""
        if self._compiled.has_places:
            replace = self._replace(is_request=is_request, records=records)
            uri, headers, body = self._rewritten(Rewriter(self._compiled, replace), uri, headers, body)
        if uri and self._compiled.has_stand_ins:
            uri = self._parts_of_url_replaced(uri, records=records)
        if self._compiled.patterns:
            uri = self._matches_replaced_in_text(uri, in_url=True)
            headers = tuple((name, self._matches_replaced_in_text(value)) for name, value in headers)
            body = self._matches_replaced(body)
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
        def replace(treatment: str, text: str, is_number: bool) -> str:
            if self._is_placeholder(text):
                return text
            if treatment == STAND_IN:
                return self._stand_in(text, is_number=is_number, is_request=is_request, records=records)
            return self._known.placeholder(treatment, Secret(text))

        return replace

    def _stand_in(self, text: str, *, is_number: bool, is_request: bool, records: bool) -> str:
        if is_request:
            return self.pseudonyms.of_request(text, is_number=is_number, records=records)
        return self.pseudonyms.stand_in(text, is_number=is_number)

    def _is_placeholder(self, text: str) -> bool:
        return is_placeholder(text) or self._compiled.is_placeholder(text)

    def _matches_replaced_in_text(self, text: str, *, in_url: bool = False) -> str:
        data = self._matches_replaced(text.encode("utf-8", "surrogatepass"), in_url=in_url)
        return data.decode("utf-8", "surrogatepass")

    def _matches_replaced(self, data: bytes, *, in_url: bool = False) -> bytes:
        for pattern, kind in self._compiled.patterns:
            pieces: list[bytes] = []
            position = 0
            for start, end in pattern.spans(data):
                value = data[start:end].decode("utf-8", "surrogateescape")
                if not self._is_placeholder(value):
                    placeholder = self._known.placeholder(kind, Secret(value))
                    pieces += data[position:start], (quote(placeholder) if in_url else placeholder).encode()
                    position = end
            data = b"".join((*pieces, data[position:])) if pieces else data
        return data

    def _parts_of_url_replaced(self, uri: str, *, records: bool) -> str:
        """Return a URL with stand-ins for values that are a whole segment of its path or a whole field of its query.

        A replay has not seen the values themselves. There, a part counts as a value if its stand-in is in the
        recording and the part itself is not.
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


def _is_long(value: Secret) -> bool:
    return len(value.reveal()) >= SHORTEST_SECRET
