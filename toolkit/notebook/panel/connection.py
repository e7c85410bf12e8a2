"""Connecting: from what was chosen to a session, proved with one call unless it is a replay."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import Token
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import Mode
from toolkit.session.session import Session


@dataclass(frozen=True, slots=True)
class Connection:
    """A session, and how it came about.

    Attributes:
        session: the session of the cells to come; it has sent nothing yet.
        mode: live, record or replay.
        accounts: how many rows the call had that proved the credentials; None in a replay.
        proof: the session that made that call, closed since; it knows the token that both share.
    """

    session: Session
    mode: Mode
    accounts: int | None = None
    proof: Session | None = None

    @property
    def token(self) -> Token | None:
        """The current token, that of the proof before the session's first call."""
        return self.session.token or (self.proof.token if self.proof else None)


def connect(
    environment: Environment | None,
    mode: Mode,
    cassette: str | Path | None,
    credentials: Credentials | str | None,
    settings: Settings,
) -> Connection:
    """Open the session and, where calls go out, prove the credentials with one.

    The proof is a call of the panel's own, live and in a session of its own: it is neither recorded
    nor among the session's calls, so that replay tells the same story as the recording.

    Args:
        environment: None takes that of the cassette or the credentials.
        mode: a replay sends nothing; recording adds to what the cassette holds.
        cassette: what is replayed or recorded; None when live.
        credentials: credentials, the name of saved ones, or None for the only ones there are.
        settings: addresses and folders.

    Raises:
        ToolkitError: any of the tree; nothing is left open.
    """
    if mode is Mode.REPLAY:
        session = Session(environment, credentials, cassette=cassette, mode="none", settings=settings)
        _check_recorded(session)
        return Connection(session, mode)
    if mode is Mode.RECORD:
        # Opened first: a cassette that cannot be recorded to is found before anything is sent.
        session = Session(environment, credentials, cassette=cassette, mode="new_episodes", settings=settings)
    else:
        session = Session(environment, credentials, settings=settings)
    proof = Session(session.environment, session.credentials, settings=settings)
    try:
        with proof, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # digits of balances are the business of the call that shows them
            accounts = len(proof.accounts())
    except BaseException:
        session.close()
        raise
    return Connection(session, mode, accounts, proof)


def _check_recorded(session: Session) -> None:
    """Refuse a replay in which every call would miss."""
    cassette = session.cassette
    held = cassette.environments if cassette else []
    if cassette and held and session.environment not in held:
        raise ConfigurationError(
            f"The cassette {cassette.path.name} holds no call of the environment {session.environment}.",
            f"It holds calls of {', '.join(held)}; choose that.",
        )
