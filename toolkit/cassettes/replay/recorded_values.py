"""Placeholders and stand-ins of a recording, which must not be sent to a service.

Who replays a recording reads answers with `<ACCESS_TOKEN>` or a pseudonym in them, and may pass such a value on in a
request that is not recorded. The service would get a value that it never issued, and at worst act on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from toolkit.core.errors import AccessError
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.vocabulary import is_placeholder

_FORM: Final = "x-www-form-urlencoded"
_SCHEMES: Final = ("basic ", "bearer ", "token ", "dpop ")


def refuse_recorded_values(request: RecordedRequest, recorded: bytes, stand_ins: Iterable[str], *, file: str) -> None:
    """Refuse a request that is about to be sent with a placeholder or stand-in of a recording as a value.

    Args:
        request: the request as the caller made it.
        recorded: the bytes of the recording.
        stand_ins: the pseudonyms in the recording.
        file: name of the recording, for the message.

    Raises:
        AccessError: if a header, cookie, path segment, or value of the query, form or JSON is such a value.
    """
    replaced = frozenset(stand_in for stand_in in stand_ins if len(stand_in) >= SHORTEST_SECRET)
    if not replaced and not _may_have_placeholder(request):
        return
    for place, value in _values_of(request):
        if len(value) < SHORTEST_SECRET:
            continue
        is_stand_in = value in replaced
        if is_stand_in or (is_placeholder(value) and _without_scheme(value).encode() in recorded):
            kind = "a pseudonym" if is_stand_in else f"the placeholder {_without_scheme(value)}"
            raise AccessError(
                f"{place} is {kind} from the recording {file}, which stands for a value that was not recorded.",
                "Nothing was sent. Ask the live service for the value, or replay only recorded calls. "
                "A client that has replayed a cookie forgets it with client.cookies.clear().",
                about="cassette",
            )


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
    content_type = next((value for name, value in request.headers if name.lower() == "content-type"), "")
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
