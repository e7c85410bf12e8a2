"""Addresses and origins, and the checks that a URL must pass before credentials may be sent to it."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import frameless

_DEFAULT_PORTS = {"https": 443, "http": 80}
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\Z")  # RFC 1035 section 2.3.4
_NUMERIC = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)\Z")  # an IPv4 address to some parsers (WHATWG URL section 3.5)
_URL = re.compile(r"\s*[A-Za-z]+://")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_EXAMPLE = "Use an address such as https://api.example.com, without a query, a fragment, or a path segment of dots."


def is_loopback(host: str) -> bool:
    """Return True if a host name refers to this machine: `localhost` or a loopback address. No DNS lookup is made."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Address(NamedTuple):
    """A configured address: an origin and possibly a path prefix.

    Attributes:
        scheme, host, port: the origin (RFC 6454), in lower case, with the default port filled in.
        prefix: path prepended to the paths in the service document, without a trailing slash; often empty.
    """

    scheme: str
    host: str
    port: int
    prefix: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.prefix}"

    @classmethod
    @frameless
    def parse(cls, text: str, *, setting: str, about: str = "") -> Address:
        """Parse an address.

        Args:
            text: the URL.
            setting, about: how errors refer to the address, such as "The address auth" and "auth".

        Raises:
            ConfigurationError: if it is not an absolute http(s) URL with a plain host, or has a query, a fragment, or a
                path segment of dots. The error omits parts that may contain a secret by mistake.
            UnsafeAddress: if it has userinfo, or uses plain http to another machine.
        """
        if not isinstance(text, str):
            raise ConfigurationError(f"{setting} is {type(text).__name__}, not a string.", _EXAMPLE, about=about)
        # Userinfo, queries and text that is not a URL are not shown.
        shown = "." if "@" in text or not _URL.match(text) else f": {excerpt(_QUERY.sub('?…', text, count=1))!r}"
        malformed = ConfigurationError(f"{setting} is not an address{shown}", _EXAMPLE, about=about)
        if not text.isascii() or not text.isprintable() or any(character in text for character in " \\?#"):
            raise malformed
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").removesuffix("."), parts.port
        except ValueError:  # its message may quote a secret part
            raise malformed from None
        if "@" in parts.netloc:
            what = f"{setting} has a user name or password in its URL."
            raise UnsafeAddress(what, "Pass credentials as KeyPair, ClientSecret or ClientKey.", about=about)
        has_dots = any(unquote(segment) in {".", ".."} for segment in parts.path.split("/"))
        is_wrong_host = ("[" in parts.netloc) != (":" in host) or not _is_host(host)
        if parts.scheme not in _DEFAULT_PORTS or port == 0 or has_dots or is_wrong_host:
            raise malformed
        if parts.scheme == "http" and not is_loopback(host):
            what = f"{setting} uses plain http to another machine{shown}"
            raise UnsafeAddress(what, "Use https, so that others on the network cannot read credentials.", about=about)
        return cls(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/"))


def _is_host(host: str) -> bool:
    """Return True for a host name or IP address that all URL parsers interpret in the same way."""
    if ":" not in host and not _NUMERIC.search(host):
        return _HOST_NAME.match(host) is not None
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return False
    return isinstance(literal, ipaddress.IPv4Address) or literal.scope_id is None
