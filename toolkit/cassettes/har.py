"""Read HAR 1.2 files (http://www.softwareishard.com/blog/har-12-spec/) as browsers and proxies write them.

Names that begin with an underscore are not part of the format. Programs differ in what they leave out. An entry without
a stored body is left out, because a replay would give an answer that nobody received.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.core.ledger import parse_http_date
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_text, header_value

_FORM: Final = "application/x-www-form-urlencoded"
_FRAMING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MISSHAPEN: Final = "it does not have the fields of an exchange"
_NO_BODY: Final = (*range(100, 200), 204, 205, *range(300, 400))  # RFC 9110 section 15


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
    return isinstance(_mapping(value, "log").get("entries"), list)


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
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):  # members of other types
            reason = _MISSHAPEN
        yield Entry(number, method, uri, interaction, reason, _hint(fields, method, uri))


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    member = value.get(name) if isinstance(value, Mapping) else None
    return member if isinstance(member, Mapping) else {}


def _hint(fields: Mapping[str, Any], method: str, uri: str) -> RecordedRequest:
    messages = [_mapping(fields, name) for name in ("request", "response")]
    cookies = "; ".join(f"{name}={value}" for message in messages for name, value in _pairs(message, "cookies"))
    headers = (("Cookie", _CONTROLS.sub("", header_text(cookies))), ("Content-Type", "application/json"))
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
    sent, received = _headers(request), _headers(response)
    body = b"" if method == "HEAD" else _received_body(response, status, header_value(received, "content-type"))
    recorded_at = _started(fields.get("startedDateTime")) or parse_http_date(header_value(received, "date"))
    if method != "HEAD" and any(name.lower() in _FRAMING for name, _ in received):  # the file has the body decoded
        kept = tuple(pair for pair in received if pair[0].lower() not in _FRAMING)
        received = (*kept, ("Content-Length", str(len(body))))
    took = fields.get("time")
    return Interaction(
        RecordedRequest(method, urlunsplit(parts._replace(fragment="")), sent, _sent_body(request, method, sent)),
        RecordedResponse(status, str(response.get("statusText") or ""), received, body),
        recorded_at=recorded_at,
        elapsed=timedelta(milliseconds=took) if isinstance(took, int | float) and took >= 0 else None,
    )


def _started(text: Any) -> datetime | None:
    try:
        started = datetime.fromisoformat(text)
        return (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _pairs(message: Mapping[str, Any], name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the names and values in a list of the format: of headers, cookies, parameters."""
    fields = message.get(name)
    for pair in fields if isinstance(fields, list) else ():
        if isinstance(pair, Mapping):
            yield pair.get("name"), pair.get("value")


def _headers(message: Mapping[str, Any]) -> HeaderList:
    """Return headers as a recording holds them, without the pseudo headers of HTTP/2.

    A value of several lines, with which some browsers write a repeated header, becomes several headers.
    """
    headers = []
    for name, value in _pairs(message, "headers"):
        if isinstance(name, str) and _HEADER_NAME.fullmatch(name):
            text = "" if value is None else header_text(value)
            lines = [_CONTROLS.sub("", line).strip() for line in text.splitlines() or [""]]
            headers += [(name, line.encode("utf-8", "replace").decode()) for line in lines]  # no halves of characters
    return tuple(headers)


def _sent_body(request: Mapping[str, Any], method: str, headers: HeaderList) -> bytes:
    data = _mapping(request, "postData")
    text, params = data.get("text"), list(_pairs(data, "params"))
    if isinstance(text, str) and (text or not params):
        return _body(text, str(data.get("encoding") or data.get("_encoding") or ""))
    content_type = str(data.get("mimeType") or header_value(headers, "content-type"))
    is_lost = request.get("bodySize", 0) > 0 and method not in ("GET", "HEAD") and not data
    if is_lost or (params and not content_type.lower().startswith(_FORM)):
        raise _Unimportable("the body of its request is not stored")
    return urlencode([(str(name), "" if value is None else str(value)) for name, value in params]).encode("ascii")


def _received_body(response: Mapping[str, Any], status: int, content_type: str) -> bytes:
    content = _mapping(response, "content")
    if status in (204, 304):  # a browser may store what its cache had
        return b""
    text = content.get("text")
    if isinstance(text, str):
        media_type = content_type or str(content.get("mimeType") or "")
        charset = httpx.Response(200, headers={"Content-Type": media_type}).charset_encoding
        return _body(text, str(content.get("encoding") or ""), charset or "utf-8")
    if content.get("size") == 0 or status in _NO_BODY:
        return b""
    raise _Unimportable(f"its body is {'in a file of its own' if content.get('_file') else 'not stored'}")


def _body(text: str, encoding: str, charset: str = "utf-8") -> bytes:
    """Return the bytes of a stored body: of text, or of base64 with or without line breaks and padding."""
    if encoding.lower() == "base64":
        try:
            plain = re.sub(r"\s", "", text).rstrip("=")
            return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except ValueError:
            raise _Unimportable("its body is not valid base64") from None
    if encoding.lower() not in ("", "utf-8", "utf8"):
        raise _Unimportable("its body has an encoding that is not base64")
    try:
        return text.encode(charset)
    except (LookupError, ValueError):  # no such character set, or the text has characters that it lacks
        return text.encode("utf-8", "replace")
