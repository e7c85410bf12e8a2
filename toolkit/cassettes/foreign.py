"""Cassettes that stock vcrpy wrote: read with vcrpy's own loader and matched as vcrpy matches.

They have no keys of ours: the time of an interaction is its Date header, else a fixed instant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import yaml

from toolkit.cassettes import yaml_text
from toolkit.cassettes.format import (
    EPOCH,
    HeaderList,
    Interaction,
    RecordedRequest,
    RecordedResponse,
    checked_uri,
    corrupt,
    header_text,
)


def load(data: bytes, *, source: str) -> list[Interaction]:
    """All interactions of a vcrpy cassette, YAML or JSON.

    Raises:
        CassetteCorrupt: the file is none; names file and, where a parser knows it, line.
    """
    try:
        requests, responses = _deserialize(data, data.decode("utf-8-sig"))
        return [_interaction(request, response) for request, response in zip(requests, responses, strict=True)]
    except UnicodeDecodeError as error:
        raise corrupt(source, "it is not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise corrupt(source, f"no valid JSON ({error.msg})", line=error.lineno) from None
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=error.line + 1) from None
    except yaml.MarkedYAMLError as error:
        raise corrupt(source, f"no valid YAML ({error.problem})", line=_line(error)) from None
    except KeyError as error:
        raise corrupt(source, f"{error} is missing") from None
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError, yaml.YAMLError) as error:
        # vcrpy says in its own words which tags it does not load; the cause knows where.
        why = str(error).splitlines()[0].rstrip(".: ") if str(error) else type(error).__name__
        raise corrupt(source, why, line=_line(error.__cause__)) from None


def _deserialize(data: bytes, text: str) -> tuple[list[Any], list[Any]]:
    from vcr.serialize import deserialize  # noqa: PLC0415 - keeps vcr out of `import toolkit`
    from vcr.serializers import jsonserializer, yamlserializer  # noqa: PLC0415

    is_json = text.lstrip()[:1] == "{"
    if not is_json:
        yaml_text.check(data)
    requests, responses, *_ = deserialize(text, jsonserializer if is_json else yamlserializer)
    return requests, responses


def _line(error: BaseException | None) -> int | None:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return None if mark is None else mark.line + 1


def _interaction(request: Any, response: Mapping[str, Any]) -> Interaction:
    recorded = _response(response)
    return Interaction(
        request=RecordedRequest(
            request.method,
            checked_uri(request.uri),
            tuple((str(name), header_text(value)) for name, value in request.headers.items()),
            _body(request.body_bytes),
        ),
        response=recorded,
        recorded_at=_date(recorded.headers),
    )


def _response(response: Mapping[str, Any]) -> RecordedResponse:
    if "status_code" in response:  # vcrpy's layout for httpx before its version 6
        status, reason, body = response["status_code"], "", _body(response["content"])
    else:
        status, reason = response["status"]["code"], str(response["status"].get("message") or "")
        body = _body(response["body"].get("string"))
    return RecordedResponse(int(status), reason, _fitting(_headers(response["headers"]), body), body)


def _headers(headers: Mapping[str, Any] | None) -> HeaderList:
    flat = []
    for name, values in (headers or {}).items():
        flat += [
            (str(name), header_text(value)) for value in (values if isinstance(values, list | tuple) else [values])
        ]
    return tuple(flat)


def _fitting(headers: HeaderList, body: bytes) -> HeaderList:
    """The headers that fit the body: of some clients vcrpy recorded it decoded, and how it was encoded."""
    codings = [(name, value) for name, value in headers if name.lower() == "content-encoding"]
    if not codings or not body:
        return headers
    try:
        httpx.Response(200, headers=codings, content=body)
    except httpx.DecodingError:
        kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
        return (*kept, ("Content-Length", str(len(body))))
    return headers


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    return bytes(body) if isinstance(body, bytes | bytearray) else str(body).encode("utf-8")


def _date(headers: HeaderList) -> datetime:
    text = next((value for name, value in headers if name.lower() == "date"), "")
    try:
        instant = parsedate_to_datetime(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return EPOCH
