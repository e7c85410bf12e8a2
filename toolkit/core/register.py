"""The register of secrets: everything secret that this process has come to know, from whatever source.

Credentials add their secrets when they are made, token replies when they arrive, and `secrets=` of a cassette adds
what the user names. Every recorder, log filter, mask and leak check of the process reads the register, so a secret of
one session does not reach the recording of another. What a message names as a credential belongs to its recording.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolkit.core.secret import Secret


class Register:
    """Secrets in the order in which they became known, each with its kind. A secret is never removed.

    It may be shared between threads. A reader remembers how many entries it has seen, and asks for those `since` then.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a finalizer may run inside, and add or read
        self._entries: list[tuple[str, Secret]] = []
        self._kinds: dict[Secret, str] = {}
        self._with_first: Callable[[], None] | None = None  # called with the first secret

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, secret: object) -> bool:
        return secret in self._kinds

    def __repr__(self) -> str:
        return f"<Register: {len(self)} secrets>"

    def add(self, kind: str, secret: Secret) -> None:
        """Add a secret of a kind such as "ACCESS_TOKEN"; an empty secret and one that is known already are ignored."""
        self.add_all([(kind, secret)])

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Add several secrets, each with its kind."""
        with self._lock:
            count = len(self._entries)
            for kind, secret in secrets:
                if secret and secret not in self._kinds:
                    self._kinds[secret] = kind
                    self._entries.append((kind, secret))
        if not count and self._entries and self._with_first is not None:
            self._with_first()

    def since(self, count: int) -> list[tuple[str, Secret]]:
        """Return the kind and secret of each entry after the first `count`."""
        return self._entries[count:]

    def kind_of(self, secret: Secret) -> str | None:
        """Return the kind of a secret, or None if it is not known."""
        return self._kinds.get(secret)

    def with_first(self, call: Callable[[], None]) -> None:
        """Call a function as soon as there is a secret."""
        self._with_first = call
        if self._entries:
            call()


REGISTER: Final = Register()
