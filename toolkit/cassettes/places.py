"""Where credentials stand: the names that headers and fields of credentials go by.

What is found at such a place counts as a secret from then on, wherever else its text occurs.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

from toolkit.cassettes.encodings import open_body
from toolkit.cassettes.format import HeaderList, RecordedRequest, RecordedResponse
from toolkit.secret import Secret
from toolkit.service import Placeholder

_HEADER_PLACES: Final = {
    "authorization": "AUTHORIZATION",
    "proxy-authorization": "PROXY_AUTHORIZATION",
    "x-api-key": "API_KEY",
    "api-key": "API_KEY",
    "x-auth-token": "ACCESS_TOKEN",
}
_KEY_HEADERS: Final = (("-api-key-id", "API_KEY_ID"), ("-api-secret-key", "API_SECRET_KEY"))
# Written apart, together or as twoWords.
_FIELD_PLACES: Final = {
    "access_token": "ACCESS_TOKEN",
    "refresh_token": "REFRESH_TOKEN",
    "id_token": "ID_TOKEN",
    "client_secret": "CLIENT_SECRET",
    "client_assertion": "CLIENT_ASSERTION",
    "password": "PASSWORD",
    "api_key": "API_KEY",
    "secret_key": "API_SECRET_KEY",
    "api_secret_key": "API_SECRET_KEY",
    "private_key": "PRIVATE_KEY",
}
_JOINED: Final = {name.replace("_", ""): kind for name, kind in _FIELD_PLACES.items()}
_SEPARATORS: Final = re.compile(r"[-_]")
# A pattern of these names, for bytes and ignoring case; longest first.
FIELD_NAMES: Final = (
    b"(?:" + "|".join(sorted(_FIELD_PLACES, key=len, reverse=True)).replace("_", "[-_]?").encode("ascii") + b")"
)
_FIELD: Final = re.compile(FIELD_NAMES, re.IGNORECASE)
_LINK_FIELD: Final = re.compile(rf"[?&#;]({FIELD_NAMES.decode('ascii')})=([^&#;\s\"'<>,]+)", re.IGNORECASE)
_MULTIPART_FIELD: Final = re.compile(
    rb'name="?(' + FIELD_NAMES + rb')"?[^\r\n]{0,200}\r?\n(?:[^\r\n]{1,200}\r?\n){0,8}\r?\n(.{0,4096}?)\r?\n--',
    re.IGNORECASE | re.DOTALL,
)
_JSON_FIELD: Final = re.compile(r'"([^"\\]{1,40})"\s*:\s*("(?:[^"\\]|\\.)*")')
_KINDS: Final = (*_HEADER_PLACES.values(), *dict(_KEY_HEADERS).values(), *_FIELD_PLACES.values(), "CLIENT_ID", "SECRET")
# Other text in angle brackets may be a secret.
_PLACEHOLDER: Final = re.compile(rf"\A(?:<(?:{'|'.join(set(_KINDS))})(?:-[0-9]+)?>|{re.escape(Placeholder.BASIC)})\Z")
_SCHEME: Final = re.compile(r"\A(?:basic|bearer|token) +", re.IGNORECASE)
_LARGEST_FORM: Final = 1 << 20  # bytes


def secrets_by_place(message: RecordedRequest | RecordedResponse) -> Iterator[tuple[str, Secret]]:
    """What stands where credentials stand: in the headers and URL of a request, in links and the body of either.

    Raises:
        SecretLeak: the body cannot be opened.
    """
    if isinstance(message, RecordedRequest):
        yield from _secrets_in_headers(message.headers)
        yield from _secrets_in_uri(message.uri)
    for _, value in message.headers:
        for match in _LINK_FIELD.finditer(value):
            yield _kind_of(match[1]), Secret(unquote_plus(match[2]))
    if message.body:
        body = open_body(message.headers, message.body)
        if _FIELD.search(body):
            yield from _secrets_in_body(message, body)


def _secrets_in_headers(headers: HeaderList) -> Iterator[tuple[str, Secret]]:
    for name, value in headers:
        place = header_place(name)
        if place is None or is_placeholder(value):
            continue
        has_scheme = name.lower().endswith("authorization")
        yield place, Secret(value.partition(" ")[2] or value if has_scheme else value)
        if value.lower().startswith("basic "):
            try:
                pair = base64.b64decode(value[6:].strip(), validate=True).decode("utf-8")
            except ValueError:
                continue
            yield "PASSWORD", Secret(pair.partition(":")[2])


def _secrets_in_uri(uri: str) -> Iterator[tuple[str, Secret]]:
    parts = urlsplit(uri)
    if parts.password:
        yield "PASSWORD", Secret(unquote(parts.password))
    yield from _secrets_in_form(parts.query)


def _secrets_in_body(message: RecordedRequest | RecordedResponse, body: bytes) -> Iterator[tuple[str, Secret]]:
    content_type = next((value.lower() for name, value in message.headers if name.lower() == "content-type"), "")
    if body.lstrip()[:1] in (b"{", b"["):
        yield from _secrets_in_json(body)
    elif content_type.startswith("multipart/"):
        for match in _MULTIPART_FIELD.finditer(body):
            yield _kind_of(match[1].decode("ascii")), Secret(match[2].decode("utf-8", "replace"))
    elif len(body) < _LARGEST_FORM and (isinstance(message, RecordedRequest) or "urlencoded" in content_type):
        yield from _secrets_in_form(body.decode("utf-8", "replace"))


def _secrets_in_form(text: str) -> Iterator[tuple[str, Secret]]:
    for name, value in parse_qsl(text):
        kind = _field_place(name)
        if kind is not None:
            yield kind, Secret(value)
        else:
            yield from _secrets_in_json(value)


def _secrets_in_json(text: str | bytes) -> Iterator[tuple[str, Secret]]:
    """Fields at any depth, and in texts that are JSON themselves."""
    values: list[Any] = [text]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            for name, item in value.items():
                kind = _field_place(name)
                if kind is not None and isinstance(item, str):
                    yield kind, Secret(item)
                else:
                    values.append(item)
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str | bytes) and value.lstrip()[:1] in ("{", "[", b"{", b"["):
            try:
                values.append(json.loads(value))
            except (ValueError, RecursionError):  # several in one body, cut short, or too deep
                values += _fields_in_text(value if isinstance(value, str) else value.decode("utf-8", "replace"))


def _fields_in_text(text: str) -> Iterator[dict[str, Any]]:
    for match in _JSON_FIELD.finditer(text):
        if _field_place(match[1]) is not None:
            try:
                yield {match[1]: json.loads(match[2], strict=False)}
            except ValueError:
                continue


def _field_place(name: str) -> str | None:
    return _JOINED.get(_SEPARATORS.sub("", name.lower()))


def _kind_of(name: str) -> str:
    return _field_place(name) or "SECRET"


def header_place(name: str) -> str | None:
    """The kind of credential that a header of this name carries, or None."""
    lower = name.lower()
    for ending, kind in _KEY_HEADERS:
        if lower.endswith(ending):
            return kind
    return _HEADER_PLACES.get(lower)


def is_placeholder(value: str) -> bool:
    """Whether a header's value, after a scheme such as Bearer, is a placeholder already."""
    return bool(_PLACEHOLDER.match(_SCHEME.sub("", value)))
