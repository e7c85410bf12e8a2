"""Temporary: the present walkers behind the interface of `find`."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from toolkit.core.secret import Secret
from toolkit.scrubbing.finding.in_place import ManyCredentials, WeakCredentials
from toolkit.scrubbing.finding.learning import learned
from toolkit.scrubbing.finding.parts import replace_cookies
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import COOKIE, COOKIE_HEADERS, Place, credential_kind, is_placeholder


class Found(NamedTuple):
    uri: str
    headers: HeaderList
    body: bytes
    everywhere: list[tuple[str, Secret]]
    whole: list[tuple[str, Secret]]


class _Known:
    def __init__(self, placeholder: Any) -> None:
        self._placeholder = placeholder

    def placeholder_in_place(self, kind: str, value: Secret) -> str:
        return str(self._placeholder(kind, value.reveal()))

    def placeholder_of(self, value: Secret) -> str:
        return str(self._placeholder("HEADER", value.reveal()))


def find(
    message: RecordedRequest | RecordedResponse,
    body: bytes,
    *,
    placeholder: Any,
    has_rule: Any,
    whole: Any = {},  # noqa: B006, ARG001
    request: RecordedRequest | None = None,
) -> Found:
    new = learned(message, body, request=request)
    strong = {secret.reveal() for _, secret in new.secrets}
    known: Any = _Known(placeholder)
    weak = WeakCredentials(known, has_rule)
    content_type = header_value(message.headers, "content-type")
    uri = ""
    is_request = isinstance(message, RecordedRequest)
    if isinstance(message, RecordedRequest):
        uri = weak.uri(message.uri)
        body = weak.body(content_type, body) if body else body
    elif new.in_place:
        body = ManyCredentials(known, has_rule, new.in_place).body(content_type, body)

    def cookie(name: str, value: str) -> str:  # noqa: ARG001
        if is_placeholder(value):
            return value
        return str(placeholder(COOKIE, unquote(value))) if unquote(value) in strong else f"<{COOKIE}>"

    headers = []
    for name, written in message.headers:
        value, lower = written, name.lower()
        if lower in COOKIE_HEADERS:
            value = replace_cookies(lower, value, cookie)
        elif is_request:
            kind = credential_kind(name, Place.HEADER)
            if kind is not None and not has_rule(name):
                value = value if is_placeholder(value) else f"<{kind}>"
            else:
                value = weak.header(name, value)
        headers.append((name, value))
    return Found(uri, tuple(headers), body, new.secrets, [])
