"""Addresses and origins: what a URL must look like before credentials may go there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolkit.errors import ConfigurationError, UnsafeAddress
from toolkit.escaping import excerpt

_DEFAULT_PORTS = {"https": 443, "http": 80}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name: `localhost` or a loopback address literal."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL (RFC 6454), in lower case, with the default port filled in."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True, slots=True)
class Address:
    """One configured address: an origin and, where the service has one, a path prefix.

    Attributes:
        origin: where it is.
        prefix: path before the paths of the document, without a trailing slash; often empty.
    """

    origin: Origin
    prefix: str

    def __str__(self) -> str:
        return f"{self.origin}{self.prefix}"

    @classmethod
    def parse(cls, text: str, *, setting: str) -> Address:
        """Read an address.

        Raises:
            ConfigurationError: it is no absolute http(s) URL, or carries a query or fragment.
            UnsafeAddress: it carries userinfo, or is plain http beyond this machine.
        """
        shown = excerpt(text)
        example = "Write it like https://api.example.com, without query and fragment."
        if not isinstance(text, str) or text != text.strip() or not text.isascii() or not text.isprintable():
            raise ConfigurationError(f"{setting} is not an address: {shown!r}", example)
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError as error:
            raise ConfigurationError(f"{setting} is not an address: {error}", example) from None
        if "@" in parts.netloc:
            raise UnsafeAddress(
                f"{setting} has a user name or password in its URL.",
                "Remove it: credentials are given as KeyPair, ClientSecret or ClientKey.",
            )
        if parts.scheme not in _DEFAULT_PORTS or not host or parts.query or parts.fragment or " " in text:
            raise ConfigurationError(f"{setting} is not an address: {shown!r}", example)
        if any(segment in {".", ".."} for segment in parts.path.split("/")):
            raise ConfigurationError(f"{setting} has dots as a path segment: {shown!r}", example)
        if parts.scheme == "http" and not is_loopback(host):
            raise UnsafeAddress(
                f"{setting} is plain http beyond this machine: {shown!r}",
                "Use https: over http anyone on the way reads the credentials.",
            )
        origin = Origin(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme])
        return cls(origin, parts.path.rstrip("/"))
