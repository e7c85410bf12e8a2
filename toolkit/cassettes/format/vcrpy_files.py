"""Cassettes that stock vcrpy wrote: read with vcrpy's own loader and matched as vcrpy matches.

They have no keys of ours: the time of an interaction is its Date header, else a fixed instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import yaml

from toolkit.cassettes.format import fast_items, vcrpy_layout, yaml_text
from toolkit.cassettes.format.interactions import Interaction, checked_status, checked_uri, corrupt
from toolkit.core.errors import SecretLeak
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.scrubbing.content_encodings import open_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_text

_DECODERS: Final = {
    "gzip": ("zlib",),
    "deflate": ("zlib",),
    "br": ("brotli", "brotlicffi"),
    "zstd": ("zstandard",),
}


def load(data: bytes, *, source: str) -> list[Interaction]:
    """All interactions of a vcrpy cassette, YAML or JSON.

    Raises:
        CassetteCorrupt: the file is none; names file and, where a parser knows it, line.
    """
    with _refusing(data, source=source, line=1):
        requests, responses = _deserialize(data, data.decode("utf-8-sig"))
        return [_interaction(request, response) for request, response in zip(requests, responses, strict=True)]


def load_item(item: bytes, *, source: str, line: int) -> Interaction:
    """The interaction of one item of a file of vcrpy's usual shape.

    Args:
        source: the file, for messages.
        line: at which line of it the item starts.

    Raises:
        CassetteCorrupt: it is none; names file and, where a parser knows it, line.
    """
    data = vcrpy_layout.whole(item)
    with _refusing(data, source=source, line=line - 1):
        fields = fast_items.foreign_fields(item)
        requests, responses = _deserialize(data, data.decode("utf-8")) if fields is None else _converted(fields)
        if len(requests) != 1:
            raise ValueError(f"there are {len(requests)} interactions where vcrpy's layout has one")
        return _interaction(requests[0], responses[0])


@contextmanager
def _refusing(data: bytes, *, source: str, line: int) -> Iterator[None]:
    """Make one error of whatever goes wrong with data that begins at a line of a file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise corrupt(source, "it is not UTF-8 text", line=line + data.count(b"\n", 0, error.start)) from None
    except json.JSONDecodeError as error:
        raise corrupt(source, f"no valid JSON ({error.msg})", line=line + error.lineno - 1) from None
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except yaml.MarkedYAMLError as error:
        raise corrupt(source, f"no valid YAML ({error.problem})", line=_line(error, line)) from None
    except KeyError as error:
        raise corrupt(source, f"{error} is missing") from None
    except (
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        ArithmeticError,
        RecursionError,
        yaml.YAMLError,
    ) as error:
        # vcrpy says in its own words which tags it does not load; the cause knows where.
        why = str(error).splitlines()[0].rstrip(".: ") if str(error) else type(error).__name__
        if isinstance(error, TypeError | AttributeError | IndexError):  # Python's words, about code
            why = "it is not laid out like one"
        raise corrupt(source, why, line=_line(error.__cause__, line)) from None


class _PlainRequest(NamedTuple):
    """What vcrpy makes of the fields of a request, without its body's kinds and its parts of the URI."""

    method: str
    uri: str
    headers: Mapping[str, str]
    body_bytes: str | None


def _converted(fields: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What vcrpy makes of the fields of an interaction."""
    from vcr.serializers import compat

    request = fields["request"]
    headers = _sent(tuple((name, tuple(values)) for name, values in request["headers"].items()))
    sent = _PlainRequest(request["method"], request["uri"], headers, request["body"])
    return [sent], [compat.convert_to_bytes(fields["response"])]


@lru_cache(maxsize=256)
def _sent(headers: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, str]:
    """Headers of a request as vcrpy has them: one value each, of names that differ in case the last."""
    from vcr.request import HeadersDict

    return dict(HeadersDict(headers).items())


def _deserialize(data: bytes, text: str) -> tuple[list[Any], list[Any]]:
    from vcr.serialize import deserialize
    from vcr.serializers import jsonserializer, yamlserializer

    is_json = text.lstrip()[:1] == "{"
    if not is_json:
        yaml_text.check(data)
    requests, responses, *_ = deserialize(text, jsonserializer if is_json else yamlserializer)
    return requests, responses


def _line(error: BaseException | None, first: int) -> int | None:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return None if mark is None else mark.line + first


def _interaction(request: Any, response: Mapping[str, Any]) -> Interaction:
    recorded = _response(response)
    return Interaction(
        request=RecordedRequest(
            str(request.method),
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
    return RecordedResponse(checked_status(status), reason, _fitting(_headers(response["headers"]), body), body)


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
    if not codings or not body or not any(map(_is_decoded, ",".join(value for _, value in codings).split(","))):
        return headers
    try:
        open_body(codings, body)
    except SecretLeak:  # it is not encoded so, or is a bomb, which nobody is to open
        kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
        return (*kept, ("Content-Length", str(len(body))))
    return headers


@lru_cache(maxsize=64)
def _is_decoded(coding: str) -> bool:
    """Whether httpx decodes it here; it hands on what it has no decoder for."""
    modules = _DECODERS.get(coding.strip().lower(), ())
    return any(find_spec(name) is not None for name in modules)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    return bytes(body) if isinstance(body, bytes | bytearray) else str(body).encode("utf-8")


def _date(headers: HeaderList) -> datetime:
    text = next((value for name, value in headers if name.lower() == "date"), "")
    return parse_http_date(text) or EPOCH
