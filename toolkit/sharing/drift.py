"""`drift`: repeat recorded reads live, and say what the service answers differently today.

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

from toolkit.cassettes.bodies import RECORDABLE, as_failure, header_list
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.comparing import RecordingChange, compare_interactions
from toolkit.cassettes.catalog.facts import read_cassette
from toolkit.cassettes.catalog.rewriting import placeholders_in
from toolkit.cassettes.catalog.showing import safe_to_show
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.errors import AccessError, ConfigurationError, SecretLeak, Unreachable
from toolkit.core.text import count_text, excerpt
from toolkit.scrubbing.messages import HeaderList, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import COOKIE_HEADERS, Place, credential_kind
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

# The client sets these itself.
_OF_THE_CLIENT: Final = frozenset("host connection content-length transfer-encoding accept-encoding te".split())
_ENCODING: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


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
    """The differences between a recording and what the service answers today. All texts are safe to show.

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

    def __repr__(self) -> str:
        words = f"{count_text(self.repeated, 'call')} repeated, {count_text(len(self.changes), 'change')}"
        return f"<Drift of {self.path.name} in {self.environment}: {words}; {len(self.not_repeated):,} not repeated>"


class _NotRepeatedError(Exception):
    """The call is not repeated, or its answer cannot be compared; the text says why."""


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
        ConfigurationError: if the session is not live, or an address is not set.
        CassetteMiss, CassetteCorrupt: if the recording does not exist, or is not a cassette.
        TokenError, Unreachable: if no token can be obtained, or no call gets an answer.
    """
    if not isinstance(session, Session) or session.cassette is not None:
        raise ConfigurationError(
            "drift() takes a live tk.Session, without a cassette.", 'For example tk.Session("paper").', about="session"
        )
    recording = read_cassette(cassette, session.settings)
    tape = Cassette(recording.path, "none", settings=session.settings)
    tape.scrubber.use_addresses(session.settings.addresses, session.settings.header_prefix)
    changes: list[RecordingChange] = []
    not_repeated: list[NotRepeated] = []
    repeated = answered = 0
    contents = recording.contents
    # Those of stock vcrpy have real addresses and secrets.
    interactions = [safe_to_show(contents.interaction(number), tape.scrubber) for number in range(len(contents))]
    latest = {_key(interaction): number for number, interaction in enumerate(interactions, start=1)}
    for number, interaction in enumerate(interactions, start=1):
        head = excerpt(interaction.request.method, 20), excerpt(interaction.request.uri, 500)
        try:
            if latest[_key(interaction)] != number:
                raise _NotRepeatedError("the same request was recorded again later")  # noqa: TRY301 - like the others
            answer = _repeated(interaction, session, tape)
        except _NotRepeatedError as error:
            not_repeated.append(NotRepeated(number, *head, str(error)))
            continue
        repeated += 1
        answered += answer.failure is None or interaction.failure is not None
        changes += [
            RecordingChange(change.kind, *head, change.place, change.old, change.new, number, None)
            for change in compare_interactions(interaction, answer)
        ]
    if repeated and not answered:
        raise Unreachable(
            f"The services of {session.environment} do not answer, so it is not known what changed.",
            "Check the network and the addresses in toolkit.toml, and try again.",
        )
    return Drift(recording.path, str(session.environment), repeated, tuple(changes), tuple(not_repeated))


def _key(interaction: Interaction) -> tuple[object, ...]:
    request = interaction.request
    environment = interaction.authorized_by and interaction.authorized_by.environment
    return request.method.upper(), request.uri, request.body, environment, interaction.token_obtained is None


def _repeated(recorded: Interaction, session: Session, tape: Cassette) -> Interaction:
    """Send a recorded request again, and return its answer as it would be recorded.

    Raises:
        _NotRepeatedError: if it is not sent, or the answer cannot be compared.
        TokenError, Unreachable: if no token can be obtained.
    """
    client: httpx.Client = getattr(session, _interface_of(recorded, session))
    request = recorded.request._replace(headers=tuple(_own_headers(recorded.request.headers)))
    texts = [request.uri, *(value for _, value in request.headers)]
    try:
        tape.refuse_recorded_values(request)
        is_stand_in = bool(placeholders_in(b"\n".join((*(text.encode() for text in texts), request.body))))
    except (AccessError, UnicodeError):
        is_stand_in = True
    if is_stand_in:
        raise _NotRepeatedError("it has a placeholder or pseudonym in place of a value that was not recorded")
    failure, response = None, NO_ANSWER
    try:
        answer = client.request(
            request.method, request.uri, headers=list(request.headers), content=request.body or None
        )
        headers = tuple(pair for pair in header_list(answer.headers) if pair[0].lower() not in _ENCODING)
        response = RecordedResponse(answer.status_code, "", headers, answer.content)
        response = tape.scrubber.exchange(recorded.request, response).response
    except RECORDABLE as error:
        failure = as_failure(error)
    except AccessError as error:
        raise _NotRepeatedError(error.what) from None
    except (httpx.HTTPError, httpx.InvalidURL, SecretLeak):
        raise _NotRepeatedError("its answer cannot be decoded or checked") from None
    seconds = session.calls(last=1)["elapsed"].iloc[0]
    elapsed = None if seconds != seconds else timedelta(seconds=float(seconds))  # noqa: PLR0124 - missing if not equal
    return recorded._replace(response=response, failure=failure, elapsed=elapsed)


def _interface_of(recorded: Interaction, session: Session) -> Interface:
    """Return the interface that a recorded call went to.

    Raises:
        _NotRepeatedError: if the call is not to be sent.
    """
    method, caller = recorded.request.method.upper(), recorded.authorized_by
    if recorded.token_obtained is not None:
        raise _NotRepeatedError("it is a token request; the session makes its own")
    if method not in ("GET", "HEAD"):
        raise _NotRepeatedError(f"{excerpt(method, 20)} may change something, so it is never sent again")
    if recorded.ended_early or "text/event-stream" in header_value(recorded.response.headers, "content-type").lower():
        raise _NotRepeatedError("it is a stream of events, which may have no end")
    if caller is not None and caller.environment is not session.environment:
        raise _NotRepeatedError(f"it was made in {caller.environment}")
    for interface, name in session.environment.rules.addresses.items():
        rest = recorded.request.uri.removeprefix(symbolic_address(name))
        if interface is not Interface.AUTH and rest != recorded.request.uri and rest[:1] in ("", "/", "?"):
            return interface
    raise _NotRepeatedError(f"its address is not one of {session.environment}")


def _own_headers(headers: HeaderList) -> Iterator[tuple[str, str]]:
    """Yield the headers that the caller set; credentials and cookies are those of the session."""
    for name, value in headers:
        lower = name.lower()
        if lower not in _OF_THE_CLIENT | COOKIE_HEADERS and credential_kind(name, Place.HEADER) is None:
            yield name, value
