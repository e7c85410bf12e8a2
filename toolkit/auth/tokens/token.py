"""An access token with its lifetime, the token endpoint's response, and a store that processes share.

Section 5.1 of the service document: a caller reuses one token until it expires. Renewing it slightly early, so that it
does not expire in transit, is our addition. Responses follow RFC 6749 section 5.

A store entry is JSON, encrypted with a key derived from the credentials, so only someone with the same credentials can
find and read it. `FileTokenStore` keeps entries in the user's cache folder; other stores may use a cache server.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, runtime_checkable

from toolkit.auth.sealing import Seal
from toolkit.core.addresses import Address
from toolkit.core.document import TOKEN_FIELDS, TOKEN_TYPE, TOKEN_VALIDITY, Placeholder
from toolkit.core.errors import TokenRefused, TokenResponseInvalid
from toolkit.core.ledger import Clock, instant_text, parse_http_date, parse_instant
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import badge, card, code, date_text, excerpt, instant_words, minutes_text
from toolkit.core.tracebacks import warn
from toolkit.local.files import private_folder, read_private, refuse_link, shown, write_atomically
from toolkit.local.folders import cache_folder
from toolkit.local.locks import FileLock, try_lock
from toolkit.transport.flow import Flow, Pause
from toolkit.transport.retry import retry_after_of

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

EARLY_AT_MOST: Final = 10.0  # seconds
EARLY_SHARE: Final = 0.1  # of the lifetime
LONGEST_LIFETIME: Final = timedelta(days=1)
_BEARER_TOKEN: Final = re.compile(r"[!-~]+\Z")  # RFC 6750 section 2.1 allows less, but some servers send more
_TOKENS: Final = ("access_token", "refresh_token", "id_token")
_NOTABLE_CLOCK_OFFSET: Final = timedelta(seconds=30)
_MOST_FIELDS: Final = 12  # named in an error
_REQUEST_ERRORS: Final = frozenset({"invalid_request", "invalid_scope", "unsupported_grant_type"})
_ERROR_CODE: Final = re.compile(r"[ !#-\[\]-~]+\Z")  # RFC 6749 section 5.2
LARGEST_ENTRY: Final = 1 << 16  # bytes, sealed
_EARLIEST_ISSUE: Final = timedelta(seconds=5)  # how far ahead of our clock, which may have been set back
_LOOK_AGAIN: Final = 0.02  # seconds
# Seconds. A token request with its retries usually takes less. If it takes longer because the response is very slow, or
# because the lock holder is stuck, this process requests its own token.
_PATIENCE: Final = 60.0


def early_seconds(lifetime: timedelta) -> float:
    """Return the number of seconds before expiry at which a token with this lifetime is renewed."""
    return min(EARLY_AT_MOST, EARLY_SHARE * lifetime.total_seconds())


def is_bearer_token(value: object) -> TypeGuard[str]:
    """Return True if a value is text that an Authorization header can carry as a bearer token."""
    return isinstance(value, str) and _BEARER_TOKEN.match(value) is not None


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its lifetime.

    Attributes:
        access_token: the token, as a Secret.
        issued_at: start of its lifetime, taken just before the request was sent.
        expires_at: end of its lifetime, according to the service's `expires_in`.
        expires_monotonic: end of its lifetime on the monotonic clock, in seconds.
        early: number of seconds before expiry to request a new token; defaults to a tenth of the lifetime, at most 10.
        renew_at: time to request a new token, slightly before this one expires.
        renew_monotonic: the same time on the monotonic clock, in seconds.
    """

    access_token: Secret
    issued_at: datetime
    expires_at: datetime
    # The monotonic clock detects that the wall clock was set back.
    expires_monotonic: float = field(default=math.inf, repr=False, compare=False)
    early: float | None = field(default=None, repr=False, compare=False)
    renew_at: datetime = field(init=False, repr=False, compare=False)
    renew_monotonic: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        early = early_seconds(self.lifetime) if self.early is None else self.early
        object.__setattr__(self, "renew_at", self.expires_at - timedelta(seconds=early))
        object.__setattr__(self, "renew_monotonic", self.expires_monotonic - early)

    def __repr__(self) -> str:
        issued, expires = (f"{instant:%Y-%m-%d %H:%M:%S}" for instant in (self.issued_at, self.expires_at))
        return f"<Token {self.access_token}, issued {issued}, expires {expires} UTC>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        state = "replayed" if self.access_token == Secret(Placeholder.ACCESS_TOKEN) else "live"
        rows = [
            ("Text", code(str(self.access_token))),
            ("Issued", instant_words(self.issued_at)),
            ("Expires", instant_words(self.expires_at)),
            ("Lifetime", f"{minutes_text(self.lifetime)} minutes"),
        ]
        source = badge(f"{state}, issued {date_text(self.issued_at)}")
        return {"text/plain": f"{repr(self).removesuffix('>')}, {state}>", "text/html": card("Token", [source], rows)}

    @property
    def lifetime(self) -> timedelta:
        """Time from issue to expiry."""
        return self.expires_at - self.issued_at

    def remaining(self, now: datetime) -> timedelta:
        """Return the lifetime left at a given time; never negative."""
        return max(self.expires_at - now, timedelta(0))

    def is_good(self, clock: Clock) -> bool:
        """Return True if the token has not expired on either clock, even if it is time to renew it."""
        return clock.monotonic() < self.expires_monotonic and clock.now() < self.expires_at

    def is_usable(self, clock: Clock) -> bool:
        """Return True if the token is not yet due for renewal on either clock.

        Both are checked so that a laptop requests a new token after waking from sleep.
        """
        return clock.monotonic() < self.renew_monotonic and clock.now() < self.renew_at


def read_token_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    requested_at: datetime,
    requested_monotonic: float,
    scrub: Callable[[str], str] = str,
    credentials: Credentials | None = None,
) -> Token:
    """Return the token in a token endpoint response (section 4.1; RFC 6749 sections 5.1 and 5.2).

    The tokens in the response are added to the register of secrets. `expires_in` may be a number or numeric text. If it
    is missing or null, the lifetime in section 8 of the service document applies (15 minutes). A lifetime over one day
    counts as one day. A lifetime of less than a second or a value that is not a number is an error.

    `requested_at` and `requested_monotonic` are the time just before the request was sent, on each clock. `scrub`
    removes known secrets from text that an error quotes; the error's advice refers to `credentials`.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not 200 <= status < 300:
        raise _refusal(status, headers, fields, requested_at, scrub, credentials)
    if not isinstance(fields, dict):
        kind = excerpt(scrub(headers.get("content-type", "no content type")), 60)
        what = f"The token endpoint returned status {status}, but no JSON object ({kind}, {len(body)} bytes)."
        raise TokenResponseInvalid(what, "Check the auth address: it may lead to a login page or a proxy.")
    # Registered even if the response is refused: its tokens may be valid, even those that the document omits.
    texts = [(name.upper(), fields.get(name)) for name in _TOKENS]
    REGISTER.add_all((name, Secret(text)) for name, text in texts if isinstance(text, str))
    access_token, token_type, seconds = fields.get("access_token"), fields.get("token_type"), _seconds(fields)
    if not is_bearer_token(access_token):
        why = "access_token is missing, or is not a valid bearer token (RFC 6750 section 2.1)"
    elif not isinstance(token_type, str) or token_type.lower() != TOKEN_TYPE.lower():
        why = "token_type is not Bearer"
    elif not seconds >= 1:
        why = "expires_in is not a number of seconds, or is less than 1"
    else:
        lifetime = timedelta(seconds=int(min(seconds, LONGEST_LIFETIME.total_seconds())))
        expires_monotonic = requested_monotonic + lifetime.total_seconds()
        return Token(Secret(access_token), requested_at, requested_at + lifetime, expires_monotonic=expires_monotonic)
    named = list(fields.items())[:_MOST_FIELDS]
    shape = ", ".join(f"{excerpt(scrub(name), 40)}: {type(value).__name__}" for name, value in named)
    raise TokenResponseInvalid(
        f"The token endpoint's reply is not a token response: {why}.",
        f"Its fields: {shape or 'none'}. Section 2 of the service document names {', '.join(TOKEN_FIELDS)}.",
    )


def _seconds(fields: Mapping[str, Any]) -> float:
    """Return the lifetime in seconds that a response states; NaN if it is not a number."""
    value = fields.get("expires_in")
    if value is None:
        return TOKEN_VALIDITY.total_seconds()
    with suppress(TypeError, ValueError, OverflowError):
        return math.nan if isinstance(value, bool) else float(value)
    return math.nan


def _refusal(
    status: int,
    headers: Mapping[str, str],
    fields: Any,
    now: datetime,
    scrub: Callable[[str], str],
    credentials: Credentials | None,
) -> TokenRefused:
    error = fields.get("error") if isinstance(fields, dict) else None
    error = error if isinstance(error, str) and _ERROR_CODE.match(error) else None
    server_time, wait = parse_http_date(headers.get("date", "")), retry_after_of(headers, now)
    offset = None if server_time is None else now - server_time
    did = "returned no token"
    if status >= 500 or error == "temporarily_unavailable":
        advice = "The service itself has a problem; try again later."
    elif status == 429:
        advice = "The service received too many requests; wait before trying again."
    elif status < 400 or (error is None and status in {404, 405}):
        advice = "Check the auth address: it may lead to another service or a proxy."
    else:
        did = "refused the request" if error in _REQUEST_ERRORS else "refused the credentials"
        advice = _what_to_check(error, offset, credentials)
    code = excerpt(scrub(error), 60) if error else None
    return TokenRefused(
        f"The token endpoint {did}: status {status}" + (f" ({code})." if code else "."),
        advice if wait is None else f"{advice} The service asks you to wait {math.ceil(wait)} s.",
        status=status,
        error=code,
        clock_offset=offset,
        retry_after=wait,
    )


def _what_to_check(error: str | None, offset: timedelta | None, credentials: Credentials | None) -> str:
    if error == "invalid_scope":
        return "Check the scope in form_fields; the service does not grant it to this client."
    if offset is not None and abs(offset) >= _NOTABLE_CLOCK_OFFSET:
        off = "ahead of" if offset > timedelta(0) else "behind"
        return f"This machine's clock is {abs(round(offset.total_seconds()))} s {off} the server's; correct this clock."
    environment = "this environment" if credentials is None else credentials.environment
    advice = f"Check the client ID and the secret or key, and that they belong to {environment}."
    return f"{advice} {credentials.where_to_correct() if credentials else ''}".rstrip()


@runtime_checkable
class TokenStore(Protocol):
    """Stores sealed tokens for several processes: on a disk, on a cache server or in a cluster.

    Entry names look random. If a method raises an error, the store counts as unavailable and tokens are kept in memory.
    Threads and event loops call the methods, so they must return quickly.
    """

    def read(self, name: str, /) -> bytes | None:
        """Return the entry with this name, or None if it does not exist."""
        ...

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry with this name atomically."""
        ...

    def try_lock(self, name: str, /) -> Any | None:
        """Lock the entry with this name, or immediately return None if it is locked. A dead process's lock is released.

        The lock has a `release` method, which any thread may call.
        """
        ...


class SharedToken:
    """The token in a store for one set of credentials and one token endpoint, which determine the encryption key."""

    def __init__(self, store: TokenStore, identity: bytes, token_url: str) -> None:
        self._store = store
        self._seal = Seal(identity, f"token\x00{Address.parse(token_url, setting='The token endpoint')}")
        self._is_available = True
        self._has_warned = False

    def obtain(
        self, clock: Clock, fetch: Callable[[], Flow[Token]], *, other_than: Token | None = None, alone: bool = False
    ) -> Flow[Token]:
        """Return the token in the store, or a new one, which one process requests while other processes wait."""
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
                # Once locked, look again: another process may have been faster.
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
        """Return the result of a call to the store. On failure, return None and stop using the store for this token."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - a custom store may raise anything
            self._is_available = False
            if not self._has_warned:
                self._has_warned = True
                # An error from a custom store may quote anything, such as an address with a password in it.
                reason = type(error).__name__
                if isinstance(error, OSError) and isinstance(self._store, FileTokenStore):
                    reason = f"{self._store!r}: {error.strerror}"
                warn(f"The shared token store is not available: {reason}. This process keeps its tokens in memory.")
            return None


def open_token(entry: bytes, seal: Seal, *, clock: Clock) -> Token | None:
    """Return the token in an entry, or None if the entry was sealed with another key or the token has expired.

    The token is added to the register of secrets. Its remaining lifetime is computed from the wall clock, then tracked
    on the monotonic clock. A token that lasts longer than a day, or was issued more than 5 s in the future, is not used
    either: a clock must be wrong, so the expiry time cannot be trusted.
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
    """Stores entries as files in a folder that only its owner can access.

    Nothing is read or written through a link. An entry must be a regular file that belongs to this user and has at most
    LARGEST_ENTRY bytes; anything else in its place counts as missing, and the next entry replaces it. Methods raise
    OSError if the folder is a link or belongs to another user, or if the disk fails or does not support locks. The
    folder is created when it is first needed; by default, it is in the user's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        # For a folder that the user chose, the permissions of its parent are left to the user.
        self._folders = [cache_folder(), cache_folder() / "tokens"] if folder is None else [folder]
        self.folder = self._folders[-1]

    def __repr__(self) -> str:
        return f"<FileTokenStore {shown(self.folder)}>"

    def read(self, name: str, /) -> bytes | None:
        """Return the entry with this name, or None if it does not exist."""
        for folder in self._folders:
            refuse_link(folder)
        return read_private(self.folder / f"{name}.token", LARGEST_ENTRY)

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry with this name atomically."""
        self._make_folder()
        write_atomically(self.folder / f"{name}.token", data, private=True)

    def try_lock(self, name: str, /) -> FileLock | None:
        """Lock the entry with this name, or return None if another process or thread holds the lock."""
        self._make_folder()
        return try_lock(self.folder / f"{name}.lock")

    def _make_folder(self) -> None:
        for folder in self._folders:
            private_folder(folder)
