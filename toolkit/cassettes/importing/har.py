"""Read HAR 1.2 files (http://www.softwareishard.com/blog/har-12-spec/) as browsers and proxies write them.

Names that begin with an underscore are not part of the format. Chrome, Firefox, Safari and Playwright differ in what
they leave out: bodies that they no longer had, cookies, bodies of requests, and what a failed request has instead of a
status. An entry without a stored body is left out, because a replay would give an answer that nobody received.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.cassettes.importing.bodies import base64_bytes, fitting, may_be_empty, text_bytes
from toolkit.cassettes.importing.entries import (
    Entry,
    EntryCall,
    Unimportable,
    duration,
    header_list,
    http_version,
    read_entries,
    with_time,
)
from toolkit.core.ledger import parse_http_date
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value

_FORM: Final = "application/x-www-form-urlencoded"
_WEB: Final = ("http", "https")


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
    """Yield the entries of a HAR file."""
    return read_entries(value["log"]["entries"], _read, uri_name="url", hints=_hints)


def _read(call: EntryCall) -> Interaction:
    fields, method = call.fields, call.method
    request, response = fields["request"], fields["response"]
    parts, status = urlsplit(call.uri), _status(response)
    if fields.get("_webSocketMessages") is not None or fields.get("_resourceType") == "websocket" or status == 101:
        raise Unimportable("it is a websocket")
    if parts.scheme.lower() not in _WEB or not parts.netloc:
        raise Unimportable("its address is not http or https")
    if not 100 <= status <= 999:
        raise Unimportable("it has no response: the browser blocked, cancelled or failed it")
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
        received if method == "HEAD" else fitting(received, body, is_decoded=True),
        body,
        http_version(response.get("httpVersion")),
    )
    interaction = Interaction(recorded, answer, recorded_at=parse_http_date(header_value(received, "date")))
    milliseconds = fields.get("time")
    elapsed = duration(milliseconds / 1000 if isinstance(milliseconds, int | float) else None)
    return with_time(interaction, _started(fields.get("startedDateTime")), elapsed)


def _status(response: Mapping[str, Any]) -> int:
    status = response.get("status")
    return status if isinstance(status, int) else int(status or 0)


def _pairs(fields: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the names and values in a list of the format: of headers, cookies, parameters."""
    for pair in fields or ():
        if isinstance(pair, Mapping):
            yield pair.get("name"), pair.get("value")


def _headers(message: Mapping[str, Any]) -> HeaderList:
    return header_list(_pairs(message.get("headers")))


def _with_cookies(headers: HeaderList, name: str, message: Mapping[str, Any]) -> HeaderList:
    """Return the headers with the cookies of the message, which some browsers list beside the headers only."""
    if header_value(headers, name.lower()):
        return headers
    cookies = [f"{cookie}={value}" for cookie, value in _pairs(message.get("cookies")) if cookie and value is not None]
    if not cookies:
        return headers
    return (*headers, *header_list((name, text) for text in (["; ".join(cookies)] if name == "Cookie" else cookies)))


def _sent_body(request: Mapping[str, Any], method: str, headers: HeaderList) -> bytes:
    data = request.get("postData")
    if not isinstance(data, Mapping):
        size = request.get("bodySize")
        if isinstance(size, int) and size > 0 and method not in ("GET", "HEAD"):
            raise Unimportable("the body of its request is not stored")
        return b""
    text, encoding = data.get("text"), data.get("encoding") or data.get("_encoding")
    if isinstance(text, str) and (text or not data.get("params")):
        return base64_bytes(text) if encoding == "base64" else text.encode("utf-8", "replace")
    params = list(_pairs(data.get("params")))
    content_type = str(data.get("mimeType") or header_value(headers, "content-type"))
    if params and not content_type.lower().startswith(_FORM):
        raise Unimportable("the body of its request is not stored")
    return urlencode([(str(name), "" if value is None else str(value)) for name, value in params]).encode("ascii")


def _received_body(response: Mapping[str, Any], method: str, status: int) -> bytes:
    content = response.get("content")
    content = content if isinstance(content, Mapping) else {}
    if method == "HEAD" or status in (204, 304):  # a browser may store what its cache had
        return b""
    text, encoding = content.get("text"), str(content.get("encoding") or "").lower()
    if isinstance(text, str):
        if encoding == "base64":
            return base64_bytes(text)
        if encoding not in ("", "utf-8", "utf8"):
            raise Unimportable("its body has an encoding that is not base64")
        content_type = header_value(_headers(response), "content-type") or str(content.get("mimeType") or "")
        return text_bytes(text, content_type)
    if content.get("_file"):
        raise Unimportable("its body is in a file of its own")
    if content.get("size") == 0 or may_be_empty(method, status):
        return b""
    raise Unimportable("its body is not stored")


def _started(text: Any) -> datetime | None:
    try:
        started = datetime.fromisoformat(text)
        return (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _hints(call: EntryCall) -> Iterator[RecordedRequest]:
    """Yield messages with what an entry repeats or adds: headers, cookies, parameters, and related URLs."""
    fields, request = call.fields, call.fields["request"]
    yield RecordedRequest(call.method, call.uri, _headers(request))
    response = fields.get("response")
    response = response if isinstance(response, Mapping) else {}
    cookies = [*_pairs(request.get("cookies")), *_pairs(response.get("cookies"))]
    yield RecordedRequest(
        "GET", call.uri, header_list([("Cookie", "; ".join(f"{name}={text}" for name, text in cookies))])
    )
    data, parts = request.get("postData"), urlsplit(call.uri)
    form = [*_pairs(request.get("queryString")), *_pairs(data.get("params") if isinstance(data, Mapping) else None)]
    text = urlencode([(str(name), str(value)) for name, value in form], errors="replace")
    body = "&".join(filter(None, (text, parts.fragment, f"password={parts.password}" if parts.password else "")))
    yield RecordedRequest("POST", call.uri, (("Content-Type", _FORM),), body.encode("utf-8", "replace"))
    initiator = fields.get("_initiator")
    paths = [value for name, value in _pairs(request.get("headers")) if name == ":path"]
    related: list[Any] = [f"{parts.scheme}://{parts.netloc}{path}" for path in paths]
    related += [response.get("redirectURL"), initiator.get("url") if isinstance(initiator, Mapping) else None]
    for url in related:
        if isinstance(url, str) and url.startswith(_WEB) and is_uri(url):
            yield RecordedRequest("GET", url)
