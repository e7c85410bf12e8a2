"""Placeholders and stand-ins of a recording, which must not be sent to a service.

Who replays a recording reads answers with `<ACCESS_TOKEN>` or a pseudonym in them, and may pass such a value on in a
request that is not recorded. The service would get a value that it never issued, and at worst act on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from toolkit.cassettes.format.contents import Contents
from toolkit.core.errors import AccessError, ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.messages import RecordedRequest, header_value
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.scrubbing.vocabulary import is_placeholder

_NOTED: Final = b"pseudonyms:"  # in each interaction that was recorded under rules of pseudonyms
_FORM: Final = "x-www-form-urlencoded"
_SCHEMES: Final = ("basic ", "bearer ", "token ", "dpop ")


class RecordedValues:
    """The placeholders and pseudonyms of one recording.

    Args:
        contents: the interactions that the file held when it was opened.
        scrubber: the scrubber of the cassette, which has the bytes of the file.
        file_name: name of the file, for messages.
    """

    def __init__(self, contents: Contents, scrubber: Scrubber, *, file_name: str) -> None:
        self._contents = contents
        self._scrubber = scrubber
        self._file_name = file_name

    @cached_property
    def _stand_ins(self) -> frozenset[str]:
        """The pseudonyms in the file. All of it is parsed if there are rules, here or noted in it, which make them."""
        may_have = self._scrubber.has_rules or _NOTED in self._scrubber.recorded
        finder = cache(partial(_finder, self._scrubber))
        stand_ins: set[str] = set()
        for interaction in map(self._contents.interaction, range(len(self._contents)) if may_have else ()):
            for message in interaction[:2]:
                stand_ins |= finder(interaction.pseudonyms).stand_ins_in(message)
        return frozenset(stand_in for stand_in in stand_ins if len(stand_in) >= SHORTEST_SECRET)

    def refuse_in(self, request: RecordedRequest) -> None:
        """Refuse a request, as the caller made it, that is about to be sent with such a value.

        Raises:
            AccessError: if a header, cookie, path segment, or value of the query, form or JSON is such a value.
        """
        if not self._stand_ins and not _may_have_placeholder(request):
            return
        for place, value in _values_of(request):
            if value in self._stand_ins:
                kind = "a pseudonym"
            elif len(value) >= SHORTEST_SECRET and self._holds_placeholder(value):
                kind = f"the placeholder {_without_scheme(value)}"
            else:
                continue
            raise AccessError(
                f"{place} is {kind} from the recording {self._file_name}, which stands for a value that was not "
                "recorded.",
                "Nothing was sent. Ask the live service for the value, or replay only recorded calls. "
                "A client that has replayed a cookie forgets it with client.cookies.clear().",
                about="cassette",
            )

    def _holds_placeholder(self, value: str) -> bool:
        return is_placeholder(value) and _without_scheme(value).encode() in self._scrubber.recorded


def _finder(scrubber: Scrubber, noted: tuple[str, ...]) -> Scrubber:
    """Return a scrubber with the rules of pseudonyms that an interaction notes, too."""
    if set(noted) <= set(scrubber.pseudonyms):
        return scrubber
    with suppress(ConfigurationError):  # the note is not one of ours
        return Scrubber(scrubber.known, rules=Rules(pseudonyms=(*scrubber.pseudonyms, *noted)))
    return scrubber


def _may_have_placeholder(request: RecordedRequest) -> bool:
    body, uri = request.body, request.uri.lower()
    is_in_body = b"<" in body or b"%3c" in body.lower() or b"\\u003c" in body.lower()
    return is_in_body or "<" in uri or "%3c" in uri or any("<" in value for _, value in request.headers)


def _without_scheme(value: str) -> str:
    lower = value.lower()
    return next((value[len(scheme) :].strip() for scheme in _SCHEMES if lower.startswith(scheme)), value)


def _values_of(request: RecordedRequest) -> Iterator[tuple[str, str]]:
    """Yield each value of a request that a caller fills in, with a description of its place."""
    for name, value in request.headers:
        yield f"The header {name}", value
        for pair in value.split(";") if name.lower() == "cookie" else ():
            cookie, _, content = pair.partition("=")
            yield f"The cookie {cookie.strip()}", content.strip(' "')
    parts = urlsplit(request.uri)
    for segment in parts.path.split("/"):
        yield "A segment of the path", unquote(segment)
    for name, value in parse_qsl(parts.query):
        yield f"The query's value of {name}", value
    content_type = header_value(request.headers, "content-type")
    if _FORM in content_type.lower():
        for name, value in parse_qsl(request.body.decode("utf-8", "replace")):
            yield f"The form's value of {name}", value
    elif request.body.lstrip()[:1] in (b"{", b"["):
        yield from _json_values(request.body)


def _json_values(body: bytes) -> Iterator[tuple[str, str]]:
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(body))]
    except (ValueError, RecursionError):
        return
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, item) for item in value]
        elif isinstance(value, str):
            yield f"The JSON value of {name}" if name else "A JSON value", value
