"""The scrubber, which makes requests and responses safe to record.

First it learns the credentials in them (an Authorization header, a cookie, a password field), which are known secrets
from then on. Then it replaces every known secret, in every form, with its placeholder, makes addresses symbolic, and
applies the user's own rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from toolkit.core.document import DEFAULT_HEADER_PREFIX
from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.content_encodings import decompress_body
from toolkit.scrubbing.finding.in_place import ManyCredentials, WeakCredentials
from toolkit.scrubbing.finding.learning import learned
from toolkit.scrubbing.header_scrubbing import Change, HeaderScrubber, unchanged
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes, header_value
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.rules.rewriting import keep_json
from toolkit.scrubbing.symbolic_addresses import SymbolicAddresses

if TYPE_CHECKING:
    from toolkit.scrubbing.rules.applying import AppliedRules

_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_MOST_REMEMBERED: Final = 1 << 16  # bytes of the body of a request


class ScrubbedExchange(NamedTuple):
    """A request and its response in a form that is safe to record.

    Attributes:
        known_count: the number of known secrets that were looked for.
    """

    request: RecordedRequest
    response: RecordedResponse
    known_count: int


class Scrubber:
    """A filter for messages: secrets become placeholders, addresses and header names become symbolic.

    Args:
        known: the secrets; secrets found by their place are added.
        addresses: names of addresses with the addresses themselves, as in the settings.
        header_prefix: the service's own prefix of the key headers.
        rules: what else to replace.

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
        self._changes = 0  # of addresses
        # The last request that was looked up, the state before that, and the result: most requests are recorded next.
        # Here and below one tuple, read once, because another thread may replace it at any time.
        self._last_lookup: tuple[RecordedRequest, tuple[int, int] | None, RecordedRequest] | None = None
        # The headers of the last request, the state before they were scrubbed, the host for which, and the result.
        self._last_headers: tuple[HeaderList, tuple[int, int] | None, str, HeaderList] = ((), None, "", ())
        self._weak = WeakCredentials(known, self._has_rule)
        self.use_addresses(addresses or {}, header_prefix)
        self.add_rules(rules)

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """The rules of pseudonyms, as the user wrote them."""
        return self._rules.rules.pseudonyms if self._rules else ()

    @property
    def has_rules(self) -> bool:
        """True if there are rules of the user's own."""
        return self._rules is not None

    @property
    def state(self) -> tuple[int, int] | None:
        """The state that a scrubbed request depends on; None with rules, because their stand-ins depend on more."""
        return (len(self.known), self._changes) if self._rules is None else None

    def add_rules(self, rules: Rules | None) -> None:
        """Add rules to those that are applied."""
        before = self._rules.rules if self._rules else None
        both = before | rules if before and rules else rules or before
        if both and both != before:
            from toolkit.scrubbing.rules.applying import AppliedRules

            self._rules = AppliedRules(both, self.known)
            self.recall(self.recorded)

    def _has_rule(self, name: str) -> bool:
        return self._rules is not None and self._rules.has_name(name)

    def recall(self, recorded: bytes) -> None:
        """Remember what is recorded already, because stand-ins from a replay come back in later requests."""
        self.recorded = recorded
        if self._rules is not None:
            self._rules.pseudonyms.recall(recorded)

    def stand_ins_in(self, message: RecordedRequest | RecordedResponse) -> set[str]:
        """Return the pseudonyms in a recorded message: the values in places for which a rule makes them."""
        if self._rules is None:
            return set()
        uri = message.uri if isinstance(message, RecordedRequest) else ""
        return self._rules.stand_ins_in(uri, message.headers, decompress_body(message.headers, message.body))

    def replaced(self) -> list[tuple[Secret, str]]:
        """Return each value that was replaced so far, with its placeholder or stand-in; a value may occur twice.

        Short values, which are replaced in their places only, are included.
        """
        return [*self.known.replaced(), *(self._rules.pseudonyms.made() if self._rules else ())]

    def values_behind(self, stand_ins: Collection[str], candidates: Iterable[str]) -> dict[str, str]:
        """Return the candidates whose pseudonym is one of `stand_ins`, with their pseudonyms; none without a key."""
        return {} if self._rules is None else self._rules.pseudonyms.value_of(candidates, stand_ins)

    def use_addresses(self, addresses: Mapping[str, str], header_prefix: str) -> None:
        """Replace the addresses and the header prefix of a session from now on."""
        self._addresses = SymbolicAddresses(addresses)
        self._headers = HeaderScrubber(self.known, self._weak, self._addresses, header_prefix, self._has_rule)
        self._with_address = (0, False)  # number of secrets that were searched for an address, and whether one has it
        self._changes += 1

    def exchange(
        self, request: RecordedRequest, response: RecordedResponse, *, replaced: Collection[str] = ()
    ) -> ScrubbedExchange:
        """Return a request and its response in a form that is safe to record.

        Args:
            request, response: the messages.
            replaced: rules of pseudonyms that were applied earlier. The values in these places are stand-ins and stay.

        Raises:
            SecretLeak: if a body cannot be decompressed, or holds a secret in compressed data, where it cannot be
                replaced.
        """
        request_body = decompress_body(request.headers, request.body)
        response_body = decompress_body(response.headers, response.body)
        rules = self._rules.without_pseudonyms(replaced) if self._rules and replaced else self._rules
        self._learn(request, request_body, rules)
        many = self._learn(response, response_body, rules, request=request)
        known_count = len(self.known)
        change = self._change_for(_whole(response, response_body))
        headers, body, _ = self._message(response, response_body, change, rules, many=many, records=True)
        reason = self.known.scrub_text(response.reason)
        last = self._last_lookup
        if last is not None and last[:2] == (request, self.state) and self._rules is None:
            scrubbed = last[2]
        else:
            scrubbed = self._request(request, request_body, rules, records=True)
        return ScrubbedExchange(scrubbed, response._replace(reason=reason, headers=headers, body=body), known_count)

    def lookup_request(self, request: RecordedRequest) -> RecordedRequest:
        """Return the request to look up in a recording: the request as it would be recorded."""
        state = self.state
        try:
            has_more = request.body or self._rules is not None
            result = self._lookup_request(request) if has_more else self._lookup_without_body(request)
        except SecretLeak:  # its body cannot be decompressed; recording it will say so
            if not request.body:
                raise
            return self.lookup_request(request._replace(body=b""))._replace(body=request.body)
        is_small = len(request.body) <= _MOST_REMEMBERED
        self._last_lookup = (request, state, result) if is_small else None
        return result

    def _lookup_without_body(self, request: RecordedRequest) -> RecordedRequest:
        seen, state, host, scrubbed = self._last_headers
        if seen == request.headers and state == self.state:  # most requests of a client have equal headers
            result = self._lookup_request(RecordedRequest(request.method, request.uri))
            if state == self.state and host == urlsplit(result.uri).netloc:
                return RecordedRequest(result.method, result.uri, scrubbed)
        state = self.state
        result = self._lookup_request(request)
        if state == self.state:
            self._last_headers = request.headers, state, urlsplit(result.uri).netloc, result.headers
        return result

    def _lookup_request(self, request: RecordedRequest) -> RecordedRequest:
        body = decompress_body(request.headers, request.body)
        self._learn(request, body, self._rules, records=False)
        return self._request(request, body, self._rules, records=False)

    def uri(self, uri: str) -> str:
        """Return a URI with a symbolic address and without secrets or userinfo."""
        return self._uri(uri, self._scrub)

    def _learn(
        self,
        message: RecordedRequest | RecordedResponse,
        body: bytes,
        rules: AppliedRules | None,
        *,
        request: RecordedRequest | None = None,
        records: bool = True,
    ) -> frozenset[tuple[str, str]]:
        """Learn the credentials in a message, and return those that are to be replaced in their places only."""
        in_place: frozenset[tuple[str, str]] = frozenset()
        last = self._last_lookup
        if last is None or message != last[0]:
            new = learned(message, body, request=request)
            self.known.add_all(new.secrets, from_messages=True)
            in_place = new.in_place
        if rules is not None:
            uri = message.uri if isinstance(message, RecordedRequest) else ""
            rules.learn(uri, message.headers, body, is_request=bool(uri), records=records)
        return in_place

    def _change_for(self, whole: bytes) -> Change:
        """Return the replacement function for a message; most messages hold nothing to replace."""
        if self.known.may_hold(whole):
            return self._scrub
        return self._symbolize if self._addresses.are_in(whole) else unchanged

    def _request(
        self, request: RecordedRequest, body: bytes, rules: AppliedRules | None, *, records: bool
    ) -> RecordedRequest:
        change = self._change_for(_whole(request, body))
        headers, body, uri = self._message(request, body, change, rules, records=records)
        return RecordedRequest(request.method, uri, headers, body)

    def _uri(self, uri: str, change: Change) -> str:
        uri = _without_userinfo(uri)
        raw = uri.encode("utf-8", "surrogatepass")
        changed = change(raw, True)
        return uri if changed is raw else changed.decode("utf-8", "surrogatepass")

    def _message(
        self,
        message: RecordedRequest | RecordedResponse,
        plain_body: bytes,
        change: Change,
        rules: AppliedRules | None,
        *,
        many: Collection[tuple[str, str]] = (),
        records: bool,
    ) -> tuple[HeaderList, bytes, str]:
        """Return headers, body and URI in a form that is safe to record.

        The body is the message's own, compressed as it came, unless something in it changed.
        """
        is_request = isinstance(message, RecordedRequest)
        uri = message.uri if isinstance(message, RecordedRequest) else ""
        headers, body = message.headers, plain_body
        if rules is not None:
            uri, headers, body = rules.apply(uri, headers, body, is_request=is_request, records=records)
        if is_request:
            uri, body = (
                self._weak.uri(uri),
                self._weak.body(header_value(headers, "content-type"), body) if body else body,
            )
        elif many:
            body = ManyCredentials(self.known, self._has_rule, many).body(header_value(headers, "content-type"), body)
        if body:
            body = keep_json(body, change(body, False))
        uri = self._uri(uri, change) if uri else ""
        if body == plain_body:
            body = message.body
        else:
            kept = [(name, value) for name, value in headers if name.lower() not in _LENGTH_HEADERS]
            headers = (*kept, ("Content-Length", str(len(body))))
        host = urlsplit(uri).netloc if uri else ""
        return self._headers.scrubbed(headers, host, change, is_request=is_request), body, uri

    def _scrub(self, data: bytes, in_url: bool = False) -> bytes:
        count, is_found = self._with_address
        if count != len(self.known):
            new = self.known.since(count)
            texts = (secret.reveal().encode("utf-8", "surrogatepass") for secret, _ in new)
            is_found = is_found or any(map(self._addresses.are_in, texts))
            self._with_address = count + len(new), is_found
        if is_found:  # such as a webhook, which is not found any more when its host has become symbolic
            data = self.known.scrub(data, in_url=in_url)
        return self.known.scrub(self._addresses.replace_in(data), in_url=in_url)

    def _symbolize(self, data: bytes, in_url: bool = False) -> bytes:  # noqa: ARG002 - as Change takes it
        return self._addresses.replace_in(data)


def _whole(message: RecordedRequest | RecordedResponse, body: bytes) -> bytes:
    """Return everything in a message that may hold a secret or an address, as one text."""
    first = _without_userinfo(message.uri) if isinstance(message, RecordedRequest) else message.reason
    texts = [header_bytes(value) for _, value in message.headers]
    return b"\n".join((first.encode("utf-8", "surrogatepass"), *texts, body))


def _without_userinfo(uri: str) -> str:
    if "@" not in uri:
        return uri
    parts = urlsplit(uri)
    return uri if parts.username is None else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
