"""Symbols in the place of a service's addresses, so that a recording is the same wherever it was made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from toolkit.core.document import ADDRESS_NAMES, symbolic_address

# An address must not be followed by this, or it is the beginning of another address.
_END: Final = rb"(?![A-Za-z0-9_-]|\.[A-Za-z0-9]|(?::|%3[Aa])[0-9])"


def _symbolic_host(address_name: str) -> str:
    return urlsplit(symbolic_address(address_name)).netloc


_SYMBOLIC_HOSTS: Final = frozenset(map(_symbolic_host, ADDRESS_NAMES))


class SymbolicAddresses:
    """Addresses to replace.

    Args:
        addresses: names of addresses with the addresses themselves, as in the settings.
    """

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._patterns = _patterns_of(addresses)
        self._hosts = {urlsplit(address).netloc: _symbolic_host(name) for name, address in addresses.items()}

    def are_in(self, data: bytes) -> bool:
        """Check whether one of the addresses is in `data`."""
        return any(address in data for address, _, _ in self._patterns)

    def replace_in(self, data: bytes) -> bytes:
        """Return `data` with the symbol of each address in its place."""
        for address, pattern, symbol in self._patterns:
            if address in data:
                data = pattern.sub(symbol, data)
        return data

    def host(self, written: str, called: str) -> str | None:
        """Return the symbol of a host, or None if no address has this host.

        Args:
            written: the value of the Host header.
            called: the host of the recorded URI; it tells which of several addresses on one host is called.
        """
        if written not in self._hosts:
            return None
        return called if called in _SYMBOLIC_HOSTS else self._hosts[written]


def _patterns_of(addresses: Mapping[str, str]) -> tuple[tuple[bytes, re.Pattern[bytes], bytes], ...]:
    """Return each address as JSON and URLs write it, with its pattern and its symbol; longest first."""
    symbols: dict[str, str] = {}
    for name, address in addresses.items():
        for colon, slash in ((":", "/"), (":", "\\/"), ("%3A", "%2F"), ("%3a", "%2f")):
            written, symbol = (
                text.replace(":", colon).replace("/", slash) for text in (address, symbolic_address(name))
            )
            symbols.setdefault(written, symbol)
    return tuple(
        (address.encode(), re.compile(re.escape(address.encode()) + _END), symbol.encode().replace(b"\\", rb"\\"))
        for address, symbol in sorted(symbols.items(), key=lambda pair: len(pair[0]), reverse=True)
    )
