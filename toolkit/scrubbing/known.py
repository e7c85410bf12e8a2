"""The secrets known so far, each with the placeholder that stands for it in a recording."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Self
from urllib.parse import quote
from weakref import WeakMethod

from toolkit.core.patterns import compiled
from toolkit.core.register import REGISTER
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.user_code import warn
from toolkit.scrubbing.credential_names import FIELD_NAMES, is_placeholder
from toolkit.scrubbing.encoded_forms import Forms, PlacedForms, PlainForms, replace_across_lines, without_whitespace
from toolkit.scrubbing.prefilter import Prefilter

_FIELD: Final = b"(?i)" + FIELD_NAMES
_MOST_COMPILED: Final = 64
_SHORTEST_LINE: Final = 32  # characters of base64; the last line of a key may be short and give nothing away
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]+-----(.+?)-----END [A-Z ]+-----", re.DOTALL)


class KnownSecrets:
    """The secrets of the process's register, each with the placeholder that stands for it in one recording.

    Whatever the process has come to know is replaced, whoever entered it and whenever. Distinct secrets of one kind
    keep distinct placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`); otherwise one request would be answered with the
    recording of another. A secret that is added here gets its placeholder at once, any other when it is first met.
    The stand-ins of personal data belong to this object alone.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.RLock()
        self._placeholders: dict[Secret, str] = {}
        self._all: list[tuple[Secret, str]] = []
        self._registered = 0  # entries of the register in `_all`, or left out of it
        self._counts: dict[str, int] = {}
        self._stand_ins = Searcher()
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        self.add_all(secrets)

    def add(self, kind: str, secret: Secret) -> None:
        """Add a secret of a kind such as "ACCESS_TOKEN" to the register, and give it its placeholder here."""
        self.add_all([(kind, secret)])

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Add several secrets, each with its kind; listeners are called once. Warn about short secrets."""
        new = [(kind, secret) for kind, secret in secrets if self._name(secret, kind)]
        REGISTER.add_all(new)
        for kind, secret in new:
            if len(secret.reveal()) < SHORTEST_SECRET:
                warn(
                    f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is "
                    "replaced only as the value of a credential's field or header, not wherever its text occurs."
                )

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Add secrets that the user names: one text or several."""
        texts = (secrets,) if isinstance(secrets, str | Secret) else secrets
        self.add_all([("SECRET", Secret(text)) for text in texts])

    def add_stand_ins(self, stand_ins: Iterable[tuple[Secret, str]]) -> None:
        """Add personal data, each with its stand-in instead of a placeholder, for this object alone."""
        count = len(self._all)
        with self._lock:
            for secret, stand_in in stand_ins:
                if is_secret(secret) and secret not in self._placeholders and secret not in REGISTER:
                    self._placeholders[secret] = stand_in
                    self._stand_ins.add(secret)
                    self._all.append((secret, ""))
            if len(self._all) == count:
                return
        for listener in [reference() for reference in self._listeners]:
            if listener is not None:
                listener()

    def _name(self, secret: Secret, kind: str) -> bool:
        """Give a secret a placeholder; return False if it has one already, or is not a secret."""
        if not is_secret(secret):
            return False
        with self._lock:
            if secret in self._placeholders:
                return False
            self._placeholders[secret] = self._next_placeholder(kind)
        return True

    def next_placeholder(self, kind: str) -> str:
        """Return an unused placeholder, for a value that is replaced only where it was found."""
        with self._lock:
            return self._next_placeholder(kind)

    def _next_placeholder(self, kind: str) -> str:
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind}>" if count == 1 else f"<{kind}-{count}>"

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a bound method whenever secrets become known, for as long as its object exists."""
        with self._lock:
            self._listeners = [*(each for each in self._listeners if each() is not None), WeakMethod(listener)]
        REGISTER.subscribe(listener)

    def since(self, count: int) -> list[tuple[Secret, str]]:
        """Return the secrets that became known after the first `count`, each with its kind; "" for personal data."""
        self._take_over()
        return self._all[count:]

    def _take_over(self) -> None:
        """Take over what is new in the register."""
        if len(REGISTER) == self._registered:
            return
        with self._lock:
            new = REGISTER.since(self._registered)
            self._registered += len(new)
            # Personal data that turns out to be secret keeps its stand-in, which earlier interactions have.
            self._all += [(secret, kind) for kind, secret in new if is_secret(secret)]

    def placeholder_of(self, secret: Secret) -> str | None:
        """Return the placeholder or stand-in of a secret, or None if the secret is not known."""
        placeholder = self._placeholders.get(secret)
        if placeholder is None:
            kind = REGISTER.kind_of(secret)
            if kind is not None and self._name(secret, kind):
                placeholder = self._placeholders[secret]
        return placeholder

    def may_hold(self, data: bytes) -> bool:
        """Check quickly whether `data` may hold a known secret; False means that it does not."""
        return any(searcher.may_hold(data) for searcher in self._searchers())

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """Return `data` with a placeholder for every known secret, in any form, even broken into lines.

        Args:
            data: bytes of any kind.
            in_url: True to percent-encode the placeholders, as in a URL.
        """
        if not len(REGISTER) and not self._stand_ins:
            return data
        for entry in self._candidates(data):
            forms = entry.forms()
            if forms.found_in(data) is not None:  # only then does it get a placeholder
                data = forms.replace_in(data, self._written(entry, in_url=in_url))
        for entry in self._candidates(without_whitespace(data), with_placed=False):
            forms = entry.forms()
            spans = list(forms.spans_in(without_whitespace(data))) if isinstance(forms, Forms) else []
            if spans:
                data = replace_across_lines(data, spans, self._written(entry, in_url=in_url))
        return data

    def scrub_text(self, text: str) -> str:
        """Return a text with a placeholder for every known secret, in any form."""
        if not len(REGISTER) and not self._stand_ins:
            return text
        data = text.encode("utf-8", "surrogatepass")
        return self.scrub(data).decode("utf-8", "surrogatepass") if self.may_hold(data) else text

    def find(self, data: bytes) -> tuple[str, str] | None:
        """Return the placeholder and the form of a known secret in `data`, or None if there is none."""
        return self._find(data, with_placed=True)

    def find_across_lines(self, data: bytes) -> tuple[str, str] | None:
        """Search like `find`, and also for secrets that are broken into lines."""
        return self._find(data, with_placed=True) or self._find(without_whitespace(data), with_placed=False)

    def _find(self, data: bytes, *, with_placed: bool) -> tuple[str, str] | None:
        for entry in self._candidates(data, with_placed=with_placed):
            form = entry.forms().found_in(data)
            if form is not None:
                return self.placeholder_of(entry.owner) or "<SECRET>", form
        return None

    def _searchers(self) -> tuple[Searcher, ...]:
        registered = registered_secrets()
        return (registered, self._stand_ins) if self._stand_ins else (registered,)

    def _candidates(self, data: bytes, *, with_placed: bool = True) -> Iterable[Entry]:
        entries = [
            entry for searcher in self._searchers() for entry in searcher.candidates(data, with_placed=with_placed)
        ]
        # A secret that contains another is replaced as a whole.
        return sorted(entries, key=lambda entry: -entry.length) if len(entries) > 1 else entries

    def _written(self, entry: Entry, *, in_url: bool) -> bytes:
        placeholder = self.placeholder_of(entry.owner) or "<SECRET>"
        return (quote(placeholder, safe=":@") if in_url else placeholder).encode()

    def __len__(self) -> int:
        self._take_over()
        return len(self._all)

    def __repr__(self) -> str:
        return f"<KnownSecrets: {len(self)}>"


def is_secret(secret: Secret) -> bool:
    """Check whether a text is a secret, rather than empty or a placeholder."""
    text = secret.reveal()
    return bool(text) and not is_placeholder(text)


class Entry:
    """A text to look for; a PEM key has several."""

    __slots__ = ("_kind", "_text", "by_place", "length", "number", "owner", "searcher")

    def __init__(self, searcher: Searcher, number: int, owner: Secret, text: Secret, kind: type[Forms]) -> None:
        self.searcher, self.number, self.owner, self._text, self._kind = searcher, number, owner, text, kind
        self.length = len(text.reveal())
        # True if the text is too short to be replaced elsewhere than in the field of a credential.
        self.by_place = len(owner.reveal()) < SHORTEST_SECRET

    def forms(self) -> Forms | PlacedForms:
        """Return the forms of the text, which are kept for a while."""
        cache = self.searcher.compiled
        forms = cache.get(self.number)
        if forms is None:
            if len(cache) >= _MOST_COMPILED:
                cache.clear()
            text = self._text.reveal()
            forms = cache[self.number] = PlacedForms(text, FIELD_NAMES) if self.by_place else self._kind(text)
        return forms


class Searcher:
    """Secrets to look for, in every form. Adding is safe while another thread searches."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._placed: list[Entry] = []
        self._prefilter = Prefilter()
        self.compiled: dict[int, Forms | PlacedForms] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, secret: Secret) -> None:
        """Add a secret to look for."""
        for part, kind in ((secret, Forms), *_other_texts(secret.reveal())):
            entry = Entry(self, len(self._entries), secret, part, kind)
            # The entry first, then its number, because another thread may search at any time.
            self._entries.append(entry)
            if entry.by_place:
                self._placed.append(entry)
            else:
                self._prefilter.add(entry.number, kind(part.reveal()))

    def may_hold(self, data: bytes) -> bool:
        """Check quickly whether `data` may hold a secret; False means that it does not."""
        if not self._entries:
            return False
        return bool(self.candidates(data) or self._prefilter.candidates(without_whitespace(data)))

    def candidates(self, data: bytes, *, with_placed: bool = True) -> list[Entry]:
        """Return what may be in `data`, in the order in which it was added."""
        entries = [self._entries[number] for number in sorted(self._prefilter.candidates(data))]
        if with_placed and self._placed and compiled(_FIELD).search(data):
            entries += self._placed
        return entries


class _RegisteredSecrets(Searcher):
    """The secrets of the register."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._count = 0

    def take_over(self) -> Self:
        """Add what is new in the register."""
        if self._count != len(REGISTER):
            with self._lock:
                for _, secret in REGISTER.since(self._count):
                    self._count += 1
                    if is_secret(secret):
                        self.add(secret)
        return self


_REGISTERED: Final = _RegisteredSecrets()


def registered_secrets() -> Searcher:
    """Return a searcher for every secret of the register; the whole process shares it."""
    return _REGISTERED.take_over()


def _other_texts(text: str) -> Iterator[tuple[Secret, type[Forms]]]:
    """Yield the base64 of each PEM as one line, as other formats write it, and each line of a private key."""
    for match in _PEM.finditer(text):
        body = "".join(match[1].split())
        if len(body) < SHORTEST_SECRET:
            continue
        yield Secret(body), Forms
        if "PRIVATE KEY-----" not in match[0]:  # a certificate beside it
            continue
        # In a list or in quotes, the lines are separated by more than white space.
        public = _public_part(match[0])
        for line in match[1].split():
            if len(line) >= _SHORTEST_LINE and line != body and line not in public:
                yield Secret(line), PlainForms


def _public_part(pem: str) -> str:
    """Return the base64 of the public key, which repeats some lines of older private key formats."""
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(
            pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
        ).public_key()
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    except Exception:  # noqa: BLE001 - encrypted, or not a key: all of its lines are secret
        return ""
    return b64encode(der).decode("ascii")


# For logs and displays, which show the secrets of the whole process.
PROCESS_SECRETS: Final = KnownSecrets()
