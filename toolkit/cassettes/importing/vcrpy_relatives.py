"""Read cassettes whose layout resembles vcrpy's: of pydantic-ai's serializer, and of go-vcr."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final

from toolkit.cassettes.format import vcrpy_fields
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction, checked_status
from toolkit.cassettes.importing.bodies import fitting, plain_bytes
from toolkit.cassettes.importing.entries import (
    Entry,
    EntryCall,
    duration,
    header_list,
    http_version,
    read_entries,
    with_time,
)
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.core.patterns import compiled
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value

_UNREADABLE: Final = "it does not have the fields of an interaction"
_GO_DURATION: Final = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(h|ms|m|s|µs|μs|us|ns)"  # time.Duration of Go
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ns": 1e-9}


def vcrpy_entries(contents: Contents) -> Iterator[Entry]:
    """Yield the interactions of a cassette of vcrpy."""
    for number in range(len(contents)):
        try:
            interaction = contents.interaction(number)
        except CassetteCorrupt:
            yield Entry(number + 1, "", "", None, _UNREADABLE)
            continue
        if interaction.recorded_at == EPOCH:  # the file does not say
            interaction = interaction._replace(recorded_at=None)
        yield Entry(number + 1, interaction.request.method, interaction.request.uri, interaction)


def pydantic_ai_entries(value: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the interactions of a file of pydantic-ai's serializer, which stores the values of JSON bodies."""
    return read_entries(value["interactions"], _of_pydantic_ai)


def go_entries(value: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the interactions of a file of go-vcr, of version 1 or 2."""
    return read_entries(value["interactions"], _of_go, uri_name="url")


def _of_pydantic_ai(call: EntryCall) -> Interaction:
    """Return an interaction with JSON in place of its parsed bodies, as vcrpy would hold it."""
    request, response = dict(call.fields["request"]), dict(call.fields["response"])
    for message in (request, response):
        parsed = message.pop("parsed_body", None)
        if parsed is not None:
            body = json.dumps(parsed, ensure_ascii=False, default=_json_text)
            message["body"] = {"string": body} if message is response else body
    interaction = vcrpy_fields.interaction({"request": request, "response": response})
    answer = interaction.response
    answer = answer._replace(headers=fitting(answer.headers, answer.body))
    at = interaction.recorded_at
    return interaction._replace(response=answer, recorded_at=None if at == EPOCH else at)


def _json_text(value: Any) -> str:
    if isinstance(value, date | datetime):  # YAML reads an unquoted date as one
        return value.isoformat()
    raise TypeError


def _of_go(call: EntryCall) -> Interaction:
    request, response = call.fields["request"], call.fields["response"]
    status = checked_status(response["code"])
    _, _, reason = str(response.get("status") or "").partition(" ")
    body, received = plain_bytes(response.get("body")), _go_headers(response.get("headers"))
    if call.method != "HEAD":
        received = fitting(received, body, is_decoded=response.get("uncompressed") is True)
    interaction = Interaction(
        RecordedRequest(call.method, call.uri, _go_headers(request.get("headers")), plain_bytes(request.get("body"))),
        RecordedResponse(status, reason, received, body, http_version(response.get("proto"))),
    )
    return with_time(
        interaction, parse_http_date(header_value(received, "date")), duration(_go_seconds(response.get("duration")))
    )


def _go_headers(value: Any) -> HeaderList:
    pairs = value.items() if isinstance(value, Mapping) else ()
    return header_list((name, text) for name, texts in pairs for text in texts)


def _go_seconds(value: Any) -> float | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1e-9
    parts = compiled(_GO_DURATION).findall(value) if isinstance(value, str) else []
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None
