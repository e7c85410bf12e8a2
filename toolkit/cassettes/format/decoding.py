"""Read interactions: from items of ours and from cassettes of stock vcrpy, of any version and client.

vcrpy stores what a client handed to it. So the body of a request may be text, bytes, a file, an iterator or, with
aiohttp, the values of a form or of JSON; headers may be a mapping or a list of pairs, with one value or several; and
other tools put the content of a response elsewhere. The time of such an interaction is its Date header, or else a fixed
instant. Files that other programs recorded are recognized, so that the error says what they are.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from toolkit.cassettes.format import yaml_text
from toolkit.cassettes.format.interactions import (
    Interaction,
    RecordedFailure,
    TooLarge,
    checked_status,
    checked_uri,
    has_its_encoding,
    is_uri,
)
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH, Authorization, checked_count, parse_http_date, parse_instant
from toolkit.core.text import NO_CONNECTION
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
    header_value,
)

_FORM: Final = "application/x-www-form-urlencoded"
_NOT_CASSETTE: Final = "request and response do not have the fields of a cassette"
_NOT_CONVERTED: Final = (
    "it was recorded by {}, whose recordings are not converted; record the calls again, or import a HAR file of them "
    "with `toolkit cassettes import FILE NAME`"
)
_OLD_VCRPY: Final = (
    "it is in the format of an older version of vcrpy, before 1.0, which `python -m vcr.migration` converts"
)
# What stands in the files of other programs, and what to say of them; the first that fits counts.
_OTHER_PROGRAMS: Final = (
    (rb"\A\s*\{\s*\"log\"\s*:", "it is a HAR file; `toolkit cassettes import FILE NAME` makes a cassette of it"),
    (rb"!!python/object:vcr\.request\.Request|\A(?:\[\s*\{\s*\"|- )request\b", _OLD_VCRPY),
    (rb"recorded_with[\"']? *: *[\"']?betamax", _NOT_CONVERTED.format("betamax")),
    (rb"recorded_with[\"']? *: *[\"']?(?:VCR-vcr|vcr/)", _NOT_CONVERTED.format("R's vcr")),
    (rb"recorded_with[\"']? *: *[\"']?VCR|!ruby/struct:VCR::", _NOT_CONVERTED.format("Ruby's VCR")),
    (
        rb"(?m)^[ \t{]{0,8}[\"']?http_interactions[\"']? *:",
        _NOT_CONVERTED.format("Ruby's VCR or a program that shares its format"),
    ),
    (rb"parsed_body[\"']? *:", _NOT_CONVERTED.format("the serializer of pydantic-ai")),
    (rb"(?m)^ {4}url: ", _NOT_CONVERTED.format("go-vcr")),
)


class Unreadable(NamedTuple):
    """An interaction that cannot be read, though the file can.

    Attributes:
        error: says why, and where.
        line: the line on which it begins, from 1, or None if it is not known.
        head: its method and URI, or None.
    """

    error: CassetteCorrupt
    line: int | None
    head: RecordedRequest | None


def decode(data: bytes, *, source: str, line: int = 1) -> Interaction:
    """Parse one block item of ours; `line` is its first line in the file, from 1.

    Raises:
        CassetteCorrupt: if it is not exactly one interaction; names file and line.
    """
    try:
        items = yaml_text.load(data)
        if isinstance(items, list) and len(items) == 1:
            return _read(items[0], _own_interaction)
        why = "expected one interaction here"
    except yaml_text.NotYaml as error:
        why, line = str(error), line + error.line
    except ValueError as error:
        why = str(error)
    raise corrupt(source, why, line) from None


def decode_all(data: bytes, *, source: str, is_ours: bool) -> list[Interaction | Unreadable]:
    """Parse a cassette of any layout, with the error in place of an interaction that cannot be read.

    Raises:
        CassetteCorrupt: if it is not YAML or JSON with a list of interactions; names the file, the line if a parser
            knows it, and the program that wrote it if that is known.
    """
    program = "" if is_ours else next((what for sign, what in _OTHER_PROGRAMS if re.search(sign, data)), "")
    line = None
    try:
        document = yaml_text.load(data) if is_ours else _load_foreign(data)
        items = document.get("interactions") if isinstance(document, Mapping) else None
        if isinstance(items, list):
            return _each(items, data, source, _own_interaction if is_ours else _foreign_interaction, program)
        why = "it does not have the fields of a cassette"
    except yaml_text.NotYaml as error:
        why, line = str(error), 1 + error.line
    raise corrupt(source, program or why, None if program else line) from None


def _load_foreign(data: bytes) -> Any:
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        try:
            return json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1) - 1
            raise yaml_text.NotYaml(
                f"it is not valid JSON ({getattr(error, 'msg', 'nested or encoded')})", line
            ) from None
    from vcr.serializers import yamlserializer

    return yaml_text.load(data, yamlserializer.deserialize)


def _each(
    items: Sequence[Any], data: bytes, source: str, read: Callable[[Any], Interaction], program: str
) -> list[Interaction | Unreadable]:
    recorded: list[Interaction | Unreadable] = []
    failed: dict[int, str] = {}
    for number, fields in enumerate(items):
        try:
            recorded.append(_read(fields, read))
        except ValueError as error:
            failed[number] = f"in interaction {number + 1}, {error}"
            recorded.append(Unreadable(corrupt(source, ""), None, _head(fields)))
    is_program = program and len(failed) == len(items)
    lines = yaml_text.lines_of_items(data) if failed else []
    for number, why in failed.items():
        line = lines[number] if number < len(lines) else None
        unread = corrupt(source, program if is_program else why, line)
        recorded[number] = Unreadable(unread, line, _head(items[number]))
    return recorded


def _read(fields: Any, read: Callable[[Any], Interaction]) -> Interaction:
    """Return the interaction with these fields; ValueError if they are not those of an interaction."""
    try:
        return read(fields)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    except (TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        raise ValueError(_NOT_CASSETTE) from None  # messages about Python code would not help


def _head(fields: Any) -> RecordedRequest | None:
    request = fields.get("request") if isinstance(fields, Mapping) else None
    method, uri = (request.get("method"), request.get("uri")) if isinstance(request, Mapping) else (None, None)
    return RecordedRequest(method, uri) if isinstance(method, str) and isinstance(uri, str) and is_uri(uri) else None


def corrupt(source: str, why: str, line: int | None = None) -> CassetteCorrupt:
    """Return the error for a file that is not a cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is not a cassette: {why}.",
        "A cassette is a file in vcrpy's format, version 1. The file was left as it was: fix it, or name another file.",
        about="cassette",
    )


def _own_interaction(fields: Mapping[str, Any]) -> Interaction:
    request, response = fields["request"], fields["response"]
    at, seconds, failure = fields.get("recorded_at"), fields.get("elapsed"), fields.get("failure")
    recorded_at = None if at is None else parse_instant(str(at))
    elapsed = None if seconds is None else timedelta(seconds=seconds)
    _ = (recorded_at or EPOCH) + (elapsed or timedelta(0))  # OverflowError if the call would end after year 9999
    by, obtained = fields.get("authorized_by"), fields.get("token_obtained")
    sent = _in_order(request["headers"], fields.get("request_header_order"))
    received = _in_order(response["headers"], fields.get("header_order"))
    status = response["status"]
    return Interaction(
        RecordedRequest(
            str(request["method"]), checked_uri(str(request["uri"])), sent, _bytes(request.get("body"), "the body")
        ),
        RecordedResponse(
            checked_status(status["code"]),
            str(status.get("message") or ""),
            received,
            _content(response),
            str(fields.get("http_version") or ""),
        ),
        recorded_at=recorded_at,
        elapsed=elapsed,
        authorized_by=None if by is None else Authorization.from_fields(by),
        token_obtained=None if obtained is None else Authorization.from_fields(obtained),
        failure=None if failure is None else _failure(failure),
        tries=checked_count(fields.get("tries", 1), "the number of tries"),
        ended_early=fields.get("ended_early") is True,
        pseudonyms=tuple(map(str, fields.get("pseudonyms") or ())),
    )


def _failure(fields: Mapping[str, Any]) -> RecordedFailure:
    reason = str(fields.get("reason"))  # a later version may know others
    known = reason if reason in NO_CONNECTION else ""
    return RecordedFailure(str(fields["type"]), str(fields.get("message") or ""), known)


def _in_order(headers: Any, order: Sequence[str] | None) -> HeaderList:
    """Return grouped headers in the order in which they came. Those that somebody added by hand come last."""
    grouped = _grouped(headers)
    left = {name: list(values) for name, values in grouped} if order else {}
    ordered = [(name, left[name].pop(0)) for name in order or () if left.get(name)]
    rest = left.items() if order else grouped
    return (*ordered, *((name, value) for name, values in rest for value in values))


def _foreign_interaction(fields: Mapping[str, Any]) -> Interaction:
    request, response = fields["request"], fields["response"]
    method, uri = request["method"], request["uri"]
    if not isinstance(method, str) or not isinstance(uri, str):
        raise ValueError(f"the request's {'uri' if isinstance(method, str) else 'method'} is not text")  # noqa: TRY004
    # As vcrpy reads them: the first value of each, and the last of names that differ in case.
    sent: dict[str, tuple[str, str]] = {}
    for name, values in _grouped(request["headers"]):
        first_name = sent.get(name.lower(), (name, ""))[0]
        sent[name.lower()] = first_name, values[0]
    headers = tuple(sent.values())
    is_flat = "status_code" in response  # what vcrpy wrote for httpx before version 6
    status = checked_status(response["status_code"] if is_flat else response["status"]["code"])
    reason = "" if is_flat else str(response["status"].get("message") or "")
    content = _content(response)
    received = _corrected(_in_order(response["headers"], None), content)
    return Interaction(
        RecordedRequest(method, checked_uri(uri), headers, _request_body(request, headers)),
        RecordedResponse(status, reason, received, content),
        recorded_at=parse_http_date(header_value(received, "date")) or EPOCH,
    )


def _request_body(request: Mapping[str, Any], headers: HeaderList) -> bytes:
    if "parsed_body" in request:
        raise ValueError("a body is stored under 'parsed_body', as the serializer of pydantic-ai does")
    value = request.get("body")
    if isinstance(value, Iterator):
        value = list(value)
        if all(isinstance(chunk, str) for chunk in value):
            value = "".join(value)
    if isinstance(value, list | tuple) and value and all(isinstance(chunk, bytes) for chunk in value):
        return b"".join(value)
    if value is None or isinstance(value, str | bytes) or hasattr(value, "read"):
        return _bytes(value, "the request's body")
    try:  # aiohttp's values of a form or of JSON
        if header_value(headers, "content-type").lower().startswith(_FORM):
            pairs = list(value.items()) if isinstance(value, Mapping) else value
            return urlencode([(name, each) for name, several in pairs for each in _several(several)]).encode("ascii")
        return json.dumps(value, default=_json_text).encode("ascii")
    except (TypeError, ValueError):
        raise ValueError("the request's body is neither text, nor a form, nor JSON") from None


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _json_text(value: Any) -> str:
    if isinstance(value, date | datetime):  # YAML reads an unquoted date as one
        return value.isoformat()
    raise TypeError


def _content(response: Mapping[str, Any]) -> bytes:
    """Return the content of a response, from the place where vcrpy or a tool around it put it."""
    what = "the response's content"
    body = response.get("body")
    if "parsed_body" in response:
        raise ValueError("a body is stored under 'parsed_body', as the serializer of pydantic-ai does")
    if isinstance(body, Mapping):
        if "string" in body:
            return _bytes(body["string"], what)
        if "base64_string" in body:
            return _decoded(body["base64_string"], what)
        if not body.keys() - {"encoding"}:  # there was none, or aiohttp had closed the connection before it
            return b""
        raise ValueError("the response has no content, because 'string' is missing under 'body'")
    if "content" in response:
        content = response["content"]
        return _decoded(content, what) if response.get("base64encoded") is True else _bytes(content, what)
    if "body" not in response:
        raise KeyError("body")
    raise ValueError("the response has no content: 'body' must hold it under 'string'")


def _bytes(value: Any, what: str) -> bytes:
    if hasattr(value, "read"):  # a file
        value = value.read()
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{what} has a character that UTF-8 does not have") from None
    if not isinstance(value, bytes | None):
        raise ValueError(f"{what} is not text")  # noqa: TRY004
    return value or b""


def _decoded(value: Any, what: str) -> bytes:
    try:
        return base64.b64decode(_bytes(value, what))
    except ValueError:
        raise ValueError(f"{what} is not valid base64") from None


def _grouped(headers: Any) -> list[tuple[str, list[str]]]:
    """Return the values of headers by name: from a mapping or from pairs, each with one value or several."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else headers or []
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise ValueError("'headers' is neither a mapping nor a list of pairs")
    return [(_header_text(name), [_header_text(value) for value in _several(values)]) for name, values in pairs]


def _header_text(value: Any) -> str:
    if not isinstance(value, str | bytes | int | float | date | None):
        raise ValueError("a header is not text")  # noqa: TRY004
    text = "" if value is None else header_text(value)
    try:
        header_bytes(text)
    except UnicodeEncodeError:
        raise ValueError("a header has a character that UTF-8 does not have") from None
    return text


def _corrected(headers: HeaderList, body: bytes) -> HeaderList:
    """Return the headers, without Content-Encoding if vcrpy recorded the body decoded, as it does for some clients."""
    with suppress(TooLarge):  # replay refuses it
        if not has_its_encoding(headers, body):
            kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
            return (*kept, ("Content-Length", str(len(body))))
    return headers
