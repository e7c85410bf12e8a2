"""The secrets known so far, each with the placeholder that stands for it in a recording."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final, Self
from urllib.parse import quote
from weakref import WeakMethod

from toolkit.core.arguments import as_secrets
from toolkit.core.register import REGISTER
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.user_code import warn
from toolkit.scrubbing.spellings import Searcher
from toolkit.scrubbing.splicing import spans_of, spliced
from toolkit.scrubbing.vocabulary import is_placeholder

_ROUNDS: Final = 4  # replacing a secret may bring another one together

_IN_FEWER_CODES: Final = frozenset({"CLIENT_ASSERTION"})  # a new one for each token request


class KnownSecrets:
    """The secrets of the process's register, each with the placeholder that stands for it in one recording.

    Every secret that the process knows is replaced, whoever added it and whenever. Distinct secrets of one kind keep
    distinct placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`); otherwise one request would be answered with the
    recording of another. A secret that is added here gets its placeholder at once, any other when it is first met. The
    stand-ins of personal data belong to this object alone.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.RLock()
        self._placeholders: dict[Secret, str] = {}
        self._in_place: dict[Secret, str] = {}
        self._all: list[tuple[Secret, str]] = []
        self._registered = 0  # entries of the register in `_all`, or left out of it
        self._counts: dict[str, int] = {}
        self._stand_ins = Searcher()
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        self.add_all(secrets)

    def add(self, kind: str, secret: Secret) -> None:
        """Add a secret of a kind such as "ACCESS_TOKEN" to the register, and give it its placeholder here."""
        self.add_all([(kind, secret)])

    def add_all(self, secrets: Iterable[tuple[str, Secret]], *, from_messages: bool = False) -> None:
        """Add several secrets, each with its kind; listeners are called once. Warn about short secrets.

        Args:
            secrets: kind and secret of each.
            from_messages: True for values in messages, as in `Register.add_all`.
        """
        secrets = [(kind, secret) for kind, secret in secrets if is_secret(secret)]
        new = [(kind, secret) for kind, secret in secrets if self._name(secret, kind)]
        REGISTER.add_all(secrets, from_messages=from_messages)  # all, as another thread may have named one only
        for kind, secret in new:
            if len(secret.reveal()) < SHORTEST_SECRET:
                warn(
                    f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is "
                    "replaced only as the value of a credential's field or header, not wherever its text occurs."
                )

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Add secrets that the user names: one text or several."""
        self.add_all([("SECRET", secret) for secret in as_secrets(secrets, about="secrets")])

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
            self._placeholders[secret] = self._in_place.get(secret) or self._next_placeholder(kind)
        return True

    def placeholder_in_place(self, kind: str, value: Secret) -> str:
        """Return the placeholder of a value that is replaced only where it stands, until it is known as a secret."""
        placeholder = self.placeholder_of(value)
        if placeholder is None:
            with self._lock:
                placeholder = self._placeholders.get(value) or self._in_place.get(value)
                if placeholder is None:
                    placeholder = self._in_place[value] = self._next_placeholder(kind)
        return placeholder

    def replaced(self) -> list[tuple[Secret, str]]:
        """Return each secret that was met so far, with its placeholder or stand-in."""
        with self._lock:
            return [*self._placeholders.items(), *self._in_place.items()]

    def _next_placeholder(self, kind: str) -> str:
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind}>" if count == 1 else f"<{kind}-{count}>"

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call a bound method whenever secrets become known, for as long as its object exists."""
        with self._lock:
            self._listeners = [*(each for each in self._listeners if each() is not None), WeakMethod(listener)]
        REGISTER.subscribe(listener)

    def since(self, count: int) -> list[tuple[Secret, str]]:
        """Return the secrets after the first `count`, each with its kind, which is "" for personal data."""
        self._take_over()
        return self._all[count:]

    def _take_over(self) -> None:
        """Take over what is new in the register."""
        if len(REGISTER) == self._registered:
            return
        with self._lock:
            count = self._registered
            new = REGISTER.since(count)
            # Personal data that turns out to be secret keeps its stand-in, which earlier interactions have.
            self._all += [(secret, kind) for kind, secret in new if is_secret(secret)]
            self._registered = count + len(new)  # last, because others do not wait for the lock once it is right

    def placeholder_of(self, secret: Secret) -> str | None:
        """Return the placeholder or stand-in of a secret, or None if the secret is not known."""
        placeholder = self._placeholders.get(secret)
        if placeholder is None:
            kind = REGISTER.kind_of(secret)
            if kind is not None:
                self._name(secret, kind)  # or another thread has done it
                placeholder = self._placeholders.get(secret)
        return placeholder

    def may_hold(self, data: bytes) -> bool:
        """Check quickly whether `data` may hold a known secret; False means that it does not."""
        return any(searcher.may_hold(data) for searcher in self._searchers())

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """Return `data` with a placeholder for every known secret, in every spelling that can be rewritten.

        Args:
            data: bytes of any kind.
            in_url: True to percent-encode the placeholders, as in a URL.
        """
        for _ in range(_ROUNDS):
            spans = spans_of(data, (hit for searcher in self._searchers() for hit in searcher.spellings_in(data)))
            if not spans:
                break
            data = spliced(
                data, ((span, self._written(span.secret, in_url=in_url, codec=span.codec)) for span in spans)
            )
        return data

    def scrub_text(self, text: str) -> str:
        """Return a text with a placeholder for every known secret."""
        if not any(map(bool, self._searchers())):
            return text
        data = text.encode("utf-8", "surrogatepass")
        scrubbed = self.scrub(data)
        return text if scrubbed is data else scrubbed.decode("utf-8", "surrogatepass")

    def find(self, data: bytes) -> tuple[str, str] | None:
        """Return the placeholder and the form of a known secret in `data`, or None."""
        for searcher in self._searchers():
            for hit in searcher.spellings_in(data):
                return self.placeholder_of(hit.secret) or "<SECRET>", hit.form
        return None

    def _searchers(self) -> tuple[Searcher, ...]:
        registered = _REGISTERED.up_to_date()
        return (registered, self._stand_ins) if self._stand_ins else (registered,)

    def _written(self, secret: Secret, *, in_url: bool, codec: str) -> bytes:
        placeholder = self.placeholder_of(secret) or "<SECRET>"
        return (quote(placeholder, safe=":@") if in_url else placeholder).encode(codec)

    def __len__(self) -> int:
        self._take_over()
        return len(self._all)

    def __repr__(self) -> str:
        return f"<KnownSecrets: {len(self)}>"


def any_in(data: bytes, secrets: Iterable[Secret]) -> bool:
    """Check quickly whether `data` may hold one of these secrets; False means that it does not."""
    searcher = Searcher()
    for secret in secrets:
        if is_secret(secret):
            searcher.add(secret)
    return searcher.may_hold(data)


def is_secret(secret: Secret) -> bool:
    """Check whether a text is a secret, neither empty nor a placeholder."""
    text = secret.reveal()
    return bool(text) and not is_placeholder(text)


class _RegisteredSecrets(Searcher):
    """A searcher for every secret of the register; the whole process shares it."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._count = 0

    def up_to_date(self) -> Self:
        """Add what is new in the register."""
        if self._count != len(REGISTER):
            with self._lock:
                count = self._count
                new = REGISTER.since(count)
                for kind, secret in new:
                    if is_secret(secret):
                        self.add(secret, fewer=kind in _IN_FEWER_CODES or REGISTER.is_from_message(secret))
                self._count = count + len(new)  # last, so that no other thread searches without the new ones
        return self


_REGISTERED: Final = _RegisteredSecrets()

# For logs and displays, which show the secrets of the whole process.
PROCESS_SECRETS: Final = KnownSecrets()
