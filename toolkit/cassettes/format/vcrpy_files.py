"""Read cassettes of stock vcrpy, of any version and client, with vcrpy's own YAML loader.

vcrpy stores what a client handed to it. So the body of a request may be text, bytes, a file, an iterator or, with
aiohttp, the values of a form or of JSON; and headers may be a mapping or a list of pairs, with one value or several.
The time of an interaction is its Date header, or else a fixed instant. Files that other programs recorded are
recognized, so that the error says what they are.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlencode

import yaml
from vcr.request import HeadersDict
from vcr.serializers import yamlserializer

from toolkit.cassettes.format import yaml_text
from toolkit.cassettes.format.decompression import NotEncoded, TooLarge, check_decompression
from toolkit.cassettes.format.interactions import (
    Interaction,
    UnreadableInteraction,
    checked_status,
    checked_uri,
    corrupt,
    read_each,
)
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.scrubbing.messages import (
    HeaderList,
    RecordedRequest,
    RecordedResponse,
    header_bytes,
    header_text,
    header_value,
)

_FORM: Final = "application/x-www-form-urlencoded"
_SCALARS: Final = (str, int, float, bool, type(None))
_NOT_TEXT: Final = "is not text"
_UNREADABLE: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
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


class Unusable(ValueError):
    """A field has a value that vcrpy does not write; the text says which, and not what stands there."""


def load(data: bytes, *, source: str) -> list[Interaction | UnreadableInteraction]:
    """Return all interactions of a vcrpy cassette, YAML or JSON, with the error in place of one that cannot be read.

    Raises:
        CassetteCorrupt: if it is not a cassette; names the file, if a parser knows it the line, and if another program
            wrote it that program.
    """
    try:
        text = data.decode("utf-8-sig")
        is_json = text.lstrip()[:1] == "{"
        if not is_json:
            yaml_text.check(data)
        items = (json.loads(text) if is_json else yamlserializer.deserialize(text))["interactions"]
    except (
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
        yaml.YAMLError,
    ) as error:
        _refuse_other_program(data, source)
        raise corrupt(source, *_reason(error, data)) from None
    if not isinstance(items, list):
        raise corrupt(source, "it does not have the fields of a cassette")
    recorded = read_each(items, interaction_of, data=data, source=source)
    if recorded and all(isinstance(each, UnreadableInteraction) for each in recorded):
        _refuse_other_program(data, source)
    return recorded


def _refuse_other_program(data: bytes, source: str) -> None:
    for sign, what in _OTHER_PROGRAMS:
        if re.search(sign, data):
            raise corrupt(source, what) from None


def _reason(error: Exception, data: bytes) -> tuple[str, int | None]:
    """Return why a file cannot be read, and the line where, if it is known."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text", 1 + data.count(b"\n", 0, error.start)
    if isinstance(error, json.JSONDecodeError):
        return f"it is not valid JSON ({error.msg})", error.lineno
    if isinstance(error, yaml_text.NotYaml):
        return str(error), 1 + error.line
    if isinstance(error, yaml.MarkedYAMLError):
        return f"it is not valid YAML ({error.problem})", error.problem_mark.line + 1 if error.problem_mark else None
    if isinstance(error, KeyError):
        return f"{error} is missing", None
    if isinstance(error, TypeError | AttributeError | LookupError):  # messages about Python code would not help
        return "it does not have the fields of a cassette", None
    return str(error).partition("\n")[0].rstrip(".: ") or type(error).__name__, None


def interaction_of(fields: Mapping[str, Any]) -> Interaction:
    """Return the interaction with these fields.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: if they are not those of an interaction.
    """
    request, response = _request(fields["request"]), _response(fields["response"])
    date_text = next((value for name, value in response.headers if name.lower() == "date"), "")
    return Interaction(request, response, recorded_at=parse_http_date(date_text) or EPOCH)


def _request(fields: Mapping[str, Any]) -> RecordedRequest:
    method, uri = fields["method"], fields["uri"]
    if not isinstance(method, str) or not isinstance(uri, str):
        raise Unusable(f"the request's {'uri' if isinstance(method, str) else 'method'} {_NOT_TEXT}")
    _refuse_parsed_body(fields)
    # As vcrpy reads them: the first value of each, and the last of names that differ in case.
    headers = tuple(HeadersDict((name, tuple(values)) for name, values in _grouped(fields["headers"])).items())
    return RecordedRequest(method, checked_uri(uri), headers, _request_body(fields.get("body"), headers))


def _refuse_parsed_body(fields: Mapping[str, Any]) -> None:
    if "parsed_body" in fields:
        raise ValueError("a body is stored under 'parsed_body', as the serializer of pydantic-ai does")


def _request_body(value: Any, headers: HeaderList) -> bytes:
    if hasattr(value, "read"):  # a file
        value = value.read()
    if isinstance(value, Iterator):
        value = b"".join(_bytes(chunk, "a chunk of the request's body") for chunk in value)
    if value is None or isinstance(value, str | bytes):
        return _bytes(value, "the request's body")
    if isinstance(value, list | tuple) and value and all(isinstance(chunk, bytes) for chunk in value):
        return b"".join(value)
    try:
        # aiohttp's values of a form or of JSON
        if header_value(headers, "content-type").lower().startswith(_FORM):
            pairs = list(value.items()) if isinstance(value, Mapping) else value
            return urlencode([(name, each) for name, contents in pairs for each in _each(contents)]).encode("ascii")
        return json.dumps(value, default=_json_text).encode("ascii")
    except (TypeError, ValueError):
        raise Unusable("the request's body is neither text, nor a form, nor JSON") from None


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _json_text(value: Any) -> str:
    if isinstance(value, date | datetime):  # YAML reads an unquoted date as one
        return value.isoformat()
    raise TypeError


def _response(fields: Mapping[str, Any]) -> RecordedResponse:
    _refuse_parsed_body(fields)
    is_flat = "status_code" in fields  # what vcrpy wrote for httpx before version 6
    status = checked_status(fields["status_code"] if is_flat else fields["status"]["code"])
    reason = "" if is_flat else str(fields["status"].get("message") or "")
    headers = tuple((name, value) for name, values in _grouped(fields["headers"]) for value in values)
    body = _content(fields)
    return RecordedResponse(status, reason, _corrected(headers, body), body)


def _content(fields: Mapping[str, Any]) -> bytes:
    """Return the content of a response, from the place where vcrpy or a tool around it put it."""
    what = "the response's content"
    body = fields.get("body")
    if isinstance(body, Mapping):
        if "string" in body:
            return _bytes(body["string"], what)
        if "base64_string" in body:
            return _decoded(body["base64_string"], what)
        if not body.keys() - {"encoding"}:  # there was none, or aiohttp had closed the connection before it
            return b""
        raise ValueError("the response has no content, because 'string' is missing under 'body'")
    if "content" in fields:
        content = fields["content"]
        return _decoded(content, what) if fields.get("base64encoded") is True else _bytes(content, what)
    if "body" not in fields:
        raise KeyError("body")
    raise ValueError("the response has no content: 'body' must hold it under 'string'")


def _bytes(value: Any, what: str) -> bytes:
    if hasattr(value, "read"):
        value = value.read()
    if value is None:
        return b""
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{what} has a character that UTF-8 does not have") from None
    if not isinstance(value, bytes):
        raise Unusable(f"{what} {_NOT_TEXT}")
    return value


def _decoded(value: Any, what: str) -> bytes:
    try:
        return base64.b64decode(_bytes(value, what))
    except ValueError:
        raise ValueError(f"{what} is not valid base64") from None


def _grouped(headers: Any) -> list[tuple[str, list[str]]]:
    """Return the values of headers by name: from a mapping or from pairs, each with one value or several."""
    if headers is None:
        return []
    pairs = list(headers.items()) if isinstance(headers, Mapping) else headers
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise ValueError("'headers' is neither a mapping nor a list of pairs")
    return [(_header_text(name), [_header_text(value) for value in _each(values)]) for name, values in pairs]


def _header_text(value: Any) -> str:
    if not isinstance(value, (*_SCALARS, bytes, date)):
        raise Unusable(f"a header {_NOT_TEXT}")
    text = "" if value is None else header_text(value)
    if not text.isascii():
        try:
            header_bytes(text)
        except UnicodeEncodeError:
            raise ValueError("a header has a character that UTF-8 does not have") from None
    return text


def _corrected(headers: HeaderList, body: bytes) -> HeaderList:
    """Return the headers, without Content-Encoding if vcrpy recorded the body decoded, as it does for some clients."""
    try:
        check_decompression(headers, body)
    except TooLarge:  # replay refuses it
        return headers
    except NotEncoded:
        kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
        return (*kept, ("Content-Length", str(len(body))))
    return headers
