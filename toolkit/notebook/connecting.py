"""Connect: open the chosen session, try its credentials with one call, and put into words what went wrong.

`Problem` is what the panel shows beside the control that it is about: `problem_of` makes one of an error of `connect`,
in the words of the error. A front end that does not show the panel's fields is asked below the cell (`ask`,
`is_trusted`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import is_over
from toolkit.auth.profiles.prompt import ask_secret, can_ask
from toolkit.cassettes.paths import find_cassette
from toolkit.core.document import ADDRESS_NAMES, Environment, Interface
from toolkit.core.errors import (
    AccessError,
    CassetteError,
    ConfigurationError,
    ServiceError,
    TokenRefused,
    TokenResponseInvalid,
    ToolkitError,
    Unreachable,
    UnsafeAddress,
)
from toolkit.core.ledger import NO_TABLE
from toolkit.core.text import excerpt
from toolkit.local.settings import Settings
from toolkit.notebook.secret_input import HOW_TO_GIVE_A_KEY, Field
from toolkit.session.session import Session

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change
    from toolkit.core.secret import Secret

TRUST: Final = "I trust this destination"
_REFUSED: Final = frozenset({400, 401, 403})  # invalid_client is 400 or 401, RFC 6749 section 5.2


class Mode(StrEnum):
    """The way a session handles calls: it sends them, sends and records them, or replays recorded calls."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


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
    # Opened before the trial: a cassette that cannot be recorded to is found before anything is sent.
    record_mode = "new_episodes" if mode is Mode.RECORD else None
    session = Session(environment, credentials, cassette=cassette, mode=record_mode, settings=settings)
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
        what = f"The cassette {cassette.path.name} has no calls of the environment {session.environment}."
        raise ConfigurationError(what, f"Choose the environment {' or '.join(recorded)}.", about="environment")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, and the control or field that it is about.

    Attributes:
        place: "environment", "mode", "cassette", "credentials" or "connect" for a control, or the name of a `Field`.
        what: what happened.
        next_step: what to do about it.
    """

    place: str
    what: str
    next_step: str = ""


NOT_TRUSTED: Final = Problem(
    "connect", "The destination of these credentials is new.", f"If you trust it, tick “{TRUST}” first."
)


def obstacle(environment: Environment, settings: Settings, *, for_visitors: bool) -> Problem | None:
    """Return why an environment cannot be called now, whatever is chosen or typed: an address is missing; or None.

    The trial call goes to the interface of the accounts, and a broker partner's token comes from the auth interface.
    """
    if is_over(environment, settings):
        step = "To go on, run service = tk.practice().start() in a cell."
        return Problem("environment", "The practice service at these addresses has ended.", step)
    addresses = environment.rules.addresses
    for name in (addresses.get(environment.rules.accounts[0]), addresses.get(Interface.AUTH)):
        if name is not None and name not in settings.addresses:
            try:
                settings.address(name)
            except ConfigurationError as error:
                step = (
                    "" if settings.addresses else "\nTo try it without a service, run tk.practice().start() in a cell."
                )
                problem = Problem("environment", error.what, error.next_step + step)
                return _for_visitors(problem) if for_visitors else problem
    return None


def wrong_name(name: str, settings: Settings) -> Problem | None:
    """Return a problem if a new cassette cannot have this name; unlike in code, a path is not accepted here."""
    if not name:
        return Problem("cassette", "The cassette has no name.", "Type one, such as my-recording.")
    try:
        if find_cassette(name, settings).parent == settings.cassettes_folder:
            return None
    except ConfigurationError as error:
        return Problem("cassette", error.what, error.next_step)
    what = f"A new cassette cannot be called {excerpt(name)!r}: it goes into the cassettes folder."
    return Problem("cassette", what, 'Use a name of letters, digits, spaces, "-" and "_".')


def untrusted(new: Sequence[Change]) -> Problem:
    """Return the problem of a project that names destinations which the user did not allow yet."""
    lines = [change.in_words() for change in new]
    advice = f"Whoever wrote that would receive the credentials. If you trust it, tick “{TRUST}”."
    return Problem("credentials", "The destination of these credentials is new.", "\n".join([*lines, advice]))


def _for_visitors(problem: Problem) -> Problem:
    """Return a problem without what concerns the files of the machine's owner."""
    return Problem(problem.place, "This page is not set up for that.", "Choose something else, or tell its owner.")


def problem_of(error: Exception, *, mode: Mode, fields: Sequence[Field] = (), for_visitors: bool = False) -> Problem:
    """Return the problem that kept the panel from connecting.

    Args:
        error: what was raised.
        mode: the mode that was chosen.
        fields: the fields that the credentials were typed into; empty if they were not typed.
        for_visitors: True to hide what concerns the files of the machine's owner.
    """
    if not isinstance(error, ToolkitError):  # its text may hold anything
        what = f"Connecting failed: {type(error).__name__}."
        return Problem("connect", what, "Open a tk.Session in a cell to see the traceback.")
    problem = Problem(_place(error, mode, fields), error.what.replace(NO_TABLE, ""), error.next_step)
    is_about_files = isinstance(error, CassetteError | ConfigurationError | UnsafeAddress)
    return _for_visitors(problem) if for_visitors and is_about_files else problem


def problem_of_text(error: ToolkitError, fields: Sequence[Field]) -> Problem:
    """Return the problem with a typed text, at its field."""
    field = next((field for field in fields if field.name == error.about), _proof(fields))
    # In code a key may also be a Path or an object; the panel takes a file or text.
    next_step = HOW_TO_GIVE_A_KEY if field.is_key and "pathlib" in error.next_step else error.next_step
    return Problem(field.name, error.what, next_step)


def _place(error: ToolkitError, mode: Mode, fields: Sequence[Field]) -> str:
    if isinstance(error, CassetteError):
        return "mode" if mode is Mode.LIVE else "cassette"
    if isinstance(error, TokenRefused) and error.error == "invalid_scope" and fields:
        return "scope"
    if isinstance(error, ServiceError | TokenRefused):
        is_refused = error.status in _REFUSED
        return (_proof(fields).name if fields else "credentials") if is_refused else "connect"
    if isinstance(error, Unreachable | UnsafeAddress | TokenResponseInvalid):
        return "environment"
    if isinstance(error, ConfigurationError):
        is_environments = mode is Mode.REPLAY or error.about in (*ADDRESS_NAMES, "environment")
        return "environment" if is_environments else "credentials"
    return "credentials" if isinstance(error, AccessError) else "connect"


def _proof(fields: Sequence[Field]) -> Field:
    return next(field for field in fields if field.is_proof)


def is_trusted(new: Sequence[Change]) -> bool:
    """Ask below the cell whether credentials may be sent to a new destination.

    Raises:
        ConfigurationError: if questions cannot be answered here.
    """
    question = " ".join(change.in_words() for change in new)
    if not can_ask():
        raise ConfigurationError(question, "Check the settings, or name saved credentials.", about="credentials")
    answer = ask_secret(f"{question} Do you trust it? Type yes or no: ", input)
    return answer.reveal().strip().lower() in ("y", "yes")


def ask(fields: Sequence[Field], environment: Environment) -> Mapping[str, Secret | Path]:
    """Ask below the cell for the texts of fields, without echo; for a private key, ask for the path of its file.

    Returns:
        The answers, by the names of the fields.

    Raises:
        ConfigurationError: if questions cannot be answered here, or typing would be visible.
    """
    if not can_ask():
        what = "Credentials cannot be typed here."
        raise ConfigurationError(what, "Name saved credentials, or set environment variables.")
    answers: dict[str, Secret | Path] = {}
    for field in fields:
        typed = ask_secret(f"{'Path of the private key file' if field.is_key else field.label} of {environment}: ")
        text = typed.reveal().strip()
        answers[field.name] = Path(text) if field.is_key and text and "-----" not in text else typed
    return answers
