"""The secrets of all live sessions in one place, for everything that shows text: logs, displays, stdout."""

from __future__ import annotations

import threading
import weakref

from toolkit.scrubbing.known import KnownSecrets


class SessionSecrets:
    """The secrets of each session for as long as the session lives. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = KnownSecrets()  # one quick check for all sessions
        # Both tuples are replaced as a whole, so that scrubbing needs no lock.
        self._known: tuple[weakref.ref[KnownSecrets], ...] = ()
        self._held: tuple[KnownSecrets, ...] = ()
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
                self._known = (*living, weakref.ref(known))
            if self._holders and all(each is not known for each in self._held):
                self._held = (*self._held, known)

    def hold(self) -> None:
        """Keep secrets when their session ends, until `release` was called as often as `hold`."""
        with self._lock:
            self._holders += 1
            self._held = tuple(self.living())

    def release(self) -> None:
        """Undo one `hold`."""
        with self._lock:
            self._holders = max(0, self._holders - 1)
            if not self._holders:
                self._held = ()

    def living(self) -> list[KnownSecrets]:
        """Return what each living session knows."""
        return [known for known in (reference() for reference in self._known) if known is not None]

    def scrub_text(self, text: str) -> str:
        """Return a text with a placeholder for every secret, in whatever form."""
        data = text.encode("utf-8", "surrogatepass")
        return self.scrub(data).decode("utf-8", "surrogatepass") if self._all.may_hold(data) else text

    def scrub(self, data: bytes) -> bytes:
        """Return bytes with a placeholder for every secret, in whatever form."""
        if self._all.may_hold(data):
            for known in self.living():
                data = known.scrub(data)
        return data


SESSION_SECRETS = SessionSecrets()
