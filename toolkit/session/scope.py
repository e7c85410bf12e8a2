"""Where credentials may go: to one interface's own address and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

import httpx

from toolkit.core.addresses import Address
from toolkit.core.document import KEY_ID_HEADER, SECRET_KEY_HEADER, Interface
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, UnsafeAddress

RawHeaders = list[tuple[bytes, bytes]]

_CREDENTIAL_HEADERS: Final = ("Authorization", "Proxy-Authorization")
_SLASHES: Final = re.compile(rb"[/\\]+")


@dataclass(frozen=True, slots=True)
class Place:
    """An address in the form in which httpx compares URLs."""

    key: tuple[bytes, bytes, int | None]
    prefix: bytes

    @classmethod
    def of(cls, address: Address | str) -> Place:
        url = httpx.URL(str(address))
        return cls((url.raw_scheme, url.raw_host, url.port), url.raw_path.rstrip(b"/"))

    def path_below(self, path: bytes) -> bytes | None:
        """What follows this address in the path and query of a URL of this origin, or None when it is elsewhere."""
        if not self.prefix:
            return path
        inside = path.startswith(self.prefix) and path[len(self.prefix) : len(self.prefix) + 1] in (b"", b"/", b"?")
        return path[len(self.prefix) :] if inside else None


class Scope:
    """Checks every request of one interface before anything is sent, redirects included.

    Args:
        interface: the interface, for messages.
        own: its configured address, or None in replay without addresses.
        symbolic: what stands for it in recordings; links in replayed bodies lead there.
        header_prefix: prefix of the key headers, which callers do not set themselves.
        others: addresses of other interfaces; what lies at one of them below `own` is none of this interface's.
    """

    def __init__(
        self,
        interface: Interface,
        *,
        own: Address | None,
        symbolic: str,
        header_prefix: str,
        others: Iterable[Address] = (),
    ) -> None:
        self.interface = interface
        self.symbolic = Place.of(symbolic)
        self.own = None if own is None else Place.of(own)
        self._places = (self.symbolic,) if self.own is None else (self.own, self.symbolic)
        self._not_ours = [
            _segments(other.prefix.encode("ascii"))
            for other in others
            if own is not None and other.origin == own.origin and other.prefix.startswith(f"{own.prefix}/")
        ]
        self._shares_origin = bool(self._not_ours) or (own is not None and own.prefix != "")
        self._shown = str(own or symbolic)
        self._symbolic_text = symbolic
        self._own_text = None if own is None else str(own)
        self._harmless: RawHeaders = []
        self._last_path = (b"/", "/")
        names = (*_CREDENTIAL_HEADERS, f"{header_prefix}-{KEY_ID_HEADER}", f"{header_prefix}-{SECRET_KEY_HEADER}")
        self._credential_headers = frozenset(name.lower().encode("ascii") for name in names)

    def path_of(self, request: httpx.Request) -> str:
        """The request's path below the interface's address, without its query; raises as `check` does."""
        return self.check(request)[0]

    def check(self, request: httpx.Request) -> tuple[str, RawHeaders]:
        """The request's path below the interface's address, without its query; and its raw headers.

        Raises:
            UnsafeAddress: it goes elsewhere, or has userinfo in its URL.
            CredentialsMismatch: it carries credentials of its own.
        """
        url = request.url
        if "target" in request.extensions:
            raise UnsafeAddress(
                f"A request to the {self.interface} interface has an httpx extension, target, that replaces its path.",
                "Nothing was sent. Put the path into the URL.",
            )
        if url.userinfo:
            raise UnsafeAddress(
                f"A URL of the {self.interface} interface has a user name or password in it.",
                "Remove it: the session adds the credentials.",
            )
        below = self._below(url)
        if below is None:
            # The rest of the URL is not shown: a link or a redirect may have a secret in it.
            elsewhere = httpx.URL(scheme=url.scheme, host=url.host, port=url.port)
            raise UnsafeAddress(
                f"A URL at {elsewhere} is not below the {self.interface} interface's address {self._shown}.",
                "Nothing was sent. Use a path such as /v1/accounts, or a plain httpx.Client for other hosts.",
            )
        raw = request.headers.raw
        if raw == self._harmless:  # most calls of a client carry the same headers
            raw = self._harmless
        else:
            self._refuse_credentials(raw)
            self._harmless = raw
        last_below, path = self._last_path
        if below != last_below:
            path = below.partition(b"?")[0].decode("ascii") or "/"
            self._last_path = below, path
        return path, raw

    def _refuse_credentials(self, raw: RawHeaders) -> None:
        for name, _ in raw:
            if name.lower() in self._credential_headers:
                raise CredentialsMismatch(
                    f"The request carries a header of its own for credentials, {name.decode('ascii', 'replace')}.",
                    "Nothing was sent. Leave out auth= and such headers: the session adds its credentials.",
                )

    def _below(self, url: httpx.URL) -> bytes | None:
        key = (url.raw_scheme, url.raw_host, url.port)
        for place in self._places:
            if key == place.key:
                below = place.path_below(url.raw_path)
                return None if below is not None and self._shares_origin and self._strays(below) else below
        return None

    def _strays(self, below: bytes) -> bool:
        """Whether a path below this address leads out of it for a server that resolves or decodes paths."""
        segments = _segments(below)
        if b".." in segments:
            return True
        segments = [*_segments(self.own.prefix if self.own else b""), *(each for each in segments if each != b".")]
        return any(segments[: len(other)] == other for other in self._not_ours)

    def to_send(self, request: httpx.Request) -> httpx.Request:
        """The request at the configured address; a symbolic one, from a replayed link, is translated.

        Raises:
            ConfigurationError: no address is configured.
        """
        if request.url.raw_host != self.symbolic.key[1]:
            return request
        if self._own_text is None:
            raise ConfigurationError(
                f"The request is not recorded, and the address of the {self.interface} interface is not set.",
                "Nothing was sent. Set the address, as the README says, or replay what is recorded.",
            )
        below = self.symbolic.path_below(request.url.raw_path) or b"/"
        url = httpx.URL(self._own_text + below.decode("ascii"))
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        return httpx.Request(
            request.method,
            url,
            headers=[(b"Host", url.netloc), *headers],
            stream=request.stream,
            extensions=request.extensions,
        )

    def to_record(self, request: httpx.Request) -> str:
        """The request's URL at the symbolic address."""
        below = self._below(request.url)
        return str(request.url) if below is None else self._symbolic_text + below.decode("ascii")


def _segments(path: bytes) -> list[bytes]:
    """The segments of a path as a lenient server sees them: decoded, without parameters and empty ones."""
    plain = unquote_to_bytes(path.partition(b"?")[0])
    return [segment.partition(b";")[0] for segment in _SLASHES.split(plain) if segment]
