"""The secrets known so far, each with its placeholder in a recording.

They are searched for and replaced here, in such a way that JSON stays valid and UTF-16 stays UTF-16. The same search
runs again over the bytes that are about to be written. It raises an error if they still contain a secret, such as one
in an archive member, or one that appeared when the parts of a file were joined.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Self
from urllib.parse import quote

from toolkit.core.errors import SecretLeak, as_several
from toolkit.core.secret import REGISTER, SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import warn
from toolkit.scrubbing.compression import AFTER_THE_CALL, DecodingBudget
from toolkit.scrubbing.normal_form import spliced
from toolkit.scrubbing.searcher import Hit, Searcher
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.views import DEEPEST, View, views_of
from toolkit.scrubbing.vocabulary import is_placeholder

_PIECE: Final = 1 << 22  # bytes of a file that are searched at once, which limits memory
_ROUNDS: Final = 4  # replacing a secret may join the parts of another one
_MOST_NAMED: Final = 48  # values found under names in messages; only the latest are looked for
# What follows a JSON key, and what follows a path segment.
_KEY_END: Final = rb"\\{0,8}+[\"']\s{0,8}+:"
_SEGMENT_END: Final = rb"[/?#\"'\s<>\\]|\Z"
_QUOTE: Final = rb"(?s)\\.|\""
# The rest of a JSON number, before and after given digits.
_NUMBER_BEGINS: Final = rb"[:\[,]\s{0,20}([-+.0-9eE]{0,40})\Z"
_NUMBER_ENDS: Final = rb"([-+.0-9eE]{0,40})\s{0,20}[,}\]]"
_LONGEST_NUMBER: Final = 64  # bytes
_BACKSLASH: Final = ord("\\")


class KnownSecrets:
    """The secrets in the process's register, and those named by the messages of one recording, with placeholders.

    Registered secrets are always replaced, no matter who registered them. Distinct secrets of one kind have distinct
    placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`); otherwise a replay could answer one request with the response
    to another. A secret that is added to this object gets its placeholder immediately, any other secret when it is
    first found. Values that messages name, and the stand-ins for personal data, are known only to this object.

    Attributes:
        used: placeholders for short credentials in requests, by credential; each addition creates a new mapping.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.RLock()
        self._placeholders: dict[Secret, str] = {}
        self._counts: dict[str, int] = {}
        self._stand_ins = Searcher()
        self._named = Searcher(in_codes=False)
        self.used: Mapping[str, str] = {}
        self.add_all(secrets)

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Add several secrets, each with its kind. Warn about short secrets."""
        secrets = [(kind, secret) for kind, secret in secrets if is_secret(secret)]
        new = [(kind, secret) for kind, secret in secrets if secret not in self._placeholders]
        for kind, secret in new:
            self.placeholder(kind, secret)
        REGISTER.add_all(secrets)
        for kind, secret in new:
            if len(secret.reveal()) < SHORTEST_SECRET:
                warn(
                    f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is "
                    "replaced only where it is the value of a credential field or header, not everywhere it occurs."
                )

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Add secrets supplied by the user: one string or several."""
        named = as_several(secrets, str | Secret, about="secrets", example='os.environ["MY_SECRET"]')
        self.add_all([("SECRET", Secret(each)) for each in named])

    def add_stand_ins(self, stand_ins: Iterable[tuple[Secret, str]]) -> None:
        """Add values that the user's rules find, with their stand-ins, for this object only."""
        with self._lock:
            for secret, stand_in in stand_ins:
                if is_secret(secret) and secret not in REGISTER:
                    self._placeholders.setdefault(secret, stand_in)
                    self._stand_ins.add(secret)

    def note(self, named: Iterable[tuple[str, Secret]], used: Mapping[str, str] = MappingProxyType({})) -> None:
        """Note the credentials that a message names, with their kinds, and the short credentials that it used.

        From now on, these values are replaced in this recording wherever they occur as plain, percent-encoded or JSON
        text. Searches cover all values that the last message named, and the most recent ones from earlier messages.
        """
        named = [(kind, secret) for kind, secret in named if is_secret(secret) and secret not in REGISTER]
        if not named and not used:
            return
        with self._lock:
            self.used = {**self.used, **used}
            for kind, secret in named:
                self.placeholder(kind, secret)
                self._named.add(secret)
            most = max(_MOST_NAMED, len(named))
            if len(self._named.secrets) > 2 * most:
                latest = Searcher(in_codes=False)
                for secret in list(self._named.secrets)[-most:]:
                    latest.add(secret)
                self._named = latest

    def placeholder(self, kind: str, secret: Secret) -> str:
        """Return the placeholder or stand-in for a value; a new value gets the next placeholder of its kind."""
        with self._lock:
            if secret not in self._placeholders:
                kind = REGISTER.kind_of(secret) or kind
                count = self._counts[kind] = self._counts.get(kind, 0) + 1
                self._placeholders[secret] = f"<{kind}>" if count == 1 else f"<{kind}-{count}>"
            return self._placeholders[secret]

    def placeholder_of(self, secret: Secret) -> str | None:
        """Return the placeholder or stand-in for a secret, or None if the secret is not known."""
        kind = REGISTER.kind_of(secret)
        return self._placeholders.get(secret) if kind is None else self.placeholder(kind, secret)

    def replaced(self) -> list[tuple[Secret, str]]:
        """Return each secret that was found so far, with its placeholder or stand-in."""
        with self._lock:
            return list(self._placeholders.items())

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """Return `data` with a placeholder for every known secret, in every form that can be rewritten.

        Args:
            data: bytes of any kind.
            in_url: True to percent-encode the placeholders, as in a URL.
        """
        for _ in range(_ROUNDS):
            hits = self._replaceable(data)
            if not hits:
                break
            data = spliced(data, self._replacements(data, _merged(data, hits), in_url=in_url))
        return data

    def scrub_text(self, text: str) -> str:
        """Return a string with a placeholder for every known secret."""
        data = text.encode("utf-8", "surrogatepass")
        scrubbed = self.scrub(data)
        return text if scrubbed is data else scrubbed.decode("utf-8", "surrogatepass")

    def may_hold(self, data: bytes) -> bool:
        """Check whether `data` contains a known secret or a value that messages named."""
        return any(True for _ in self._hits(data))

    def check(self, data: bytes, *, where: str) -> None:
        """Raise an error if bytes contain a known secret; warn if they have too much encoded data to search all of it.

        Args:
            data: the bytes about to be written.
            where: a description of the bytes, for the message.

        Raises:
            SecretLeak: if they contain a secret, or data that is too large when decompressed. The error names the
                secret's kind and form, but does not quote the secret.
        """
        is_exceeded = False
        for piece in _pieces(data):
            budget = DecodingBudget(len(piece))
            found = self.find(piece, budget)
            is_exceeded |= budget.is_exceeded
            if found is not None:
                stand_in, form = found
                is_secret = stand_in.startswith("<")
                value = f"a secret ({stand_in})" if is_secret else f"a value that is replaced by {stand_in!r}"
                raise SecretLeak(
                    f"{where} would contain {value}, {form}; nothing was written.",
                    f"{AFTER_THE_CALL} request an unencoded response, or make the call without a cassette.",
                )
        if is_exceeded:
            warn(
                f"{where} contains too much compressed or encoded data to search all of it for secrets. Its text was "
                "searched, including the parts that were decompressed; inspect it before you share it."
            )

    def is_in(self, data: bytes) -> bool:
        """Check whether bytes contain a known secret, or compressed data that is too large to search for one."""
        try:
            return any(self.find(piece) is not None for piece in _pieces(data))
        except SecretLeak:
            return True

    def find(self, data: bytes, budget: DecodingBudget | None = None) -> tuple[str, str] | None:
        """Return the placeholder and the form of a known secret in `data`, or None.

        Values that messages named are ignored, because messages that were recorded earlier may contain them.

        Args:
            data: bytes of any kind.
            budget: limits how much is decoded; afterwards, its `is_exceeded` is True if not all of the data was
                searched.
        """
        for view, hit in self._hits(data, budget, with_named=False):
            form = "percent-encoded or escaped" if hit.form == "as it is" and view.outer is not None else hit.form
            layers = view.layers()
            if layers:
                form = " ".join(f"in {layer}" for layer in dict.fromkeys(layers))
            return self.placeholder_of(hit.secret) or "<SECRET>", form
        return None

    def _replaceable(self, data: bytes) -> list[Hit]:
        """Return the replaceable hits that need the fewest decoding steps, with their spans in `data`."""
        hits: list[Hit] = []
        depth = None
        for view, hit in self._hits(data):
            if depth is not None and view.depth > depth:
                break
            span = view.origin(hit.start, hit.end)
            if span is not None:
                depth = view.depth
                hits.append(hit._replace(start=span[0], end=span[1]))
        return hits

    def _hits(
        self, data: bytes, budget: DecodingBudget | None = None, *, with_named: bool = True
    ) -> Iterator[tuple[View, Hit]]:
        searchers = [each for each in (_REGISTERED.up_to_date(), self._stand_ins) if each]
        named = self._named if with_named and self._named else None
        if not searchers and named is None:
            return
        deepest, shortest = DEEPEST if searchers else 0, min((each.shortest for each in searchers), default=0)
        for view in views_of(data, budget or DecodingBudget(len(data)), deepest=deepest, shortest=shortest):
            for searcher in searchers:
                for hit in searcher.hits_in(view):
                    yield view, hit
            for hit in named.hits_in(view) if named is not None and not view.depth else ():
                if not _is_other_use(view.data, hit):
                    yield view, hit

    def _replacements(self, data: bytes, hits: Iterable[Hit], *, in_url: bool) -> Iterator[tuple[int, int, bytes]]:
        """Yield the replacements for hits; a JSON number is replaced by a string, so that the JSON stays valid."""
        is_json = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
        in_text, done = False, 0
        for hit in hits:
            placeholder = self.placeholder_of(hit.secret) or "<SECRET>"
            written = (quote(placeholder, safe=":@") if in_url else placeholder).encode(hit.codec)
            start, end = hit.start, hit.end
            if is_json and data[start:end].isdigit():
                quotes = re.compile(_QUOTE).findall(data, done, start)
                in_text, done = in_text ^ (quotes.count(b'"') % 2 == 1), start
                before = re.compile(_NUMBER_BEGINS).search(data, max(0, start - _LONGEST_NUMBER), start)
                after = re.compile(_NUMBER_ENDS).match(data, end)
                if before and after and not in_text:
                    start, end, written = before.start(1), after.end(1), b'"' + written + b'"'
            yield start, end, written

    def __len__(self) -> int:
        return len(self._placeholders)


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield the data in pieces, split between the interactions of a cassette."""
    start = 0
    while len(data) - start > _PIECE and (end := data.find(b"\n- ", start + _PIECE)) >= 0:
        yield data[start:end]
        start = end
    yield data[start:] if start else data


def _merged(data: bytes, hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits in order. If hits overlap, only the one with the longest secret is kept."""
    joined: list[Hit] = []
    for each in sorted(hits, key=lambda hit: (hit.start, hit.end)):
        hit = each
        if joined and hit.start < joined[-1].end:
            before = joined.pop()
            longer = hit if hit.length > before.length else before
            hit = longer._replace(start=before.start, end=max(before.end, hit.end))
        joined.append(hit)
    return [_fitted(data, hit) for hit in joined]


def _fitted(data: bytes, hit: Hit) -> Hit:
    """Return the hit, extended by a UTF-16 null byte or backslash that belongs to its first or last character."""
    start, end = hit.start, hit.end
    if b"\0" in data[start : end + 1]:
        if start % 2 and data[start - 1] == 0:
            return hit._replace(start=start - 1, codec="utf-16-be")
        if data[start + 1 : start + 2] == data[end : end + 1] == b"\0":
            return hit._replace(end=end + 1, codec="utf-16-le")
    run = 0
    while run < start and data[start - run - 1] == _BACKSLASH:
        run += 1
    return hit._replace(start=start - run) if run % 2 else hit  # the last backslash escapes the first character


def _is_other_use(data: bytes, hit: Hit) -> bool:
    """Check whether a weak value that a request used as a credential is a JSON key or a path segment here.

    Such a value may be an ordinary word that occurs in responses with another meaning.
    """
    before = data[hit.start - 1 : hit.start]
    is_key = before in (b'"', b"'") and re.compile(_KEY_END).match(data, hit.end)
    is_segment = before == b"/" and re.compile(_SEGMENT_END).match(data, hit.end)
    return bool(is_key or is_segment) and grade(hit.secret.reveal()) is not Strength.STRONG


def is_secret(secret: Secret) -> bool:
    """Check whether a string can be a secret: it is neither empty nor a placeholder."""
    text = secret.reveal()
    return bool(text) and not is_placeholder(text)


class _RegisteredSecrets(Searcher):
    """A searcher for all registered secrets, shared by the whole process."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._count = 0

    def up_to_date(self) -> Self:
        """Add the secrets that are new in the register, and return this searcher."""
        if self._count != len(REGISTER):
            with self._lock:
                count = self._count
                new = REGISTER.since(count)
                for _, secret in new:
                    if is_secret(secret):
                        self.add(secret)
                self._count = count + len(new)  # set last, so that no other thread searches without the new secrets
        return self


_REGISTERED: Final = _RegisteredSecrets()

# For logs and displays, which must not show any secret of the process.
PROCESS_SECRETS: Final = KnownSecrets()
