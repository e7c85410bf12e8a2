"""Where tokens may be kept for several processes: what a store has to offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class StoreUnavailableError(Exception):
    """A store cannot be used now; its text says why, and is shown. Never reaches a caller."""


class Lock(Protocol):
    """An entry held by one process."""

    def release(self) -> None:
        """Let go of it; a second time does nothing. May be called from another thread than the one that locked."""
        ...


@runtime_checkable
class TokenStore(Protocol):
    """Keeps sealed tokens for processes that have nothing else in common: on a disk, in a cache server, in a cluster.

    What is kept is opaque and encrypted, and names are random-looking hex text: whoever runs the store learns
    nothing from it. Any error that a method raises is taken as "not available": tokens are then kept in memory.
    Each method is called from threads and event loops alike, so none may take long.
    """

    def read(self, name: str, /) -> bytes | None:
        """The entry of this name, or None when there is none."""
        ...

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry of this name, all of it or nothing."""
        ...

    def try_lock(self, name: str, /) -> Lock | None:
        """Hold the entry of this name; None, at once, when somebody else does. A process that dies lets go."""
        ...
