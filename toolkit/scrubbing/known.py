"""The secrets known so far, each with the placeholder that stands for it in a recording."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote
from weakref import WeakMethod, ref

from toolkit.core.patterns import compiled
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.user_code import warn
from toolkit.scrubbing.credential_names import FIELD_NAMES, is_placeholder
from toolkit.scrubbing.encoded_forms import Forms, PlacedForms, PlainForms, replace_across_lines, without_whitespace
from toolkit.scrubbing.prefilter import Prefilter

_FIELD: Final = b"(?i)" + FIELD_NAMES
_MOST_COMPILED: Final = 64
_SHORTEST_LINE: Final = 32  # characters of base64; the last line of a key may be short and give nothing away
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]+-----(.+?)-----END [A-Z ]+-----", re.DOTALL)


_NewSecret = tuple[Secret, str, str | None]  # with its kind, and a stand-in if it has one


class _Entry(NamedTuple):
    """A text to look for; a PEM key has several.

    Attributes:
        by_place: True if the text is too short to be replaced elsewhere than in the field of a credential.
    """

    secret: Secret
    placeholder: bytes
    length: int
    by_place: bool
    forms: type[Forms] = Forms


class KnownSecrets:
    """The secrets known so far, each with the placeholder that stands for it. It grows and never shrinks.

    Distinct secrets of one kind keep distinct placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`); otherwise one
    request would be answered with the recording of another. Secrets are never forgotten, since they may turn up again.
    A secret takes some 5 kB, and the prefilter keeps searches quick with thousands of secrets.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.Lock()
        self._placeholders: dict[Secret, str] = {}
        self._added: list[_NewSecret] = []
        self._counts: dict[str, int] = {}
        self._entries: list[_Entry] = []
        self._placed: list[int] = []
        self._prefilter = Prefilter()
        self._compiled: dict[int, Forms | PlacedForms] = {}
        self._followers: list[ref[KnownSecrets]] = []
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        for kind, secret in secrets:
            self.add(kind, secret)

    def add(self, kind: str, secret: Secret) -> None:
        """Add a secret of a kind such as "ACCESS_TOKEN"."""
        self.add_all([(kind, secret)])

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Add several secrets, each with its kind; listeners are called once."""
        self._add_new((secret, kind, None) for kind, secret in secrets)

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Add secrets that the user names: one text or several."""
        texts = (secrets,) if isinstance(secrets, str | Secret) else secrets
        self.add_all([("SECRET", Secret(text)) for text in texts])

    def add_stand_ins(self, stand_ins: Iterable[tuple[Secret, str]]) -> None:
        """Add personal data, each with its stand-in instead of a placeholder."""
        self._add_new((secret, "", stand_in) for secret, stand_in in stand_ins)

    def _add_new(self, secrets: Iterable[_NewSecret], *, warns: bool = True) -> None:
        """Add the secrets that are not known yet, tell followers and listeners, and warn about short secrets."""
        new = [secret for secret in secrets if self._add_one(*secret)]
        if not new:
            return
        for follower in [reference() for reference in self._followers]:
            if follower is not None:
                follower._add_new(new, warns=False)  # noqa: SLF001 - of this class
        for listener in [reference() for reference in self._listeners]:
            if listener is not None:
                listener()
        for secret, kind, _ in new if warns else ():
            if len(secret.reveal()) < SHORTEST_SECRET:
                warn(
                    f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is "
                    "replaced only as the value of a credential's field or header, not wherever its text occurs."
                )

    def _add_one(self, secret: Secret, kind: str, stand_in: str | None) -> bool:
        """Add a secret; return False if it was known already, or is a placeholder."""
        text = secret.reveal()
        if not text or is_placeholder(text):
            return False
        with self._lock:
            if secret in self._placeholders:
                return False
            placeholder = stand_in or self._next_placeholder(kind)
            is_short = len(text) < SHORTEST_SECRET
            for part, forms in ((secret, Forms), *_other_texts(text)):
                number = len(self._entries)
                # The entry first, then its number, because another thread may search at any time.
                self._entries.append(_Entry(part, placeholder.encode(), len(part.reveal()), is_short, forms))
                if is_short:
                    self._placed.append(number)
                else:
                    self._prefilter.add(number, forms(part.reveal()))
            self._placeholders[secret] = placeholder
            self._added.append((secret, kind, stand_in))
        return True

    def next_placeholder(self, kind: str) -> str:
        """Return an unused placeholder, for a value that is replaced only where it was found."""
        with self._lock:
            return self._next_placeholder(kind)

    def _next_placeholder(self, kind: str) -> str:
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind}>" if count == 1 else f"<{kind}-{count}>"

    def share_with(self, other: KnownSecrets) -> None:
        """Add these secrets to another object, and later ones too for as long as that object exists."""
        with self._lock:
            if other is self or any(reference() is other for reference in self._followers):
                return
            self._followers = [*(each for each in self._followers if each() is not None), ref(other)]
            added = tuple(self._added)
        other._add_new(added, warns=False)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a bound method whenever secrets become known, for as long as its object exists."""
        with self._lock:
            self._listeners = [*(each for each in self._listeners if each() is not None), WeakMethod(listener)]

    def since(self, count: int) -> list[tuple[Secret, str]]:
        """Return the secrets added after the first `count`, each with its kind; the kind of personal data is ""."""
        return [(secret, kind) for secret, kind, _ in self._added[count:]]

    def placeholder_of(self, secret: Secret) -> str | None:
        """Return the placeholder or stand-in of a secret, or None if the secret is not known."""
        return self._placeholders.get(secret)

    def may_hold(self, data: bytes) -> bool:
        """Check quickly whether `data` may hold a known secret; False means that it does not."""
        if not self._entries:
            return False
        return bool(self._candidates(data) or self._prefilter.candidates(without_whitespace(data)))

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """Return `data` with a placeholder for every known secret, in any form, even broken into lines.

        Args:
            data: bytes of any kind.
            in_url: True to percent-encode the placeholders, as in a URL.
        """
        if not self._entries:
            return data
        for number in self._candidates(data):
            data = self._forms(number).replace_in(data, self._written(number, in_url=in_url))
        for number in self._longest_first(self._prefilter.candidates(without_whitespace(data))):
            forms = self._forms(number)
            if isinstance(forms, Forms):
                spans = list(forms.spans_in(without_whitespace(data)))
                if spans:
                    data = replace_across_lines(data, spans, self._written(number, in_url=in_url))
        return data

    def scrub_text(self, text: str) -> str:
        """Return a text with a placeholder for every known secret, in any form."""
        if not self._entries:
            return text
        return self.scrub(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def find(self, data: bytes) -> tuple[str, str] | None:
        """Return the placeholder and the form of a known secret in `data`, or None if there is none."""
        for number in self._candidates(data):
            form = self._forms(number).found_in(data)
            if form is not None:
                return self._entries[number].placeholder.decode(), form
        return None

    def find_across_lines(self, data: bytes) -> tuple[str, str] | None:
        """Search like `find`, and also for secrets that are broken into lines."""
        hit = self.find(data)
        if hit is not None or not self._entries:
            return hit
        whole = without_whitespace(data)
        for number in self._longest_first(self._prefilter.candidates(whole)):
            form = self._forms(number).found_in(whole)
            if form is not None:
                return self._entries[number].placeholder.decode(), form
        return None

    def _candidates(self, data: bytes) -> Iterable[int]:
        numbers = self._prefilter.candidates(data)
        if self._placed and compiled(_FIELD).search(data):
            numbers.update(self._placed)
        return self._longest_first(numbers)

    def _longest_first(self, numbers: set[int]) -> Iterable[int]:
        # A secret that contains another is replaced as a whole.
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


class SessionSecrets:
    """The secrets of each session for as long as the session lives. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = KnownSecrets()  # one quick check for all sessions
        # Both tuples are replaced as a whole, so that scrubbing needs no lock.
        self._known: tuple[ref[KnownSecrets], ...] = ()
        self._kept: tuple[KnownSecrets, ...] = ()
        self._holders = 0

    def add(self, known: KnownSecrets) -> None:
        """Add the secrets of a session, including those it learns later."""
        with self._lock:
            living = [reference for reference in self._known if reference() is not None]
            known.share_with(self._all)
            if len(living) < len(self._known):  # a session ended, and its secrets are forgotten
                together = KnownSecrets()
                for each in (*self.living(), known):
                    each.share_with(together)
                self._all = together
            if all(reference() is not known for reference in living):
                self._known = (*living, ref(known))
            if self._holders and all(each is not known for each in self._kept):
                self._kept = (*self._kept, known)

    def hold(self) -> None:
        """Keep the secrets of sessions that end, until `release` is called as often as `hold`."""
        with self._lock:
            self._holders += 1
            self._kept = tuple(self.living())

    def release(self) -> None:
        """Undo one `hold`."""
        with self._lock:
            self._holders = max(0, self._holders - 1)
            if not self._holders:
                self._kept = ()

    def living(self) -> list[KnownSecrets]:
        """Return the known secrets of each living session."""
        return [known for known in (reference() for reference in self._known) if known is not None]

    def scrub_text(self, text: str) -> str:
        """Return a text with a placeholder for every secret, in any form."""
        data = text.encode("utf-8", "surrogatepass")
        return self.scrub(data).decode("utf-8", "surrogatepass") if self._all.may_hold(data) else text

    def scrub(self, data: bytes) -> bytes:
        """Return bytes with a placeholder for every secret, in any form."""
        if self._all.may_hold(data):
            for known in self.living():
                data = known.scrub(data)
        return data


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


SESSION_SECRETS: Final = SessionSecrets()
