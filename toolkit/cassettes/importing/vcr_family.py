"""Read cassettes of Ruby's VCR, and of R's vcr and betamax, which took over its layout `http_interactions`.

They differ in how a body, a status, a header and a time are written; each form that one of them has used is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from toolkit.cassettes.format.interactions import Interaction, checked_status
from toolkit.cassettes.format.vcrpy_fields import form_pairs
from toolkit.cassettes.importing.bodies import (
    base64_bytes,
    fitting,
    gzip_bytes,
    plain_bytes,
    text_bytes,
)
from toolkit.cassettes.importing.entries import (
    Entry,
    EntryCall,
    Unimportable,
    header_list,
    http_version,
    read_entries,
    with_time,
)
from toolkit.core.ledger import parse_http_date
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value


def entries(value: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the interactions of a file, given its value."""
    return read_entries(value["http_interactions"], _read)


def _read(call: EntryCall) -> Interaction:
    request, response = call.fields["request"], call.fields["response"]
    sent, headers = _headers(request.get("headers")), _headers(response.get("headers"))
    received = tuple((name, text) for name, text in headers if not _is_status_line(name, text))
    status, reason = _status(response["status"])
    body = _body(response.get("body"), received)
    if call.method != "HEAD":
        received = fitting(received, body)
    interaction = Interaction(
        RecordedRequest(call.method, call.uri, sent, _body(request.get("body"), sent)),
        RecordedResponse(status, reason, received, body, http_version(str(response.get("http_version") or ""))),
    )
    return with_time(interaction, _instant(call.fields.get("recorded_at"), received))


def _headers(value: Any) -> HeaderList:
    """Return headers: a mapping of names to one value, or to a list of them."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return header_list(
        (name, text) for name, texts in pairs for text in (texts if isinstance(texts, list | tuple) else [texts])
    )


def _is_status_line(name: str, text: str) -> bool:
    """Check for the header in which R's vcr keeps the first line of the response."""
    return name.lower() == "status" and text.startswith("HTTP/")


def _status(value: Any) -> tuple[int, str]:
    if not isinstance(value, Mapping):
        return checked_status(value), ""
    code = value["code"] if "code" in value else value["status_code"]
    return checked_status(code), str(value.get("message") or "")


def _body(value: Any, headers: HeaderList) -> bytes:
    if not isinstance(value, Mapping):
        return plain_bytes(value)
    if value.get("file") is True or value.get("on_disk"):
        raise Unimportable("its body is in a file of its own")
    if value.get("raw_gzip"):
        return gzip_bytes(base64_bytes(str(value["raw_gzip"])))
    if value.get("base64_string") and not value.get("string"):
        return base64_bytes(str(value["base64_string"]))
    if "fields" in value:
        return _fields(value["fields"], headers)
    text, encoding = value.get("string"), value.get("encoding")
    if isinstance(text, str) and isinstance(encoding, str) and encoding:
        return text_bytes(text, f";charset={encoding}")
    return plain_bytes(text)


def _fields(value: Any, headers: HeaderList) -> bytes:
    """Return the body of a request that is stored as its fields: a form or JSON."""
    pairs = form_pairs(value)
    if pairs is not None and "json" not in header_value(headers, "content-type").lower():
        return urlencode(pairs).encode("ascii")
    return json.dumps(value, default=str).encode("ascii")


def _instant(value: Any, headers: HeaderList) -> datetime | None:
    """Return a time in UTC: an HTTP date of Ruby's VCR, `2026-05-12 09:30:00 GMT` of R's vcr, ISO 8601 of betamax."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.removesuffix(" GMT").removesuffix(" UTC"))
        except ValueError:
            value = parse_http_date(value)
    if isinstance(value, datetime):
        try:
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        except OverflowError:
            return None
    return parse_http_date(header_value(headers, "date"))
