"""`drift`: repeat recorded GET and HEAD requests live, and report how the responses differ today.

Only GET and HEAD are repeated, because these methods are safe (RFC 9110 section 9.2.1). Other calls, and calls that
contain a placeholder or pseudonym from the recording, are listed but never sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx

from toolkit.cassettes.bodies import as_failure, header_list
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.comparing import RecordingChange, compare_interactions
from toolkit.cassettes.catalog.facts import frame_of, read_cassette, safe_to_show
from toolkit.cassettes.catalog.rewriting import placeholders_in
from toolkit.cassettes.format.interactions import NO_ANSWER, RECORDABLE, Interaction
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.errors import AccessError, CassetteCorrupt, ConfigurationError, SecretLeak, Unreachable
from toolkit.core.text import count_text, excerpt
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.vocabulary import COOKIE_HEADERS, Place, credential_kind
from toolkit.session.session import Session
from toolkit.sharing.copying import BODY_HEADERS

if TYPE_CHECKING:
    import pandas as pd

# The client sets these itself.
_OF_THE_CLIENT: Final = frozenset("host connection content-length transfer-encoding accept-encoding te".split())


class NotRepeated(NamedTuple):
    """A recorded call that was not repeated, with its number (from 1) and the reason. All strings are safe to show."""

    number: int
    method: str
    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences between a recording and the service's responses today. All strings are safe to show.

    Attributes:
        path: the path of the recording.
        environment: the environment that was called.
        repeated: number of calls that were sent and compared.
        changes: the changes; `new` is always None, because the new responses are not kept.
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
        `$.accounts[].cash`), `before`, `after` (str), and `number` (int64), the call's number in the recording, from 1.
        """
        return frame_of("kind method uri place before after number", self.changes)

    def __repr__(self) -> str:
        words = f"{count_text(self.repeated, 'call')} repeated, {count_text(len(self.changes), 'change')}"
        return f"<Drift of {self.path.name} in {self.environment}: {words}; {len(self.not_repeated):,} not repeated>"


def drift(cassette: str | Path, session: Session) -> Drift:
    """Repeat the GET and HEAD requests in a recording live, and return the differences in the responses.

    Each distinct request is sent once, in recorded order, with the session's credentials, retries and rate. Its
    response is compared with the first recorded response, as in `compare_cassettes`. Nothing is recorded.

    Calls that use another method, belong to another environment, go to an address outside the session's environment, or
    contain a placeholder or pseudonym are not sent. `not_repeated` lists them.

    Args:
        cassette: name or path of the recording.
        session: a live session, without a cassette.

    Raises:
        ConfigurationError: if the session is not live, or an address is not set.
        CassetteMiss, CassetteCorrupt: if the recording does not exist, or is not a cassette.
        TokenError, Unreachable: if no token can be obtained, or no call gets a response.
    """
    if not isinstance(session, Session) or session.cassette is not None:
        raise ConfigurationError(
            "drift() needs a live tk.Session without a cassette.", 'For example tk.Session("paper").', about="session"
        )
    recording = read_cassette(cassette, session.settings)
    tape = Cassette(recording.path, "none", settings=session.settings)
    tape.scrubber.use_addresses(session.settings.addresses, session.settings.header_prefix)
    changes: list[RecordingChange] = []
    not_repeated: list[NotRepeated] = []
    seen = set[tuple[str, str, bytes]]()
    is_answered = False
    for number in range(len(recording)):
        if isinstance(unread := recording.interaction_or_error(number), CassetteCorrupt):
            not_repeated.append(NotRepeated(number + 1, "", "", f"it cannot be read: {unread.what}"))
            continue
        # A recording made with stock vcrpy has real addresses and secrets.
        recorded = safe_to_show(recording.interaction(number), tape.scrubber)
        recorded = recorded._replace(request=_own_request(recorded.request))
        head = excerpt(recorded.request.method, 20), excerpt(recorded.request.uri, 500)
        key = recorded.request.method, recorded.request.uri, recorded.request.body
        reason = "the same request was recorded before" if key in seen else _reason_not_to_send(recorded, session, tape)
        today = reason or _repeated(recorded, session, tape)
        if isinstance(today, str):
            not_repeated.append(NotRepeated(number + 1, *head, today))
            continue
        seen.add(key)
        is_answered = is_answered or today.failure is None or recorded.failure is not None
        changes += compare_interactions(recorded, today, RecordingChange("", *head, old=number + 1))
    if seen and not is_answered:
        raise Unreachable(
            f"The services of {session.environment} do not answer, so changes cannot be detected.",
            "Check the network and the addresses in toolkit.toml, and try again.",
        )
    return Drift(recording.path, str(session.environment), len(seen), tuple(changes), tuple(not_repeated))


def _reason_not_to_send(recorded: Interaction, session: Session, tape: Cassette) -> str:
    """Return the reason not to send a recorded call, or "" if it may be sent."""
    request, caller = recorded.request, recorded.authorized_by
    if recorded.token_obtained is not None:
        return "it is a token request; the session sends its own"
    if request.method not in ("GET", "HEAD"):
        return f"{excerpt(request.method, 20)} may change something, so it is never sent again"
    if recorded.ended_early or "text/event-stream" in header_value(recorded.response.headers, "content-type").lower():
        return "it is an event stream, which may never end"
    if caller is not None and caller.environment is not session.environment:
        return f"it was made in {caller.environment}"
    if _interface_of(recorded, session) is None:
        return f"its address does not belong to {session.environment}"
    try:
        tape.player.refuse_recorded_values(request)
    except AccessError as error:
        return f"it was refused: {error.what}"
    return "it contains a placeholder for a secret" if placeholders_in(repr(request)) else ""


def _repeated(recorded: Interaction, session: Session, tape: Cassette) -> Interaction | str:
    """Repeat a request, and return the interaction as it would be recorded, or the reason it cannot be compared."""
    request, client = recorded.request, getattr(session, str(_interface_of(recorded, session)))
    try:
        answer = client.request(request.method, request.uri, headers=request.headers, content=request.body or None)
        headers = tuple(pair for pair in header_list(answer.headers) if pair[0].lower() not in BODY_HEADERS)
        response = RecordedResponse(answer.status_code, "", headers, answer.content)
        _, scrubbed = tape.scrubber.exchange(request, response)
        return recorded._replace(response=scrubbed, failure=None, elapsed=answer.elapsed)
    except RECORDABLE as error:
        return recorded._replace(response=NO_ANSWER, failure=as_failure(error), elapsed=None)
    except AccessError as error:
        return f"it was refused: {error.what}"
    except (httpx.HTTPError, httpx.InvalidURL, SecretLeak):
        return "its response cannot be decoded or checked"


def _interface_of(recorded: Interaction, session: Session) -> Interface | None:
    """Return the interface of the session's environment that a recorded call was sent to, or None."""
    for interface, name in session.environment.rules.addresses.items():
        rest = recorded.request.uri.removeprefix(symbolic_address(name))
        if interface is not Interface.AUTH and rest != recorded.request.uri and rest[:1] in ("", "/", "?"):
            return interface
    return None


def _own_request(request: RecordedRequest) -> RecordedRequest:
    """Return a request with only the headers that the caller set. The session adds credentials and cookies."""
    others = _OF_THE_CLIENT | COOKIE_HEADERS
    own = (pair for pair in request.headers if pair[0].lower() not in others)
    return request._replace(headers=tuple(pair for pair in own if credential_kind(pair[0], Place.HEADER) is None))
