"""Convert requests, responses and errors of httpx to those of a cassette, and back."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from toolkit.cassettes.event_streams import EventStream, has_no_end
from toolkit.cassettes.format.interactions import FAILURES, Interaction, RecordedFailure
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.escaping import excerpt
from toolkit.scrubbing.messages import HeaderList, RecordedResponse, header_bytes, header_value
from toolkit.transport.errors import Advice, ReplayedReason, no_connection

RECORDABLE: Final = tuple(getattr(httpx, name) for name in sorted(FAILURES))  # errors of a call without an answer

# The name of a header by RFC 5322. From Python 3.14 on, httpx's cookie jar fails on any other.
_NAME: Final = re.compile(rb"[!-9;-~]+")


def as_recorded_response(response: httpx.Response, body: bytes, *, headers: HeaderList) -> RecordedResponse:
    """Return a response as a cassette holds it, with the body as received and headers that fit it."""
    extensions = response.extensions
    return RecordedResponse(
        response.status_code,
        extensions.get("reason_phrase", b"").decode("ascii", "ignore"),  # as httpx shows it
        headers,
        body,
        extensions.get("http_version", b"").decode("ascii", "replace"),
    )


def as_response(interaction: Interaction, request: Any = None, *, source: str) -> httpx.Response:
    """Return a recorded response as if it had just arrived, with its body unread.

    Args:
        interaction: the recording.
        request: what it answers.
        source: name of the cassette's file, for a note on the error of a request that got no response.

    Raises:
        CassetteCorrupt: if the name of a header is not one.
        httpx.RequestError: if the recorded request got no response; of the recorded class.
    """
    failure = interaction.failure
    if failure is not None:
        error: type[httpx.RequestError] = getattr(httpx, failure.type)  # RecordedFailure allows no other names
        raised = _with_advice(error(failure.message, request=request), interaction, source)
        if failure.reason:
            raised.add_note(ReplayedReason(failure.reason))
        raise raised
    recorded = interaction.response
    extensions: dict[str, bytes] = {}
    if recorded.reason or recorded.http_version.startswith("HTTP/1"):  # httpx derives a missing one from the status
        extensions["reason_phrase"] = recorded.reason.encode("ascii", "ignore")
    if recorded.http_version:
        extensions["http_version"] = recorded.http_version.encode("ascii", "replace")
    headers = _raw_headers(recorded.headers)
    if not all(_NAME.fullmatch(name) for name, _ in headers):
        raise CassetteCorrupt(
            f"The recorded response to {excerpt(_call_of(interaction))} has a header whose name is not valid.",
            "Correct the name of the header in the cassette, or record the call again.",
            about="cassette",
        )
    content_type = header_value(recorded.headers, "content-type")
    if interaction.ended_early or has_no_end(content_type):
        ended_early, call = interaction.ended_early, _call_of(interaction)
        stream = EventStream(recorded.body, content_type, ended_early=ended_early, call=call)
        return httpx.Response(recorded.status, headers=headers, stream=stream, extensions=extensions)
    body = httpx.ByteStream(recorded.body)
    return httpx.Response(recorded.status, headers=headers, stream=body, extensions=extensions)


def _with_advice(error: httpx.RequestError, interaction: Interaction, source: str) -> httpx.RequestError:
    """Return an error with a note that it was replayed. Its message stays that of the live call."""
    on = f" (recorded on {interaction.recorded_at:%Y-%m-%d})" if interaction.recorded_at else ""
    advice = f'It was replayed from {source}{on}. To send the call again, record anew with mode="all".'
    error.add_note(Advice(advice))
    return error


def _call_of(interaction: Interaction) -> str:
    return f"{interaction.request.method} {urlsplit(interaction.request.uri).path}"


def _raw_headers(headers: HeaderList) -> list[tuple[bytes, bytes]]:
    try:
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    except UnicodeEncodeError:  # text from vcrpy; calling `header_bytes` for every header takes twice as long
        return [(header_bytes(name), header_bytes(value)) for name, value in headers]


def as_failure(error: httpx.RequestError) -> RecordedFailure:
    """Return the recorded form of an error of RECORDABLE; a transport's own class becomes its base in httpx."""
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in FAILURES)
    return RecordedFailure(name, str(error), no_connection(error))


def header_list(headers: httpx.Headers) -> HeaderList:
    """Return the names and values of headers in their original order and case."""
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw])
