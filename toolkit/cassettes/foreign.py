"""Cassettes that stock vcrpy wrote: read with vcrpy's own loader and matched as vcrpy matches.

They have no keys of ours: the time of an interaction is its Date header, else a fixed instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import yaml

from toolkit.cassettes.format import EPOCH, HeaderList, Interaction, RecordedRequest, RecordedResponse, corrupt


def load(data: bytes, *, source: str, is_json: bool) -> list[Interaction]:
    """All interactions of a vcrpy cassette, YAML or JSON.

    Raises:
        CassetteCorrupt: the file is none; names file and, where YAML knows it, line.
    """
    from vcr.serialize import deserialize  # noqa: PLC0415 - keeps vcr out of `import toolkit`
    from vcr.serializers import jsonserializer, yamlserializer  # noqa: PLC0415

    try:
        text = data.decode("utf-8")
        requests, responses, *_ = deserialize(text, jsonserializer if is_json else yamlserializer)
        return [_interaction(request, response) for request, response in zip(requests, responses, strict=True)]
    except UnicodeDecodeError as error:
        raise corrupt(source, "it is not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise corrupt(source, f"no valid YAML ({error.problem})", line=line) from None
    except KeyError as error:
        raise corrupt(source, f"{error} is missing") from None
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError, yaml.YAMLError) as error:
        raise corrupt(source, str(error).splitlines()[0] if str(error) else type(error).__name__) from None


def _interaction(request: Any, response: Mapping[str, Any]) -> Interaction:
    recorded = _response(response)
    return Interaction(
        request=RecordedRequest(
            request.method,
            request.uri,
            tuple((str(name), _text(value)) for name, value in request.headers.items()),
            _body(request.body_bytes),
        ),
        response=recorded,
        recorded_at=_date(recorded.headers),
    )


def _response(response: Mapping[str, Any]) -> RecordedResponse:
    if "status_code" in response:  # vcrpy's layout for httpx before its version 6
        return RecordedResponse(int(response["status_code"]), "", _headers(response["headers"]), _body(response["content"]))
    status, body = response["status"], response["body"]
    return RecordedResponse(
        int(status["code"]), status.get("message") or "", _headers(response["headers"]), _body(body.get("string"))
    )


def _headers(headers: Mapping[str, Any] | None) -> HeaderList:
    flat = []
    for name, values in (headers or {}).items():
        flat += [(str(name), _text(value)) for value in (values if isinstance(values, list | tuple) else [values])]
    return tuple(flat)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    return bytes(body) if isinstance(body, bytes | bytearray) else str(body).encode("utf-8")


def _date(headers: HeaderList) -> datetime:
    text = next((value for name, value in headers if name.lower() == "date"), "")
    try:
        instant = parsedate_to_datetime(text)
    except ValueError:
        return EPOCH
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
