"""Streams without an end: recorded as far as the caller read them, and replayed event by event.

A caller leaves a stream of events when it has seen enough, so closing it early is a story like any other. Other bodies
have an end; without it they are not recorded, except that a response with an error status may be closed unread.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx

from toolkit.core.errors import CassetteMiss, SecretLeak
from toolkit.scrubbing.compression import capped
from toolkit.scrubbing.messages import HeaderList
from toolkit.scrubbing.normal_form import is_text

_EVENTS: Final = "text/event-stream"
_LINES: Final = frozenset(
    {
        *("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"),
        *("application/json-seq", "application/stream+json"),
    }
)
_EVENT: Final = re.compile(rb"[^\r\n]*+(?:(?:\r\n|\n|\r)[^\r\n]++)*+(?:\r\n|\n|\r)*+")  # lines up to an empty line
_LINE: Final = re.compile(rb"[^\r\n]*+[\r\n]*+")
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length"})
_STEP: Final = 1_024  # bytes to decompress at a time; one step grows to a megabyte at most


def has_no_end(content_type: str) -> bool:
    """Return True if a body of this media type is a stream of events or of lines, which may go on for ever."""
    media_type = _media_type(content_type)
    return media_type == _EVENTS or media_type in _LINES


def part_that_was_read(headers: HeaderList, chunks: list[bytes]) -> tuple[HeaderList, bytes]:
    """Return the recorded form of a stream that was closed early: its headers, and its body up to the last full line.

    The body is decompressed, because compressed data without its end cannot be checked for secrets. The beginning of
    another line is left out: a caller that reads lines never saw it, and half of a secret cannot be recognized.

    Args:
        headers: the headers as received.
        chunks: the body as received.

    Raises:
        SecretLeak: if the body cannot be decompressed, or grows too large.
    """
    packed = b"".join(chunks)
    body = capped(_decompressed(headers, packed), len(packed))
    body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if not is_text(body):
        raise SecretLeak(
            "A stream in an unknown content encoding cannot be checked for secrets.",
            "Send the header Accept-Encoding: identity with the next one.",
        )
    return tuple((name, value) for name, value in headers if name.lower() not in _LENGTH_HEADERS), body


def _decompressed(headers: HeaderList, packed: bytes) -> Iterator[bytes]:
    steps = iter([packed[start : start + _STEP] for start in range(0, len(packed), _STEP)])
    response = httpx.Response(200, headers=list(headers), content=steps)
    with contextlib.suppress(httpx.DecodingError):  # at the end, which is missing
        yield from response.iter_bytes()


class EventStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded stream, which comes in pieces of one event or line each.

    Args:
        body: what was recorded.
        content_type: its media type.
        ended_early: whether the caller closed the stream while it was recorded. Reading on then raises CassetteMiss.
        call: method and path, for that error.
    """

    def __init__(self, body: bytes, content_type: str, *, ended_early: bool, call: str) -> None:
        self._pieces = _LINE if _media_type(content_type) in _LINES else _EVENT
        self._body = body
        self._ended_early = ended_early
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces.finditer(self._body):
            if piece[0]:
                yield piece[0]
        if self._ended_early:
            raise CassetteMiss(
                f"The recording of {self._call} ends here: this response was closed early when it was recorded.",
                'Stop reading where the recording did, or record it again with mode="all".',
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
