"""One token for all threads, tasks and sessions in this process that share credentials.

A lock is held only to decide whether to use the current token, to wait for the caller that is fetching a new one, or to
fetch one. It is never held during a request.

A token request is retried after failures that may be temporary: 429, 5xx, `temporarily_unavailable` and broken
connections. The service document states no rate limits; the retry limits are our choice (`transport.retry`).
"""

from __future__ import annotations

import math
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import FileTokenStore, SharedToken, Token, TokenStore
from toolkit.core.errors import ConfigurationError, TokenError, TokenRefused, Unreachable
from toolkit.core.ledger import Clock
from toolkit.transport.flow import Flow, Pause, Shielded, Wait, WhichLoop
from toolkit.transport.network import Places
from toolkit.transport.retry import Retry

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

# Errors that the same request would get again until somebody fixes the cause (RFC 6749 section 5.2).
_LASTING: Final = frozenset(
    {"invalid_client", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type"}
)
_LASTING_IS_REMEMBERED: Final = 30.0  # seconds
_PASSING_IS_REMEMBERED: Final = 1.0  # seconds; for callers who waited for the request that failed
_LONGEST_REMEMBERED: Final = 60.0  # seconds; upper limit for Retry-After
_LONGEST_SILENCE: Final = 1.0  # seconds without a response after which an event loop is considered stuck
# Sends a token request; `patiently=True` allows more retries, and is used when no usable token is left.
Fetch = Callable[..., Flow[Token]]
_SOURCES: Final[WeakSet[TokenSource]] = WeakSet()


@dataclass(slots=True)
class Flight:
    """A fetch in progress that other callers wait for.

    It has landed when the fetch has ended, successfully or not. It does not contain the result: waiters check the token
    source again, because the result may be stale by then.
    """

    loop: AbstractEventLoop | None = None  # the loop that is fetching, or None for synchronous code
    landed: Future[None] = field(default_factory=Future)
    # After the landing, waiting tasks of this loop pass on this place, so that they resume one by one.
    turns: Places = field(default_factory=lambda: Places(0))
    thread: int = field(default_factory=get_ident)

    def land(self) -> None:
        self.landed.set_result(None)
        self.turns.leave()

    @property
    def is_lost(self) -> bool:
        """True if the fetch can never complete, because its event loop is closed."""
        return self.loop is not None and self.loop.is_closed()

    def wait(self, loop: AbstractEventLoop | None) -> Flow[bool]:
        """Wait until the flight has landed; return False if it cannot land.

        The event loop that runs the fetch is asked repeatedly whether it is alive. It does not respond while it is
        stopped, closed or blocked, for example by a call that waits for a thread that in turn waits for this flight.
        """
        if loop is None and self.thread == get_ident():
            return False  # an event loop of this thread is fetching, and cannot continue while the thread is blocked
        if loop is not None and loop is self.loop:
            yield from self.turns.enter(None)
            self.turns.leave()
            return True
        while True:
            is_alive = self._sign_of_life()
            if (yield Wait(self.landed, None if self.loop is None else _LONGEST_SILENCE)):
                return True
            if not is_alive():
                return False

    def _sign_of_life(self) -> Callable[[], bool]:
        """Ask the event loop that runs the fetch to respond; return a function that returns True once it has."""
        responded = threading.Event()
        if self.loop is not None:
            try:
                self.loop.call_soon_threadsafe(responded.set)
            except RuntimeError:  # the loop is closed
                return lambda: False
        return responded.is_set


class TokenSource:
    """The token for one set of credentials at one token endpoint, and the fetch of the next token.

    Attributes:
        shared: the same token in a store that processes share; None to keep it in this process.
        token: the last token that was obtained, usable or not; None at first and after a 401.
        doubted: a token that was fetched after a 401, and that the service has not accepted yet.
    """

    def __init__(self, shared: SharedToken | None = None) -> None:
        _SOURCES.add(self)
        self.forget_flight()
        self.shared = shared
        self.token: Token | None = None
        self._rejected: Token | None = None
        self._failure: tuple[TokenError | Unreachable, float] | None = None  # last failure, and until when it stands
        self.doubted: Token | None = None

    def forget_flight(self) -> None:
        """Drop the fetch and replace the lock, as needed in a forked process, where the other threads do not exist."""
        self._lock = threading.Lock()
        self._flight: Flight | None = None

    def accept(self, token: Token) -> None:
        """Note that the service accepted this token; if it is refused later, a renewal may help."""
        if self.doubted is token:
            self.doubted = None

    def reject(self, token: Token) -> bool:
        """Note that the service answered 401 to this token. Return True if it is worth trying another token.

        A token that replaced a refused one and was never accepted itself is not renewed: the refusal must have another
        cause, and section 5.1 forbids a new token for each call.
        """
        with self._lock:
            if self.token is not token:
                return True
            if self.doubted is token:
                return False
            self.token, self._rejected = None, token
            return True

    def obtain(self, clock: Clock, fetch: Fetch) -> Flow[Token]:
        """Return the current token, the token that another caller is fetching, or a new token.

        If the task that is fetching is cancelled, its fetch continues for current and later callers. If a fetch fails
        with an unexpected error, only its own caller gets the error, and the next waiter fetches a token. A refusal is
        remembered for a while, so that a hundred callers do not send a hundred requests that would all be refused. If
        no new token is available, the old one is used until it expires.
        """
        mine: Flight | None = None
        shielded: Shielded | None = None
        alone = False
        loop = yield WhichLoop()
        try:  # starts here, so that an interrupt cannot leave a flight that never lands
            while mine is None:
                with self._lock:
                    token = self.token
                    if token is not None and token.is_usable(clock):
                        return token
                    failure = self._remembered(clock)
                    if failure is not None:
                        return self._old_token(failure, clock)
                    flight = self._flight
                    if flight is None or flight.is_lost:
                        mine = self._flight = Flight(loop)
                    elif alone:
                        mine = Flight(loop)
                if mine is None and flight is not None:
                    alone = not (yield from flight.wait(loop))
            if loop is None:
                return (yield from self._renewed(clock, fetch, alone=alone))
            # Other callers wait for this fetch, so this caller's timeout must not end it.
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
        flight.land()

    def _renewed(self, clock: Clock, fetch: Fetch, *, alone: bool) -> Flow[Token]:
        token = yield from self._fetched(clock, fetch, alone=alone)
        with self._lock:
            if token is not self.token:
                self.doubted = token if self._rejected is not None else None
                self.token, self._rejected, self._failure = token, None, None
        return token

    def _fetched(self, clock: Clock, fetch: Fetch, *, alone: bool) -> Flow[Token]:
        failure: TokenError | Unreachable
        request = partial(fetch, patiently=not self._is_good(clock))
        try:
            if self.shared is None:
                return (yield from request())
            return (yield from self.shared.obtain(clock, request, other_than=self._rejected, alone=alone))
        except (TokenError, Unreachable) as error:
            failure = error
        with self._lock:  # before the flight lands and the waiters look
            self._remember(failure, clock)
            return self._old_token(failure, clock)

    def _is_good(self, clock: Clock) -> bool:
        return self.token is not None and self.token.is_good(clock)

    def _old_token(self, failure: TokenError | Unreachable, clock: Clock) -> Token:
        """Return the old token if it has not expired; otherwise raise the failure."""
        if self.token is not None and self.token.is_good(clock):
            return self.token
        if self._rejected is not None and self._rejected.is_good(clock):
            # A single 401 may have been a mistake: the next call tries this token again.
            self.token, self._rejected = self._rejected, None
        raise failure

    def _remember(self, error: TokenError | Unreachable, clock: Clock) -> None:
        seconds, now = _seconds_until_another_try(error, needs_token=not self._is_good(clock)), clock.monotonic()
        self._failure = (error, now + seconds) if seconds else None

    def _remembered(self, clock: Clock) -> TokenError | Unreachable | None:
        if self._failure is None or (left := self._failure[1] - clock.monotonic()) <= 0:
            return None
        error = self._failure[0]
        return error.reworded(f"{error.what} The next request can be sent in {math.ceil(left)} s.", error.next_step)


def with_retries(
    attempt: Callable[[int], Flow[Token]],
    clock: Clock,
    retry: Retry,
    *,
    jitter: Callable[[], float] = random.random,
) -> Flow[Token]:
    """Send token requests until one succeeds or fails permanently, or a limit is reached; then raise the last error.

    `attempt` makes a new request for each try (numbered from 1), because an assertion is valid for one request only.
    """
    first_sent, tries = clock.monotonic(), 0
    while True:
        tries += 1
        failure: TokenRefused | Unreachable
        try:
            return (yield from attempt(tries))
        except (TokenRefused, Unreachable) as error:
            failure = error
        retry_after = failure.retry_after if isinstance(failure, TokenRefused) else None
        elapsed = clock.monotonic() - first_sent
        pause = retry.pause(tries, elapsed, retry_after, jitter=jitter()) if failure.is_passing else None
        if pause is None:  # raised outside the handler, so that the error has no context
            raise failure if tries == 1 else failure.reworded(f"{failure.what} ({tries} tries)", failure.next_step)
        yield Pause(pause, clock)


def _seconds_until_another_try(error: TokenError | Unreachable, *, needs_token: bool) -> float:
    """Return the number of seconds to wait after a failure before sending another token request; may be 0."""
    if isinstance(error, TokenRefused) and error.error in _LASTING:
        return _LASTING_IS_REMEMBERED
    if not isinstance(error, TokenRefused | Unreachable) or not error.is_passing:
        return 0.0 if needs_token else _PASSING_IS_REMEMBERED
    retry_after = error.retry_after if isinstance(error, TokenRefused) else None
    return min(max(retry_after or 0.0, _PASSING_IS_REMEMBERED), _LONGEST_REMEMBERED)


class MemoryTokenStore:
    """Keeps tokens in this process; they are lost when it ends."""

    def __init__(self) -> None:
        self._sources: dict[str, TokenSource] = {}

    def source(self, key: str, shared: SharedToken | None = None) -> TokenSource:
        return self._sources.setdefault(key, TokenSource(shared))


SHARED_IN_PROCESS: Final = MemoryTokenStore()


def _forget_flights() -> None:
    for source in list(_SOURCES):
        source.forget_flight()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_flights)


def token_source(store: MemoryTokenStore | TokenStore, credentials: Credentials, token_url: str) -> TokenSource:
    """Return the token source of these credentials at this token endpoint.

    If processes share the store, the sessions in this process still share one source, which uses the store. If the
    private key is kept elsewhere, no encryption key can be derived from it, so the token stays in memory.
    """
    key = f"{credentials.fingerprint()} {token_url}"
    if isinstance(store, MemoryTokenStore):
        return store.source(key)
    shared = SharedToken(store, credentials.identity(), token_url) if credentials.holds_secret else None
    place = store.folder if isinstance(store, FileTokenStore) else id(store)
    return SHARED_IN_PROCESS.source(f"{key} {place}", shared)


def as_token_store(
    store: TokenStore | MemoryTokenStore | str | None, *, clock: Clock | None
) -> TokenStore | MemoryTokenStore:
    """Return the store for a session's tokens: in memory, in the user's cache folder ("shared"), or the given one.

    By default, a session with its own clock does not share its tokens, because other sessions cannot use them.
    """
    if store is None:
        return SHARED_IN_PROCESS if clock is None else MemoryTokenStore()
    if store == "shared":
        return FileTokenStore()
    if isinstance(store, MemoryTokenStore | TokenStore):
        return store
    what = 'token_store is neither "shared" nor a store with the methods read, write and try_lock.'
    raise ConfigurationError(what, "Leave it out to keep tokens in this process.", about="token_store")
