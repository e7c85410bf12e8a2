"""Open the chosen session, try its credentials with one call, and describe any problem.

`Problem` is what the panel shows; `problem_of` makes one from an error. In a front end that does not show the panel's
fields, questions appear below the cell (`ask`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.auth.credentials import Credentials, ask_secret, can_ask
from toolkit.auth.profiles.saving import is_over
from toolkit.cassettes.selection import find_cassette
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import (
    CassetteError,
    ConfigurationError,
    ServiceError,
    TokenRefused,
    ToolkitError,
    UnsafeAddress,
)
from toolkit.core.text import excerpt
from toolkit.local.settings import Settings
from toolkit.notebook.secret_input import HOW_TO_GIVE_A_KEY, Field
from toolkit.session.session import Session

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change
    from toolkit.core.secret import Secret

# What errors advise users of code to do, and what to do in the panel instead.
_NOT_CODE: Final = {"pathlib": HOW_TO_GIVE_A_KEY, 'passphrase="': "Type its passphrase."}
TRUST: Final = "I trust this destination"
_REFUSED: Final = frozenset({400, 401, 403})  # invalid_client is 400 or 401, RFC 6749 section 5.2


class Mode(StrEnum):
    """The way a session handles calls: it sends them, sends and records them, or replays recorded calls."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


class Connection(NamedTuple):
    """A session, how it was opened, and the number of accounts that the trial call returned (None in a replay).

    The session has not sent anything yet, but has the token from the trial call.
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

    The trial call is live and made in a separate session, so it is neither recorded nor listed among the session's
    calls, and a replay gives the same results as the recording. Recording adds to an existing cassette.

    Raises:
        ToolkitError: if the session cannot be opened or the service refuses the credentials; nothing is left open.
    """
    if mode is Mode.REPLAY:
        session = Session(environment, credentials, cassette=cassette, mode="none", settings=settings)
        _check_recorded(session)
        return Connection(session, mode)
    # Opened before the trial, so that a cassette that cannot be recorded to is noticed before anything is sent.
    record_mode = "new_episodes" if mode is Mode.RECORD else None
    session = Session(environment, credentials, cassette=cassette, mode=record_mode, settings=settings)
    trial = Session(session.environment, session.credentials, settings=settings)
    try:
        with trial, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about balances are for the call that shows the table
            accounts = len(trial.accounts())
        session._sender.authorizer()  # noqa: SLF001 - so that the session shows its token, which the trial uses too
    except BaseException:
        session.close()
        raise
    return Connection(session, mode, accounts)


def _check_recorded(session: Session) -> None:
    """Raise an error if the cassette has calls, but none from the session's environment."""
    cassette = session.cassette
    recorded = cassette.contents.environments if cassette else []
    if cassette and recorded and session.environment not in recorded:
        what = f"The cassette {cassette.path.name} has no calls made in the environment {session.environment}."
        raise ConfigurationError(what, f"Choose the environment {' or '.join(recorded)}.", about="environment")


class Problem(NamedTuple):
    """The reason why the panel cannot connect, the next step, and the name of the field at fault, or ""."""

    what: str
    next_step: str = ""
    field: str = ""


def problem_of(error: Exception, fields: Sequence[Field] = (), *, for_visitors: bool = False) -> Problem:
    """Turn an error into a Problem. For visitors to a Voila page, the Problem does not mention files on the server."""
    if not isinstance(error, ToolkitError):  # its text may contain anything
        step = "Open a tk.Session in a cell to see the traceback."
        return Problem(f"Connecting failed: {type(error).__name__}.", step)
    field = _field_of(error, fields)
    if for_visitors and not field and isinstance(error, CassetteError | ConfigurationError | UnsafeAddress):
        return Problem("This page is not set up for these choices.", "Make other choices, or tell the page owner.")
    next_step = next((words for code, words in _NOT_CODE.items() if code in error.next_step), error.next_step)
    return Problem(error.what, next_step, field)


def _field_of(error: ToolkitError, fields: Sequence[Field]) -> str:
    """Return the field that an error is about: for refused credentials, the secret or scope; "" if there is none."""
    names = [field.name for field in fields]
    proof = next((field.name for field in fields if field.is_proof), "")
    if isinstance(error, TokenRefused) and error.error == "invalid_scope" and fields:
        return "scope"
    if isinstance(error, ServiceError | TokenRefused):
        return proof if error.status in _REFUSED else ""
    return error.about if error.about in names else ""


def obstacle(environment: Environment, settings: Settings, *, for_visitors: bool) -> Problem | None:
    """Return the problem that prevents all calls to an environment, regardless of the user's choices, or None.

    The trial call needs the address of the interface that lists accounts. For a broker partner, the token request also
    needs the address of the auth interface.
    """
    if is_over(environment, settings):
        step = "To continue, run service = tk.practice().start() in a cell."
        return Problem("The practice service at these addresses has stopped.", step)
    addresses = environment.rules.addresses
    try:
        for name in (addresses[environment.rules.accounts[0]], addresses.get(Interface.AUTH)):
            if name is not None:
                settings.address(name)
    except ConfigurationError as error:
        problem = problem_of(error, for_visitors=for_visitors)
        if settings.addresses or for_visitors:
            return problem
        return Problem(
            problem.what, f"{problem.next_step}\nTo try it without an address, run service = tk.practice().start()."
        )
    return None


def wrong_name(name: str, settings: Settings) -> Problem | None:
    """Return a problem if a new cassette cannot have this name; unlike code, the panel does not accept paths."""
    try:
        if name and find_cassette(name, settings).parent == settings.cassettes_folder:
            return None
    except ConfigurationError as error:
        return problem_of(error)
    what = f"A new cassette cannot be called {excerpt(name)!r}." if name else "The cassette has no name."
    return Problem(what, 'Type a name of letters, digits, spaces, "-" and "_", such as my-recording.')


def untrusted(new: Sequence[Change]) -> Problem:
    """Return the Problem for destinations that a project names and the user has not allowed yet."""
    lines = [change.in_words() for change in new]
    advice = f"Whoever set this destination would receive the credentials. If you trust it, tick “{TRUST}”."
    return Problem("The destination of these credentials is new.", "\n".join([*lines, advice]))


def ask(fields: Sequence[Field], environment: Environment) -> Mapping[str, Secret | Path]:
    """Ask for the fields' values below the cell, without echo; for a private key, ask for the path of its file.

    Optional fields are skipped.

    Raises:
        ConfigurationError: if questions cannot be answered here, or the typed text would be visible.
    """
    if not can_ask():
        what = "Credentials cannot be typed here."
        raise ConfigurationError(what, "Choose saved credentials, or set environment variables.")
    answers: dict[str, Secret | Path] = {}
    for field in fields:
        if not field.is_option:
            typed = ask_secret(f"{'Path of the private key file' if field.is_key else field.label} for {environment}: ")
            text = typed.reveal().strip()
            answers[field.name] = Path(text) if field.is_key and text and "-----" not in text else typed
    return answers
