"""Send a recorded request again, live: GET and HEAD, which are safe (RFC 9110 section 9.2.1), and nothing else.

The request goes to the interface that was called, with the headers that the caller set. Credentials are those of the
session. A placeholder or pseudonym of the recording is never sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import httpx

from toolkit.cassettes.bodies import RECORDABLE, as_failure, header_list
from toolkit.cassettes.catalog.rewriting import placeholders_in
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.errors import AccessError, SecretLeak
from toolkit.core.text import excerpt
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import COOKIE_HEADERS, Place, credential_kind

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.session import Session

_REPEATED: Final = frozenset({"GET", "HEAD"})
# The client sets these itself.
_OF_THE_CLIENT: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te"}
)
_ENCODING: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_STREAM: Final = "text/event-stream"
_MOST_BYTES: Final = 64 << 20  # of an answer
_LONGEST_METHOD: Final = 20  # characters
_STAND_IN: Final = "it has a placeholder or pseudonym in place of a value that was not recorded"
_UNCOMPARABLE: Final = "its answer is too large, or cannot be decoded or checked"


class NotRepeatedError(Exception):
    """The call is not repeated, or its answer cannot be compared; the text says why."""


def repeat(recorded: Interaction, session: Session, tape: Cassette, *, is_last: bool) -> Interaction:
    """Send a recorded request again, and return its answer as it would be recorded.

    Args:
        recorded: the interaction, as it would be recorded today.
        session: a live session.
        tape: the recording, opened for replay.
        is_last: False if the same request follows later in the recording.

    Raises:
        NotRepeatedError: if it is not sent, or the answer cannot be compared.
        TokenError, Unreachable: if no token can be obtained.
    """
    interface = _interface_of(recorded, session)
    if not is_last:
        raise NotRepeatedError("the same request was recorded again later")
    request = recorded.request._replace(headers=tuple(_own_headers(recorded.request.headers)))
    try:
        tape.refuse_recorded_values(request)
    except AccessError:
        raise NotRepeatedError(_STAND_IN) from None
    values = [value.encode("utf-8", "replace") for _, value in request.headers]
    if placeholders_in(b"\n".join((request.uri.encode("utf-8", "replace"), *values, request.body))):
        raise NotRepeatedError(_STAND_IN)
    failure, response = None, NO_ANSWER
    try:
        response = _answer(getattr(session, interface), request)
    except RECORDABLE as error:
        failure = as_failure(error)
    except AccessError as error:
        raise NotRepeatedError(error.what) from None
    except (httpx.HTTPError, httpx.InvalidURL):
        raise NotRepeatedError(_UNCOMPARABLE) from None
    seconds = session.calls(last=1)["elapsed"].iloc[0]
    elapsed = None if seconds != seconds else timedelta(seconds=float(seconds))  # noqa: PLR0124 - missing if not equal
    try:
        scrubbed = tape.scrubber.exchange(recorded.request, response).response
    except SecretLeak:
        raise NotRepeatedError(_UNCOMPARABLE) from None
    return recorded._replace(response=scrubbed, failure=failure, elapsed=elapsed)


def _interface_of(recorded: Interaction, session: Session) -> Interface:
    """Return the interface that a recorded call went to.

    Raises:
        NotRepeatedError: if the call is not to be sent.
    """
    method, caller = recorded.request.method.upper(), recorded.authorized_by
    if recorded.token_obtained is not None:
        raise NotRepeatedError("it is a token request; the session makes its own")
    if method not in _REPEATED:
        raise NotRepeatedError(f"{excerpt(method, _LONGEST_METHOD)} may change something, so it is never sent again")
    if recorded.ended_early or _content_type(recorded.response.headers).startswith(_STREAM):
        raise NotRepeatedError("it is a stream of events, which may have no end")
    if caller is not None and caller.environment is not session.environment:
        raise NotRepeatedError(f"it was made in {caller.environment}")
    for interface, name in session.environment.rules.addresses.items():
        address = symbolic_address(name)
        rest = recorded.request.uri.removeprefix(address)
        if interface is not Interface.AUTH and rest != recorded.request.uri and rest[:1] in ("", "/", "?"):
            return interface
    raise NotRepeatedError(f"its address is not one of {session.environment}")


def _own_headers(headers: HeaderList) -> Iterator[tuple[str, str]]:
    """Yield the headers that the caller set; credentials and cookies are those of the session."""
    for name, value in headers:
        lower = name.lower()
        if lower not in _OF_THE_CLIENT | COOKIE_HEADERS and credential_kind(name, Place.HEADER) is None:
            yield name, value


def _answer(client: httpx.Client, request: RecordedRequest) -> RecordedResponse:
    """Send a request, and return its answer with the body decoded; that of a stream of events is not read.

    Raises:
        NotRepeatedError: if the answer is too large.
    """
    body, size = [], 0
    headers = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in request.headers
    ]
    with client.stream(request.method, request.uri, headers=headers, content=request.body or None) as response:
        received = header_list(response.headers)
        if not _content_type(received).startswith(_STREAM):
            for piece in response.iter_bytes():
                body.append(piece)
                size += len(piece)
                if size > _MOST_BYTES:
                    raise NotRepeatedError(_UNCOMPARABLE)
    kept = tuple((name, value) for name, value in received if name.lower() not in _ENCODING)
    return RecordedResponse(response.status_code, "", kept, b"".join(body))


def _content_type(headers: HeaderList) -> str:
    return header_value(headers, "content-type").strip().lower()
