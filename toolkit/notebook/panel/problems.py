"""Turn errors into words beside the control of the panel that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.replay.differences import similar_names
from toolkit.core.document import ADDRESS_NAMES, Environment
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
from toolkit.local.variables import is_offline, variable_name
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.fields import HOW_TO_GIVE_A_KEY, PASSPHRASE, Field

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change, Destination
    from toolkit.auth.profiles.fields import Profile

_UNAUTHORIZED: Final = 401  # RFC 9110 section 15.5.2
_REFUSED: Final = frozenset({400, 401, 403})  # invalid_client is 400 or 401, RFC 6749 section 5.2
_NOT_IN_NAMES: Final = re.compile(r"[./\\]")
_URL: Final = re.compile(r"\S+://\S+")
_PATH: Final = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class PanelProblem:
    """A problem, and the control or field that it is about.

    Attributes:
        place: "environment", "mode", "cassette", "credentials" or "connect" for a control, or the name of a `Field`.
        what: what happened.
        next_step: what to do about it.
    """

    place: str
    what: str
    next_step: str = ""


TRUST: Final = "I trust this destination"
NOT_TRUSTED: Final = PanelProblem(
    "connect", "The destination of these credentials is new.", f"If you trust it, tick “{TRUST}” first."
)
UNNAMED_CASSETTE: Final = PanelProblem("cassette", "The cassette has no name.", "Type one, such as my-recording.")
ENCRYPTED_KEY: Final = PanelProblem(PASSPHRASE.name, "This private key is encrypted.", "Type its passphrase.")
PRACTICE_OVER: Final = PanelProblem(
    "environment",
    "The practice service at these addresses has ended.",
    "To go on, run service = tk.practice().start() in a cell.",
)
NOT_FOR_VISITORS: Final = PanelProblem(
    "credentials", "The saved credentials that this notebook names are not offered to visitors.", "Type your own."
)
NO_CASSETTE_FOR_VISITORS: Final = PanelProblem("cassette", "This notebook does not name a cassette to replay.")


def missing_profile(environment: Environment, profiles: Iterable[Profile], named: str | None) -> PanelProblem | None:
    """Return a problem if the profile that the notebook names is not saved here."""
    if named is None or any((profile.environment, profile.name) == (environment, named) for profile in profiles):
        return None
    # The name is not quoted: a secret typed in its place would be saved with the notebook's widgets.
    what = f"The credentials that this notebook names are not saved here for {environment}."
    return PanelProblem("credentials", what, "Choose others, or type them.")


def nothing_saved(environment: Environment) -> str:
    """Return the words for an environment without saved credentials, above the fields for new ones."""
    return f"No saved credentials for {environment}. Type them below."


def no_address(
    environment: Environment, missing: Sequence[str], settings: Settings, *, for_visitors: bool = False
) -> PanelProblem:
    """Return the problem of an environment that cannot be called, because an address is not set.

    Args:
        environment: the environment.
        missing: the names of the addresses.
        settings: where addresses come from.
        for_visitors: True if the owner of the machine is not the user.
    """
    names, are = " and ".join(missing), "is" if len(missing) == 1 else "are"
    addresses = "address" if len(missing) == 1 else "addresses"
    what = f"{environment} cannot be called: the {addresses} {names} {are} not set."
    if for_visitors:
        return PanelProblem("environment", what, "Tell the owner of this page.")
    if settings.file is None:
        return PanelProblem("environment", what, "Set it in the settings that the cell gives to tk.panel().")
    variables = " and ".join(variable_name(name) for name in missing)
    place = file_in_words(settings.file)
    variable = "variable" if len(missing) == 1 else "variables"
    next_step = f"Set {names} under [addresses] in {place}, or the {variable} {variables}; then run this cell again."
    if not settings.addresses:
        next_step += "\nTo try it without a service, run service = tk.practice().start() in a cell."
    return PanelProblem("environment", what, next_step)


def file_in_words(file: Path) -> str:
    """Return a file with its folder, not with its whole path: what the panel shows is saved with the notebook."""
    return f"{file.name} (folder “{excerpt(file.absolute().parent.name)}”)"


def place_in_words(destination: Destination) -> str:
    """Return the file, variable or code that names a destination."""
    place = destination.place
    return file_in_words(place) if isinstance(place, Path) else destination.place_in_words


def untrusted(new: Sequence[Change]) -> PanelProblem:
    """Return the problem of a project that names destinations which the user did not allow yet."""
    what, *lines = new_destinations(new)
    advice = f"Whoever wrote that would receive the credentials. If you trust it, tick “{TRUST}”."
    return PanelProblem("credentials", what, "\n".join([*lines, advice]))


def new_destinations(new: Sequence[Change]) -> list[str]:
    """Return who names new destinations, and a line for each of them."""
    places = dict.fromkeys(place_in_words(change.destination) for change in new)
    lines = [f"The destination of these credentials is new, from {' and '.join(places)}:"]
    for destination, earlier in new:
        before = f"; earlier it was {' or '.join(earlier)}" if earlier else ""
        lines.append(f"{destination.label}: {destination.text}{before}")
    return lines


def nearly_called(named: str | Path, settings: Settings) -> PanelProblem | None:
    """Return a problem if the named cassette does not exist, but a cassette with a similar name does."""
    path = find_cassette(named, settings)
    similar = [] if path.exists() else similar_names(path)
    if not similar:
        return None
    what = f"The cassette {excerpt(path.name)} does not exist yet; similar names: {', '.join(similar)}."
    return PanelProblem("cassette", what, "Check the name: connecting starts a new cassette.")


def wrong_name(name: str, settings: Settings) -> PanelProblem | None:
    """Return a problem if a new cassette cannot have this name; unlike in code, a path is not accepted here."""
    if not name:
        return UNNAMED_CASSETTE
    if _NOT_IN_NAMES.search(name):
        what = f"A new cassette cannot be called {excerpt(name)!r}: it goes into the cassettes folder."
        return PanelProblem("cassette", what, 'Use a name of letters, digits, spaces, "-" and "_".')
    try:
        find_cassette(name, settings)
    except ConfigurationError as error:
        return PanelProblem("cassette", error.what, error.next_step)
    return None


def missing_cassette(named: str | Path, settings: Settings) -> PanelProblem | None:
    """Return a problem if the cassette to replay does not exist; the folder is named without its path."""
    path = find_cassette(named, settings)
    if path.exists():
        return None
    similar = similar_names(path)
    others = f"; similar names: {', '.join(similar)}" if similar else ""
    what = f"The cassette {excerpt(path.name)} does not exist in the folder {excerpt(path.parent.name)}{others}."
    next_step = "Check the name, or record it while online." if is_offline() else "Check the name, or record it first."
    return PanelProblem("cassette", what, next_step)


def no_cassettes(settings: Settings) -> PanelProblem:
    """Return the problem of a folder without cassettes."""
    what = f"No cassettes in the folder {excerpt(Path(settings.cassettes).name)} yet."
    next_step = "Record one while online." if is_offline() else "Choose the mode “record” to make one."
    return PanelProblem("cassette", what, next_step)


def problem_of(error: ToolkitError, *, mode: Mode, fields: Sequence[Field] = ()) -> PanelProblem:
    """Return the problem that kept the panel from connecting.

    Args:
        error: what was raised.
        mode: the mode that was chosen.
        fields: the fields that the credentials were typed into; empty if they were not typed.
    """
    what, next_step = error.what, error.next_step
    if isinstance(error, TokenRefused) and error.error == "invalid_scope" and fields:
        return PanelProblem("scope", what, "Check the scope: the service does not grant it to this client.")
    if isinstance(error, ServiceError) and error.status == _UNAUTHORIZED:
        # The words of the error are about a table, but the trial call is the panel's own.
        what = f"The service did not accept these credentials (status {error.status})."
        parts = [field for field in fields if not (field.is_option or field == PASSPHRASE)]
        labels = " and ".join(_lower_first(field.label) for field in parts) or "them"
        next_step = f"Check {labels}, and that they belong to this environment."
    elif isinstance(error, ServiceError):
        what = what.replace(NO_TABLE, " when the credentials were tried")
    return PanelProblem(_place(error, mode, fields), what, next_step)


def problem_of_text(error: ToolkitError, fields: Sequence[Field]) -> PanelProblem:
    """Return the problem with a typed text, at its field.

    An error about a passphrase means that the key is encrypted, if there is no field for a passphrase yet.
    """
    if error.about == PASSPHRASE.name and PASSPHRASE not in fields:
        return ENCRYPTED_KEY
    field = next((field for field in fields if field.name == error.about), _proof(fields))
    # In code a key may also be a Path or an object; the panel takes a file or text.
    next_step = HOW_TO_GIVE_A_KEY if field.is_key and "pathlib" in error.next_step else error.next_step
    return PanelProblem(field.name, error.what, next_step)


def problem_of_bug(error: Exception) -> PanelProblem:
    """Return a problem for an error of any other kind; its text may hold anything, so only its type is named."""
    what = f"Connecting failed: {type(error).__name__}."
    return PanelProblem("connect", what, "Open a tk.Session in a cell to see the traceback.")


def without_paths(problem: PanelProblem) -> PanelProblem:
    """Return a problem without the paths of the owner's files, which visitors must not see."""
    if not _PATH.search(_URL.sub("", f"{problem.what} {problem.next_step}")):
        return problem
    next_step = "Choose something else, or tell the owner of this page."
    return PanelProblem(problem.place, "This page is not set up for that.", next_step)


def _lower_first(label: str) -> str:
    return label[0].lower() + label[1:]


def _place(error: ToolkitError, mode: Mode, fields: Sequence[Field]) -> str:
    if isinstance(error, CassetteError):
        return "mode" if mode is Mode.LIVE else "cassette"
    if isinstance(error, ServiceError | TokenRefused):
        if error.status in _REFUSED:
            return _proof(fields).name if fields else "credentials"
        return "connect"
    if isinstance(error, Unreachable | UnsafeAddress | TokenResponseInvalid):
        return "environment"
    if isinstance(error, AccessError):
        return "credentials"
    if isinstance(error, ConfigurationError):
        is_environments = mode is Mode.REPLAY or error.about == "environment" or error.about in ADDRESS_NAMES
        return "environment" if is_environments else "credentials"
    return "connect"


def _proof(fields: Sequence[Field]) -> Field:
    return next(field for field in fields if field.is_proof)
