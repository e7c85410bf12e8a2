"""Read cassettes of stock vcrpy, of any version and client, with vcrpy's own loader.

They lack our keys, so the time of an interaction is its Date header, or else a fixed instant.
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
from toolkit.scrubbing.content_encodings import decompress_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_text

# Modules with which httpx decodes a content encoding (RFC 9110 section 8.4.1); any one of them is enough.
_DECODERS: Final = {
    "gzip": ("zlib",),
    "deflate": ("zlib",),
    "br": ("brotli", "brotlicffi"),
    "zstd": ("zstandard",),
}


def load(data: bytes, *, source: str) -> list[Interaction]:
    """Return all interactions of a vcrpy cassette, YAML or JSON.

    Raises:
        CassetteCorrupt: if it is not a cassette; names the file and, if a parser knows it, the line.
    """
    with _as_corrupt(data, source=source, line=1):
        requests, responses = _deserialize(data, data.decode("utf-8-sig"))
        return [_interaction(request, response) for request, response in zip(requests, responses, strict=True)]


def load_item(item: bytes, *, source: str, line: int) -> Interaction:
    """Return the interaction in one item of a file in vcrpy's usual layout; `line` is its first line in the file.

    Raises:
        CassetteCorrupt: if it is not an interaction; names the file and, if a parser knows it, the line.
    """
    data = vcrpy_layout.as_file(item)
    with _as_corrupt(data, source=source, line=line - 1):
        fields = fast_items.vcrpy_fields(item)
        requests, responses = _deserialize(data, data.decode("utf-8")) if fields is None else _convert(fields)
        if len(requests) != 1:
            raise ValueError(f"expected one interaction here, found {len(requests)}")
        return _interaction(requests[0], responses[0])


@contextmanager
def _as_corrupt(data: bytes, *, source: str, line: int) -> Iterator[None]:
    """Raise CassetteCorrupt in place of any error in reading data; `line` is its first line in the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise corrupt(source, "it is not UTF-8 text", line=line + data.count(b"\n", 0, error.start)) from None
    except json.JSONDecodeError as error:
        raise corrupt(source, f"it is not valid JSON ({error.msg})", line=line + error.lineno - 1) from None
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except yaml.MarkedYAMLError as error:
        raise corrupt(source, f"it is not valid YAML ({error.problem})", line=_line(error, line)) from None
    except KeyError as error:
        raise corrupt(source, f"{error} is missing") from None
    except (TypeError, AttributeError, IndexError) as error:  # messages about Python code would not help
        raise corrupt(source, "it does not have the fields of a cassette", line=_line(error.__cause__, line)) from None
    except (ValueError, ArithmeticError, RecursionError, yaml.YAMLError) as error:
        # vcrpy raises its own message for a tag that it does not load; only the cause knows the line.
        why = str(error).splitlines()[0].rstrip(".: ") if str(error) else type(error).__name__
        raise corrupt(source, why, line=_line(error.__cause__, line)) from None


class _PlainRequest(NamedTuple):
    """The part of vcrpy's Request that `_interaction` reads, made without its costly constructor."""

    method: str
    uri: str
    headers: Mapping[str, str]
    body_bytes: str | None


def _convert(fields: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Convert the fields of an interaction as vcrpy's deserializer does."""
    from vcr.serializers import compat

    request = fields["request"]
    headers = _request_headers(tuple((name, tuple(values)) for name, values in request["headers"].items()))
    plain = _PlainRequest(request["method"], request["uri"], headers, request["body"])
    return [plain], [compat.convert_to_bytes(fields["response"])]


@lru_cache(maxsize=256)
def _request_headers(headers: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, str]:
    """Return the headers of a request as vcrpy does: if names differ only in case, the last replaces the others."""
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
    if "status_code" in response:  # what vcrpy wrote for httpx before version 6
        status, reason, body = response["status_code"], "", _body(response["content"])
    else:
        status, reason = response["status"]["code"], str(response["status"].get("message") or "")
        body = _body(response["body"].get("string"))
    return RecordedResponse(checked_status(status), reason, _corrected(_headers(response["headers"]), body), body)


def _headers(headers: Mapping[str, Any] | None) -> HeaderList:
    flat = []
    for name, values in (headers or {}).items():
        listed = values if isinstance(values, list | tuple) else [values]
        flat += [(str(name), header_text(value)) for value in listed]
    return tuple(flat)


def _corrected(headers: HeaderList, body: bytes) -> HeaderList:
    """Return the headers, without Content-Encoding if vcrpy recorded the body decoded, as it does for some clients."""
    encodings = [(name, value) for name, value in headers if name.lower() == "content-encoding"]
    names = ",".join(value for _, value in encodings).split(",")
    if not body or not any(map(_is_decoded_by_httpx, names)):
        return headers
    try:
        decompress_body(encodings, body)
    except SecretLeak:  # the body has another encoding or none, or is too large when decoded
        kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length")]
        return (*kept, ("Content-Length", str(len(body))))
    return headers


@lru_cache(maxsize=64)
def _is_decoded_by_httpx(encoding: str) -> bool:
    """Return True if httpx can decode this encoding with the installed modules."""
    modules = _DECODERS.get(encoding.strip().lower(), ())
    return any(find_spec(name) is not None for name in modules)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    return bytes(body) if isinstance(body, bytes | bytearray) else str(body).encode("utf-8")


def _date(headers: HeaderList) -> datetime:
    text = next((value for name, value in headers if name.lower() == "date"), "")
    return parse_http_date(text) or EPOCH
