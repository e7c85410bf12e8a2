"""The secrets known so far, each with what stands for it in a recording."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote
from weakref import WeakMethod, ref

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.warn import warn
from toolkit.scrubbing.credential_names import FIELD_NAMES, is_placeholder
from toolkit.scrubbing.encoded_forms import Forms, PlacedForms, PlainForms, joined, replaced_across_lines
from toolkit.scrubbing.prefilter import Sieve

_FIELD: Final = re.compile(FIELD_NAMES, re.IGNORECASE)
_MOST_COMPILED: Final = 64
_SHORTEST_LINE: Final = 32  # characters of base64; the last line of a key may be short, and say little
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]+-----(.+?)-----END [A-Z ]+-----", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    secret: Secret
    placeholder: bytes
    length: int
    by_place: bool
    forms: type[Forms] = Forms


class KnownSecrets:
    """The secrets known so far, each with the placeholder that stands for it. Grows, never shrinks.

    Distinct secrets of one kind keep distinct placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`), or
    one request would be answered by another's recording. None is ever forgotten, since any may come up
    again; each takes some 5 kB, and a search costs the same whether a few are known or thousands.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.Lock()
        self._placeholders: dict[Secret, str] = {}
        self._told: list[tuple[Secret, str, str | None]] = []
        self._counts: dict[str, int] = {}
        self._entries: list[_Entry] = []
        self._placed: list[int] = []
        self._sieve = Sieve()
        self._compiled: dict[int, Forms | PlacedForms] = {}
        self._followers: list[ref[KnownSecrets]] = []
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        for kind, secret in secrets:
            self.add(kind, secret)

    def add(self, kind: str, secret: Secret) -> None:
        """Know one more secret, of a kind such as "ACCESS_TOKEN"."""
        self.add_all([(kind, secret)])

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Know several more, each with its kind; listeners are called once."""
        self._learn([(secret, kind, None) for kind, secret in secrets])

    def add_stand_ins(self, stand_ins: Iterable[tuple[Secret, str]]) -> None:
        """Know texts that something else than a placeholder stands for."""
        self._learn([(secret, "", stand_in) for secret, stand_in in stand_ins])

    def _learn(self, given: Iterable[tuple[Secret, str, str | None]]) -> None:
        for secret, kind, _ in self._take_in(given):
            if len(secret.reveal()) < SHORTEST_SECRET:
                warn(
                    f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is "
                    "replaced only where credentials stand, not wherever its text occurs."
                )

    def _take_in(self, given: Iterable[tuple[Secret, str, str | None]]) -> list[tuple[Secret, str, str | None]]:
        """Those that were not known before; by now followers know them too, and listeners were called."""
        new = [one for one in given if self._enter(*one)]
        if new:
            for follower in [one() for one in self._followers]:
                if follower is not None:
                    follower._take_in(new)  # noqa: SLF001 - of this class
            for listener in [one() for one in self._listeners]:
                if listener is not None:
                    listener()
        return new

    def _enter(self, secret: Secret, kind: str, stand_in: str | None) -> bool:
        """Whether it was not known before."""
        text = secret.reveal()
        if not text or is_placeholder(text):
            return False
        with self._lock:
            if secret in self._placeholders:
                return False
            placeholder = stand_in or self._next(kind)
            is_short = len(text) < SHORTEST_SECRET
            for one, forms in ((secret, Forms), *_other_texts(text)):
                number = len(self._entries)
                # Before another thread can find its number.
                self._entries.append(_Entry(one, placeholder.encode(), len(one.reveal()), is_short, forms))
                if is_short:
                    self._placed.append(number)
                else:
                    self._sieve.add(number, forms(one.reveal()))
            self._placeholders[secret] = placeholder
            self._told.append((secret, kind, stand_in))
        return True

    def next_placeholder(self, kind: str) -> str:
        """A placeholder that stands for nothing yet: for what is replaced by its place only."""
        with self._lock:
            return self._next(kind)

    def _next(self, kind: str) -> str:
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind}>" if count == 1 else f"<{kind}-{count}>"

    def share_with(self, other: KnownSecrets) -> None:
        """Have another know these secrets too, and as long as it is there those that become known from here on."""
        with self._lock:
            if other is self or any(one() is other for one in self._followers):
                return
            self._followers = [*(one for one in self._followers if one() is not None), ref(other)]
            known = tuple(self._told)
        other._take_in(known)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a method whenever more secrets are known, as long as the object that it belongs to is there."""
        with self._lock:
            self._listeners = [*(one for one in self._listeners if one() is not None), WeakMethod(listener)]

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Know what a caller names besides credentials: one text or several."""
        given = (secrets,) if isinstance(secrets, str | Secret) else secrets
        self.add_all([("SECRET", Secret(secret)) for secret in given])

    def since(self, count: int) -> list[tuple[Secret, str]]:
        """Return the secrets that became known after the first `count`, with their kinds; "" for personal data."""
        return [(secret, kind) for secret, kind, _ in self._told[count:]]

    def placeholder_of(self, secret: Secret) -> str | None:
        """What stands for a secret, or None when it is not known."""
        return self._placeholders.get(secret)

    def may_hold(self, data: bytes) -> bool:
        """Whether a known secret may be in `data`: never False when one is. Cheap."""
        if not self._entries:
            return False
        return bool(self._candidates(data) or self._sieve.candidates(joined(data)))

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """`data` with a placeholder for every known secret, in whatever form it is there, also broken into lines.

        Args:
            data: anything.
            in_url: whether placeholders are written as they stand in a URL.
        """
        if not self._entries:
            return data
        for number in self._candidates(data):
            data = self._forms(number).replaced_in(data, self._written(number, in_url=in_url))
        for number in self._longest_first(self._sieve.candidates(joined(data))):
            forms = self._forms(number)
            if isinstance(forms, Forms):
                spans = list(forms.spans_in(joined(data)))
                if spans:
                    data = replaced_across_lines(data, spans, self._written(number, in_url=in_url))
        return data

    def scrub_text(self, text: str) -> str:
        """The same for text."""
        if not self._entries:
            return text
        return self.scrub(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def find(self, data: bytes) -> tuple[str, str] | None:
        """Placeholder and form of a known secret that is in `data`, or None."""
        for number in self._candidates(data):
            form = self._forms(number).found_in(data)
            if form is not None:
                return self._entries[number].placeholder.decode(), form
        return None

    def find_across_lines(self, data: bytes) -> tuple[str, str] | None:
        """The same, also for what is broken into lines."""
        hit = self.find(data)
        if hit is not None or not self._entries:
            return hit
        whole = joined(data)
        for number in self._longest_first(self._sieve.candidates(whole)):
            form = self._forms(number).found_in(whole)
            if form is not None:
                return self._entries[number].placeholder.decode(), form
        return None

    def _candidates(self, data: bytes) -> Iterable[int]:
        found = self._sieve.candidates(data)
        if self._placed and _FIELD.search(data):
            found.update(self._placed)
        return self._longest_first(found)

    def _longest_first(self, numbers: set[int]) -> Iterable[int]:
        # So that a secret that contains another is replaced whole.
        entries = self._entries
        return sorted(numbers, key=lambda number: (-entries[number].length, number)) if len(numbers) > 1 else numbers

    def _written(self, number: int, *, in_url: bool) -> bytes:
        placeholder = self._entries[number].placeholder
        return quote(placeholder, safe=":@").encode() if in_url else placeholder

    def _forms(self, number: int) -> Forms | PlacedForms:
        forms = self._compiled.get(number)
        if forms is None:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled = {}
            entry = self._entries[number]
            text = entry.secret.reveal()
            forms = PlacedForms(text, FIELD_NAMES) if entry.by_place else entry.forms(text)
            self._compiled[number] = forms
        return forms

    def __len__(self) -> int:
        return len(self._placeholders)

    def __repr__(self) -> str:
        return f"<KnownSecrets: {len(self)}>"


def _other_texts(text: str) -> Iterator[tuple[Secret, type[Forms]]]:
    """The base64 of a PEM in one line, as other formats carry it: its line breaks are no part of the secret."""
    for match in _PEM.finditer(text):
        body = "".join(match[1].split())
        if len(body) < SHORTEST_SECRET:
            continue
        yield Secret(body), Forms
        if "PRIVATE KEY-----" not in match[0]:  # a certificate beside it
            continue
        # Its lines, too: in a list, or in quotes, something else than white space stands between them.
        public = _public_part(match[0])
        for line in match[1].split():
            if len(line) >= _SHORTEST_LINE and line != body and line not in public:
                yield Secret(line), PlainForms


def _public_part(pem: str) -> str:
    """The base64 of the public key: lines of a private key in the older formats are in there letter by letter."""
    from cryptography.hazmat.primitives import serialization  # keeps it out of `import toolkit`

    try:
        key = serialization.load_pem_private_key(
            pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
        ).public_key()
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    except Exception:  # noqa: BLE001 - encrypted, or no key at all: all of its lines count
        return ""
    return b64encode(der).decode("ascii")
