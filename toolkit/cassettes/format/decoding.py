"""Read interactions: from items of ours and from cassettes of stock vcrpy, of any version and client.

vcrpy stores what a client handed to it. So the body of a request may be text, bytes, a file, an iterator or, with
aiohttp, values of JSON; headers may be a mapping or a list of pairs, with one value or several; and
other tools put the content of a response elsewhere. The time of such an interaction is its Date header, or else a fixed
instant. Files that other programs recorded are recognized, so that the error says what they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any, Final

from toolkit.cassettes.format import yaml_text
from toolkit.cassettes.format.interactions import (
    Interaction,
    TooLarge,
    from_fields,
    has_its_encoding,
)
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.scrubbing.messages import header_value

_NOT_CASSETTE: Final = "request and response do not have the fields of a cassette"
_NOT_CONVERTED: Final = (
    "it was recorded by {}, whose recordings are not converted; record the calls again, or import a HAR file of them "
    "with `toolkit cassettes import FILE NAME`"
)
_OLD: Final = "it is in the format of an older version of vcrpy, before 1.0, which `python -m vcr.migration` converts"
# What stands in the files of other programs, and what to say of them; the first that fits counts.
_OTHER_PROGRAMS: Final = (
    (rb"\A\s*\{\s*\"log\"\s*:", "it is a HAR file; `toolkit cassettes import FILE NAME` makes a cassette of it"),
    (rb"!!python/object:vcr\.request\.Request|\A(?:\[\s*\{\s*\"|- )request\b", _OLD),
    (rb"recorded_with[\"']? *: *[\"']?betamax", _NOT_CONVERTED.format("betamax")),
    (rb"recorded_with[\"']? *: *[\"']?(?:VCR-vcr|vcr/)", _NOT_CONVERTED.format("R's vcr")),
    (rb"recorded_with[\"']? *: *[\"']?VCR|!ruby/struct:VCR::", _NOT_CONVERTED.format("Ruby's VCR")),
    (rb"(?m)^[ \t{]{0,8}[\"']?http_interactions[\"']? *:", _NOT_CONVERTED.format("Ruby's VCR or a relative of it")),
    (rb"parsed_body[\"']? *:", _NOT_CONVERTED.format("the serializer of pydantic-ai")),
    (rb"(?m)^ {4}url: ", _NOT_CONVERTED.format("go-vcr")),
)

_ITEM: Final = re.compile(rb"(?m)^ {0,2}- (?=request:|response:)")


def decode(data: bytes, source: str, number: int, *, line: int) -> Interaction:
    """Parse one block item of ours; `line` is its first line in the file, from 1.

    Raises:
        CassetteCorrupt: if it is not exactly one interaction; names file and line.
    """
    try:
        items = yaml_text.load(data)
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line + error.line) from None
    fields = items[0] if isinstance(items, list) and len(items) == 1 else None
    return read_fields(fields, source, number, line=line, is_foreign=False)


def parse(data: bytes, *, source: str, is_ours: bool) -> tuple[list[tuple[int | None, Any]], str]:
    """Parse a cassette of any layout.

    Returns:
        The first line, if it is known, and the fields of each interaction; and what to say of the file if none of them
        can be read: "", or the program that is known to have written it.

    Raises:
        CassetteCorrupt: if it is not YAML or JSON with a list of interactions; names the other program, or else the
            line if a parser knows it.
    """
    program = "" if is_ours else next((what for sign, what in _OTHER_PROGRAMS if re.search(sign, data)), "")
    try:
        document = yaml_text.load(data) if is_ours else _load_foreign(data)
    except yaml_text.NotYaml as error:
        raise corrupt(source, program or str(error), None if program else 1 + error.line) from None
    items = document.get("interactions") if isinstance(document, Mapping) else None
    if not isinstance(items, list):
        raise corrupt(source, program or "it does not have the fields of a cassette")
    ends = [0, *(match.start() for match in _ITEM.finditer(data))]
    lines = list(accumulate((data.count(b"\n", start, end) for start, end in pairwise(ends)), initial=1))[1:]
    if len(lines) == len(items):  # in the usual layout
        return list(zip(lines, items, strict=True)), program
    return [(None, fields) for fields in items], program


def _load_foreign(data: bytes) -> Any:
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        try:
            return json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            line, what = getattr(error, "lineno", 1) - 1, getattr(error, "msg", "nested or encoded")
            raise yaml_text.NotYaml(f"it is not valid JSON ({what})", line) from None
    from vcr.serializers import yamlserializer

    return yaml_text.load(data, yamlserializer.deserialize)


def read_fields(fields: Any, source: str, number: int, *, line: int | None, is_foreign: bool) -> Interaction:
    """Return the interaction with the fields that a parser found.

    Raises:
        CassetteCorrupt: if they are not those of an interaction; names the file and, if known, the line.
    """
    try:
        return _foreign_interaction(fields) if is_foreign else from_fields(fields)
    except KeyError as error:
        why = f"{error} is missing"
    except ValueError as error:
        why = str(error)
    except (TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        why = _NOT_CASSETTE  # messages about Python code would not help
    raise corrupt(source, f"in interaction {number + 1}, {why}", line)


def corrupt(source: str, why: str, line: int | None = None) -> CassetteCorrupt:
    """Return the error for a file that is not a cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is not a cassette: {why}.",
        "A cassette is a file in vcrpy's format, version 1. The file was left as it was: fix it, or name another file.",
        about="cassette",
    )


def _foreign_interaction(fields: Mapping[str, Any]) -> Interaction:
    """Return an interaction as stock vcrpy reads it."""
    request, response = fields["request"], fields["response"]
    if "parsed_body" in {**request, **response}:
        raise ValueError("a body is stored under 'parsed_body', as the serializer of pydantic-ai does")
    code = response.get("status_code")  # what vcrpy wrote for httpx before version 6
    status = response["status"] if code is None else {"code": code}
    read = from_fields({"request": {**request, "body": _sent(request)}, "response": {**response, "status": status}})
    received = read.response.headers
    with suppress(TooLarge):  # replay refuses it
        if not has_its_encoding(received, read.response.body):  # vcrpy records the body decoded for some clients
            kept = [pair for pair in received if pair[0].lower() not in ("content-encoding", "content-length")]
            received = (*kept, ("Content-Length", str(len(read.response.body))))
    return read._replace(
        response=read.response._replace(headers=received),
        recorded_at=parse_http_date(header_value(received, "date")) or EPOCH,
    )


def _sent(request: Mapping[str, Any]) -> Any:
    """Return the body of a request as text, bytes or a file."""
    value = request.get("body")
    value = list(value) if isinstance(value, Iterator) else value
    if isinstance(value, list | tuple) and value and all(isinstance(chunk, bytes) for chunk in value):
        return b"".join(value)
    if value is None or isinstance(value, str | bytes) or hasattr(value, "read"):
        return value
    return json.dumps(value, default=str)  # what aiohttp was given to send as JSON
