"""Replace a service's addresses with symbolic ones, so that a recording is the same wherever it was made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from toolkit.core.addresses import is_loopback
from toolkit.core.document import ADDRESS_NAMES, SYMBOLIC_ENDING, symbolic_address
from toolkit.scrubbing.normal_form import spliced

# As written in URLs, or escaped as in JSON and query strings, even several times.
_SLASH: Final = rb"(?:\\{0,7}/|%(?:25){0,3}2[Ff]|\\{1,7}u002[Ff])"
_COLON: Final = rb"(?::|%(?:25){0,3}3[Aa])"
_PORT: Final = re.compile(_COLON + rb"([0-9]{1,5})")
# Must follow a host or an address. Otherwise it is only the beginning of a longer one.
_END: Final = rb"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"
# What comes before a host, read backwards, which is faster: slashes and a scheme, or anything after which the host is
# not just the end of another name.
_BEFORE: Final = re.compile(
    rb"(?P<slashes>(?:/\\{0,7}|f2(?:52){0,3}%|f200u\\{1,7}){2})(?:(?::|a3(?:52){0,3}%)(?P<scheme>s?ptth))?"
    rb"|\.?(?:\Z|[^a-z0-9_.-]|[0-9a-f]{2}(?:52){0,3}%|[bfnrt]\\|[0-9a-f]{4}u\\)"
)
_LONGEST_BEFORE: Final = 40  # bytes
_DEFAULT_PORTS: Final = {b"https": 443, b"http": 80}
_OTHER: Final = b"other" + SYMBOLIC_ENDING.encode()  # for URLs with the host of an address but not below its path
_DOMAIN: Final = SYMBOLIC_ENDING[1:].encode()


def _symbolic_host(address_name: str) -> str:
    return urlsplit(symbolic_address(address_name)).netloc


_SYMBOLIC_HOSTS: Final = frozenset(map(_symbolic_host, ADDRESS_NAMES))


class _Address(NamedTuple):
    """An address: its scheme and port, the pattern of its path, and its symbolic host."""

    scheme: bytes
    port: int
    path: re.Pattern[bytes]
    symbol: bytes


class SymbolicAddresses:
    """Addresses to replace, in URLs and as bare host names, in upper or lower case, and with JSON or URL escapes.

    Loopback hosts, and names without a dot (which may be ordinary words), are replaced only in a URL or if a port
    follows.

    Args:
        addresses: addresses by name, as in the settings.
    """

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._hosts = {urlsplit(address).netloc: _symbolic_host(name) for name, address in addresses.items()}
        self._at: dict[bytes, list[_Address]] = {}  # by host, the longest first
        for name, address in sorted(addresses.items(), key=lambda item: len(item[1]), reverse=True):
            parts = urlsplit(address)
            scheme, symbol = parts.scheme.encode(), _symbolic_host(name).encode()
            host = parts.netloc.removesuffix(f":{parts.port}").lower().encode()
            path = re.compile(_SLASH.join(re.escape(part.encode()) for part in parts.path.split("/")) + _END)
            self._at.setdefault(host, []).append(_Address(scheme, parts.port or _DEFAULT_PORTS[scheme], path, symbol))
        names = [host for host in self._at if _is_telling(host) and not host[-1:].isdigit()]
        domains = {host.split(b".", at)[at] for host in names for at in range(host.count(b"."))}
        domain = b"|".join(map(re.escape, domains)) or b"(?!)"
        self._cookie_domain = re.compile(rb"(?i)(;\s{0,9}domain\s{0,9}=\s{0,9}\.?)(?:%s)(?![^\s;,])" % domain)

    def replace_in(self, data: bytes) -> bytes:
        """Return `data` with each address, and each host that appears alone, replaced by its symbol.

        If a cookie's Domain attribute covers a host, its value becomes the common domain of all symbolic hosts.
        """
        lowered = data.lower()
        if b"domain" in lowered:
            data = self._cookie_domain.sub(rb"\g<1>" + _DOMAIN, data)
            lowered = data.lower()
        hosts = [host for host in self._at if host in lowered]
        # If two overlap, the first counts: a path may contain a host.
        return spliced(data, sorted(span for host in hosts for span in self._spans(data, lowered, host)))

    def host(self, written: str, called: str) -> str | None:
        """Return the symbol of a host, or None if no address has this host.

        Args:
            written: the value of the Host header.
            called: the host of the recorded URI, which identifies the address if several addresses have the same host.
        """
        if written not in self._hosts:
            return None
        return called if called in _SYMBOLIC_HOSTS else self._hosts[written]

    def _spans(self, data: bytes, lowered: bytes, host: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield the start, end and replacement for each occurrence of a host that is replaced."""
        is_telling = _is_telling(host)
        for match in re.finditer(re.escape(host) + _END, lowered):
            start, end = match.span()
            before = _BEFORE.match(lowered[max(0, start - _LONGEST_BEFORE) : start][::-1])
            if before is None:
                continue
            port = _PORT.match(data, end)
            is_named = port is not None or before["slashes"] is not None
            scheme = before["scheme"] and before["scheme"][::-1]
            for address in self._at[host] if is_named or is_telling else ():
                path = address.path.match(data, port.end() if port else end)
                number = int(port[1]) if port else _DEFAULT_PORTS[address.scheme]
                if path and number == address.port and scheme in (None, address.scheme):
                    symbol = address.symbol
                    if scheme is not None:
                        between = data[start - before.start("scheme") : start]
                        symbol = b"https" + between + symbol
                        start -= before.end("scheme")
                    yield start, path.end(), symbol
                    break
            else:
                if is_telling:
                    yield start, end, _OTHER if is_named else self._at[host][-1].symbol


def _is_telling(host: bytes) -> bool:
    return b"." in host and not is_loopback(host.decode())
