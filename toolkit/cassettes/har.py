"""Read HAR 1.2 files (http://www.softwareishard.com/blog/har-12-spec/) as browsers and proxies write them.

Names that begin with an underscore are not part of the format. Chrome, Firefox, Safari and Playwright differ in what
they leave out: bodies that they no longer had, cookies, bodies of requests, and what a failed request has instead of a
status. An entry without a stored body is left out, because a replay would give an answer that nobody received.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.core.ledger import parse_http_date
from toolkit.core.patterns import compiled
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
    header_value,
)

_FORM: Final = "application/x-www-form-urlencoded"
_WEB: Final = ("http", "https")
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Codecs of Python that are not character sets, or take time quadratic in the text.
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
)
_FRAMING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_HEADER_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.6.2
_CONTROLS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_VERSION: Final = r"(?i)(?:https?/?)?([0-3](?:\.[0-9])?)|h([23])(?:-[0-9]+)?"
_LONGEST_CALL: Final = 365 * 24 * 3600 * 1000  # milliseconds; a longer time is a mistake of the other program
_LAST_YEAR: Final = 9000  # of a call; a later one is a mistake, too
_MISSHAPEN: Final = "it does not have the fields of an exchange"
_MISSHAPEN_ERRORS: Final = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)


class _Unimportable(ValueError):
    """The exchange cannot be imported; the text completes the sentence `it was left out, because ...`."""


class Entry(NamedTuple):
    """One exchange of a file: an interaction, or the reason why it cannot be imported.

    Attributes:
        number: its number in the file, from 1.
        method, uri: of the request, as written in the file; empty if the file does not say.
        interaction: the exchange as it was, with its secrets; None if it cannot be imported.
        reason: why it cannot be imported; empty if it can.
        hints: messages with what the file says about the exchange beside it, such as a list of cookies. They are
            searched for secrets and not imported.
    """

    number: int
    method: str
    uri: str
    interaction: Interaction | None
    reason: str = ""
    hints: tuple[RecordedRequest, ...] = ()


def is_har(value: Any) -> bool:
    """Check whether the value of a JSON file is that of a HAR file."""
    log = value.get("log") if isinstance(value, Mapping) else None
    return isinstance(log, Mapping) and isinstance(log.get("entries"), list)


def creator(value: Any) -> str:
    """Return the name of the program that wrote a HAR file, or ""."""
    log = value["log"]
    for member in ("creator", "browser"):
        name = log[member].get("name") if isinstance(log.get(member), Mapping) else None
        if isinstance(name, str) and name.strip():
            return name.strip()
    return ""


def entries(value: Any) -> Iterator[Entry]:
    """Yield the entries of a HAR file, whose members may be of any type."""
    for number, fields in enumerate(value["log"]["entries"], start=1):
        request = fields.get("request") if isinstance(fields, Mapping) else None
        request = request if isinstance(request, Mapping) else {}
        method, uri = str(request.get("method") or "").upper(), str(request.get("url") or "")
        reason = _MISSHAPEN
        interaction: Interaction | None = None
        hints: list[RecordedRequest] = []
        if method and is_uri(uri):
            try:
                interaction, reason = _interaction(fields, method, uri), ""
            except _Unimportable as error:
                reason = str(error)
            except _MISSHAPEN_ERRORS:  # texts about Python code would not help
                pass
            with suppress(*_MISSHAPEN_ERRORS):
                hints.extend(_hints(fields, method, uri))
        yield Entry(number, method, uri, interaction, reason, tuple(hints))


def _interaction(fields: Mapping[str, Any], method: str, uri: str) -> Interaction:
    """Return the interaction of an entry.

    Raises:
        _Unimportable: if it cannot be replayed.
        KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError: if it has members of other types.
    """
    request, response = fields["request"], fields["response"]
    parts, status = urlsplit(uri), _status(response)
    if fields.get("_webSocketMessages") is not None or fields.get("_resourceType") == "websocket" or status == 101:
        raise _Unimportable("it is a websocket")
    if parts.scheme.lower() not in _WEB or not parts.netloc:
        raise _Unimportable("its address is not http or https")
    if not 100 <= status <= 999:
        raise _Unimportable("it has no response: the browser blocked, cancelled or failed it")
    sent = _headers(request)
    recorded = RecordedRequest(
        method,
        urlunsplit(parts._replace(fragment="")),
        _with_cookies(sent, "Cookie", request),
        _sent_body(request, method, sent),
    )
    received = _with_cookies(_headers(response), "Set-Cookie", response)
    body = _received_body(response, method, status)
    answer = RecordedResponse(
        status,
        str(response.get("statusText") or ""),
        received if method == "HEAD" else _fitting(received, body),
        body,
        _http_version(response.get("httpVersion")),
    )
    return Interaction(
        recorded,
        answer,
        recorded_at=_started(fields.get("startedDateTime")) or parse_http_date(header_value(received, "date")),
        elapsed=_elapsed(fields.get("time")),
    )


def _status(response: Mapping[str, Any]) -> int:
    status = response.get("status")
    return status if isinstance(status, int) else int(status or 0)


def _http_version(text: Any) -> str:
    """Return a version such as `http/2.0` or `h3` as a response has it (`HTTP/2`), or "" if it is not one."""
    match = compiled(_VERSION).fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return ""
    version = match[1] or match[2]
    return f"HTTP/{version if version.startswith(('0', '1')) else version[0]}"


def _started(text: Any) -> datetime | None:
    try:
        started = datetime.fromisoformat(text)
        started = (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return started if started.year <= _LAST_YEAR else None


def _elapsed(milliseconds: Any) -> timedelta | None:
    """Return a duration, or None if the number is missing, negative or absurd."""
    if not isinstance(milliseconds, int | float) or not 0 <= milliseconds < _LONGEST_CALL:
        return None
    return timedelta(milliseconds=milliseconds)


def _pairs(fields: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the names and values in a list of the format: of headers, cookies, parameters."""
    for pair in fields or ():
        if isinstance(pair, Mapping):
            yield pair.get("name"), pair.get("value")


def _headers(message: Mapping[str, Any]) -> HeaderList:
    return _header_list(_pairs(message.get("headers")))


def _header_list(pairs: Iterable[tuple[Any, Any]]) -> HeaderList:
    """Return headers as a recording holds them.

    Pseudo headers of HTTP/2 and names that no header can have are left out. A value of several lines, with which some
    browsers write a repeated header, becomes several headers.
    """
    name_pattern, controls = compiled(_HEADER_NAME), compiled(_CONTROLS)
    headers = []
    for name, value in pairs:
        if not isinstance(name, str) or not name_pattern.fullmatch(name):
            continue
        text = "" if value is None else header_text(value)
        headers += [(name, _sendable(controls.sub("", line).strip())) for line in text.splitlines() or [""]]
    return tuple(headers)


def _sendable(value: str) -> str:
    """Return the value of a header without halves of characters, which cannot be written."""
    try:
        header_bytes(value)
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _with_cookies(headers: HeaderList, name: str, message: Mapping[str, Any]) -> HeaderList:
    """Return the headers with the cookies of the message, which some browsers list beside the headers only."""
    if header_value(headers, name.lower()):
        return headers
    cookies = [f"{cookie}={value}" for cookie, value in _pairs(message.get("cookies")) if cookie and value is not None]
    if not cookies:
        return headers
    return (*headers, *_header_list((name, text) for text in (["; ".join(cookies)] if name == "Cookie" else cookies)))


def _fitting(headers: HeaderList, body: bytes) -> HeaderList:
    """Return the headers of a response that fit its body, which the file stores decoded."""
    kept = tuple((name, value) for name, value in headers if name.lower() not in _FRAMING)
    return headers if len(kept) == len(headers) else (*kept, ("Content-Length", str(len(body))))


def _sent_body(request: Mapping[str, Any], method: str, headers: HeaderList) -> bytes:
    data = request.get("postData")
    if not isinstance(data, Mapping):
        size = request.get("bodySize")
        if isinstance(size, int) and size > 0 and method not in ("GET", "HEAD"):
            raise _Unimportable("the body of its request is not stored")
        return b""
    text, encoding = data.get("text"), data.get("encoding") or data.get("_encoding")
    if isinstance(text, str) and (text or not data.get("params")):
        return _base64_bytes(text) if encoding == "base64" else text.encode("utf-8", "replace")
    params = list(_pairs(data.get("params")))
    content_type = str(data.get("mimeType") or header_value(headers, "content-type"))
    if params and not content_type.lower().startswith(_FORM):
        raise _Unimportable("the body of its request is not stored")
    return urlencode([(str(name), "" if value is None else str(value)) for name, value in params]).encode("ascii")


def _received_body(response: Mapping[str, Any], method: str, status: int) -> bytes:
    content = response.get("content")
    content = content if isinstance(content, Mapping) else {}
    if method == "HEAD" or status in (204, 304):  # a browser may store what its cache had
        return b""
    text, encoding = content.get("text"), str(content.get("encoding") or "").lower()
    if isinstance(text, str):
        if encoding == "base64":
            return _base64_bytes(text)
        if encoding not in ("", "utf-8", "utf8"):
            raise _Unimportable("its body has an encoding that is not base64")
        content_type = header_value(_headers(response), "content-type") or str(content.get("mimeType") or "")
        return _text_bytes(text, content_type)
    if content.get("_file"):
        raise _Unimportable("its body is in a file of its own")
    may_be_empty = status == 205 or status // 100 in (1, 3)  # RFC 9110 section 15
    if content.get("size") == 0 or may_be_empty:
        return b""
    raise _Unimportable("its body is not stored")


def _text_bytes(text: str, content_type: str) -> bytes:
    """Return decoded text in the character set that the content type names, or else in UTF-8."""
    match = _CHARSET.search(content_type)
    if match is not None:
        try:
            name = codecs.lookup(match[1]).name
            if name not in _NO_CHARSETS:
                return text.encode(name)
        except (LookupError, ValueError):  # no such character set, or the text has characters that it lacks
            pass
    return text.encode("utf-8", "replace")


def _base64_bytes(text: str) -> bytes:
    """Return the bytes of base64, with or without line breaks and padding.

    Raises:
        _Unimportable: if it is not base64.
    """
    try:
        plain = "".join(text.split()).rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise _Unimportable("its body is not valid base64") from None


def _hints(fields: Mapping[str, Any], method: str, uri: str) -> Iterator[RecordedRequest]:
    """Yield messages with what an entry repeats or adds: headers, cookies, parameters, and related URLs."""
    request, response = fields["request"], fields.get("response")
    yield RecordedRequest(method, uri, _headers(request))
    response = response if isinstance(response, Mapping) else {}
    cookies = [*_pairs(request.get("cookies")), *_pairs(response.get("cookies"))]
    yield RecordedRequest("GET", uri, _header_list([("Cookie", "; ".join(f"{name}={text}" for name, text in cookies))]))
    data, parts = request.get("postData"), urlsplit(uri)
    form = [*_pairs(request.get("queryString")), *_pairs(data.get("params") if isinstance(data, Mapping) else None)]
    text = urlencode([(str(name), str(value)) for name, value in form], errors="replace")
    body = "&".join(filter(None, (text, parts.fragment, f"password={parts.password}" if parts.password else "")))
    yield RecordedRequest("POST", uri, (("Content-Type", _FORM),), body.encode("utf-8", "replace"))
    initiator = fields.get("_initiator")
    paths = [value for name, value in _pairs(request.get("headers")) if name == ":path"]
    related: list[Any] = [f"{parts.scheme}://{parts.netloc}{path}" for path in paths]
    related += [response.get("redirectURL"), initiator.get("url") if isinstance(initiator, Mapping) else None]
    for url in related:
        if isinstance(url, str) and url.startswith(_WEB) and is_uri(url):
            yield RecordedRequest("GET", url)
