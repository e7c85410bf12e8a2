"""Open the chosen session and, unless it replays, try its credentials with one call."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from toolkit.auth.credentials import Credentials
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import Mode
from toolkit.session.session import Session


@dataclass(frozen=True, slots=True)
class Connection:
    """A session, and how it was opened.

    Attributes:
        session: the session for the user's cells; when the panel connects, it has not sent anything yet, but has the
            token of the trial.
        mode: live, record or replay.
        accounts: number of accounts that the trial call returned; None in a replay.
    """

    session: Session
    mode: Mode
    accounts: int | None = None


def connect(
    environment: Environment | None,
    mode: Mode,
    cassette: str | Path | None,
    credentials: Credentials | str | None,
    settings: Settings,
) -> Connection:
    """Open the session and, unless it replays, try the credentials with one call.

    The trial call is live and made in another session. So it is neither recorded nor listed among the session's
    calls, and a replay tells the same story as the recording.

    Args:
        environment: None for the environment of the cassette or the credentials.
        mode: a replay sends nothing; recording adds to what the cassette holds.
        cassette: the cassette to replay or to record; None when live.
        credentials: credentials, the name of a saved profile, or None for the only profile of the environment, or
            for `default` among several.
        settings: addresses and folders.

    Raises:
        ToolkitError: if the session cannot be opened or the service refuses the credentials; nothing is left open.
    """
    if mode is Mode.REPLAY:
        session = Session(environment, credentials, cassette=cassette, mode="none", settings=settings)
        _check_recorded(session)
        return Connection(session, mode)
    if mode is Mode.RECORD:
        # Opened before the trial: a cassette that cannot be recorded to is found before anything is sent.
        session = Session(environment, credentials, cassette=cassette, mode="new_episodes", settings=settings)
    else:
        session = Session(environment, credentials, settings=settings)
    trial = Session(session.environment, session.credentials, settings=settings)
    try:
        with trial, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about balances are for the call that shows the table
            accounts = len(trial.accounts())
        session._sender.authorizer()  # noqa: SLF001 - so that it shows the token that it shares with the trial
    except BaseException:
        session.close()
        raise
    return Connection(session, mode, accounts)


def _check_recorded(session: Session) -> None:
    """Refuse a replay in which every call would miss."""
    cassette = session.cassette
    recorded = cassette.environments if cassette else []
    if cassette and recorded and session.environment not in recorded:
        raise ConfigurationError(
            f"The cassette {cassette.path.name} has no calls of the environment {session.environment}.",
            f"Choose the environment {' or '.join(recorded)}.",
            about="environment",
        )
