"""The secrets of every live session in one place, for whatever shows text: logs, displays, stdout."""

from __future__ import annotations

import threading
import weakref

from toolkit.scrubbing.known import KnownSecrets


class SessionSecrets:
    """The secrets that sessions know, each session's for as long as it lives. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = KnownSecrets()  # tells at once that a text holds none, however many sessions there are
        # Both are replaced as a whole, so that a text is scrubbed without a lock.
        self._known: tuple[weakref.ref[KnownSecrets], ...] = ()
        self._kept: tuple[KnownSecrets, ...] = ()
        self._keepers = 0

    def add(self, known: KnownSecrets) -> None:
        """Know the secrets of one more session, and those that become known to it."""
        with self._lock:
            living = [reference for reference in self._known if reference() is not None]
            known.share_with(self._all)
            if len(living) < len(self._known):  # what ended is forgotten
                everything = KnownSecrets()
                for one in (*self.living(), known):
                    one.share_with(everything)
                self._all = everything
            if all(reference() is not known for reference in living):
                self._known = (*living, weakref.ref(known))
            if self._keepers and all(one is not known for one in self._kept):
                self._kept = (*self._kept, known)

    def hold(self) -> None:
        """From here on remember secrets when their session is gone, as often as this is called, until `let_go`."""
        with self._lock:
            self._keepers += 1
            self._kept = tuple(self.living())

    def release(self) -> None:
        """Undo one `keep`."""
        with self._lock:
            self._keepers = max(0, self._keepers - 1)
            if not self._keepers:
                self._kept = ()

    def living(self) -> list[KnownSecrets]:
        """What each session that lives knows."""
        return [known for known in (reference() for reference in self._known) if known is not None]

    def scrub_text(self, text: str) -> str:
        """The text with a placeholder for every secret in it, in whatever form it is there."""
        data = text.encode("utf-8", "surrogatepass")
        return self.scrub(data).decode("utf-8", "surrogatepass") if self._all.may_hold(data) else text

    def scrub(self, data: bytes) -> bytes:
        """The same for bytes."""
        if self._all.may_hold(data):
            for known in self.living():
                data = known.scrub(data)
        return data


SESSION_SECRETS = SessionSecrets()
