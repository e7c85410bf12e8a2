"""Find secrets by their place in a message: in headers, cookies, URLs, forms, JSON, multipart bodies and other text.

A value in the place of a credential counts as a secret from then on, wherever else it occurs. So does any text with
the shape of a credential.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.content_encodings import decompress_body
from toolkit.scrubbing.credential_names import (
    COOKIE,
    COOKIE_HEADERS,
    field_kind,
    header_kind,
    is_placeholder,
    is_url_name_only,
    url_kind,
)
from toolkit.scrubbing.find_in_text import may_name_credentials, secrets_by_shape, secrets_in_links, secrets_in_text
from toolkit.scrubbing.message_parts import cookie_values, parts_of
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse

_FoundSecrets = Iterator[tuple[str, Secret]]
_LARGEST_FORM: Final = 1 << 20  # bytes, unless the media type says that the body is a form
_FORM: Final = re.compile(r"[\w.\[\]%+-]{1,200}=[^\s<>{\"]*\Z")
_OPENINGS: Final = ("{", "[", '"')
_BYTE_ORDER_MARK: Final = "\ufeff"


def secrets_by_place(
    message: RecordedRequest | RecordedResponse, body: bytes | None = None
) -> Iterable[tuple[str, Secret]]:
    """Return the values in the places of credentials, each with its kind.

    Args:
        message: a request or a response.
        body: the body of the message, decompressed; by default it is decompressed here.

    Raises:
        SecretLeak: if the body cannot be decompressed.
    """
    is_request = isinstance(message, RecordedRequest)
    secrets = list(_secrets_in_headers(message.headers, is_request=is_request))
    if isinstance(message, RecordedRequest):
        secrets += _secrets_in_uri(message.uri)
    if message.body:
        body = decompress_body(message.headers, message.body) if body is None else body
        if may_name_credentials(body):
            secrets += _secrets_in_body(message.headers, body, is_request=is_request)
    return dict.fromkeys(secrets)


def _secrets_in_headers(headers: HeaderList, *, is_request: bool) -> _FoundSecrets:
    others = []
    for name, value in headers:
        kind = header_kind(name)
        if kind is not None:
            if not is_placeholder(value) and (is_request or not name.lower().endswith("authorization")):
                yield from _secrets_in_credentials(kind, name.lower(), value)
        elif name.lower() in COOKIE_HEADERS:
            for cookie in cookie_values(name.lower(), value):
                if not is_placeholder(cookie):
                    yield COOKIE, Secret(unquote(cookie))
        else:
            others.append(value)
    if may_name_credentials("\n".join(others).encode("utf-8", "surrogatepass")):
        for value in others:
            yield from secrets_in_text(value)


def _secrets_in_credentials(kind: str, lower_name: str, value: str) -> _FoundSecrets:
    has_scheme = lower_name.endswith("authorization")
    yield kind, Secret(value.partition(" ")[2] or value if has_scheme else value)
    if value.lower().startswith("basic "):
        try:
            pair = base64.b64decode(value[6:].strip(), validate=True).decode("utf-8")
        except ValueError:
            return
        yield "PASSWORD", Secret(pair.partition(":")[2])


def _secrets_in_uri(uri: str) -> _FoundSecrets:
    parts = urlsplit(uri)
    if parts.password:
        yield "PASSWORD", Secret(unquote(parts.password))
    if not may_name_credentials(uri.encode("utf-8", "surrogatepass")):
        return
    yield from _secrets_in_form(parts.query)
    if parts.fragment:
        yield from secrets_in_links(f"#{parts.fragment}")
    if ";" in parts.path:
        yield from secrets_in_links(parts.path)
    yield from secrets_by_shape(unquote(parts.path))


def _secrets_in_body(headers: HeaderList, body: bytes, *, is_request: bool) -> _FoundSecrets:
    content_type = next((value for name, value in headers if name.lower() == "content-type"), "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type.startswith("multipart/"):
        yield from _secrets_in_parts(content_type, body)
        return
    text = _text_of(body)
    if text.lstrip()[:1] in _OPENINGS:
        yield from _secrets_in_json(text)
        return
    is_form = media_type.endswith("x-www-form-urlencoded") or (is_request and bool(_FORM.match(text)))
    if is_form or (is_request and len(body) < _LARGEST_FORM):
        yield from _secrets_in_form(text)
    if not is_form and b"\0" not in body[:1024]:
        yield from secrets_in_text(text)


def _secrets_in_parts(content_type: str, body: bytes) -> _FoundSecrets:
    for part in parts_of(content_type, body):
        content = body[part.start : part.end]
        if b"base64" in part.head.lower():
            with contextlib.suppress(binascii.Error):
                content = base64.b64decode(content)
        text = _text_of(content)
        kind = field_kind(part.name)
        if kind is not None:
            yield kind, Secret(text)
        elif text.lstrip()[:1] in _OPENINGS:
            yield from _secrets_in_json(text)
        elif may_name_credentials(content) and b"\0" not in content[:1024]:
            yield from secrets_in_text(text)


def _secrets_in_form(text: str) -> _FoundSecrets:
    for name, value in parse_qsl(text):
        kind = url_kind(name)
        if kind is not None and (not is_url_name_only(name) or len(value) >= SHORTEST_SECRET):
            yield kind, Secret(value)
        else:
            yield from _secrets_in_value(value)


def _secrets_in_value(text: str) -> _FoundSecrets:
    if text.lstrip()[:1] in _OPENINGS:
        yield from _secrets_in_json(text)
    elif ("=" in text or "<" in text or ":" in text) and may_name_credentials(text.encode("utf-8", "surrogatepass")):
        yield from secrets_in_text(text)
    else:
        yield from secrets_by_shape(text)


def _secrets_in_json(text: str) -> _FoundSecrets:
    """Yield secrets in fields at any depth, and in texts that are JSON themselves."""
    values: list[Any] = [text]
    while values:
        value = values.pop()
        if isinstance(value, tuple):
            for name, item in value:
                kind = field_kind(name)
                if kind is not None and isinstance(item, str):
                    yield kind, Secret(item)
                else:
                    values.append(item)
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str) and value.lstrip()[:1] in _OPENINGS:
            loaded, rest = _loaded(value)
            values += loaded
            if may_name_credentials(rest.encode("utf-8", "surrogatepass")):
                yield from secrets_in_text(rest)
        elif isinstance(value, str):
            yield from _secrets_in_value(value)


def _loaded(text: str) -> tuple[list[Any], str]:
    """Return the values of a text or of its lines that are JSON, and the rest.

    Objects are tuples of pairs, since names may repeat.
    """
    try:
        return [json.loads(text, object_pairs_hook=tuple, strict=False)], ""
    except (ValueError, RecursionError):
        loaded, rest = [], []
    for line in text.splitlines():
        try:
            loaded.append(json.loads(line, object_pairs_hook=tuple, strict=False))
        except (ValueError, RecursionError):
            rest.append(line)
    return loaded, "\n".join(rest)


def _text_of(body: bytes) -> str:
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in body[:4]:
        return body.decode(json.detect_encoding(body[:4]), "replace").removeprefix(_BYTE_ORDER_MARK)
    return body.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)
