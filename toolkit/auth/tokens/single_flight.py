"""One token for everyone in this process who shares the credentials: threads, tasks and sessions.

Under a lock it is only decided what to do: take the token in hand, wait for the one that another caller
is fetching, or fetch. The lock is never held across a request, neither a token request nor a caller's own.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.retrying import seconds_until_another_try
from toolkit.auth.tokens.store import TokenStore
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.errors import TokenError, Unreachable
from toolkit.transport.flow import Flight, Flow, Shielded, Wait, WhichLoop

if TYPE_CHECKING:
    from toolkit.auth.tokens.store import SharedPlace


class Fetch(Protocol):
    """Makes a token request.

    Args:
        patiently: whether to try again for as long as is reasonable; not while there is a good token to go on with.
    """

    def __call__(self, *, patiently: bool) -> Flow[Token]: ...


class _Refusal(NamedTuple):
    """Why there is no token, while it is no use to ask again; both instants are monotonic seconds."""

    error: TokenError | Unreachable
    since: float
    until: float


class TokenSlot:
    """One set of credentials' token at one token endpoint, and who is fetching it.

    Args:
        shared: the place of the same token among processes; None to keep it in this one.

    Attributes:
        token: the last token obtained, usable or not; None before the first and after a refusal.
        doubted: a token that came of a renewal after a 401 and was not taken yet.
    """

    def __init__(self, shared: SharedPlace | None = None) -> None:
        self._lock = threading.Lock()
        self._shared = shared
        self.token: Token | None = None
        self._flight: Flight | None = None
        self._rejected: Token | None = None
        self._refusal: _Refusal | None = None
        self.doubted: Token | None = None

    def current(self, clock: Clock) -> Token | None:
        """The token, if it is usable."""
        token = self.token
        return token if token is not None and token.is_usable(clock) else None

    def accept(self, token: Token) -> None:
        """The service took this token: if it is refused later, it is worth renewing."""
        if self.doubted is token:
            self.doubted = None

    def reject(self, token: Token) -> bool:
        """The service answered 401 to this token. Whether another token is worth a try.

        A token that came of such a renewal and was never taken is not renewed again: the reason must
        be another, and the service asks for no new token on each call.
        """
        with self._lock:
            if self.token is not token:
                return True
            if self.doubted is token:
                return False
            self.token, self._rejected = None, token
            return True

    def obtain(self, clock: Clock, fetch: Fetch) -> Flow[Token]:
        """The token: the current one, the one that another caller is fetching, or a new one.

        A fetch of a task goes on when that task is cancelled, for those who wait for it and who come later. One
        that fails in an unforeseen way concerns only the caller who made it; the next one who waited makes the
        next. A refusal that no other try would change is remembered for a
        little while, so that a hundred callers do not make a hundred requests. A token that has not ended yet
        is used when no new one is to be had.

        Raises:
            TokenError, Unreachable: there is no token to be had.
        """
        mine: Flight | None = None
        shielded: Shielded | None = None
        alone = False
        loop = yield WhichLoop()
        try:  # from here on, so that no interrupt can leave behind a flight that never lands
            while mine is None:
                with self._lock:
                    token = self.current(clock)
                    if token is not None:
                        return token
                    refusal = self._remembered(clock)
                    if refusal is not None:
                        return self._spare(refusal, clock)
                    flight = self._flight
                    if flight is None or flight.is_lost:
                        mine = self._flight = Flight(loop)
                    elif alone:
                        mine = Flight(loop)
                if mine is None and flight is not None:
                    alone = not (yield Wait(flight))
            if loop is None:
                return (yield from self._renewed(clock, fetch, alone=alone))
            # Others wait for it, and their time limits are not those of this caller.
            shielded = Shielded(self._landing(mine, clock, fetch, alone=alone))
            return (yield shielded)  # type: ignore[no-any-return]
        finally:
            if mine is not None and not (shielded and shielded.is_under_way):
                self._land(mine)

    def _landing(self, mine: Flight, clock: Clock, fetch: Fetch, *, alone: bool) -> Flow[Token]:
        try:
            return (yield from self._renewed(clock, fetch, alone=alone))
        finally:
            self._land(mine)

    def _land(self, flight: Flight) -> None:
        with self._lock:
            if self._flight is flight:
                self._flight = None
        flight.landed.set_result(True)

    def _renewed(self, clock: Clock, fetch: Fetch, *, alone: bool) -> Flow[Token]:
        token = yield from self._fetched(clock, fetch, alone=alone)
        with self._lock:
            if token is not self.token:
                self.doubted = token if self._rejected is not None else None
                self.token, self._rejected, self._refusal = token, None, None
        return token

    def _fetched(self, clock: Clock, fetch: Fetch, *, alone: bool) -> Flow[Token]:
        failure: TokenError | Unreachable
        request = partial(fetch, patiently=not self._is_good(clock))
        try:
            if self._shared is None:
                return (yield from request())
            return (yield from self._shared.obtain(clock, request, other_than=self._rejected, alone=alone))
        except (TokenError, Unreachable) as error:
            failure = error
        with self._lock:  # before the flight lands and others look
            self._remember(failure, clock)
            return self._spare(failure, clock)

    def _is_good(self, clock: Clock) -> bool:
        return self.token is not None and self.token.is_good(clock)

    def _spare(self, failure: TokenError | Unreachable, clock: Clock) -> Token:
        """The token that a new one was to replace, if it is good for a while yet; else the reason for no new one."""
        if self.token is not None and self.token.is_good(clock):
            return self.token
        if self._rejected is not None and self._rejected.is_good(clock):
            # One 401 may have been a mistake. What came back is for the next call to try.
            self.token, self._rejected = self._rejected, None
        raise failure

    def _remember(self, error: TokenError | Unreachable, clock: Clock) -> None:
        seconds, now = seconds_until_another_try(error, in_need=not self._is_good(clock)), clock.monotonic()
        self._refusal = _Refusal(error, now, now + seconds) if seconds else None

    def _remembered(self, clock: Clock) -> TokenError | Unreachable | None:
        refusal, now = self._refusal, clock.monotonic()
        if refusal is None or now >= refusal.until:
            return None
        error, ago, left = refusal.error, round(now - refusal.since), max(1, round(refusal.until - now))
        return error.reworded(error.what, f"{error.next_step} That was {ago} s ago; it is asked again in {left} s.")


class MemoryTokenStore:
    """Tokens in this process only, gone when it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: dict[str, TokenSlot] = {}

    def slot(self, key: str, shared: SharedPlace | None = None) -> TokenSlot:
        """The place of one set of credentials at one token endpoint; the same object for the same key."""
        with self._lock:
            slot = self._slots.get(key)
            if slot is None:
                slot = self._slots[key] = TokenSlot(shared)
            return slot


SHARED_IN_PROCESS: Final = MemoryTokenStore()
_SLOTS_OF: Final[WeakKeyDictionary[TokenStore, MemoryTokenStore]] = WeakKeyDictionary()


def slot_of(store: MemoryTokenStore | TokenStore, credentials: Credentials, token_url: str) -> TokenSlot:
    """The slot of these credentials at this endpoint.

    With a store that processes share, sessions of this process still share a slot, and the slot looks into
    the store. Credentials whose key is kept elsewhere have nothing to derive a key of ours from: their tokens
    stay in memory.
    """
    key = f"{credentials.fingerprint()} {token_url}"
    if isinstance(store, MemoryTokenStore):
        return store.slot(key)
    identity = credentials.token_identity()
    shared = None if identity is None else _shared_place(store, identity, token_url)
    try:
        return _SLOTS_OF.setdefault(store, MemoryTokenStore()).slot(key, shared)
    except TypeError:  # of a kind that cannot be a key, so each session has slots of its own
        return TokenSlot(shared)


def _shared_place(store: TokenStore, identity: bytes, token_url: str) -> SharedPlace:
    # Loaded here, since few sessions share their tokens.
    from toolkit.auth.tokens.sealing import Seal
    from toolkit.auth.tokens.store import SharedPlace

    return SharedPlace(store, Seal.of(identity, token_url))
