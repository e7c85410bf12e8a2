"""Find the recorded interactions that answer a request, using an index instead of comparing every recording.

`match_on` takes vcrpy's names. Method and URI are read from the first lines of an item, so thousands of items are
indexed without parsing any. Headers, bodies and identities are compared only among the few items with the same method
and URI; bodies are compared by meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.core.errors import as_choice
from toolkit.core.ledger import Authorization
from toolkit.scrubbing.messages import RecordedRequest, header_value
from toolkit.scrubbing.vocabulary import Place, credential_kind

OURS: Final = ("identity", "method", "scheme", "host", "port", "path", "query", "body")
VCRPY_DEFAULT: Final = ("method", "scheme", "host", "port", "path", "query")
_UNUSUAL_PATH: Final = re.compile(r"/\.|[^A-Za-z0-9._~!$&'()*+,;=:@/-]")
_BOUNDARY: Final = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)
_DELIMITER: Final = re.compile(rb"--([^\r\n]{1,70})\r?\n")  # RFC 2046 section 5.1.1; for a header without a boundary
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}


class Identity(NamedTuple):
    """The caller of a request, compared so that one profile's recording does not answer another profile's request.

    Attributes:
        environment: name of the environment, or None for a client without a session.
        profile: name of the credentials; None, for a caller without credentials, matches every profile.
    """

    environment: str | None = None
    profile: str | None = None

    def includes(self, caller: Authorization | None) -> bool:
        """Return True if this identity matches the caller of a recording, or every caller."""
        return self == ANYONE or (
            caller is not None and self.environment == caller.environment and self.profile in (None, caller.profile)
        )


ANYONE: Final = Identity()


@lru_cache(maxsize=1024)
def _parts_of(uri: str) -> dict[str, Hashable]:
    """Return the parts of a URI as httpx would send it, keyed by vcrpy's names.

    The path is percent-encoded and has no `.` or `..` segments, because other clients write some paths differently, and
    placeholders in foreign recordings are not percent-encoded.
    """
    parts = urlsplit(uri)
    path = parts.path or "/"
    if _UNUSUAL_PATH.search(path):
        with suppress(httpx.InvalidURL):
            path = httpx.URL("http://h" + path).raw_path.decode("ascii")
    whole = parts._replace(path=path, fragment="").geturl()
    return {
        "uri": whole,
        "url": whole,
        "scheme": parts.scheme,
        "host": parts.hostname,
        # An invalid URI gets a port that no recording has.
        "port": parts.port or _DEFAULT_PORTS.get(parts.scheme) if is_uri(uri) else parts.netloc,
        "path": path,
        "query": tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))),
    }


def _part_of_uri(name: str) -> Callable[[RecordedRequest], Hashable]:
    return lambda request: _parts_of(request.uri)[name]


def _headers(request: RecordedRequest) -> Hashable:
    # Recordings have placeholders in credential headers, and requests do not have these headers yet.
    return tuple(
        sorted((name.lower(), value) for name, value in request.headers if credential_kind(name, Place.HEADER) is None)
    )


def canonical_body(request: RecordedRequest) -> Hashable:
    """Return a body in a comparable form: JSON values, form fields, multipart without its boundary, or else bytes."""
    body = request.body
    if not body:
        return b""
    content_type = header_value(request.headers, "content-type")
    media_type = content_type.split(";", 1)[0].strip().lower()
    try:
        # For JSON sent with aiohttp, vcrpy does not record the content type.
        is_untyped_json = not media_type and body.lstrip()[:1] in (b"{", b"[")
        if media_type == "application/json" or media_type.endswith("+json") or is_untyped_json:
            return "json", json.dumps(json.loads(body), sort_keys=True)
        if media_type == "application/x-www-form-urlencoded":
            fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, strict_parsing=True)
            return "form", tuple(
                sorted(fields, key=lambda field: field[0])
            )  # stable, so repeated fields keep their order
    except (ValueError, RecursionError):
        return body
    if media_type.startswith("multipart/"):
        in_header, in_body = _BOUNDARY.search(content_type), _DELIMITER.match(body)
        boundary = in_header[1].encode() if in_header else in_body and in_body[1]
        return body.replace(boundary, b"boundary") if boundary else body
    return body


# Parts of method and URI, which are known before an item is parsed.
HEAD_PARTS: Final[dict[str, Callable[[RecordedRequest], Hashable]]] = {
    "method": lambda request: request.method.upper(),
    **{name: _part_of_uri(name) for name in ("uri", "url", "scheme", "host", "port", "path", "query")},
}
# Parts for which an item must be parsed.
PARSED_PARTS: Final[dict[str, Callable[[RecordedRequest], Hashable]]] = {
    "headers": _headers,
    "body": canonical_body,
    "raw_body": lambda request: request.body,
}


class Matcher:
    """The parts of a request that must match the corresponding parts of a recording.

    Attributes:
        names: vcrpy's names for the parts, and `identity`.
        uses_identity: True if the caller must be the same.
    """

    def __init__(self, match_on: Sequence[str]) -> None:
        known = ("identity", *HEAD_PARTS, *PARSED_PARTS)
        for name in match_on:
            as_choice(name, known, about="match_on")
        self.names = tuple(match_on)
        self.uses_identity = "identity" in match_on
        self._head = tuple(HEAD_PARTS[name] for name in match_on if name in HEAD_PARTS)
        self._parsed = tuple(PARSED_PARTS[name] for name in match_on if name in PARSED_PARTS)

    def head_key(self, request: RecordedRequest) -> tuple[Hashable, ...]:
        """Return the index key made from method and URI."""
        return tuple([part(request) for part in self._head])

    def parsed_key(self, request: RecordedRequest) -> tuple[Hashable, ...]:
        """Return the key of the parts for which an item must be parsed; empty if there are none."""
        return tuple([part(request) for part in self._parsed])


class _Group:
    """Recordings with the same method and URI: all numbers, and the unplayed ones keyed by the other request parts."""

    __slots__ = ("by_parts", "left", "numbers")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.by_parts: dict[Hashable, list[int]] | None = None  # None until they are parsed
        self.left: dict[tuple[Hashable, Identity], list[int]] = {}


class Index:
    """An index of recordings by the request parts that must match.

    `heads` has one request for each recording, in order, with at least a method and a URI. `parse` returns an
    interaction by its number; it is called only for interactions whose method and URI match those of a request.
    """

    def __init__(self, matcher: Matcher, heads: Iterable[RecordedRequest], parse: Callable[[int], Interaction]) -> None:
        self._matcher = matcher
        self._parse = parse
        self._by_head: dict[Hashable, _Group] = {}
        # By method and URI as written: most requests are written exactly as recorded.
        self._as_written: dict[tuple[str, str], _Group] = {}
        for number, request in enumerate(heads):
            group = self._by_head.setdefault(matcher.head_key(request), _Group())
            group.numbers.append(number)
            self._as_written[request.method, request.uri] = group

    def find(self, identity: Identity, request: RecordedRequest) -> list[int]:
        """Return the numbers of the recordings that answer a request, in a list from which the player removes items."""
        group = self._as_written.get((request.method, request.uri))
        if group is None:
            group = self._by_head.get(self._matcher.head_key(request))
        if group is None:
            return []
        parts = self._matcher.parsed_key(request)
        left = group.left.get((parts, identity))
        if left is None:
            numbers = self._by_parts(group).get(parts, []) if parts else group.numbers
            left = group.left[parts, identity] = self._of_caller(identity, numbers)
        return left

    def _by_parts(self, group: _Group) -> dict[Hashable, list[int]]:
        if group.by_parts is None:
            group.by_parts = {}
            for number in group.numbers:
                parts = self._matcher.parsed_key(self._parse(number).request)
                group.by_parts.setdefault(parts, []).append(number)
        return group.by_parts

    def _of_caller(self, identity: Identity, numbers: list[int]) -> list[int]:
        """Return the caller's own recordings or, if there are none, those without a caller, which match everyone."""
        if identity == ANYONE or not self._matcher.uses_identity:
            return list(numbers)
        recordings = {number: self._parse(number) for number in numbers}
        return [number for number, each in recordings.items() if identity.includes(each.authorized_by)] or [
            number for number, each in recordings.items() if not (each.authorized_by or each.token_obtained)
        ]
