"""One token for several processes: look into the store, and let one of them ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from toolkit.clock import Clock
from toolkit.flow import Flow, Pause
from toolkit.tokens.sealing import Seal, token_from_bytes, token_to_bytes
from toolkit.tokens.store import StoreUnavailableError
from toolkit.tokens.token import Token
from toolkit.warning import warn

if TYPE_CHECKING:
    from toolkit.tokens.store import TokenStore

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
