"""`tk.drift`: repeat recorded reads live, and say what the service answers differently today.

Only GET and HEAD are repeated: they are safe (RFC 9110 section 9.2.1). All other calls are listed and never sent, and
so are calls with a placeholder or pseudonym of the recording in them, which the service never issued.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.comparing import RecordingChange, compare_interactions
from toolkit.cassettes.catalog.facts import read_cassette
from toolkit.cassettes.catalog.showing import safe_to_show
from toolkit.cassettes.format.interactions import Interaction
from toolkit.core.errors import ConfigurationError, Unreachable
from toolkit.core.text import as_html, badge, card, count_text, excerpt
from toolkit.session.session import Session
from toolkit.sharing.repeating import NotRepeatedError, repeat

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_METHOD, _LONGEST_URI = 20, 500  # characters
_PATIENCE = 3  # calls without an answer, from the first one


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

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values, for programs."""
        changes = [{name: value for name, value in each._asdict().items() if name != "new"} for each in self.changes]
        return {
            "path": str(self.path),
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
        ConfigurationError: if the session is not live, or an address is not set.
        CassetteMiss, CassetteCorrupt: if the recording does not exist, or is not a cassette.
        TokenError, Unreachable: if no token can be obtained, or the first calls get no answer.
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
    repeated = unanswered = 0
    contents = recording.contents
    # Those of stock vcrpy have real addresses and secrets.
    interactions = [safe_to_show(contents.interaction(number), tape.scrubber) for number in range(len(contents))]
    latest = {_key(interaction): number for number, interaction in enumerate(interactions)}
    for number, interaction in enumerate(interactions):
        head = excerpt(interaction.request.method, _LONGEST_METHOD), excerpt(interaction.request.uri, _LONGEST_URI)
        try:
            is_last = latest[_key(interaction)] == number
            answer = repeat(interaction, session, tape, is_last=is_last)
        except NotRepeatedError as error:
            not_repeated.append(NotRepeated(number + 1, *head, str(error)))
            continue
        repeated += 1
        unanswered += answer.failure is not None and interaction.failure is None
        if unanswered == repeated == _PATIENCE:
            raise _unreachable(session)
        changes += [
            RecordingChange(change.kind, *head, change.place, change.old, change.new, number + 1, None)
            for change in compare_interactions(interaction, answer)
        ]
    if repeated and unanswered == repeated:
        raise _unreachable(session)
    return Drift(recording.path, str(session.environment), repeated, tuple(changes), tuple(not_repeated))


def _unreachable(session: Session) -> Unreachable:
    return Unreachable(
        f"The services of {session.environment} do not answer, so it is not known what changed.",
        "Check the network and the addresses in toolkit.toml, and try again.",
    )


def _key(interaction: Interaction) -> tuple[object, ...]:
    request = interaction.request
    environment = interaction.authorized_by and interaction.authorized_by.environment
    return request.method.upper(), request.uri, request.body, environment, interaction.token_obtained is None


def _in_words(change: RecordingChange) -> str:
    before, after = change.before or "nothing", change.after or "nothing"
    return f"call {change.old}, {change.place or 'the call'}: {before} → {after}"
