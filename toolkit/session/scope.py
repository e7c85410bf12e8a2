"""The scope of a session: its caller, and the addresses that its credentials may be sent to.

`open_cassette` and `resolve_credentials` find the cassette, the environment and the credentials of a new session. The
`Scope` of an interface checks every request, so that credentials are sent to this interface's address only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote_to_bytes

import httpx

from toolkit.auth.credentials import Credentials
from toolkit.cassettes.selection import as_mode, current
from toolkit.core.document import KEY_ID_HEADER, SECRET_KEY_HEADER, Environment, Interface, symbolic_address
from toolkit.core.errors import (
    CassetteMiss,
    ConfigurationError,
    CredentialsMismatch,
    InterfaceNotAllowed,
    UnsafeAddress,
    wrong_type,
)
from toolkit.local.settings import Settings, is_offline

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette

_CREDENTIAL_HEADERS: Final = ("Authorization", "Proxy-Authorization")
_DIVERTING_EXTENSIONS: Final = frozenset({"target", "sni_hostname"})  # replace path and certificate name
_SLASHES: Final = re.compile(rb"[/\\]+")


class ComparedAddress(NamedTuple):
    """An address in the form in which httpx compares URLs."""

    origin: tuple[bytes, bytes, int | None]  # scheme, host and port
    host: bytes  # as the Host header names it (RFC 9110 section 7.2)
    prefix: bytes  # of the path, without a slash at its end

    @classmethod
    def of(cls, address: str) -> ComparedAddress:
        url = httpx.URL(address)
        return cls((url.raw_scheme, url.raw_host, url.port), url.netloc, url.raw_path.rstrip(b"/"))

    def path_below(self, path: bytes) -> bytes | None:
        """Return the part of a URL's path and query after the prefix, or None if the URL is not below this address."""
        if not self.prefix:
            return path
        is_below = path.startswith(self.prefix) and path[len(self.prefix) : len(self.prefix) + 1] in (b"", b"/", b"?")
        return path[len(self.prefix) :] if is_below else None


class Scope:
    """Checks every request of one interface, including redirects, before anything is sent.

    Args:
        interface: the interface, named in messages.
        own: its configured address, or None in a replay without addresses.
        symbolic: its symbolic address in recordings, which links in replayed bodies point to.
        header_prefix: prefix of the key headers, which callers may not set themselves.
        others: addresses of other interfaces. Paths below them do not belong to this interface, even if they
            are also below `own`.
    """

    def __init__(
        self,
        interface: Interface,
        *,
        own: str | None,
        symbolic: str,
        header_prefix: str,
        others: Iterable[str] = (),
    ) -> None:
        self.interface = interface
        self.symbolic = ComparedAddress.of(symbolic)
        self.own = None if own is None else ComparedAddress.of(own)
        self._places = (self.symbolic,) if self.own is None else (self.own, self.symbolic)
        self._foreign_prefixes = [
            _segments(ComparedAddress.of(other).prefix) for other in others if other.startswith(f"{own}/")
        ]
        self._shares_origin = bool(self._foreign_prefixes) or (self.own is not None and self.own.prefix != b"")
        self._address_text = own or symbolic
        self.symbolic_text = symbolic
        self._last_headers: list[
            tuple[bytes, bytes]
        ] = []  # most requests of a client have the same headers, which are not checked again
        names = (*_CREDENTIAL_HEADERS, f"{header_prefix}-{KEY_ID_HEADER}", f"{header_prefix}-{SECRET_KEY_HEADER}")
        self._hosts = frozenset(place.host for place in self._places)
        self._credential_headers = frozenset(name.lower().encode("ascii") for name in names)

    def check(self, request: httpx.Request) -> str:
        """Check that a request may be sent, and return its path and query below the interface's address."""
        url = request.url
        for name in _DIVERTING_EXTENSIONS & request.extensions.keys():
            raise UnsafeAddress(
                f"A request to the {self.interface} interface has the extension {name}, which sends it elsewhere.",
                "Nothing was sent. Remove this extension: the path and the host name come from the URL.",
            )
        if url.userinfo:
            raise UnsafeAddress(
                f"A URL for the {self.interface} interface contains a user name or password.",
                "Remove it: the session adds the credentials.",
            )
        below = self._below(url)
        if below is None:
            # The rest of the URL is not shown: a link or a redirect may have a secret in it.
            elsewhere = httpx.URL(scheme=url.scheme, host=url.host, port=url.port)
            raise UnsafeAddress(
                f"A URL at {elsewhere} is not below the {self.interface} interface's address {self._address_text}.",
                "Nothing was sent. Use a path such as /v1/accounts, or a plain httpx.Client for other hosts.",
            )
        raw = request.headers.raw
        if raw != self._last_headers:
            self._refuse_credentials(raw)
            self._refuse_other_host(raw)
            self._last_headers = raw
        return below.decode("ascii")

    def to_send(self, request: httpx.Request) -> httpx.Request:
        """Return the request with the configured address instead of the symbolic one that replayed links have."""
        if request.url.raw_host != self.symbolic.origin[1]:
            return request
        if self.own is None:
            raise ConfigurationError(
                f"The request is not recorded, and the address of the {self.interface} interface is not set.",
                "Nothing was sent. Set it in toolkit.toml or in a TOOLKIT_* variable, or replay only recorded calls.",
            )
        below = self.symbolic.path_below(request.url.raw_path) or b"/"
        url = httpx.URL(self._address_text + below.decode("ascii"))
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        return httpx.Request(
            request.method,
            url,
            headers=[(b"Host", url.netloc), *headers],
            stream=request.stream,
            extensions=request.extensions,
        )

    def _refuse_credentials(self, raw: list[tuple[bytes, bytes]]) -> None:
        for name, _ in raw:
            if name.lower() in self._credential_headers:
                raise CredentialsMismatch(
                    f"The request carries its own credentials in the header {name.decode('ascii', 'replace')}.",
                    "Nothing was sent. Leave out auth= and such headers: the session adds its credentials.",
                )

    def _refuse_other_host(self, raw: list[tuple[bytes, bytes]]) -> None:
        for name, value in raw:
            if name.lower() == b"host" and value.strip().lower() not in self._hosts:
                raise UnsafeAddress(
                    f"A request to the {self.interface} interface has a Host header that names another host.",
                    f"Nothing was sent. Leave out this header: the host comes from the address {self._address_text}.",
                )

    def _below(self, url: httpx.URL) -> bytes | None:
        origin = (url.raw_scheme, url.raw_host, url.port)
        for place in self._places:
            if origin == place.origin:
                below = place.path_below(url.raw_path)
                return None if below is not None and self._shares_origin and self._strays(below) else below
        return None

    def _strays(self, below: bytes) -> bool:
        """Check whether a path would lead out of this address on a server that resolves or decodes paths."""
        segments = _segments(below)
        if b".." in segments:
            return True
        own_prefix = self.own.prefix if self.own else b""
        segments = [*_segments(own_prefix), *(segment for segment in segments if segment != b".")]
        return any(segments[: len(prefix)] == prefix for prefix in self._foreign_prefixes)


def _segments(path: bytes) -> list[bytes]:
    """Return the segments of a path as a lenient server reads them: decoded, without parameters and empty segments."""
    decoded = unquote_to_bytes(path.partition(b"?")[0])
    return [segment.partition(b";")[0] for segment in _SLASHES.split(decoded) if segment]


def scope_of(
    interface: Interface, environment: Environment, *, cassette: Cassette | None, settings: Settings
) -> tuple[Scope, str]:
    """Return an interface's scope and its client's base URL, which is the symbolic address in a replay."""
    rules = environment.rules
    name = rules.addresses.get(interface)
    if name is None:
        allowed = ", ".join(str(other) for other in rules.addresses if other is not Interface.AUTH)
        raise InterfaceNotAllowed(
            f"The environment {environment} has no {interface} interface.",
            f"A {rules.holder} may call: {allowed}.",
            about="environment",
        )
    is_optional = cassette is not None and cassette.replays
    own = None if is_optional and name not in settings.addresses else settings.address(name)
    symbolic = symbolic_address(name)
    others = settings.addresses.values()
    scope = Scope(interface, own=own, symbolic=symbolic, header_prefix=settings.header_prefix, others=others)
    replays_only = cassette is not None and not cassette.records
    return scope, symbolic if own is None or replays_only else own


def resolve_credentials(
    environment: Environment | str | None,
    credentials: Credentials | str | None,
    *,
    cassette: Cassette | None,
    settings: Settings,
) -> tuple[Environment, Credentials | None, str | None]:
    """Return the environment, the credentials, and the profile whose recordings to replay (None for any profile)."""
    given: object = environment
    if isinstance(given, Credentials):
        what = "The first argument of a session is the name of an environment, but credentials were passed."
        raise ConfigurationError(what, "Write tk.Session(credentials=...).", about="environment")
    requested = None if environment is None else Environment(environment)
    if isinstance(credentials, Credentials):
        if requested is not None and requested is not credentials.environment:
            raise CredentialsMismatch(
                f"These credentials are for {credentials.environment}, not for {requested}.",
                f"Leave out the environment, or use credentials for {requested}.",
                about="credentials",
            )
        return credentials.environment, credentials, credentials.name
    if credentials is not None and not isinstance(credentials, str):
        raise wrong_type(
            "credentials",
            "a KeyPair, a ClientSecret, a ClientKey or a profile name",
            credentials,
            'For example tk.KeyPair(key_id, secret_key, environment="paper").',
        )
    if cassette is not None and not cassette.records:
        return requested or _environment_of(cassette), None, credentials
    if requested is None:  # this mode may send, so a file must not choose the destination
        raise _without_environment(cassette, settings)
    from toolkit.auth.profiles.saving import load_credentials

    try:
        loaded = load_credentials(requested, credentials, settings=settings)
    except ConfigurationError:
        if credentials is None and cassette is not None and cassette.replays:
            # Recorded calls replay without credentials; the error of any other call says which credentials it needs.
            return requested, None, None
        raise
    return requested, loaded, loaded.name


def _without_environment(cassette: Cassette | None, settings: Settings) -> ConfigurationError:
    """Return the error for a session that has nothing to replay, or whose cassette's name may be misspelt."""
    choices = f"pass an environment ({', '.join(Environment)}) or credentials"
    if cassette is not None and cassette.mode != "all" and not cassette.replays:
        from toolkit.cassettes.replay import differences

        missing = differences.missing(cassette.path, settings, to_record=f"to record it, {choices}")
        return ConfigurationError(missing.what, missing.next_step, about="environment")
    what = "A session that may send requests must be given an environment; a cassette does not determine it."
    return ConfigurationError(what, f"{choices.capitalize()}.", about="environment")


def _environment_of(cassette: Cassette) -> Environment:
    names = cassette.contents.environments
    if len(names) == 1:
        return Environment(names[0])
    content = f"It has calls in {', '.join(names)}" if names else "It does not say which environment was called"
    raise ConfigurationError(
        f"The cassette {cassette.path.name} does not determine the environment.",
        f"{content}; pass the session one of {', '.join(Environment)}.",
        about="environment",
    )


def open_cassette(cassette: Cassette | str | Path | None, mode: str | None, *, settings: Settings) -> Cassette | None:
    """Return the cassette passed to the session or, without one, the running cell's; return None for live calls."""
    as_mode(mode)
    cassette = current() if cassette is None else cassette
    if cassette is None:
        if is_offline():
            raise CassetteMiss(
                "The session has no cassette to replay, and TOOLKIT_OFFLINE keeps calls from being sent.",
                "Name a cassette to replay; to go online, unset TOOLKIT_OFFLINE and start again.",
                about="cassette",
            )
        if mode is not None:
            what = f"The mode {mode} needs a cassette."
            raise ConfigurationError(what, 'Name a cassette, such as cassette="tour".', about="cassette")
        return None
    from toolkit.cassettes.cassette import Cassette

    if isinstance(cassette, str | Path):
        return Cassette(cassette, mode, settings=settings)
    if not isinstance(cassette, Cassette):
        raise ConfigurationError(
            f"cassette must be a name, a path or a Cassette, not {type(cassette).__name__}.",
            'For example cassette="tour".',
            about="cassette",
        )
    if mode is not None and as_mode(mode) != cassette.mode:
        raise ConfigurationError(
            f"The cassette is open with mode {cassette.mode}, not {mode}.",
            "Leave out mode, or pass the cassette's path instead.",
            about="mode",
        )
    register_with(cassette, settings)
    return cassette


def register_with(cassette: Cassette, settings: Settings) -> None:
    """Add the addresses, header prefix and rules of a session to the open cassette that it uses."""
    from toolkit.scrubbing.rules.model import project_rules

    cassette.scrubber.use_addresses(settings.addresses, settings.header_prefix)
    cassette.scrubber.add_rules(project_rules(settings))
