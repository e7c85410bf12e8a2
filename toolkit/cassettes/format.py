"""The cassette format: vcrpy's version 1, with keys of ours beside `request` and `response`.

A file of ours is a header and one block item an interaction, each with `request` first and a fixed
key last that marks it complete. So recording is one append, and reading splits the file into items
and parses each when it is first played. Stock vcrpy and pytest-recording ignore our keys; what stock
vcrpy saves carries no marker and is read through its own loader (module `foreign`).
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from toolkit.errors import CassetteCorrupt
from toolkit.ledger import Authorization, instant_text, parse_instant

HeaderList = tuple[tuple[str, str], ...]

MARKER: Final = b"# service-access-toolkit cassette 1\n"
HEADER: Final = MARKER + b"version: 1\ninteractions:\n"
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)  # when a foreign cassette does not say
_END: Final = b"  complete: true\n"
_ITEM_START: Final = re.compile(rb"^- request:\n", re.MULTILINE)
_HEAD: Final = re.compile(rb"- request:\n    method: (?P<method>[^\n]+)\n    uri: (?P<uri>[^\n]+)\n")
_ENVIRONMENT: Final = re.compile(rb"^  authorized_by:\n    kind: [^\n]+\n    environment: ([^\n]+)\n", re.MULTILINE)
_TOKEN_OBTAINED: Final = re.compile(rb"^  token_obtained:\n", re.MULTILINE)
_TOKEN_NUMBER: Final = re.compile(rb"^    token: ([0-9]+)\n", re.MULTILINE)
_RECORDED_AT: Final = re.compile(rb"^  recorded_at: '?([0-9T:.Z-]+)'?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as a cassette holds it.

    Attributes:
        method: HTTP method in capitals.
        uri: absolute URI.
        headers: names and values in the order sent, repeats included.
        body: bytes as sent; empty when there was none.
    """

    method: str
    uri: str
    headers: HeaderList = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A response as a cassette holds it.

    Attributes:
        status: HTTP status code.
        reason: reason phrase, often empty.
        headers: names and values in the order received, repeats included.
        body: bytes as received, content encoding included.
        http_version: such as "HTTP/1.1"; empty when unknown.
    """

    status: int
    reason: str = ""
    headers: HeaderList = ()
    body: bytes = b""
    http_version: str = ""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One request and its response, with what the recorder noted beside them.

    Attributes:
        recorded_at: when the request was sent; None in foreign cassettes without a Date header.
        elapsed: from sending to the end of the body; None in foreign cassettes.
        authorized_by: how the call was authorized; None for token requests and foreign cassettes.
        token_obtained: what the token that this token request obtained authorizes; None for other calls.
    """

    request: RecordedRequest
    response: RecordedResponse
    recorded_at: datetime | None = None
    elapsed: timedelta | None = None
    authorized_by: Authorization | None = None
    token_obtained: Authorization | None = None


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
    if response.http_version:
        item["http_version"] = response.http_version
    if not _groups_exactly(response.headers):
        item["header_order"] = [name for name, _ in response.headers]
    if interaction.recorded_at is not None:
        item["recorded_at"] = instant_text(interaction.recorded_at)
    if interaction.elapsed is not None:
        item["elapsed"] = interaction.elapsed.total_seconds()
    if interaction.authorized_by is not None:
        item["authorized_by"] = interaction.authorized_by.to_fields()
    if interaction.token_obtained is not None:
        item["token_obtained"] = interaction.token_obtained.to_fields()
    item["complete"] = True
    from toolkit.cassettes import yaml_text  # noqa: PLC0415 - keeps yaml out of `import toolkit`

    return yaml_text.dump([item])


def is_ours(data: bytes) -> bool:
    """Whether these bytes are a cassette of ours, rather than of vcrpy or of nobody."""
    return data.startswith(MARKER)


@dataclass(frozen=True, slots=True)
class Item:
    """Where an interaction stands in a cassette of ours, before it is parsed.

    Attributes:
        start: first byte.
        end: byte after the last.
    """

    start: int
    end: int


def split(data: bytes) -> tuple[list[Item], int]:
    """The complete items of a cassette of ours, and where the complete part ends.

    What follows that end is a torn tail: an interaction whose writing was interrupted.
    """
    starts = [match.start() for match in _ITEM_START.finditer(data)]
    if not starts:
        return [], min(len(HEADER), len(data))
    items = [Item(start, end) for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    if not data.endswith(_END):
        torn = items.pop()
        return items, torn.start
    return items, len(data)


def head(data: bytes, item: Item) -> tuple[str, str] | None:
    """Method and URI of an item without parsing it; None when it is not laid out as we write it."""
    match = _HEAD.match(data, item.start, item.end)
    if match is None:
        return None
    return _scalar(match["method"]), _scalar(match["uri"])


def environments(data: bytes) -> list[str]:
    """Names of the environments whose calls a cassette of ours holds, in order of appearance."""
    return list(dict.fromkeys(name.decode("ascii", "replace") for name in _ENVIRONMENT.findall(data)))


def token_requests(data: bytes, items: Sequence[Item]) -> list[int]:
    """Numbers of the items that are token requests, found without parsing."""
    starts = [item.start for item in items]
    found = (bisect.bisect(starts, match.start()) - 1 for match in _TOKEN_OBTAINED.finditer(data))
    return [number for number in found if number >= 0]


def last_token_number(data: bytes) -> int:
    """The highest token number in a cassette of ours, 0 without any."""
    return max((int(number) for number in _TOKEN_NUMBER.findall(data)), default=0)


def first_recorded_at(data: bytes) -> datetime | None:
    """When the first interaction of a cassette of ours was recorded."""
    match = _RECORDED_AT.search(data)
    try:
        return None if match is None else parse_instant(match[1].decode("ascii"))
    except ValueError:
        return None


def decode(data: bytes, item: Item, *, source: str) -> Interaction:
    """Parse one item.

    Raises:
        CassetteCorrupt: it is no interaction; names file and line.
    """
    from toolkit.cassettes import yaml_text  # noqa: PLC0415 - keeps yaml out of `import toolkit`

    line = data.count(b"\n", 0, item.start) + 1
    try:
        return _interaction(yaml_text.load(data[item.start : item.end])[0])
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise corrupt(source, f"an interaction misses {error}" if isinstance(error, KeyError) else str(error), line=line) from None


def corrupt(source: str, why: str, *, line: int | None = None) -> CassetteCorrupt:
    """The error for a file that is no cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is no cassette: {why}.",
        "Expected vcrpy's format: version 1 and a list of interactions. The file was left as it is; mend or remove it.",
    )


def _interaction(fields: Mapping[str, Any]) -> Interaction:
    request, response = fields["request"], fields["response"]
    headers = _flattened(response["headers"], fields.get("header_order"))
    recorded_at, elapsed = fields.get("recorded_at"), fields.get("elapsed")
    return Interaction(
        request=RecordedRequest(
            str(request["method"]), str(request["uri"]), _flattened(request["headers"]), _bytes(request.get("body"))
        ),
        response=RecordedResponse(
            int(response["status"]["code"]),
            response["status"].get("message") or "",
            headers,
            _bytes(response["body"]["string"]),
            fields.get("http_version", ""),
        ),
        recorded_at=None if recorded_at is None else parse_instant(str(recorded_at)),
        elapsed=None if elapsed is None else timedelta(seconds=elapsed),
        authorized_by=_authorization(fields.get("authorized_by")),
        token_obtained=_authorization(fields.get("token_obtained")),
    )


def _authorization(fields: Mapping[str, Any] | None) -> Authorization | None:
    return None if fields is None else Authorization.from_fields(fields)


def _grouped(headers: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped


def _groups_exactly(headers: HeaderList) -> bool:
    """Whether vcrpy's mapping of names to lists keeps the order of all headers."""
    return tuple(_in_groups(_grouped(headers))) == headers


def _in_groups(grouped: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in grouped.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            yield str(name), str(value)


def _flattened(grouped: Mapping[str, Any] | None, order: Sequence[str] | None = None) -> HeaderList:
    if not order:
        return tuple(_in_groups(grouped or {}))
    rest = {name: list(values) for name, values in (grouped or {}).items()}
    return tuple((name, rest[name].pop(0)) for name in order)


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


def _scalar(raw: bytes) -> str:
    if raw[:1] not in (b"'", b'"'):
        return raw.decode("utf-8")
    from toolkit.cassettes import yaml_text  # noqa: PLC0415 - keeps yaml out of `import toolkit`

    return str(yaml_text.load(raw))
