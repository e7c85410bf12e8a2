"""Find what a message names as a credential, and replace it where it stands.

`learning` notes strong values, which are replaced everywhere in the rest of the recording; `in_place` and `answers`
replace values that are too weak for that, in requests and in answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolkit.core.patterns import compiled
from toolkit.core.secret import Secret
from toolkit.scrubbing.finding.answers import AnsweredCredentials
from toolkit.scrubbing.finding.in_place import ListedCredentials, WeakCredentials
from toolkit.scrubbing.finding.learning import learned
from toolkit.scrubbing.finding.parts import replace_cookies
from toolkit.scrubbing.finding.shapes import password_of_pair
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import (
    COOKIE,
    COOKIE_HEADERS,
    Place,
    credential_kind,
    is_placeholder,
    needs_strong_value,
)

_LEAST_ERROR: Final = 400  # RFC 9110 section 15.5
_TELLING: Final = 12  # characters; a shorter weak value that a request used may be a word
_SCHEME: Final = r"(?i)(basic|bearer|token|dpop)[ ]+"
_NOT_DATA: Final = ("html", "javascript", "css")  # media types of pages and code


class Found(NamedTuple):
    """A message with its credentials replaced in their places.

    Attributes:
        uri, headers, body: the message; the body is decompressed, and the same object if nothing changed.
        everywhere: kind and value of each credential to replace in the rest of the recording too.
    """

    uri: str
    headers: HeaderList
    body: bytes
    everywhere: list[tuple[str, Secret]]


def find(
    message: RecordedRequest | RecordedResponse,
    body: bytes,
    *,
    placeholder: Callable[[str, str], str],
    has_rule: Callable[[str], bool],
    request: RecordedRequest | None = None,
) -> Found:
    """Return a message with what it names as a credential replaced.

    Args:
        message: a request or a response.
        body: its body, decompressed.
        placeholder: returns the placeholder of a value, by its kind and text.
        has_rule: tells whether the user's rules name a field, which then decide what is written instead.
        request: the request of a response.

    Raises:
        SecretLeak: if there are too many credentials to look for.
    """
    new = learned(message, body, request=request)
    everywhere = list(new.secrets)
    strong = {secret.reveal() for _, secret in everywhere}
    weak = WeakCredentials(placeholder, has_rule)
    content_type = header_value(message.headers, "content-type")
    is_error = isinstance(message, RecordedResponse) and message.status >= _LEAST_ERROR
    answered = AnsweredCredentials(placeholder, has_rule, is_error=is_error)
    uri = ""
    if isinstance(message, RecordedRequest):
        uri = weak.uri(message.uri)
        body = weak.body(content_type, body) if body else body
    elif body:
        listed = ListedCredentials(placeholder, has_rule, new.in_body)
        body = _answered_body(body, content_type, listed if new.in_body else None, answered)

    def cookie(_: str, value: str) -> str:
        if is_placeholder(value):
            return value
        return placeholder(COOKIE, unquote(value)) if unquote(value) in strong else f"<{COOKIE}>"

    headers = []
    for name, value in message.headers:
        lower = name.lower()
        if lower in COOKIE_HEADERS:
            headers.append((name, replace_cookies(lower, value, cookie)))
        elif isinstance(message, RecordedRequest):
            headers.append((name, _in_header(name, value, weak, has_rule)))
        else:
            headers.append((name, answered.header(lower, value)))
    if isinstance(message, RecordedRequest):
        used = {text: kind for text, kind in weak.used.items() if len(text) >= _TELLING and text not in strong}
        everywhere += [(kind, Secret(text)) for text, kind in used.items()]
    return Found(uri, tuple(headers), body, everywhere)


def _answered_body(
    body: bytes, content_type: str, listed: ListedCredentials | None, answered: AnsweredCredentials
) -> bytes:
    """Return the body of an answer with its credentials replaced; of pages and code, those that were listed."""
    if listed is not None:
        body = listed.body(content_type, body)
    is_page = any(word in content_type.lower() for word in _NOT_DATA)
    return body if is_page else answered.body(content_type, body)


def _in_header(name: str, value: str, weak: WeakCredentials, has_rule: Callable[[str], bool]) -> str:
    """Return the value of a header of a request, and note in `weak` what it used as a credential."""
    kind = credential_kind(name, Place.HEADER)
    if kind is None or has_rule(name):
        return weak.header(name, value)
    if is_placeholder(value):
        return value
    if not needs_strong_value(name, Place.HEADER):
        weak.used.update(_used(kind, value))
    return f"<{kind}>"


def _used(kind: str, value: str) -> dict[str, str]:
    """Return what the header of a credential holds: the value without its scheme, or the password of Basic."""
    scheme = compiled(_SCHEME).match(value)
    text = value[scheme.end() :] if scheme else value
    password = password_of_pair(text) if scheme and scheme[1].lower() == "basic" else ""
    return {password or text: "PASSWORD" if password else kind}
