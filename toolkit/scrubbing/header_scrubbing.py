"""Headers in a form that is safe to record: neutral names, symbolic hosts, and no credentials or cookies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from toolkit.core.document import DEFAULT_HEADER_PREFIX
from toolkit.core.secret import Secret
from toolkit.scrubbing.finding.in_place import WeakCredentials
from toolkit.scrubbing.finding.parts import replace_cookies
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList, header_bytes, header_text
from toolkit.scrubbing.symbolic_addresses import SymbolicAddresses
from toolkit.scrubbing.vocabulary import COOKIE, COOKIE_HEADERS, Place, credential_kind, is_placeholder

# Replaces secrets and addresses in bytes; the flag tells whether the bytes are part of a URL.
Change = Callable[[bytes, bool], bytes]

_LINK_HEADERS: Final = frozenset({"location", "content-location", "link", "refresh", "referer"})


def unchanged(data: bytes, in_url: bool) -> bytes:  # noqa: ARG001 - a Change
    """Return the bytes as they are."""
    return data


class HeaderScrubber:
    """Scrubs the headers of messages for one session.

    Args:
        known: the known secrets.
        weak: replaces weak credentials in their places.
        addresses: the addresses to replace in Host headers.
        header_prefix: the service's own prefix of the key headers.
        has_rule: tells whether the user's rules name a header, which then decide what is written instead.
    """

    def __init__(
        self,
        known: KnownSecrets,
        weak: WeakCredentials,
        addresses: SymbolicAddresses,
        header_prefix: str,
        has_rule: Callable[[str], bool],
    ) -> None:
        self._known = known
        self._weak = weak
        self._addresses = addresses
        self._prefix = f"{header_prefix}-".lower()
        self._renames = header_prefix.upper() != DEFAULT_HEADER_PREFIX
        self._has_rule = has_rule

    def scrubbed(self, headers: HeaderList, host: str, change: Change, *, is_request: bool) -> HeaderList:
        """Return the headers of a message in a form that is safe to record.

        Args:
            headers: names and values.
            host: the host of the recorded URI; empty for a response.
            change: replaces secrets and addresses in a value.
            is_request: True for the headers of a request, in which credentials stand.
        """
        return tuple([self._header(name, value, host, change, is_request) for name, value in headers])

    def _header(self, name: str, value: str, host: str, change: Change, is_request: bool) -> tuple[str, str]:
        lower = name.lower()
        if self._renames and lower.startswith(self._prefix):
            name = f"{DEFAULT_HEADER_PREFIX}-{name[len(self._prefix) :]}"
        if lower == "host" and (symbol := self._addresses.host(value, host)) is not None:
            return name, symbol
        if is_request and lower not in COOKIE_HEADERS:
            kind = credential_kind(name, Place.HEADER)
            if kind is not None and not self._has_rule(name):
                return name, value if is_placeholder(value) else f"<{kind}>"
            value = self._weak.header(name, value)
        if change is not unchanged:
            raw = header_bytes(value)
            scrubbed = change(raw, lower in _LINK_HEADERS)
            value = value if scrubbed == raw else header_text(scrubbed)
        if lower in COOKIE_HEADERS:
            value = replace_cookies(lower, value, self._cookie)
        return name, value

    def _cookie(self, name: str, value: str) -> str:  # noqa: ARG002 - a cookie is a credential whatever its name
        if is_placeholder(value):
            return value
        return self._known.placeholder_of(Secret(unquote(value))) or f"<{COOKIE}>"
