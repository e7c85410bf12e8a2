"""An interaction, and how it is written to a cassette file and read back.

The format is vcrpy's version 1, with keys of ours beside `request` and `response`. Stock vcrpy and pytest-recording
ignore those keys. A file of ours is a header followed by one YAML block item per interaction: `request` comes first,
and a fixed key comes last and marks the item as complete. Recording is therefore one append. Reading splits the file
into items (module `contents`) and parses each when it is first played.

Headers are grouped by name, as vcrpy stores them; a key of ours beside them keeps an order that this loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from toolkit.core.errors import CassetteCorrupt, CassetteError
from toolkit.core.ledger import EPOCH, Authorization, checked_count, instant_text, parse_instant
from toolkit.core.text import NO_CONNECTION
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes, header_text

MARKER: Final = b"# service-access-toolkit cassette 1\n"
HEADER: Final = MARKER + b"version: 1\ninteractions:\n"
# Names of the httpx errors for a request without an answer. A file cannot make replay raise anything else.
FAILURES: Final = frozenset(
    {
        *("TimeoutException", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"),
        *("NetworkError", "ConnectError", "ReadError", "WriteError", "CloseError"),
        *("LocalProtocolError", "RemoteProtocolError", "ProxyError", "UnsupportedProtocol", "DecodingError"),
    }
)
# Recorded in place of a response when none came, so that stock vcrpy can load the file. No standard defines this
# status, and a server is unlikely to send it.
NO_ANSWER: Final = RecordedResponse(599, "No Answer")


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """The reason why a request got no answer.

    Attributes:
        type: name of the httpx error, one of FAILURES.
        message: text of the error.
        reason: why there was no connection, one of NO_CONNECTION; "" if nothing is known about it.
    """

    type: str
    message: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.type not in FAILURES:
            raise ValueError(f"{self.type!r} is not an error that a recorded request can end in")
        if self.reason and self.reason not in NO_CONNECTION:
            raise ValueError("a reason that no recorded request can have")

    def to_fields(self) -> dict[str, str]:
        """Return the failure as a mapping of text for a file."""
        fields = {"type": self.type, "message": self.message}
        return {**fields, "reason": self.reason} if self.reason else fields


class Interaction(NamedTuple):
    """A request and its response, with what the recorder noted about the call.

    Attributes:
        recorded_at: when the request was sent, the last time if it was sent several times; None in foreign cassettes
            without a Date header.
        elapsed: from sending the request to the end of the response body; None in foreign cassettes.
        authorized_by: how the call was authorized; None for token requests and in foreign cassettes.
        token_obtained: for a token request, what its token authorizes; None for other calls.
        failure: why no answer came, in which case the response is NO_ANSWER; None if there is a response.
        tries: how often the request was sent; only the last answer is recorded.
        ended_early: True if the caller closed a stream of events before its end, or a response with an error status
            unread; the body is what was read.
        pseudonyms: the rules of pseudonyms under which it was recorded, so that stand-ins are not replaced again.
    """

    request: RecordedRequest
    response: RecordedResponse
    recorded_at: datetime | None = None
    elapsed: timedelta | None = None
    authorized_by: Authorization | None = None
    token_obtained: Authorization | None = None
    failure: RecordedFailure | None = None
    tries: int = 1
    ended_early: bool = False
    pseudonyms: tuple[str, ...] = ()


class UnreadableInteraction(NamedTuple):
    """An interaction that cannot be read, though the file can.

    Attributes:
        error: says why, and where.
        line: the line on which it begins, from 1, or None if it is not known.
        head: its method and URI, or None.
    """

    error: CassetteCorrupt
    line: int | None
    head: RecordedRequest | None


def encode(interaction: Interaction) -> bytes:
    """Return an interaction as a complete block item, ready to be appended to a cassette.

    Raises:
        CassetteError: if it could not be read again, because of its URI or status.
    """
    request, response = interaction.request, interaction.response
    try:
        uri, status = checked_uri(request.uri), checked_status(response.status)
    except ValueError as error:
        what = f"{request.method} cannot be recorded, because it could not be replayed: {error}."
        next_step = "The answer, if there was one, is this error's `response`. Make such a call without a cassette."
        raise CassetteError(what, next_step, about="cassette") from None
    item: dict[str, Any] = {
        "request": {
            "method": request.method,
            "uri": uri,
            "headers": grouped(request.headers),
            "body": _text_or_bytes(request.body),
        },
        "response": {
            "status": {"code": status, "message": response.reason},
            "headers": grouped(response.headers),
            "body": {"string": _text_or_bytes(response.body)},
        },
    }
    item.update(_own_keys(interaction))
    item["complete"] = True
    from toolkit.cassettes.format import yaml_text

    return yaml_text.dump([item])


def _own_keys(interaction: Interaction) -> dict[str, Any]:
    """Return the keys of ours that stand beside `request` and `response`, without those that say nothing new."""
    request, response, failure = interaction.request, interaction.response, interaction.failure
    by, obtained, recorded_at = interaction.authorized_by, interaction.token_obtained, interaction.recorded_at
    keys = {
        "request_header_order": order_of(request.headers),
        "http_version": response.http_version or None,
        "header_order": order_of(response.headers),
        "recorded_at": None if recorded_at in (None, EPOCH) else instant_text(recorded_at),
        "elapsed": None if interaction.elapsed is None else interaction.elapsed.total_seconds(),
        "tries": None if interaction.tries == 1 else interaction.tries,
        "ended_early": interaction.ended_early or None,
        "pseudonyms": list(interaction.pseudonyms) or None,
        "failure": None if failure is None else failure.to_fields(),
        "authorized_by": None if by is None else by.to_fields(),
        "token_obtained": None if obtained is None else obtained.to_fields(),
    }
    return {name: value for name, value in keys.items() if value is not None}


def decode(data: bytes, *, source: str, line: int = 1) -> Interaction:
    """Parse one block item; `line` is its first line in the file, from 1.

    Raises:
        CassetteCorrupt: if it is not exactly one interaction; names file and line.
    """
    from toolkit.cassettes.format import yaml_text

    try:
        items = yaml_text.load(data)
        if isinstance(items, list) and len(items) == 1:
            return read_fields(items[0], _interaction)
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=line + error.line) from None
    except ValueError as error:
        raise corrupt(source, str(error), line=line) from None
    raise corrupt(source, "expected one interaction here", line=line)


def decode_all(data: bytes, *, source: str) -> list[Interaction | UnreadableInteraction]:
    """Parse a cassette of ours of any layout, with the error in place of an interaction that cannot be read.

    Raises:
        CassetteCorrupt: if it is not YAML with a list of interactions; names file and line.
    """
    from toolkit.cassettes.format import yaml_text

    try:
        top = yaml_text.load(data)
    except yaml_text.NotYaml as error:
        raise corrupt(source, str(error), line=1 + error.line) from None
    items = top.get("interactions") if isinstance(top, Mapping) else None
    if not isinstance(items, list):
        raise corrupt(source, "'interactions' is not a list")
    return read_each(items, _interaction, data=data, source=source)


def read_each(
    items: Sequence[Any], read: Callable[[Any], Interaction], *, data: bytes, source: str
) -> list[Interaction | UnreadableInteraction]:
    """Return interactions, with the error in place of one that cannot be read.

    Args:
        items: the fields of each interaction.
        read: makes an interaction of its fields.
        data: the file, to find lines in.
        source: the file, for messages.
    """
    lines: list[int] | None = None
    recorded: list[Interaction | UnreadableInteraction] = []
    for number, fields in enumerate(items):
        try:
            recorded.append(read_fields(fields, read))
        except ValueError as error:
            if lines is None:
                from toolkit.cassettes.format import yaml_text

                lines = yaml_text.lines_of_items(data)
            line = lines[number] if number < len(lines) else None
            why = corrupt(source, f"in interaction {number + 1}, {error}", line=line)
            recorded.append(UnreadableInteraction(why, line, _head(fields)))
    return recorded


def read_fields(fields: Any, read: Callable[[Any], Interaction]) -> Interaction:
    """Return the interaction with these fields.

    Raises:
        ValueError: if they are not those of an interaction.
    """
    try:
        return read(fields)
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    except (TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        # Messages about Python code would not help.
        raise ValueError("request and response do not have the fields of a cassette") from None


def _head(fields: Any) -> RecordedRequest | None:
    """Return method and URI of an interaction that cannot be read, or None if they are not there."""
    request = fields.get("request") if isinstance(fields, Mapping) else None
    method, uri = (request.get("method"), request.get("uri")) if isinstance(request, Mapping) else (None, None)
    return RecordedRequest(method, uri) if isinstance(method, str) and isinstance(uri, str) and is_uri(uri) else None


def corrupt(source: str, why: str, line: int | None = None) -> CassetteCorrupt:
    """Return the error for a file that is not a cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is not a cassette: {why}.",
        "A cassette is a file in vcrpy's format, version 1. The file was left as it was: fix it, or name another file.",
        about="cassette",
    )


def _interaction(fields: Mapping[str, Any]) -> Interaction:
    request, response = fields["request"], fields["response"]
    recorded_at_text, seconds = fields.get("recorded_at"), fields.get("elapsed")
    recorded_at = None if recorded_at_text is None else parse_instant(str(recorded_at_text))
    elapsed = None if seconds is None else timedelta(seconds=seconds)
    _ = (recorded_at or EPOCH) + (elapsed or timedelta(0))  # OverflowError if the call would end after year 9999
    return Interaction(
        request=RecordedRequest(
            str(request["method"]),
            checked_uri(str(request["uri"])),
            flattened(request["headers"], fields.get("request_header_order")),
            _bytes(request.get("body")),
        ),
        response=RecordedResponse(
            checked_status(response["status"]["code"]),
            str(response["status"].get("message") or ""),
            flattened(response["headers"], fields.get("header_order")),
            _bytes(response["body"]["string"]),
            str(fields.get("http_version") or ""),
        ),
        recorded_at=recorded_at,
        elapsed=elapsed,
        authorized_by=_authorization(fields.get("authorized_by")),
        token_obtained=_authorization(fields.get("token_obtained")),
        failure=_failure(fields.get("failure")),
        tries=checked_count(fields.get("tries", 1), "the number of tries"),
        ended_early=fields.get("ended_early") is True,
        pseudonyms=tuple(map(str, fields.get("pseudonyms") or ())),
    )


def is_uri(text: str) -> bool:
    """Return True if a text can be split into the parts of a URI."""
    try:
        _ = urlsplit(text).port
    except ValueError:
        return False
    return True


def checked_uri(uri: str) -> str:
    """Return a URI unchanged.

    Raises:
        ValueError: if it cannot be split into its parts. The text does not quote it.
    """
    if not is_uri(uri):
        raise ValueError("a URI is not valid")
    return uri


def checked_status(code: Any) -> int:
    """Return a status code as an integer.

    Raises:
        ValueError: if it is not a status code.
    """
    try:
        status = int(code)
    except (ValueError, TypeError, OverflowError):
        status = -1
    if not 0 <= status <= 999:
        raise ValueError("a status code has three digits")
    return status


def _authorization(fields: Mapping[str, Any] | None) -> Authorization | None:
    return None if fields is None else Authorization.from_fields(fields)


def _failure(fields: Mapping[str, Any] | None) -> RecordedFailure | None:
    if fields is None:
        return None
    reason = str(fields.get("reason"))  # a later version may know others
    known_reason = reason if reason in NO_CONNECTION else ""
    return RecordedFailure(str(fields["type"]), str(fields.get("message") or ""), known_reason)


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(value).encode("utf-8")


def grouped(headers: HeaderList) -> dict[str, list[str | bytes]]:
    """Return headers as vcrpy stores them: a mapping of names to lists of values."""
    by_name: dict[str, list[str | bytes]] = {}
    for name, value in headers:
        # Stock vcrpy passes values on to httpx, which accepts header text only if it is ASCII.
        by_name.setdefault(name, []).append(value if value.isascii() else header_bytes(value))
    return by_name


def order_of(headers: HeaderList) -> list[str] | None:
    """Return the names of headers in their order, or None if grouping by name keeps it."""
    if len(dict(headers)) == len(headers) or tuple(_ungrouped(grouped(headers))) == headers:
        return None
    return [name for name, _ in headers]


def _ungrouped(by_name: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in by_name.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            text = header_text(value)
            if not text.isascii():
                header_bytes(text)  # UnicodeEncodeError if replay could not send it
            yield str(name), text


def flattened(by_name: Mapping[str, Any] | None, order: Sequence[str] | None) -> HeaderList:
    """Return grouped headers in the order in which they came."""
    if not order:
        return tuple(_ungrouped(by_name or {}))
    remaining: dict[str, list[str]] = {}
    for name, value in _ungrouped(by_name or {}):
        remaining.setdefault(name, []).append(value)
    ordered = [(name, remaining[name].pop(0)) for name in order if remaining.get(name)]
    # A header that somebody added by hand is not in `order`; it comes last.
    return (*ordered, *((name, value) for name, values in remaining.items() for value in values))
