"""Compare the bodies of requests by their meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from typing import Final
from urllib.parse import parse_qsl, urlencode

from toolkit.cassettes.format.vcrpy_fields import form_pairs
from toolkit.scrubbing.messages import RecordedRequest, header_value

_BOUNDARY: Final = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)
_DELIMITER: Final = re.compile(rb"--([^\r\n]{1,70})\r?\n")  # RFC 2046 section 5.1.1; for a header without a boundary
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_OPENINGS: Final = (b"{", b"[")


def canonical_body(request: RecordedRequest) -> Hashable:
    """Return a body by its meaning: JSON by value, forms by field, multipart without its boundary, else the bytes."""
    body = request.body
    if not body:
        return b""
    content_type = header_value(request.headers, "content-type")
    media_type = content_type.split(";", 1)[0].strip().lower()
    try:
        if media_type == _JSON or media_type.endswith("+json"):
            return "json", json.dumps(json.loads(body), sort_keys=True)
        if media_type == _FORM:
            return "form", _form_fields(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return body
    if media_type.startswith("multipart/"):
        in_header, in_body = _BOUNDARY.search(content_type), _DELIMITER.match(body)
        boundary = in_header[1].encode() if in_header else in_body and in_body[1]
        return body.replace(boundary, b"boundary") if boundary else body
    return body


def typed_requests(recorded: RecordedRequest) -> Iterator[RecordedRequest]:
    """Yield a recorded request without a content type as the requests that it may have been: of JSON, and of a form.

    For aiohttp, vcrpy records the values of a body but not whether they were sent as JSON or as a form.
    """
    body = recorded.body
    if not body or header_value(recorded.headers, "content-type"):
        return
    try:
        if body.lstrip().startswith(_OPENINGS):
            yield _typed(recorded, _JSON, body)
            pairs = form_pairs(json.loads(body))
            if pairs is not None:
                yield _typed(recorded, _FORM, urlencode(pairs).encode("ascii"))
        else:
            fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
            yield _typed(recorded, _FORM, body)
            yield _typed(recorded, _JSON, json.dumps(fields).encode("ascii"))
    except (ValueError, RecursionError):
        return


def _typed(recorded: RecordedRequest, content_type: str, body: bytes) -> RecordedRequest:
    return recorded._replace(headers=(*recorded.headers, ("Content-Type", content_type)), body=body)


def _form_fields(form: str) -> Hashable:
    # A stable sort by name keeps the order of repeated fields.
    return tuple(sorted(parse_qsl(form, keep_blank_values=True, strict_parsing=True), key=lambda field: field[0]))
