"""Share one token among processes: the store and its entries, and how processes take turns to request a token.

An entry is JSON, sealed with a key derived from the credentials. Only a holder of the same credentials can find and
read it. `FileTokenStore` keeps entries in the user's cache folder; a cache server can be another store.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from toolkit.auth.sealing import Seal
from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token, is_bearer_token
from toolkit.core.addresses import Address
from toolkit.core.ledger import Clock, instant_text, parse_instant
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import warn
from toolkit.local.files import private_folder, read_private, refuse_link, shown, write_atomically
from toolkit.local.folders import cache_folder
from toolkit.local.locks import FileLock, try_lock
from toolkit.transport.flow import Flow, Pause

LARGEST_ENTRY: Final = 1 << 16  # bytes, sealed
_EARLIEST_ISSUE: Final = timedelta(seconds=5)  # ahead of our clock, which may have been set back a little
_LOOK_AGAIN: Final = 0.02  # seconds
# Seconds. A token request with its retries usually takes less; it takes longer if the reply comes in drips. Then this
# process requests a token of its own, as it does if the holder is stuck.
_PATIENCE: Final = 60.0


@runtime_checkable
class TokenStore(Protocol):
    """Keeps sealed tokens for processes that share nothing else: on a disk, in a cache server, in a cluster.

    Names of entries look random. If a method raises, the store counts as unavailable and tokens are kept in memory.
    Threads and event loops call the methods, so none may take long.
    """

    def read(self, name: str, /) -> bytes | None:
        """Return the entry of this name, or None if it does not exist."""
        ...

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry of this name, whole or not at all."""
        ...

    def try_lock(self, name: str, /) -> Any | None:
        """Lock the entry of this name, or return None at once if it is locked. The lock of a dead process is free.

        The lock has a method `release`, which any thread may call.
        """
        ...


class SharedToken:
    """The token in a store for one set of credentials and one token endpoint, which determine the seal."""

    def __init__(self, store: TokenStore, identity: bytes, token_url: str) -> None:
        self._store = store
        self._seal = Seal(identity, f"token\x00{Address.parse(token_url, setting='The token endpoint')}")
        self._is_available = True
        self._has_warned = False

    def obtain(
        self, clock: Clock, fetch: Callable[[], Flow[Token]], *, other_than: Token | None = None, alone: bool = False
    ) -> Flow[Token]:
        """Return the token in the store, or a new one. One process requests it while the others wait for the entry."""
        lock = None
        self._is_available = True
        give_up_at = clock.monotonic() + _PATIENCE
        try:
            while True:
                token = self._stored(clock, other_than)
                if token is not None:
                    return token
                if lock is not None or alone or not self._is_available or clock.monotonic() >= give_up_at:
                    break
                lock = self._attempt(lambda: self._store.try_lock(self._seal.name))
                # With the lock in hand, look once more: another process may have been quicker.
                if lock is None and self._is_available:
                    yield Pause(_LOOK_AGAIN, clock)
            token = yield from fetch()
            fields = {
                "access_token": token.access_token.reveal(),
                "issued_at": instant_text(token.issued_at),
                "expires_at": instant_text(token.expires_at),
            }
            entry = self._seal.seal(json.dumps(fields).encode("ascii"))
            self._attempt(lambda: self._store.write(self._seal.name, entry))
            return token
        finally:
            if lock is not None:
                self._attempt(lock.release)

    def _stored(self, clock: Clock, other_than: Token | None) -> Token | None:
        entry = self._attempt(lambda: self._store.read(self._seal.name)) if self._is_available else None
        token = open_token(entry, self._seal, clock=clock) if isinstance(entry, bytes) else None
        if token is None or not token.is_usable(clock):
            return None
        return None if other_than is not None and token.access_token == other_than.access_token else token

    def _attempt(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call to the store. After a failure, return None and do not call it for this token."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the store may be anybody's
            self._is_available = False
            if not self._has_warned:
                self._has_warned = True
                # The error of somebody else's store may quote anything, such as an address with a password in it.
                reason = type(error).__name__
                if isinstance(error, OSError) and isinstance(self._store, FileTokenStore):
                    reason = f"{self._store!r}: {error.strerror}"
                warn(f"The shared token store is not available: {reason}. This process keeps its tokens in memory.")
            return None


def open_token(entry: bytes, seal: Seal, *, clock: Clock) -> Token | None:
    """Return the token of an entry, or None if it was made with another seal, or its token has expired.

    The token is entered in the register of secrets. Its remaining lifetime, which the wall clock tells, is measured on
    the monotonic clock from then on. A token that lasts longer than a day, or was issued more than 5 s from now, also
    counts as missing: one of the two clocks must be wrong, so the time of expiry cannot be trusted.
    """
    data = seal.open(entry) if len(entry) <= LARGEST_ENTRY else None
    if data is None:
        return None
    try:
        fields = json.loads(data)
        text = fields["access_token"]
        issued_at, expires_at = parse_instant(fields["issued_at"]), parse_instant(fields["expires_at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not is_bearer_token(text):
        return None
    access_token = Secret(text)
    REGISTER.add("ACCESS_TOKEN", access_token)
    now, lifetime = clock.now(), expires_at - issued_at
    if issued_at - now > _EARLIEST_ISSUE or not now < expires_at or not timedelta(0) < lifetime <= LONGEST_LIFETIME:
        return None
    left = min(expires_at - now, lifetime)
    return Token(access_token, issued_at, expires_at, expires_monotonic=clock.monotonic() + left.total_seconds())


class FileTokenStore:
    """Keeps entries as files in a folder that only their user may enter.

    Nothing is read or written through a link. An entry must be a plain file that belongs to this user and has at most
    LARGEST_ENTRY bytes; anything else in its place counts as missing, and the next entry replaces it. Methods raise
    OSError if the folder is a link or belongs to another user, or the disk fails or does not have locks.

    Args:
        folder: the folder of the entries, made when it is first needed; by default in the user's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        # The permissions of another folder's parent are the user's own decision.
        self._folders = [cache_folder(), cache_folder() / "tokens"] if folder is None else [folder]
        self.folder = self._folders[-1]

    def __repr__(self) -> str:
        return f"<FileTokenStore {shown(self.folder)}>"

    def read(self, name: str, /) -> bytes | None:
        """Return the entry of a name, or None if it does not exist."""
        for folder in self._folders:
            refuse_link(folder)
        return read_private(self.folder / f"{name}.token", LARGEST_ENTRY)

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry of a name, whole or not at all."""
        self._make_folder()
        write_atomically(self.folder / f"{name}.token", data, private=True)

    def try_lock(self, name: str, /) -> FileLock | None:
        """Lock the entry of a name, or return None if another process or thread holds the lock."""
        self._make_folder()
        return try_lock(self.folder / f"{name}.lock")

    def _make_folder(self) -> None:
        for folder in self._folders:
            private_folder(folder)
