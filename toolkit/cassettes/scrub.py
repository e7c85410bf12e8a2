"""Scrubbing: every secret that is known becomes a placeholder before anything is recorded.

Secrets become known when credentials load, when a token reply names one, and by the place at which
they stand (an Authorization header, a password field); from then on they are looked for by value,
everywhere and in every form. Addresses become symbolic in the same pass.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

from toolkit.cassettes.encodings import open_body
from toolkit.cassettes.format import (
    HeaderList,
    Interaction,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
)
from toolkit.cassettes.forms import Forms, PlacedForms
from toolkit.cassettes.places import FIELD_NAMES, header_place, is_placeholder, secrets_by_place
from toolkit.credentials import SHORTEST_SECRET
from toolkit.errors import SecretLeak
from toolkit.secret import Secret
from toolkit.service import ADDRESS_NAMES, DEFAULT_HEADER_PREFIX, symbolic_address

_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_LINK_HEADERS: Final = frozenset({"location", "content-location", "link", "refresh", "referer"})
# What may not follow an address, or it is the beginning of another one.
_ENDED: Final = rb"(?![A-Za-z0-9_-]|\.[A-Za-z0-9]|(?::|%3[Aa])[0-9])"


def _symbolic_host(address_name: str) -> str:
    return urlsplit(symbolic_address(address_name)).netloc


_SYMBOLIC_HOSTS: Final = frozenset(map(_symbolic_host, ADDRESS_NAMES))


class KnownSecrets:
    """The secrets known so far, each with the placeholder that stands for it. Grows, never shrinks.

    Distinct secrets of one kind keep distinct placeholders (`<ACCESS_TOKEN>`, `<ACCESS_TOKEN-2>`), or
    one request would be answered by another's recording.
    """

    def __init__(self, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        self._lock = threading.Lock()
        self._placeholders: dict[Secret, str] = {}
        self._forms: tuple[tuple[Forms | PlacedForms, bytes, int], ...] = ()
        self._counts: dict[str, int] = {}
        self._kinds: dict[Secret, str] = {}
        self._followers: list[KnownSecrets] = []
        for kind, secret in secrets:
            self.add(kind, secret)

    def add(self, kind: str, secret: Secret) -> None:
        """Know one more secret, of a kind such as "ACCESS_TOKEN"."""
        text = secret.reveal()
        if not text or is_placeholder(text):
            return
        with self._lock:
            if secret in self._placeholders:
                return
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            placeholder = f"<{kind}>" if count == 1 else f"<{kind}-{count}>"
            is_short = len(text) < SHORTEST_SECRET
            forms = PlacedForms(text, FIELD_NAMES) if is_short else Forms(text)
            # Longest first, so that a secret that contains another is replaced whole.
            entries = [*self._forms, (forms, placeholder.encode(), len(text))]
            self._forms = tuple(sorted(entries, key=lambda entry: entry[2], reverse=True))
            self._placeholders[secret] = placeholder
            self._kinds[secret] = kind
            followers = tuple(self._followers)
        for follower in followers:
            follower.add(kind, secret)
        if is_short:
            warnings.warn(
                f"A secret of kind {kind} has fewer than {SHORTEST_SECRET} characters; in recordings it is replaced "
                "only where credentials stand, not wherever its text occurs.",
                stacklevel=2,
            )

    def share_with(self, other: KnownSecrets) -> None:
        """Have another know these secrets too, and those that become known from here on."""
        with self._lock:
            if other is self or any(other is one for one in self._followers):
                return
            self._followers.append(other)
            known = list(self._kinds.items())
        for secret, kind in known:
            other.add(kind, secret)

    def add_texts(self, secrets: str | Secret | Iterable[str | Secret]) -> None:
        """Know what a caller names besides credentials: one text or several."""
        for secret in (secrets,) if isinstance(secrets, str | Secret) else secrets:
            self.add("SECRET", Secret(secret))

    def scrub(self, data: bytes, *, in_url: bool = False) -> bytes:
        """`data` with a placeholder for every known secret, in whatever form it is there.

        Args:
            data: anything.
            in_url: whether placeholders are written as they stand in a URL.
        """
        for forms, placeholder, _ in self._forms:
            data = forms.replaced_in(data, quote(placeholder).encode() if in_url else placeholder)
        return data

    def scrub_text(self, text: str) -> str:
        """The same for text."""
        if not self._forms:
            return text
        return self.scrub(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def find(self, data: bytes) -> tuple[str, str] | None:
        """Placeholder and form of a known secret that is in `data`, or None."""
        for forms, placeholder, _ in self._forms:
            form = forms.found_in(data)
            if form is not None:
                return placeholder.decode(), form
        return None

    def __len__(self) -> int:
        return len(self._placeholders)

    def __repr__(self) -> str:
        return f"<KnownSecrets: {len(self)}>"


class Scrubber:
    """Makes interactions fit to be recorded: secrets to placeholders, addresses and header names to symbols.

    Args:
        known: the secrets; discoveries are added to it.
        addresses: name of an address to its text, as in the settings.
        header_prefix: the service's own prefix of the key headers.
    """

    def __init__(
        self,
        known: KnownSecrets,
        *,
        addresses: Mapping[str, str] | None = None,
        header_prefix: str = DEFAULT_HEADER_PREFIX,
    ) -> None:
        self.known = known
        self.adopt(addresses or {}, header_prefix)

    def adopt(self, addresses: Mapping[str, str], header_prefix: str) -> None:
        """Take on the addresses and header prefix of a session that uses this cassette."""
        self._addresses = _address_patterns(addresses)
        self._hosts = {urlsplit(address).netloc: _symbolic_host(name) for name, address in addresses.items()}
        self._prefix = f"{header_prefix}-".lower()
        self._renames_headers = header_prefix.upper() != DEFAULT_HEADER_PREFIX

    def interaction(self, interaction: Interaction) -> Interaction:
        """The interaction as it may be recorded.

        Raises:
            SecretLeak: a body has a content encoding that cannot be opened, so it cannot be checked.
        """
        request, response = interaction.request, interaction.response
        self._learn(request)
        self._learn(response)
        headers, body = self._message(response.headers, response.body)
        return replace(
            interaction,
            request=self.request(request),
            response=replace(response, reason=self.known.scrub_text(response.reason), headers=headers, body=body),
        )

    def subject(self, request: RecordedRequest) -> RecordedRequest:
        """The request as it is looked up: as it would be recorded."""
        try:
            self._learn(request)
            return self.request(request)
        except SecretLeak:  # its body cannot be opened; recording it will say so
            return replace(self.request(replace(request, body=b"")), body=request.body)

    def request(self, request: RecordedRequest) -> RecordedRequest:
        """The request as it would be recorded."""
        uri = self.uri(request.uri)
        headers, body = self._message(request.headers, request.body, host=urlsplit(uri).netloc)
        return RecordedRequest(request.method, uri, headers, body)

    def uri(self, uri: str) -> str:
        """A URI with a symbolic address and without secrets or userinfo."""
        parts = urlsplit(uri)
        if parts.username is not None:
            uri = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return self._plain(uri.encode("utf-8", "surrogatepass"), in_url=True).decode("utf-8", "surrogatepass")

    def _learn(self, message: RecordedRequest | RecordedResponse) -> None:
        for kind, secret in secrets_by_place(message):
            self.known.add(kind, secret)

    def _message(self, headers: HeaderList, body: bytes, *, host: str = "") -> tuple[HeaderList, bytes]:
        scrubbed = self._body(headers, body)
        if scrubbed is not body:
            kept = [(name, value) for name, value in headers if name.lower() not in _LENGTH_HEADERS]
            headers = (*kept, ("Content-Length", str(len(scrubbed))))
        return tuple(self._header(name, value, host) for name, value in headers), scrubbed

    def _header(self, name: str, value: str, host: str) -> tuple[str, str]:
        lower = name.lower()
        if self._renames_headers and lower.startswith(self._prefix):
            name = f"{DEFAULT_HEADER_PREFIX}-{name[len(self._prefix) :]}"
        if lower == "host" and value in self._hosts:
            # Several addresses may share a host; which one is called, the URI tells.
            return name, host if host in _SYMBOLIC_HOSTS else self._hosts[value]
        place = header_place(name)
        if place is not None and not is_placeholder(value):
            return name, f"<{place}>"
        raw = header_bytes(value)
        scrubbed = self._plain(raw, in_url=lower in _LINK_HEADERS)
        return name, value if scrubbed == raw else header_text(scrubbed)

    def _body(self, headers: HeaderList, body: bytes) -> bytes:
        """The body without secrets: the very same object if there were none, else decoded and changed."""
        if not body:
            return body
        opened = open_body(headers, body)
        scrubbed = self._plain(opened)
        return body if scrubbed == opened else scrubbed

    def _plain(self, data: bytes, *, in_url: bool = False) -> bytes:
        for address, pattern, symbol in self._addresses:
            if address in data:
                data = pattern.sub(symbol, data)
        return self.known.scrub(data, in_url=in_url)


def _address_patterns(addresses: Mapping[str, str]) -> tuple[tuple[bytes, re.Pattern[bytes], bytes], ...]:
    """Each address in the ways JSON and URLs write it, with its symbol written likewise; longest first."""
    symbols: dict[str, str] = {}
    for name, address in addresses.items():
        for write in (str, _slashes_escaped, _percent_encoded, _percent_encoded_small):
            symbols.setdefault(write(address), write(symbolic_address(name)))
    return tuple(
        (address.encode(), re.compile(re.escape(address.encode()) + _ENDED), symbol.encode().replace(b"\\", rb"\\"))
        for address, symbol in sorted(symbols.items(), key=lambda pair: len(pair[0]), reverse=True)
    )


def _slashes_escaped(text: str) -> str:
    return text.replace("/", "\\/")


def _percent_encoded(text: str) -> str:
    return text.replace(":", "%3A").replace("/", "%2F")


def _percent_encoded_small(text: str) -> str:
    return text.replace(":", "%3a").replace("/", "%2f")
