"""Which recorded interaction answers a request: by keys in an index, never by comparing one by one.

`match_on` takes vcrpy's names. Method and the parts of the URI are read from an item's first lines,
so filing thousands of items parses none; headers, bodies and lanes are compared among the few items
that share those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.core.errors import ConfigurationError
from toolkit.scrubbing.credential_names import header_kind
from toolkit.scrubbing.messages import RecordedRequest

OURS: Final = ("identity", "method", "scheme", "host", "port", "path", "query", "body")
VCRPY_DEFAULT: Final = ("method", "scheme", "host", "port", "path", "query")
_BOUNDARY: Final = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)
_PORTS: Final = {"https": 443, "http": 80}


class Identity(NamedTuple):
    """Who calls, so that one profile's request is not answered by another's recording.

    Attributes:
        environment: name of the environment, or None for a client without a session.
        profile: name of the credentials, or None without credentials: then any profile's match.
    """

    environment: str | None = None
    profile: str | None = None


ANYONE: Final = Identity()
_NOBODY: Final = Identity("", "")  # of recordings that do not say who called: they answer whoever asks


def _query(request: RecordedRequest) -> Hashable:
    return tuple(sorted(query_fields(urlsplit(request.uri).query)))


def query_fields(query: str) -> list[tuple[str, str]]:
    """Names and values in a query, in their order, decoded."""
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True)
    pairs = (pair.partition("=") for pair in query.split("&") if pair)  # the same, in a third of the time
    return [(name, value) for name, _, value in pairs]


def _port(request: RecordedRequest) -> Hashable:
    parts = urlsplit(request.uri)
    return parts.port or _PORTS.get(parts.scheme)


def _uri(request: RecordedRequest) -> Hashable:
    parts = urlsplit(request.uri)
    return parts._replace(path=_path(request), fragment="").geturl()


def _path(request: RecordedRequest) -> str:
    # Placeholders in recordings of others are not always written as they stand in a URL.
    return urlsplit(request.uri).path.replace("<", "%3C").replace(">", "%3E") or "/"


def _headers(request: RecordedRequest) -> Hashable:
    # Recordings show placeholders where credentials went; the request as its caller made it has none.
    return tuple(sorted((name.lower(), value) for name, value in request.headers if header_kind(name) is None))


def _fields(form: str) -> Hashable:
    # Repeats of one field keep their order.
    return tuple(sorted(parse_qsl(form, keep_blank_values=True, strict_parsing=True), key=lambda field: field[0]))


def canonical_body(request: RecordedRequest) -> Hashable:
    """A body as what it means: JSON by value, a form by its fields, multipart without its boundary, else bytes."""
    body = request.body
    if not body:
        return b""
    content_type = next((value for name, value in request.headers if name.lower() == "content-type"), "")
    media_type = content_type.split(";", 1)[0].strip().lower()
    try:
        if media_type == "application/json" or media_type.endswith("+json"):
            return "json", json.dumps(json.loads(body), sort_keys=True)
        if media_type == "application/x-www-form-urlencoded":
            return "form", _fields(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return body
    boundary = _BOUNDARY.search(content_type)
    if media_type.startswith("multipart/") and boundary:
        return body.replace(boundary[1].encode(), b"boundary")
    return body


HEAD_PARTS: Final[dict[str, Callable[[RecordedRequest], Hashable]]] = {
    "method": lambda request: request.method,
    "uri": _uri,
    "url": _uri,
    "scheme": lambda request: urlsplit(request.uri).scheme,
    "host": lambda request: urlsplit(request.uri).hostname,
    "port": _port,
    "path": _path,
    "query": _query,
}
FINE_PARTS: Final[dict[str, Callable[[RecordedRequest], Hashable]]] = {
    "headers": _headers,
    "body": canonical_body,
    "raw_body": lambda request: request.body,
}


class Matcher:
    """The parts of a request that must be equal.

    Attributes:
        names: vcrpy's names of them, and `identity`.
        looks_inside: whether more than method and URI counts, so that recordings must be parsed to be told apart.

    Raises:
        ConfigurationError: a name is none of vcrpy's.
    """

    def __init__(self, match_on: Sequence[str]) -> None:
        known = ("identity", *HEAD_PARTS, *FINE_PARTS)
        for name in match_on:
            if name not in known:
                raise ConfigurationError(f"Cannot match on {name!r}.", f"vcrpy's names are {', '.join(known[1:])}.")
        self.names = tuple(match_on)
        self._lanes = "identity" in match_on
        self._head = tuple(HEAD_PARTS[name] for name in match_on if name in HEAD_PARTS)
        self._fine = tuple(FINE_PARTS[name] for name in match_on if name in FINE_PARTS)
        self.looks_inside = self._lanes or bool(self._fine)

    def head_key(self, request: RecordedRequest) -> Hashable:
        """What is known of a recorded request before it is parsed: its method and URI."""
        return tuple(part(request) for part in self._head)

    def key(self, identity: Identity, request: RecordedRequest) -> Hashable:
        """The rest, and who asks."""
        return (identity if self._lanes else ANYONE, *(part(request) for part in self._fine))

    def asked(self, identity: Identity, request: RecordedRequest) -> Iterator[Hashable]:
        """The rests under which recordings answer, those of the caller's own before those of nobody known."""
        yield self.key(identity, request)
        if self._lanes and identity != ANYONE:
            yield self.key(_NOBODY, request)

    def keys(self, interaction: Interaction) -> Iterator[Hashable]:
        """Every rest under which a recorded interaction is found: by its profile, its environment, by anyone."""
        by = interaction.authorized_by
        lanes = {ANYONE}
        if self._lanes and by is not None:
            lanes |= {Identity(by.environment, by.profile), Identity(by.environment)}
        elif self._lanes and interaction.token_obtained is None:
            lanes.add(_NOBODY)
        for identity in lanes:
            yield self.key(identity, interaction.request)


class Takes:
    """Recordings of the same request, played in order; the last one repeats, so a cell can run again."""

    __slots__ = ("_next", "numbers")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._next = 0

    def play(self) -> int:
        number = self.numbers[min(self._next, len(self.numbers) - 1)]
        self._next += 1
        return number

    def go_on_after(self, played: Container[int]) -> None:
        """Begin behind those that were played."""
        self._next = next((place for place, one in enumerate(self.numbers) if one not in played), len(self.numbers))


class Index:
    """Items by what a request must equal. Items are parsed only when a request shares method and URI.

    Args:
        matcher: what must be equal.
        parse: the interaction of an item, by its number.
    """

    def __init__(self, matcher: Matcher, parse: Callable[[int], Interaction]) -> None:
        self._matcher = matcher
        self._parse = parse
        self._unparsed: dict[Hashable, list[int]] = {}
        self._tracks: dict[Hashable, dict[Hashable, Takes]] = {}
        # What the recorded methods and URIs come to: most requests are written just as they were recorded.
        self._heads: dict[tuple[str, str], Hashable] = {}

    def file(self, number: int, request: RecordedRequest) -> None:
        """File an item under its method and URI."""
        written = request.method, request.uri
        head = self._heads.get(written)
        if head is None:
            head = self._heads[written] = self._matcher.head_key(request)
        self._unparsed.setdefault(head, []).append(number)

    def refile(self, requests: Iterable[RecordedRequest], played: Container[int]) -> None:
        """File all items anew, in their order; those that were played stay so."""
        self._unparsed, self._tracks, self._heads = {}, {}, {}
        for number, request in enumerate(requests):
            self.file(number, request)
        for head in self._unparsed if played else ():
            for track in self._tracks_of(head).values():
                track.go_on_after(played)

    def find(self, identity: Identity, request: RecordedRequest) -> Takes | None:
        """The recordings that answer this request, or None."""
        head = self._heads.get((request.method, request.uri)) or self._matcher.head_key(request)
        tracks = self._tracks_of(head)
        if not tracks:
            return None
        return next((tracks[key] for key in self._matcher.asked(identity, request) if key in tracks), None)

    def _tracks_of(self, head: Hashable) -> dict[Hashable, Takes]:
        tracks = self._tracks.get(head)
        if tracks is None and head in self._unparsed:
            tracks = {}
            if not self._matcher.looks_inside:
                tracks[(ANYONE,)] = whole = Takes()
                whole.numbers = self._unparsed[head]
            for number in self._unparsed[head] if self._matcher.looks_inside else ():
                for key in self._matcher.keys(self._parse(number)):
                    tracks.setdefault(key, Takes()).numbers.append(number)
            self._tracks[head] = tracks
        return tracks or {}
