"""The scrubber makes requests and responses safe to record.

The user's own rules are applied first. Then `finding` replaces, in place, the values that a message names as
credentials. Finally, every known secret, including those noted from messages of this recording, is replaced wherever it
occurs, and addresses become symbolic. A scrubber may be shared between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

from toolkit.core.document import DEFAULT_HEADER_PREFIX
from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.finding.find import Finder
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
    header_value,
)
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.symbolic_addresses import SymbolicAddresses
from toolkit.scrubbing.vocabulary import COOKIE_HEADERS, MessageKind, Place, credential_kind

if TYPE_CHECKING:
    from toolkit.scrubbing.rules.applying import AppliedRules

# Replaces secrets and addresses in bytes; the flag says whether the bytes are part of a URL.
_Change = Callable[[bytes, bool], bytes]

_Message = TypeVar("_Message", RecordedRequest, RecordedResponse)
_CODEC: Final = "utf-8", "surrogatepass"
_LEAST_ERROR: Final = 400  # RFC 9110 section 15.5
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_LARGE: Final = 1 << 16  # bytes; a larger body is searched separately
_LINK_HEADERS: Final = frozenset({"location", "content-location", "link", "refresh", "referer"})


class Scrubber:
    """A filter for messages: secrets become placeholders, and addresses and header names become symbolic.

    Args:
        known: the secrets; values that messages name as credentials are added to them.
        addresses: addresses by name, as in the settings.
        header_prefix: the prefix that the service uses for its key headers.
        rules: what to replace in addition to credentials and addresses.

    Attributes:
        known: as in the arguments.
        recorded: the bytes of the recording when it was opened.
    """

    def __init__(
        self,
        known: KnownSecrets,
        *,
        addresses: Mapping[str, str] | None = None,
        header_prefix: str = DEFAULT_HEADER_PREFIX,
        rules: Rules | None = None,
    ) -> None:
        self.known = known
        self._rules: AppliedRules | None = None
        self.recorded = b""
        self._used: tuple[Mapping[str, str], str] | None = None
        self._noted: HeaderList = ()  # credential headers of the last request that was looked up unscrubbed
        self.use_addresses(addresses or {}, header_prefix)
        self.add_rules(rules)

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """The pseudonym rules, as the user wrote them."""
        return self._rules.rules.pseudonyms if self._rules else ()

    @property
    def has_rules(self) -> bool:
        """True if the user has rules."""
        return self._rules is not None

    def add_rules(self, rules: Rules | None) -> None:
        """Apply additional rules from now on."""
        before = self._rules.rules if self._rules else None
        both = before | rules if before and rules else rules or before
        if both and both != before:
            from toolkit.scrubbing.rules.applying import AppliedRules

            self._rules = AppliedRules(both, self.known)
            self.recall(self.recorded)

    def recall(self, recorded: bytes) -> None:
        """Remember what has been recorded, because later requests may contain stand-ins from a replay."""
        self.recorded = recorded
        if self._rules is not None:
            self._rules.pseudonyms.recall(recorded)

    def stand_ins_in(self, message: RecordedRequest | RecordedResponse) -> set[str]:
        """Return the pseudonyms in a recorded message: the values at the places for which there are pseudonym rules."""
        if self._rules is None:
            return set()
        uri = message.uri if isinstance(message, RecordedRequest) else ""
        return self._rules.stand_ins_in(uri, message.headers, decompress_body(message.headers, message.body))

    def replaced(self) -> list[tuple[Secret, str]]:
        """Return each value that has been replaced so far, with its placeholder or stand-in; a value may occur twice.

        Short values, which are replaced only where they were found, are included.
        """
        return [*self.known.replaced(), *(self._rules.pseudonyms.made() if self._rules else ())]

    def values_behind(self, stand_ins: Collection[str], candidates: Iterable[str]) -> dict[str, str]:
        """Return each candidate whose pseudonym is in `stand_ins`, with the pseudonym; none if there is no key."""
        return {} if self._rules is None else self._rules.pseudonyms.value_of(candidates, stand_ins)

    def use_addresses(self, addresses: Mapping[str, str], header_prefix: str) -> None:
        """Use a session's addresses and header prefix for replacement from now on."""
        if self._used != (addresses, header_prefix):
            self._used = dict(addresses), header_prefix
            self._addresses = SymbolicAddresses(addresses) if addresses else None
        self._prefix = "" if header_prefix.upper() == DEFAULT_HEADER_PREFIX else f"{header_prefix}-".lower()

    def exchange(
        self, request: RecordedRequest, response: RecordedResponse, *, replaced: Collection[str] = ()
    ) -> tuple[RecordedRequest, RecordedResponse]:
        """Return a request and its response in a form that is safe to record.

        Args:
            request, response: the messages.
            replaced: pseudonym rules that were applied earlier. Their stand-ins are kept.

        Raises:
            SecretLeak: if a body cannot be decompressed.
        """
        request_body = decompress_body(request.headers, request.body)
        response_body = decompress_body(response.headers, response.body)
        rules = self._rules.without_pseudonyms(replaced) if self._rules and replaced else self._rules
        # The response first, because a value that a rule finds in it may be part of the request's URL.
        response_by_rules = _by_rules(rules, response, response_body, records=True)
        request_by_rules = _by_rules(rules, request, request_body, records=True)
        asked = self._found(*request_by_rules)
        answered = self._found(*response_by_rules, request=request)
        change = self._change_for(asked, answered)
        return self._safe(request, request_body, asked, change), self._safe(response, response_body, answered, change)

    def with_symbols(self, request: RecordedRequest) -> RecordedRequest:
        """Return a request with a symbolic address, and note the credentials in its headers; nothing else changes."""
        headers = tuple([header for header in request.headers if _is_credential(header[0])])
        if headers != self._noted:
            self._found(RecordedRequest("", "", headers), b"")
            self._noted = headers
        return request._replace(uri=_safe_uri(request.uri, self._symbolize))

    def lookup_request(self, request: RecordedRequest) -> RecordedRequest:
        """Return the request as it would be recorded, to look it up."""
        try:
            body = decompress_body(request.headers, request.body)
        except SecretLeak:  # recording it will raise the error
            return self.lookup_request(request._replace(body=b""))._replace(body=request.body)
        asked: tuple[RecordedRequest, bytes] = self._found(*_by_rules(self._rules, request, body, records=False))
        return self._safe(request, body, asked, self._change_for(asked))

    def _has_rule(self, name: str) -> bool:
        return self._rules is not None and self._rules.has_name(name)

    def _placeholder(self, kind: str, value: str) -> str:
        return self.known.placeholder(kind, Secret(value))

    def _found(self, message: Any, body: bytes, *, request: RecordedRequest | None = None) -> tuple[Any, bytes]:
        """Return a request or response, and its body, with the credentials it names replaced; note the credentials."""
        kind = MessageKind.REQUEST
        if request is not None:
            kind = MessageKind.ERROR if message.status >= _LEAST_ERROR else MessageKind.ANSWER
        path = unquote(urlsplit((request or message).uri).path)
        finder = Finder(kind, self._placeholder, self._has_rule, self.known.used, others=path.split("/"))
        if request is None:
            finder.note_shapes(unquote(message.uri))
            message = message._replace(uri=finder.uri(message.uri))
        body = finder.body(header_value(message.headers, "content-type"), body) if body else body
        message = message._replace(
            headers=tuple([(name, finder.header(name, value)) for name, value in message.headers])
        )
        self.known.note(*finder.result())
        return message, body

    def _change_for(self, *found: tuple[Any, bytes]) -> _Change:
        """Return the cheapest function that replaces everything necessary; most messages contain no secret."""
        parts = []
        for message, body in found:
            parts.append((message.uri if isinstance(message, RecordedRequest) else message.reason).encode(*_CODEC))
            parts += [header_bytes(value) for _, value in message.headers]
            parts.append(body if len(body) <= _LARGE else b"")
        return self._scrub if self.known.may_hold(b"\n".join(parts)) else self._symbolize

    def _safe(self, message: _Message, plain: bytes, found: tuple[_Message, bytes], change: _Change) -> _Message:
        """Return a message in a form that is safe to record.

        Args:
            message: the original message; its body is kept if nothing changes.
            plain: its decompressed body.
            found: the message and this body, with the credentials that they name replaced.
            change: the function that replaces known secrets and addresses.
        """
        safe, body = found
        headers: HeaderList = safe.headers
        changed = (change if len(body) <= _LARGE else self._scrub)(body, False)
        if changed == plain:
            changed = message.body
        else:
            length = "Content-Length", str(len(changed))
            headers = (*[header for header in headers if header[0].lower() not in _LENGTH_HEADERS], length)
        host = ""
        if isinstance(safe, RecordedRequest):
            safe = safe._replace(uri=_safe_uri(safe.uri, change))
            host = urlsplit(safe.uri).netloc
        else:
            safe = safe._replace(reason=change(safe.reason.encode(*_CODEC), False).decode(*_CODEC))
        headers = tuple([self._header(name, value, host, change) for name, value in headers])
        return safe._replace(headers=headers, body=changed)

    def _header(self, name: str, value: str, host: str, change: _Change) -> tuple[str, str]:
        lower = name.lower()
        if self._prefix and lower.startswith(self._prefix):
            name = f"{DEFAULT_HEADER_PREFIX}-{name[len(self._prefix) :]}"
        symbol = self._addresses.host(value, host) if lower == "host" and self._addresses is not None else None
        if symbol is not None:
            return name, symbol
        raw = header_bytes(value)
        scrubbed = change(raw, lower in _LINK_HEADERS)
        return name, value if scrubbed == raw else header_text(scrubbed)

    def _scrub(self, data: bytes, in_url: bool) -> bytes:
        # A secret may contain an address, such as a webhook, and would not be found once its host is symbolic.
        return self._symbolize(self.known.scrub(data, in_url=in_url))

    def _symbolize(self, data: bytes, in_url: bool = False) -> bytes:  # noqa: ARG002 - required by _Change
        return data if self._addresses is None else self._addresses.replace_in(data)


def _by_rules(
    rules: AppliedRules | None, message: RecordedRequest | RecordedResponse, body: bytes, *, records: bool
) -> tuple[Any, bytes]:
    """Return a message and its body, with everything that the user's rules match replaced."""
    if rules is None:
        return message, body
    if isinstance(message, RecordedResponse):
        _, headers, body = rules.apply("", message.headers, body, is_request=False, records=records)
        return message._replace(headers=headers), body
    uri, headers, body = rules.apply(message.uri, message.headers, body, is_request=True, records=records)
    return message._replace(uri=uri, headers=headers), body


@lru_cache(maxsize=256)
def _is_credential(name: str) -> bool:
    return credential_kind(name, Place.HEADER) is not None or name.lower() in COOKIE_HEADERS


def _safe_uri(uri: str, change: _Change) -> str:
    """Return a URI with a change applied and any user name and password removed."""
    if "@" in uri and (parts := urlsplit(uri)).username is not None:
        uri = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return change(uri.encode(*_CODEC), True).decode(*_CODEC)
