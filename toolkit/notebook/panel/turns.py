"""Turns: a kernel may handle the messages of a page in several threads, but a panel does one thing at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Turns:
    """What the threads of a kernel do with one panel, one after the other. A thread may take a turn within its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def waiting(self, act: Callable[[], None]) -> Callable[[], None]:
        """Return a function that waits for its turn, and then acts."""

        def in_turn() -> None:
            with self._lock:
                act()

        return in_turn

    def if_free(self, *acts: Callable[[], None]) -> None:
        """Act now, or not at all while another thread has its turn: that may last as long as a slow service."""
        if self._lock.acquire(blocking=False):
            try:
                for act in acts:
                    act()
            finally:
                self._lock.release()
