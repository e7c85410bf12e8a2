"""The cassette format: vcrpy's version 1, with keys of ours beside `request` and `response`.

A file of ours is a header and one block item an interaction, each with `request` first and a fixed
key last that marks it complete. So recording is one append, and reading splits the file into items
(module `layout`) and parses each when it is first played. Stock vcrpy and pytest-recording ignore our keys; what stock
vcrpy saves carries no marker and is read through its own loader (module `foreign`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import EPOCH, Authorization, instant_text, parse_instant
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes, header_text

MARKER: Final = b"# service-access-toolkit cassette 1\n"
HEADER: Final = MARKER + b"version: 1\ninteractions:\n"
# Names of httpx's errors for a request that got no answer; no other is ever made of what a file says.
FAILURES: Final = frozenset(
    {
        *("TimeoutException", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"),
        *("NetworkError", "ConnectError", "ReadError", "WriteError", "CloseError"),
        *("RemoteProtocolError", "ProxyError"),
    }
)


# What stands in the place of a response where none came, so that stock vcrpy loads the file. No standard gives this
# status a meaning, and no server is likely to.
NO_ANSWER: Final = RecordedResponse(599, "No Answer")


@dataclass(frozen=True, slots=True)
class Failure:
    """How a request failed that got no answer.

    Attributes:
        type: name of httpx's error, one of FAILURES.
        message: its text.
    """

    type: str
    message: str = ""

    def __post_init__(self) -> None:
        if self.type not in FAILURES:
            raise ValueError(f"{self.type!r} is no failure of a request")


@dataclass(frozen=True, slots=True)
class Interaction:
    """One request and its response, with what the recorder noted beside them.

    Attributes:
        recorded_at: when the request was sent; None in foreign cassettes without a Date header.
        elapsed: from sending to the end of the body; None in foreign cassettes.
        authorized_by: how the call was authorized; None for token requests and foreign cassettes.
        token_obtained: what the token that this token request obtained authorizes; None for other calls.
        failure: how it failed; then its response is NO_ANSWER. None where a response came.
    """

    request: RecordedRequest
    response: RecordedResponse
    recorded_at: datetime | None = None
    elapsed: timedelta | None = None
    authorized_by: Authorization | None = None
    token_obtained: Authorization | None = None
    failure: Failure | None = None


def encode(interaction: Interaction) -> bytes:
    """One complete block item, to be appended to a cassette of ours."""
    request, response = interaction.request, interaction.response
    item: dict[str, Any] = {
        "request": {
            "method": request.method,
            "uri": request.uri,
            "headers": _grouped(request.headers),
            "body": _text_or_bytes(request.body),
        },
        "response": {
            "status": {"code": response.status, "message": response.reason},
            "headers": _grouped(response.headers),
            "body": {"string": _text_or_bytes(response.body)},
        },
    }
    if not _groups_exactly(request.headers):
        item["request_header_order"] = [name for name, _ in request.headers]
    if response.http_version:
        item["http_version"] = response.http_version
    if not _groups_exactly(response.headers):
        item["header_order"] = [name for name, _ in response.headers]
    if interaction.recorded_at not in (None, EPOCH):
        item["recorded_at"] = instant_text(interaction.recorded_at)
    if interaction.elapsed is not None:
        item["elapsed"] = interaction.elapsed.total_seconds()
    if interaction.failure is not None:
        item["failure"] = {"type": interaction.failure.type, "message": interaction.failure.message}
    if interaction.authorized_by is not None:
        item["authorized_by"] = interaction.authorized_by.to_fields()
    if interaction.token_obtained is not None:
        item["token_obtained"] = interaction.token_obtained.to_fields()
    item["complete"] = True
    from toolkit.cassettes.format import yaml_text  # keeps yaml out of `import toolkit`

    return yaml_text.dump([item])


def decode(data: bytes, *, source: str, line: int = 1) -> Interaction:
    """The interaction of one block item.

    Args:
        source: the file, for messages.
        line: at which line of it the item starts.

    Raises:
        CassetteCorrupt: it is no interaction; names file and line.
    """
    found = decode_all(data, list, source=source, line=line)
    if len(found) != 1:
        raise corrupt(source, f"there are {len(found)} interactions where our layout has one", line=line)
    return found[0]


def decode_all(data: bytes, items: Callable[[Any], Any], *, source: str, line: int = 1) -> list[Interaction]:
    """The interactions of a file, however it is laid out.

    Args:
        items: what to take of the YAML value.
        source: the file, for messages.
        line: at which line of it `data` starts.

    Raises:
        CassetteCorrupt: they are none; names file and line.
    """
    from toolkit.cassettes.format import yaml_text  # keeps yaml out of `import toolkit`

    try:
        return [_interaction(fields) for fields in items(yaml_text.load(data))]
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except KeyError as error:
        raise corrupt(source, f"an interaction misses {error}", line=line) from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise corrupt(source, str(error) or type(error).__name__, line=line) from None


def corrupt(source: str, why: str, *, line: int | None = None) -> CassetteCorrupt:
    """The error for a file that is no cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is no cassette: {why}.",
        "Expected is vcrpy's format, version 1. The file was left as it was; mend or remove it.",
    )


def _interaction(fields: Mapping[str, Any]) -> Interaction:
    request, response = fields["request"], fields["response"]
    at, seconds = fields.get("recorded_at"), fields.get("elapsed")
    recorded_at = None if at is None else parse_instant(str(at))
    elapsed = None if seconds is None else timedelta(seconds=seconds)
    _ = (recorded_at or EPOCH) + (elapsed or timedelta(0))  # a call that never ends is none
    return Interaction(
        request=RecordedRequest(
            str(request["method"]),
            checked_uri(str(request["uri"])),
            _flattened(request["headers"], fields.get("request_header_order")),
            _bytes(request.get("body")),
        ),
        response=RecordedResponse(
            checked_status(response["status"]["code"]),
            str(response["status"].get("message") or ""),
            _flattened(response["headers"], fields.get("header_order")),
            _bytes(response["body"]["string"]),
            str(fields.get("http_version") or ""),
        ),
        recorded_at=recorded_at,
        elapsed=elapsed,
        authorized_by=_authorization(fields.get("authorized_by")),
        token_obtained=_authorization(fields.get("token_obtained")),
        failure=_failure(fields.get("failure")),
    )


def checked_uri(uri: str) -> str:
    """The URI itself.

    Raises:
        ValueError: it cannot be taken apart.
    """
    _ = urlsplit(uri).port
    return uri


def checked_status(code: Any) -> int:
    """The status code itself.

    Raises:
        ValueError, TypeError, OverflowError: it is none.
    """
    status = int(code)
    if not 0 <= status <= 999:
        raise ValueError("a status code has three digits")
    return status


def _authorization(fields: Mapping[str, Any] | None) -> Authorization | None:
    return None if fields is None else Authorization.from_fields(fields)


def _failure(fields: Mapping[str, Any] | None) -> Failure | None:
    return None if fields is None else Failure(str(fields["type"]), str(fields.get("message") or ""))


def _grouped(headers: HeaderList) -> dict[str, list[str | bytes]]:
    grouped: dict[str, list[str | bytes]] = {}
    for name, value in headers:
        # httpx takes a header as text only if it is ASCII, and stock vcrpy hands on what it finds here.
        grouped.setdefault(name, []).append(value if value.isascii() else header_bytes(value))
    return grouped


def _groups_exactly(headers: HeaderList) -> bool:
    """Whether vcrpy's mapping of names to lists keeps the order of all headers."""
    return tuple(_in_groups(_grouped(headers))) == headers


def _in_groups(grouped: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in grouped.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            yield str(name), header_text(value)


def _flattened(grouped: Mapping[str, Any] | None, order: Sequence[str] | None) -> HeaderList:
    if not order:
        return tuple(_in_groups(grouped or {}))
    rest: dict[str, list[str]] = {}
    for name, value in _in_groups(grouped or {}):
        rest.setdefault(name, []).append(value)
    ordered = [(name, rest[name].pop(0)) for name in order if rest.get(name)]
    # What someone added by hand is in no order.
    return (*ordered, *((name, value) for name, values in rest.items() for value in values))


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return body
    return text


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(value).encode("utf-8")
