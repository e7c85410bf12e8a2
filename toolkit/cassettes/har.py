"""Read HAR 1.2 files (http://www.softwareishard.com/blog/har-12-spec/) as browsers and proxies write them.

Names that begin with an underscore are not part of the format. Chrome, Firefox, Safari and Playwright differ in what
they leave out: bodies that they no longer had, cookies, bodies of requests, and what a failed request has instead of a
status. An entry without a stored body is left out, because a replay would give an answer that nobody received.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.core.ledger import parse_http_date
from toolkit.core.text import compiled
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_text,
    header_value,
)

_FORM: Final = "application/x-www-form-urlencoded"
_FRAMING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_CHARSET: Final = r"(?i).*;\s*charset\s*=\s*\"?((?:iso-8859-|windows-|utf-16|gb|euc-|shift_|big5)[a-z0-9]*)\b.*"
_HEADER_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.6.2
_CONTROLS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_LONGEST_CALL: Final = 365 * 24 * 3600 * 1000  # milliseconds; a longer time is a mistake of the other program
_LAST_YEAR: Final = 9000  # of a call; a later one is a mistake, too
_ERRORS: Final = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    IndexError,
)  # of members of other types
_MISSHAPEN: Final = "it does not have the fields of an exchange"


class _Unimportable(ValueError):
    """The exchange cannot be imported; the text completes the sentence `it was left out, because ...`."""


class Entry(NamedTuple):
    """One exchange of a file: an interaction, or the reason why it cannot be imported.

    Attributes:
        number: its number in the file, from 1.
        method, uri: of the request, as written in the file; empty if the file does not say.
        interaction: the exchange as it was, with its secrets; None if it cannot be imported.
        reason: why it cannot be imported; empty if it can.
        hint: a message with all that the file says about the exchange, such as a list of cookies. It is searched for
            secrets and not imported.
    """

    number: int
    method: str
    uri: str
    interaction: Interaction | None
    reason: str = ""
    hint: RecordedRequest | None = None


def is_har(value: Any) -> bool:
    """Check whether the value of a JSON file is that of a HAR file."""
    log = value.get("log") if isinstance(value, Mapping) else None
    return isinstance(log, Mapping) and isinstance(log.get("entries"), list)


def creator(value: Any) -> str:
    """Return the name of the program that wrote a HAR file, or ""."""
    return str(_mapping(_mapping(value, "log"), "creator").get("name") or "").strip()


def entries(value: Any) -> Iterator[Entry]:
    """Yield the entries of a HAR file, whose members may be of any type."""
    for number, fields in enumerate(value["log"]["entries"], start=1):
        request = _mapping(fields, "request")
        method, uri = str(request.get("method") or "").upper(), str(request.get("url") or "")
        if not method or not is_uri(uri):
            yield Entry(number, method, uri, None, _MISSHAPEN)
            continue
        interaction, reason = None, ""
        try:
            interaction = _interaction(fields, method, uri)
        except _Unimportable as error:
            reason = str(error)
        except _ERRORS:
            reason = _MISSHAPEN  # texts about Python code would not help
        yield Entry(number, method, uri, interaction, reason, _hint(fields, method, uri))


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    member = value.get(name) if isinstance(value, Mapping) else None
    return member if isinstance(member, Mapping) else {}


def _hint(fields: Mapping[str, Any], method: str, uri: str) -> RecordedRequest:
    messages = [_mapping(fields, name) for name in ("request", "response")]
    cookies = "; ".join(f"{name}={value}" for message in messages for name, value in _pairs(message.get("cookies")))
    headers = (*_header_list([("Cookie", cookies)]), ("Content-Type", "application/json"))
    return RecordedRequest(method, uri, headers, json.dumps(fields).encode("ascii"))


def _interaction(fields: Mapping[str, Any], method: str, uri: str) -> Interaction:
    request, response = fields["request"], fields["response"]
    parts, status = urlsplit(uri), int(response.get("status") or 0)
    if fields.get("_webSocketMessages") is not None or fields.get("_resourceType") == "websocket" or status == 101:
        raise _Unimportable("it is a websocket")
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        raise _Unimportable("its address is not http or https")
    if not 100 <= status <= 999:
        raise _Unimportable("it has no response: the browser blocked, cancelled or failed it")
    sent = _headers(request, "Cookie")
    body = _received_body(response, method, status)
    received = _headers(response, "Set-Cookie")
    recorded_at = _started(fields.get("startedDateTime")) or parse_http_date(header_value(received, "date"))
    if method != "HEAD" and any(name.lower() in _FRAMING for name, _ in received):  # the file has the body decoded
        kept = tuple(pair for pair in received if pair[0].lower() not in _FRAMING)
        received = (*kept, ("Content-Length", str(len(body))))
    return Interaction(
        RecordedRequest(method, urlunsplit(parts._replace(fragment="")), sent, _sent_body(request, method, sent)),
        RecordedResponse(status, str(response.get("statusText") or ""), received, body),
        recorded_at=recorded_at,
        elapsed=_elapsed(fields.get("time")),
    )


def _started(text: Any) -> datetime | None:
    try:
        started = datetime.fromisoformat(text)
        started = (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return started if started.year <= _LAST_YEAR else None


def _elapsed(milliseconds: Any) -> timedelta | None:
    is_usable = isinstance(milliseconds, int | float) and 0 <= milliseconds < _LONGEST_CALL
    return timedelta(milliseconds=milliseconds) if is_usable else None


def _pairs(fields: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the names and values in a list of the format: of headers, cookies, parameters."""
    for pair in fields if isinstance(fields, list) else ():
        if isinstance(pair, Mapping):
            yield pair.get("name"), pair.get("value")


def _headers(message: Mapping[str, Any], cookie_name: str) -> HeaderList:
    """Return the headers of a message, with the cookies that some browsers list beside the headers only."""
    headers = _header_list(_pairs(message.get("headers")))
    if header_value(headers, cookie_name.lower()):
        return headers
    cookies = [f"{name}={value}" for name, value in _pairs(message.get("cookies")) if name and value is not None]
    texts = ["; ".join(cookies)] if cookies and cookie_name == "Cookie" else cookies
    return (*headers, *_header_list((cookie_name, text) for text in texts))


def _header_list(pairs: Iterable[tuple[Any, Any]]) -> HeaderList:
    """Return headers as a recording holds them.

    Pseudo headers of HTTP/2 and names that no header can have are left out. A value of several lines, with which some
    browsers write a repeated header, becomes several headers.
    """
    headers = []
    for name, value in pairs:
        if isinstance(name, str) and compiled(_HEADER_NAME).fullmatch(name):
            text = "" if value is None else header_text(value)
            lines = [compiled(_CONTROLS).sub("", line).strip() for line in text.splitlines() or [""]]
            headers += [(name, line.encode("utf-8", "replace").decode()) for line in lines]  # no halves of characters
    return tuple(headers)


def _sent_body(request: Mapping[str, Any], method: str, headers: HeaderList) -> bytes:
    data = _mapping(request, "postData")
    text, params = data.get("text"), list(_pairs(data.get("params")))
    if isinstance(text, str) and (text or not params):
        is_base64 = (data.get("encoding") or data.get("_encoding")) == "base64"
        return _base64_bytes(text) if is_base64 else text.encode("utf-8", "replace")
    content_type = str(data.get("mimeType") or header_value(headers, "content-type"))
    size = request.get("bodySize")
    is_lost = isinstance(size, int) and size > 0 and method not in ("GET", "HEAD") and not data
    if is_lost or (params and not content_type.lower().startswith(_FORM)):
        raise _Unimportable("the body of its request is not stored")
    return urlencode([(str(name), "" if value is None else str(value)) for name, value in params]).encode("ascii")


def _received_body(response: Mapping[str, Any], method: str, status: int) -> bytes:
    content = _mapping(response, "content")
    if method == "HEAD" or status in (204, 304):  # a browser may store what its cache had
        return b""
    text, encoding = content.get("text"), str(content.get("encoding") or "").lower()
    if isinstance(text, str):
        if encoding == "base64":
            return _base64_bytes(text)
        if encoding not in ("", "utf-8", "utf8"):
            raise _Unimportable("its body has an encoding that is not base64")
        headers = _header_list(_pairs(response.get("headers")))
        return _text_bytes(text, header_value(headers, "content-type") or str(content.get("mimeType") or ""))
    if content.get("_file"):
        raise _Unimportable("its body is in a file of its own")
    if content.get("size") == 0 or status == 205 or status // 100 in (1, 3):  # RFC 9110 section 15
        return b""
    raise _Unimportable("its body is not stored")


def _text_bytes(text: str, content_type: str) -> bytes:
    """Return decoded text in the character set that the content type names, or else in UTF-8."""
    match = compiled(_CHARSET).fullmatch(content_type)
    try:
        return text.encode(match[1] if match else "utf-8")
    except (LookupError, ValueError):  # no such character set, or the text has characters that it lacks
        return text.encode("utf-8", "replace")


def _base64_bytes(text: str) -> bytes:
    """Return the bytes of base64, with or without line breaks and padding.

    Raises:
        _Unimportable: if it is not base64.
    """
    try:
        plain = re.sub(r"\s", "", text).rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise _Unimportable("its body is not valid base64") from None
