"""Where credentials stand: the names that headers and fields of credentials go by.

What is found at such a place counts as a secret from then on, wherever else its text occurs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx

from toolkit.cassettes.format import RecordedRequest, RecordedResponse
from toolkit.errors import SecretLeak
from toolkit.secret import Secret

_HEADER_PLACES: Final = {
    "authorization": "AUTHORIZATION",
    "proxy-authorization": "PROXY_AUTHORIZATION",
    "x-api-key": "API_KEY",
    "api-key": "API_KEY",
    "x-auth-token": "ACCESS_TOKEN",
}
_KEY_HEADERS: Final = (("-api-key-id", "API_KEY_ID"), ("-api-secret-key", "API_SECRET_KEY"))
_FIELD_PLACES: Final = {
    "access_token": "ACCESS_TOKEN",
    "refresh_token": "REFRESH_TOKEN",
    "id_token": "ID_TOKEN",
    "client_secret": "CLIENT_SECRET",
    "client_assertion": "CLIENT_ASSERTION",
    "password": "PASSWORD",
    "api_key": "API_KEY",
    "secret_key": "API_SECRET_KEY",
    "private_key": "PRIVATE_KEY",
}
_PLACEHOLDER: Final = re.compile(r"\A<[A-Z][A-Z0-9_:-]*>\Z")
_OPENABLE: Final = frozenset({"", "identity", "gzip", "deflate", "br", "zstd"})
_LARGEST_FORM: Final = 1 << 20  # bytes


def open_body(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """A body with its content encodings undone.

    Raises:
        SecretLeak: it cannot be opened, and what cannot be opened cannot be checked.
    """
    codings = [coding.strip().lower() for name, value in headers if name.lower() == "content-encoding" for coding in value.split(",")]
    if not codings or set(codings) <= {"", "identity"}:
        return body
    advice = 'Send the header Accept-Encoding: identity, so that the answer comes as plain bytes.'
    if not set(codings) <= _OPENABLE:
        raise SecretLeak("A body in an unknown content encoding cannot be checked for secrets; nothing was written.", advice)
    try:
        opened = httpx.Response(200, headers=[("Content-Encoding", ", ".join(codings))], content=body).content
    except httpx.DecodingError:
        raise SecretLeak("A body cannot be decompressed to check it for secrets; nothing was written.", advice) from None
    if opened == body:
        raise SecretLeak("A body cannot be decompressed here to check it for secrets; nothing was written.", advice)
    return opened


def secrets_by_place(message: RecordedRequest | RecordedResponse) -> Iterator[tuple[str, Secret]]:
    """What stands where credentials stand: in the headers and query of a request, in the body of either."""
    if isinstance(message, RecordedRequest):
        for name, value in message.headers:
            place = header_place(name)
            if place is not None and not is_placeholder(value):
                yield place, Secret(value.split(" ", 1)[-1])
        yield from _secrets_in_form(urlsplit(message.uri).query)
    if not message.body:
        return
    body = open_body(message.headers, message.body)
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            yield from _secrets_in_json(json.loads(body))
        except (ValueError, RecursionError):
            return
    elif isinstance(message, RecordedRequest) and b"=" in body and len(body) < _LARGEST_FORM:
        yield from _secrets_in_form(body.decode("utf-8", "replace"))


def _secrets_in_form(text: str) -> Iterator[tuple[str, Secret]]:
    for name, value in parse_qsl(text):
        kind = _FIELD_PLACES.get(name.lower())
        if kind is not None:
            yield kind, Secret(value)


def _secrets_in_json(value: Any) -> Iterator[tuple[str, Secret]]:
    if isinstance(value, dict):
        for name, item in value.items():
            place = _FIELD_PLACES.get(name.lower())
            if place is not None and isinstance(item, str):
                yield place, Secret(item)
            else:
                yield from _secrets_in_json(item)
    elif isinstance(value, list):
        for item in value:
            yield from _secrets_in_json(item)


def header_place(name: str) -> str | None:
    """The kind of credential that a header of this name carries, or None."""
    lower = name.lower()
    for ending, kind in _KEY_HEADERS:
        if lower.endswith(ending):
            return kind
    return _HEADER_PLACES.get(lower)


def is_placeholder(value: str) -> bool:
    """Whether a value, after a scheme such as Bearer, is a placeholder already."""
    return bool(_PLACEHOLDER.match(value.split(" ", 1)[-1]))


