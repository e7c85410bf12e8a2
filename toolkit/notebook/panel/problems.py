"""What is wrong, in words beside the control of the panel that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolkit.cassettes.paths import find_cassette
from toolkit.cassettes.replay.misses import names_alike
from toolkit.core.document import Environment
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
from toolkit.core.escaping import excerpt
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import HOW_TO_GIVE_A_KEY, PASSPHRASE, Field, Mode

if TYPE_CHECKING:
    from pathlib import Path

    from toolkit.auth.profiles.saving import Profile

_UNAUTHORIZED: Final = 401  # RFC 9110 section 15.5.2
_ANYTHING: Final = "client ID, secret or key"  # as errors name what may be wrong, who do not know what was typed
_REFUSED: Final = frozenset({400, 401, 403})  # invalid_client is 400 or 401, RFC 6749 section 5.2


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and the field that it is about.

    Attributes:
        place: "environment", "mode", "cassette", "credentials", the name of a `Field`, or "connect" for none of them.
        what: what happened.
        next_step: what to do about it.
    """

    place: str
    what: str
    next_step: str = ""


_NO_NAME: Final = re.compile(r"[./\\]")

NO_CASSETTE_NAMED: Final = Problem("cassette", "The cassette has no name.", "Give one, such as tour.")
KEY_IS_ENCRYPTED: Final = Problem(PASSPHRASE.name, "This private key is encrypted.", "Type its passphrase.")
NOT_FOR_VISITORS: Final = Problem(
    "credentials", "The saved credentials that this notebook names are not offered to its visitors.", "Type yours."
)


def missing_profile(environment: Environment, profiles: Iterable[Profile], named: str | None) -> Problem | None:
    """That the profile which the notebook names is not saved here, if so."""
    if named is None or any((each.environment, each.name) == (environment, named) for each in profiles):
        return None
    # The name is not quoted: a secret given in its place would be saved with the notebook's widgets.
    what = f"No credentials of the name that this notebook gives are saved for {environment}."
    return Problem("credentials", what, "Choose others, or type them.")


def nearly_called(named: str | Path, settings: Settings) -> Problem | None:
    """That there is no cassette of the name that the notebook gives, but one of nearly that name: a slip, perhaps."""
    path = find_cassette(named, settings)
    alike = [] if path.exists() else names_alike(path)
    if not alike:
        return None
    return Problem("cassette", f"There is no cassette {excerpt(path.name)} yet, but {', '.join(alike)}.")


def wrong_name(name: str, settings: Settings) -> Problem | None:
    """Why a name that was typed for a new cassette is none: in code a path may be given, here it would surprise."""
    if not name:
        return NO_CASSETTE_NAMED
    if _NO_NAME.search(name):
        what = f"A new cassette cannot be called {excerpt(name)!r}: it goes into the cassettes folder."
        return Problem("cassette", what, 'Give a name of letters, digits, spaces, "-" and "_".')
    try:
        find_cassette(name, settings)
    except ConfigurationError as error:
        return Problem("cassette", error.what, error.next_step)
    return None


def no_cassettes(settings: Settings) -> Problem:
    """That there is nothing to replay."""
    return Problem("cassette", f"There are no cassettes in {excerpt(str(settings.cassettes))}.", "Record one first.")


def unexpected(error: Exception) -> Problem:
    """An error that is none of ours; its text may hold anything, so only its kind is named."""
    return Problem(
        "connect", f"Connecting failed: {type(error).__name__}.", "Open a tk.Session in a cell to see where."
    )


def problem_of(error: ToolkitError, *, mode: Mode, fields: Sequence[Field] = ()) -> Problem:
    """What kept the panel from connecting, as words beside the control that it is about.

    Args:
        error: what was raised.
        mode: what was being connected to.
        fields: the fields whose texts were used; none for credentials that were not typed.
    """
    place, what, next_step = _place(error, mode, fields), error.what, error.next_step
    if isinstance(error, ServiceError) and error.status == _UNAUTHORIZED:
        # The call was the panel's own: nobody asked for its table.
        what = f"The service did not accept these credentials (status {error.status})."
        next_step = f"Check {_ANYTHING}, and that they belong to this environment."
    if fields:
        next_step = next_step.replace(_ANYTHING, " and ".join(_in_a_sentence(field.label) for field in fields))
    return Problem(place, what, next_step)


def problem_of_text(error: ToolkitError, fields: Sequence[Field]) -> Problem:
    """What is wrong with a text that was typed, as words beside its field."""
    if "encrypted with a passphrase" in error.what:
        return KEY_IS_ENCRYPTED
    # Words about a passphrase name the private key, too.
    field = next((each for each in reversed(fields) if each.label.lower() in error.what.lower()), _proof(fields))
    # In code a key may be a Path or an object, on the panel it is one of these two.
    next_step = HOW_TO_GIVE_A_KEY if field.is_key and "pathlib" in error.next_step else error.next_step
    return Problem(field.name, error.what, next_step)


def _in_a_sentence(label: str) -> str:
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
        return "environment" if mode is Mode.REPLAY or "address" in error.what else "credentials"
    return "connect"


def _proof(fields: Sequence[Field]) -> Field:
    return next(field for field in fields if field.is_proof)
