"""An interaction, and how it is written to a cassette file; `decoding` reads it back.

The format is vcrpy's version 1, with keys of ours beside `request` and `response`. Stock vcrpy and pytest-recording
ignore those keys. A file of ours is a header followed by one YAML block item per interaction: `request` comes first,
and a fixed key comes last and marks the item as complete. Recording is therefore one append. Reading splits the file
into items (module `contents`) and parses each when it is first played.

Headers are grouped by name, as vcrpy stores them; a key of ours beside them keeps an order that this loses.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from toolkit.core.errors import CassetteError
from toolkit.core.ledger import EPOCH, Authorization, instant_text
from toolkit.scrubbing.compression import DECOMPRESSORS, Broken
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes

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
MOST_BYTES: Final = 64 << 20  # that may come out of all decoders of a body together
_MOST_ENCODINGS: Final = 10  # of a body; honest ones have one


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


class TooLarge(ValueError):
    """A body would fill the memory when it is decompressed; the text completes a sentence about it."""


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


def encode(interaction: Interaction) -> bytes:
    """Return an interaction as a complete block item, ready to be appended to a cassette.

    Raises:
        CassetteError: if it could not be read again, because of its URI or status.
    """
    from toolkit.cassettes.format import yaml_text

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
            "headers": _grouped(request.headers),
            "body": _text_or_bytes(request.body),
        },
        "response": {
            "status": {"code": status, "message": response.reason},
            "headers": _grouped(response.headers),
            "body": {"string": _text_or_bytes(response.body)},
        },
    }
    return yaml_text.dump([{**item, **_own_keys(interaction), "complete": True}])


def _own_keys(interaction: Interaction) -> dict[str, Any]:
    """Return the keys of ours that stand beside `request` and `response`, without those that say nothing new."""
    request, response, failure = interaction.request, interaction.response, interaction.failure
    by, obtained, recorded_at = interaction.authorized_by, interaction.token_obtained, interaction.recorded_at
    failed = failure and {"type": failure.type, "message": failure.message, "reason": failure.reason}
    if failed and not failed["reason"]:
        del failed["reason"]
    keys = {
        "request_header_order": _order_of(request.headers),
        "http_version": response.http_version or None,
        "header_order": _order_of(response.headers),
        "recorded_at": None if recorded_at in (None, EPOCH) else instant_text(recorded_at),
        "elapsed": None if interaction.elapsed is None else interaction.elapsed.total_seconds(),
        "tries": None if interaction.tries == 1 else interaction.tries,
        "ended_early": interaction.ended_early or None,
        "pseudonyms": list(interaction.pseudonyms) or None,
        "failure": failed,
        "authorized_by": by and by.to_fields(),
        "token_obtained": obtained and obtained.to_fields(),
    }
    return {name: value for name, value in keys.items() if value is not None}


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


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _grouped(headers: HeaderList) -> dict[str, list[str | bytes]]:
    """Return headers as vcrpy stores them: a mapping of names to lists of values."""
    by_name: dict[str, list[str | bytes]] = {}
    for name, value in headers:
        # Stock vcrpy passes values on to httpx, which accepts header text only if it is ASCII.
        by_name.setdefault(name, []).append(value if value.isascii() else header_bytes(value))
    return by_name


def _order_of(headers: HeaderList) -> list[str] | None:
    """Return the names of headers in their order, or None if grouping by name keeps it."""
    names = [name for name, _ in headers]
    return None if names == sorted(names, key=list(dict.fromkeys(names)).index) else names


def has_its_encoding(headers: HeaderList, body: bytes) -> bool:
    """Check that a body has the content encodings that its headers name, without keeping what comes out.

    A few kilobytes can stand for gigabytes, and httpx decompresses in one piece. Encodings that httpx does not know are
    left out, as in httpx.

    Raises:
        TooLarge: if more than MOST_BYTES come out of all decoders together, or if there are too many of them.
    """
    values = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    if not values or not body:
        return True
    names = [name for name in map(str.strip, values.lower().split(",")) if name in DECOMPRESSORS]
    if len(names) > _MOST_ENCODINGS:
        raise TooLarge(f"has {len(names)} content encodings in a row; at most {_MOST_ENCODINGS} are decompressed")
    left = MOST_BYTES
    for place, name in reversed(list(enumerate(names))):
        kept = []
        try:
            for chunk in DECOMPRESSORS[name](body):
                left -= len(chunk)
                if left < 0:
                    raise TooLarge(f"has more than {MOST_BYTES >> 20} MiB when decompressed")
                if place:
                    kept.append(chunk)
        except (Broken, zlib.error):
            if len(names) > 1:  # nothing is known of what httpx would make of it
                raise TooLarge("does not have the content encodings that its headers name") from None
            return False
        body = b"".join(kept)
    return True
