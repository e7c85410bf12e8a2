"""Read the fields of an interaction as stock vcrpy writes them, for each of its clients and versions.

vcrpy stores what a client handed to it. So the body of a request may be text, bytes, a file, an iterator or, with
aiohttp, the values of a form or of JSON; and headers may be a mapping or a list of pairs, with one value or several.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from toolkit.cassettes.format.decompression import NotEncoded, TooLarge, check_decompression
from toolkit.cassettes.format.interactions import Interaction, checked_status, checked_uri
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
    header_value,
)

_FORM: Final = "application/x-www-form-urlencoded"
_SCALARS: Final = (str, int, float, bool, type(None))
_NOT_TEXT: Final = "is not text"


class Unusable(ValueError):
    """A field has a value that vcrpy does not write; the text says which, and not what stands there."""


def interaction(fields: Mapping[str, Any]) -> Interaction:
    """Return the interaction with these fields.

    Raises:
        Unusable, KeyError, ValueError, TypeError, AttributeError: if they are not those of an interaction.
    """
    request = _request(fields["request"])
    response = _response(fields["response"])
    return Interaction(request, response, recorded_at=_date(response.headers))


def _request(fields: Mapping[str, Any]) -> RecordedRequest:
    method, uri = fields["method"], fields["uri"]
    if not isinstance(method, str) or not isinstance(uri, str):
        raise Unusable(f"the request's {'uri' if isinstance(method, str) else 'method'} {_NOT_TEXT}")
    headers = _request_headers(tuple((name, tuple(values)) for name, values in _grouped(fields["headers"])))
    return RecordedRequest(method, checked_uri(uri), headers, _request_body(fields.get("body"), headers))


# Cached, because a client sends the same headers with most of its requests.
@lru_cache(maxsize=256)
def _request_headers(headers: tuple[tuple[str, tuple[str, ...]], ...]) -> HeaderList:
    """Return the headers as vcrpy reads them: the first value of each, and the last of names that differ in case."""
    from vcr.request import HeadersDict

    return tuple(HeadersDict(headers).items())


def _request_body(value: Any, headers: HeaderList) -> bytes:
    if hasattr(value, "read"):  # a file
        value = value.read()
    if isinstance(value, Iterator):
        value = b"".join(_bytes(chunk, "a chunk of the request's body") for chunk in value)
    if value is None or isinstance(value, str | bytes):
        return _bytes(value, "the request's body")
    if isinstance(value, list | tuple) and value and all(isinstance(chunk, bytes) for chunk in value):
        return b"".join(value)
    content_type = header_value(headers, "content-type")
    pairs = form_pairs(value)
    is_form = content_type.lower().startswith(_FORM)
    is_pairs_of_text = isinstance(value, list | tuple) and pairs and all(isinstance(text, str) for _, text in pairs)
    has_bytes = pairs is not None and any(isinstance(content, bytes) for _, content in pairs)
    if pairs is not None and (is_form or has_bytes or (is_pairs_of_text and not content_type)):
        return urlencode(pairs).encode("ascii")
    try:
        return json.dumps(value, default=_json_text).encode("ascii")
    except TypeError:
        raise Unusable("the request's body is neither text, nor a form, nor JSON") from None


def form_pairs(value: Any) -> list[tuple[str, str | bytes]] | None:
    """Return the names and values in a mapping or a list of pairs as a form sends them, or None if it is neither."""
    if isinstance(value, Mapping):
        listed = [(name, content) for name, contents in value.items() for content in _each(contents)]
    elif isinstance(value, list | tuple) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        listed = [(pair[0], pair[1]) for pair in value]
    else:
        return None
    if not all(isinstance(name, str) and isinstance(content, (*_SCALARS, bytes)) for name, content in listed):
        return None
    return [(name, content if isinstance(content, bytes) else _form_text(content)) for name, content in listed]


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _form_text(value: Any) -> str:
    """Return a value as httpx writes it into a form."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _json_text(value: Any) -> str:
    if isinstance(value, date | datetime):  # YAML reads an unquoted date as one
        return value.isoformat()
    raise TypeError


def _response(fields: Mapping[str, Any]) -> RecordedResponse:
    is_flat = "status_code" in fields  # what vcrpy wrote for httpx before version 6
    status = checked_status(fields["status_code"] if is_flat else fields["status"]["code"])
    reason = "" if is_flat else str(fields["status"].get("message") or "")
    headers = tuple((name, value) for name, values in _grouped(fields["headers"]) for value in values)
    body = _content(fields)
    return RecordedResponse(status, reason, _corrected(headers, body), body)


def _content(fields: Mapping[str, Any]) -> bytes:
    """Return the content of a response, from the place where vcrpy or a tool around it put it."""
    what = "the response's content"
    body = fields.get("body")
    if isinstance(body, Mapping):
        if "string" in body:
            return _bytes(body["string"], what)
        if "base64_string" in body:
            return _decoded(body["base64_string"], what)
        if not body.keys() - {"encoding"}:  # there was none, or aiohttp had closed the connection before it
            return b""
        raise Unusable("the response has no content, because 'string' is missing under 'body'")
    if "content" in fields:
        content = fields["content"]
        return _decoded(content, what) if fields.get("base64encoded") is True else _bytes(content, what)
    if "body" not in fields:
        raise KeyError("body")
    raise Unusable("the response has no content: 'body' must hold it under 'string'")


def _bytes(value: Any, what: str) -> bytes:
    if hasattr(value, "read"):
        value = value.read()
    if value is None:
        return b""
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise Unusable(f"{what} has a character that UTF-8 does not have") from None
    if not isinstance(value, bytes):
        raise Unusable(f"{what} {_NOT_TEXT}")
    return value


def _decoded(value: Any, what: str) -> bytes:
    try:
        return base64.b64decode(_bytes(value, what))
    except ValueError:
        raise Unusable(f"{what} is not valid base64") from None


def _grouped(headers: Any) -> list[tuple[str, list[str]]]:
    """Return the values of headers by name: from a mapping or from pairs, each with one value or several."""
    if headers is None:
        return []
    pairs = list(headers.items()) if isinstance(headers, Mapping) else headers
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise Unusable("'headers' is neither a mapping nor a list of pairs")
    return [(_header_text(name), [_header_text(value) for value in _each(values)]) for name, values in pairs]


def _header_text(value: Any) -> str:
    if not isinstance(value, (*_SCALARS, bytes, date)):
        raise Unusable(f"a header {_NOT_TEXT}")
    text = "" if value is None else header_text(value)
    if not text.isascii():
        try:
            header_bytes(text)
        except UnicodeEncodeError:
            raise Unusable("a header has a character that UTF-8 does not have") from None
    return text


def _corrected(headers: HeaderList, body: bytes) -> HeaderList:
    """Return the headers, without Content-Encoding if vcrpy recorded the body decoded, as it does for some clients."""
    try:
        check_decompression(headers, body)
    except TooLarge:  # replay refuses it
        return headers
    except NotEncoded:
        kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
        return (*kept, ("Content-Length", str(len(body))))
    return headers


def _date(headers: HeaderList) -> datetime:
    text = next((value for name, value in headers if name.lower() == "date"), "")
    return parse_http_date(text) or EPOCH
