"""One token for several processes: look into the store, and let one of them ask."""
# MERGE: Where tokens may be kept for several processes: what a store has to offer.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, runtime_checkable

from toolkit.auth.tokens.sealing import Seal, token_from_bytes, token_to_bytes
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.warn import warn
from toolkit.transport.flow import Flow, Pause


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


_LOOK_AGAIN: Final = 0.02  # seconds
_PATIENCE: Final = 60.0  # seconds; a token request with its retries takes less, so whoever holds it then is stuck


class SharedPlace:
    """The place of one token in a store that processes share.

    What is kept there is sealed with a key derived from the credentials and the token endpoint's URL, so
    that whoever lacks the credentials can neither find nor read it.

    Args:
        store: keeps sealed tokens.
        seal: of the credentials and the endpoint.
    """

    def __init__(self, store: TokenStore, seal: Seal) -> None:
        self._store = store
        self._seal = seal
        self._is_available = True
        self._has_warned = False

    def obtain(
        self, clock: Clock, fetch: Callable[[], Flow[Token]], *, other_than: Token | None = None, alone: bool = False
    ) -> Flow[Token]:
        """The token in the store, or a new one; one process asks while the others look again.

        Args:
            clock: by which a token is usable.
            fetch: makes the token request.
            other_than: a token that the service refused, which is no use even if the store still has it.
            alone: ask without waiting for anybody; the one to wait for may be on this very thread.
        """
        lock = None
        self._is_available = True
        until = clock.monotonic() + _PATIENCE
        try:
            while True:
                token = self._kept(clock, other_than)
                if token is not None:
                    return token
                if lock is not None or alone or not self._is_available or clock.monotonic() >= until:
                    break
                lock = self._attempt(lambda: self._store.try_lock(self._seal.name))
                # Whoever has just got hold of it looks once more: another may have been quicker.
                if lock is None and self._is_available:
                    yield Pause(_LOOK_AGAIN, clock)
            token = yield from fetch()
            sealed = self._seal.seal(token_to_bytes(token))
            self._attempt(lambda: self._store.write(self._seal.name, sealed))
            return token
        finally:
            if lock is not None:
                self._attempt(lock.release)

    def _kept(self, clock: Clock, other_than: Token | None) -> Token | None:
        sealed = self._attempt(lambda: self._store.read(self._seal.name)) if self._is_available else None
        opened = self._seal.open(sealed) if isinstance(sealed, bytes) else None
        token = None if opened is None else token_from_bytes(opened, clock=clock)
        if token is None or not token.is_usable(clock):
            return None
        return None if other_than is not None and token.access_token == other_than.access_token else token

    def _attempt(self, call: Callable[[], Any]) -> Any:
        """What the store returns; None from one that fails, which is then left alone until the next token."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - a store may be anybody's
            self._is_available = False
            if not self._has_warned:
                self._has_warned = True
                # Another's error may quote anything, an address with a password in it, say.
                reason = str(error) if isinstance(error, StoreUnavailableError) else type(error).__name__
                warn(f"The shared token store is not available: {reason}. This process keeps its tokens in memory.")
            return None
