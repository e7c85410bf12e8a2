"""An interaction: how it is written to a cassette file, and how its fields are read back.

The format is vcrpy's version 1, with additional keys next to `request` and `response`, which stock vcrpy and
pytest-recording ignore. Our files have a header followed by one YAML block item per interaction: `request` comes first,
and a fixed key comes last and marks the item as complete. So recording an interaction takes a single append. Reading
splits the file into items (module `contents`) and parses each when it is first played.

Headers are grouped by name, as vcrpy stores them; if this loses their order, an additional key keeps it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx

from toolkit.cassettes.format import yaml_text
from toolkit.core.errors import CassetteError
from toolkit.core.ledger import EPOCH, Authorization, checked_count, instant_text, parse_instant
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes, header_text
from toolkit.transport.failures import NO_CONNECTION

MARKER: Final = b"# service-access-toolkit cassette 1\n"
HEADER: Final = MARKER + b"version: 1\ninteractions:\n"
RECORDABLE: Final = (httpx.TransportError, httpx.DecodingError)  # errors that leave a request without a response
# These and their subclasses by name. A file cannot make a replay raise anything else.
FAILURES: Final = {
    name: kind for name, kind in vars(httpx).items() if isinstance(kind, type) and issubclass(kind, RECORDABLE)
}
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
            raise ValueError(f"{self.type!r} is not one of the error types that are recorded")


class Interaction(NamedTuple):
    """A request and its response, with the recorder's notes about the call.

    Attributes:
        recorded_at: when the request was sent, or last sent if there were several tries; None in foreign cassettes
            without a Date header.
        elapsed: from sending the request to the end of the response body; None in foreign cassettes.
        authorized_by: how the call was authorized; None for token requests and in foreign cassettes.
        token_obtained: for a token request, what its token authorizes; None for other calls.
        failure: why no response arrived, in which case the response is NO_ANSWER; None if there is a response.
        tries: how often the request was sent; only the last response is recorded.
        ended_early: True if the caller closed an event stream before its end, or closed an error response without
            reading it; the body is the part that was read.
        pseudonyms: the pseudonym rules that the call was recorded with, so that stand-ins are not replaced again.
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


def encode(interaction: Interaction) -> bytes:
    """Return an interaction as a complete block item, ready to be appended to a cassette."""
    request, response = interaction.request, interaction.response
    try:
        uri, status = checked_uri(request.uri), checked_status(response.status)
    except ValueError as error:
        what = f"The {request.method} request cannot be recorded, because it could not be replayed: {error}."
        next_step = "The response, if there was one, is in this error's `response`. Make such calls without a cassette."
        raise CassetteError(what, next_step, about="cassette") from None
    failure, at, elapsed = interaction.failure, interaction.recorded_at, interaction.elapsed
    by, obtained = interaction.authorized_by, interaction.token_obtained
    keys = {
        "request": {
            "method": request.method,
            "uri": uri,
            "headers": _by_name(request.headers),
            "body": _text_or_bytes(request.body),
        },
        "response": {
            "status": {"code": status, "message": response.reason},
            "headers": _by_name(response.headers),
            "body": {"string": _text_or_bytes(response.body)},
        },
        # Our keys, without those that add no information.
        "request_header_order": _order_of(request.headers),
        "http_version": response.http_version or None,
        "header_order": _order_of(response.headers),
        "recorded_at": None if at in (None, EPOCH) else instant_text(at),
        "elapsed": None if elapsed is None else elapsed.total_seconds(),
        "tries": None if interaction.tries == 1 else interaction.tries,
        "ended_early": interaction.ended_early or None,
        "pseudonyms": list(interaction.pseudonyms) or None,
        "failure": failure and {name: text for name, text in asdict(failure).items() if text or name != "reason"},
        "authorized_by": by and by.to_fields(),
        "token_obtained": obtained and obtained.to_fields(),
        "complete": True,
    }
    return yaml_text.dump({name: value for name, value in keys.items() if value is not None})


def is_uri(text: str) -> bool:
    """Return True if a string can be split into the parts of a URI."""
    try:
        _ = urlsplit(text).port
    except ValueError:
        return False
    return True


def checked_uri(uri: str) -> str:
    """Return a URI unchanged; if it cannot be split into its parts, raise a ValueError that does not quote it."""
    if not is_uri(uri):
        raise ValueError("a URI is not valid")
    return uri


def checked_status(code: Any) -> int:
    """Return a status code as an integer; raise ValueError if it is not one."""
    text = str(code)
    if not (text.isdecimal() and text.isascii() and len(text) <= 3):
        raise ValueError("the status code is not a number of at most three digits")
    return int(text)


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _by_name(headers: HeaderList) -> dict[str, list[str | bytes]]:
    """Return headers as vcrpy stores them: a mapping of names to lists of values."""
    by_name: dict[str, list[str | bytes]] = {}
    for name, value in headers:
        # Stock vcrpy passes values on to httpx, which accepts header text only if it is ASCII.
        by_name.setdefault(name, []).append(value if value.isascii() else header_bytes(value))
    return by_name


def _order_of(headers: HeaderList) -> list[str] | None:
    """Return the header names in their original order, or None if grouping by name keeps the order."""
    names = [name for name, _ in headers]
    if len(names) == len(set(names)):  # as in most messages
        return None
    return None if names == sorted(names, key=list(dict.fromkeys(names)).index) else names


def from_fields(fields: Mapping[str, Any]) -> Interaction:
    """Return the interaction that the fields of one of our items describe.

    Raises:
        ValueError, LookupError, TypeError, AttributeError, ArithmeticError: if they do not describe an interaction.
    """
    request, response = fields["request"], fields["response"]
    at, seconds, failure = fields.get("recorded_at"), fields.get("elapsed"), fields.get("failure")
    recorded_at = None if at is None else parse_instant(str(at))
    elapsed = None if seconds is None else timedelta(seconds=seconds)
    _ = (recorded_at or EPOCH) + (elapsed or timedelta(0))  # OverflowError if the call would end after year 9999
    by, obtained = fields.get("authorized_by"), fields.get("token_obtained")
    method, uri = request["method"], request["uri"]
    if not isinstance(method, str) or not isinstance(uri, str):
        raise ValueError("the request's method or URI is not text")  # noqa: TRY004
    sent = in_order(request["headers"], fields.get("request_header_order"))
    received = in_order(response["headers"], fields.get("header_order"))
    status, reason = checked_status(response["status"]["code"]), str(response["status"].get("message") or "")
    return Interaction(
        RecordedRequest(method, checked_uri(uri), sent, as_bytes(request.get("body"), "the body")),
        RecordedResponse(status, reason, received, content_of(response), str(fields.get("http_version") or "")),
        recorded_at=recorded_at,
        elapsed=elapsed,
        authorized_by=None if by is None else Authorization.from_fields(by),
        token_obtained=None if obtained is None else Authorization.from_fields(obtained),
        failure=None if failure is None else _failure(failure),
        tries=checked_count(fields.get("tries", 1), "the number of tries"),
        ended_early=fields.get("ended_early") is True,
        pseudonyms=tuple(map(str, fields.get("pseudonyms") or ())),
    )


def _failure(fields: Mapping[str, Any]) -> RecordedFailure:
    reason = str(fields.get("reason"))  # a later version may have other reasons
    known = reason if reason in NO_CONNECTION else ""
    return RecordedFailure(str(fields["type"]), str(fields.get("message") or ""), known)


def in_order(headers: Any, order: Sequence[str] | None = None) -> HeaderList:
    """Return grouped text headers in their original order. Headers that were added by hand come last."""
    left: dict[str, list[str]] = {}
    for name, values in grouped(headers):
        left.setdefault(name, []).extend(values)
    ordered = [(name, left[name].pop(0)) for name in order or () if left.get(name)]
    return (*ordered, *((name, value) for name, values in left.items() for value in values))


def content_of(response: Mapping[str, Any]) -> bytes:
    """Return the content of a response from the field in which vcrpy or a related tool stored it."""
    what, body = "the response's content", response.get("body")
    if "content" in response and body is None:
        content = as_bytes(response["content"], what)
        return base64.b64decode(content) if response.get("base64encoded") is True else content
    if not isinstance(body, Mapping):
        raise ValueError("the response has no content: it must be in 'string' under 'body'")  # noqa: TRY004
    if "base64_string" in body:
        return base64.b64decode(as_bytes(body["base64_string"], what))
    if "string" not in body and body.keys() - {"encoding"}:  # no content at all: aiohttp closed the connection
        raise ValueError("the response has no content, because 'string' is missing under 'body'")
    return as_bytes(body.get("string"), what)


def as_bytes(value: Any, what: str) -> bytes:
    """Return a body, which may be a file, as bytes; raise a ValueError about `what` if it is not text or bytes."""
    if hasattr(value, "read"):
        value = value.read()
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{what} has a character that UTF-8 cannot encode") from None
    if not isinstance(value, bytes | None):
        raise ValueError(f"{what} is not text")  # noqa: TRY004
    return value or b""


def grouped(headers: Any) -> list[tuple[str, list[str]]]:
    """Return header values by name, from a mapping or from pairs, each with one value or several."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else headers or []
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError("'headers' is neither a mapping nor a list of pairs")
    several = [(name, values if isinstance(values, list | tuple) else [values]) for name, values in pairs]
    return [(_header_text(name), [_header_text(value) for value in values]) for name, values in several]


def _header_text(value: Any) -> str:
    if not isinstance(value, str | bytes | int | float | date | None):
        raise ValueError("a header is not text")  # noqa: TRY004
    text = "" if value is None else header_text(value)
    try:
        header_bytes(text)
    except UnicodeEncodeError:
        raise ValueError("a header has a character that UTF-8 cannot encode") from None
    return text
