"""`tk.drift`: repeat recorded reads live, and say what the service answers differently today.

Only GET and HEAD are repeated: they are safe (RFC 9110 section 9.2.1). All other calls are listed and never sent, and
so are calls with a placeholder or pseudonym of the recording in them, which the service never issued.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.comparing import RecordingChange, compare_interactions
from toolkit.cassettes.catalog.reading import read_cassette
from toolkit.cassettes.conversion import RECORDABLE, as_failure, header_list
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.errors import AccessError, ConfigurationError, SecretLeak
from toolkit.core.escaping import as_html, excerpt
from toolkit.core.html import badge, card
from toolkit.core.words import count_text
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse
from toolkit.scrubbing.vocabulary import COOKIE_HEADERS, Place, credential_kind
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

_REPEATED: Final = frozenset({"GET", "HEAD"})
# The client sets these itself.
_OF_THE_CLIENT: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te"}
)
_ENCODING: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_STREAM: Final = "text/event-stream"
_MOST_BYTES: Final = 64 << 20  # of an answer
_LONGEST_METHOD, _LONGEST_URI = 20, 500  # characters
_UNCOMPARABLE: Final = "its answer is too large, or cannot be decoded or checked"


class NotRepeatedError(Exception):
    """The call is not repeated, or its answer cannot be compared; the text says why."""


class NotRepeated(NamedTuple):
    """A recorded call that was not repeated. All texts are safe to show.

    Attributes:
        number: its number in the recording, from 1.
        method, uri: the call, as recorded.
        reason: why it was not repeated.
    """

    number: int
    method: str
    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Drift:
    """What a service answers differently from a recording. All texts are safe to show.

    Attributes:
        path: the recording.
        environment: the environment that was called.
        repeated: number of calls that were sent and compared.
        changes: the changes; `new` is always None, because the new answers are not kept.
        not_repeated: the calls that were not sent or not compared.
    """

    path: Path
    environment: str
    repeated: int
    changes: tuple[RecordingChange, ...]
    not_repeated: tuple[NotRepeated, ...]

    def table(self) -> pd.DataFrame:
        """Return one row for each change.

        Columns: `kind` ("added", "removed", "type", "status" or "timing"), `method`, `uri`, `place` (such as
        `$.accounts[].cash`), `before`, `after` (str), and `number` (int64) of the call in the recording, from 1.
        """
        import pandas as pd

        names = ("kind", "method", "uri", "place", "before", "after")
        columns: dict[str, Any] = {
            name: pd.Series([getattr(change, name) for change in self.changes], dtype="str") for name in names
        }
        return pd.DataFrame(columns | {"number": pd.Series([change.old for change in self.changes], dtype="int64")})

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values, for programs."""
        changes = [{name: value for name, value in each._asdict().items() if name != "new"} for each in self.changes]
        return {
            "recording": str(self.path),
            "environment": self.environment,
            "repeated": self.repeated,
            "changes": changes,
            "not_repeated": [each._asdict() for each in self.not_repeated],
        }

    def __repr__(self) -> str:
        changed = len({change.old for change in self.changes})
        words = f"{count_text(self.repeated, 'call')} repeated, {changed:,} of them with changes"
        return f"<Drift of {self.path.name} in {self.environment}: {words}; {len(self.not_repeated):,} not repeated>"

    def _repr_html_(self) -> str:
        changed = len({change.old for change in self.changes})
        rows = [("Repeated", f"{self.repeated:,}"), ("With changes", f"{changed:,}")]
        rows += [(change.kind, as_html(_in_words(change))) for change in self.changes[:10]]
        rows.append(("Not repeated", f"{len(self.not_repeated):,}"))
        return card(f"Drift of {self.path.name}", [badge(self.environment)], rows)


def drift(cassette: str | Path, session: Session) -> Drift:
    """Repeat the GET and HEAD requests of a recording live, and return what the service answers differently.

    Each distinct request is sent once, in the order of the recording, with the session's credentials, retries and
    rate, and is compared with its last recording: status, the members of JSON and their types, the media type of other
    bodies, and the time if it at least doubled or halved. Values are not compared: they differ on any day. Nothing is
    recorded, and the cassette stays as it is.

    Not sent are calls of other methods, of another environment, to other addresses than those of the session, and
    those with a placeholder or pseudonym in them; `not_repeated` lists them.

    Args:
        cassette: name or path of the recording.
        session: a live session, without a cassette.

    Raises:
        ConfigurationError: if the session is not a live one, or an address is not set.
        CassetteMiss, CassetteCorrupt: if there is no such recording, or it is not one.
        TokenError, Unreachable: if no token can be obtained.
    """
    if not isinstance(session, Session):
        raise ConfigurationError(
            f"drift() takes a tk.Session, not {type(session).__name__}.",
            'For example tk.Session("paper").',
            about="session",
        )
    if session.cassette is not None:
        raise ConfigurationError(
            "The session has a cassette, so its answers may not be live.",
            f'Use a live session, such as tk.Session("{session.environment}").',
            about="session",
        )
    recording = read_cassette(cassette, session.settings)
    tape = Cassette(recording.path, "none", settings=session.settings)
    tape.scrubber.use_addresses(session.settings.addresses, session.settings.header_prefix)
    changes: list[RecordingChange] = []
    not_repeated: list[NotRepeated] = []
    repeated = 0
    interactions = [recording.contents.interaction(number) for number in range(len(recording.contents))]
    latest = {_key(interaction): number for number, interaction in enumerate(interactions)}
    for number, interaction in enumerate(interactions):
        head = excerpt(interaction.request.method, _LONGEST_METHOD), excerpt(interaction.request.uri, _LONGEST_URI)
        try:
            answer = _repeat(interaction, session, tape, is_last=latest[_key(interaction)] == number)
        except NotRepeatedError as error:
            not_repeated.append(NotRepeated(number + 1, *head, str(error)))
            continue
        repeated += 1
        changes += [
            RecordingChange(change.kind, *head, change.place, change.old, change.new, number + 1, None)
            for change in compare_interactions(interaction, answer)
        ]
    return Drift(recording.path, str(session.environment), repeated, tuple(changes), tuple(not_repeated))


def _key(interaction: Interaction) -> tuple[object, ...]:
    request = interaction.request
    environment = interaction.authorized_by and interaction.authorized_by.environment
    return request.method.upper(), request.uri, request.body, environment, interaction.token_obtained is None


def _repeat(recorded: Interaction, session: Session, tape: Cassette, *, is_last: bool) -> Interaction:
    """Send a request again, and return its answer as it would be recorded.

    Raises:
        NotRepeatedError: if it is not sent, or the answer cannot be compared.
    """
    interface = _interface_of(recorded, session)
    if not is_last:
        raise NotRepeatedError("the same request was recorded again later")
    request = recorded.request._replace(headers=tuple(_own_headers(recorded.request.headers)))
    try:
        tape.refuse_recorded_values(request)
    except AccessError:
        raise NotRepeatedError("it has a placeholder or pseudonym of the recording in it") from None
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
    return next((value for name, value in headers if name.lower() == "content-type"), "").strip().lower()


def _in_words(change: RecordingChange) -> str:
    before, after = change.before or "nothing", change.after or "nothing"
    return f"call {change.old}, {change.place or 'the call'}: {before} → {after}"
