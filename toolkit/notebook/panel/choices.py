"""What the panel's form offers to choose from: plain values and functions, no widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials
from toolkit.cassettes.paths import find_cassette
from toolkit.core.document import CredentialKind, Environment
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline

if TYPE_CHECKING:
    from toolkit.auth.profiles.fields import Profile
    from toolkit.auth.profiles.practice_profiles import RunningService

NEW_CASSETTE: Final = ""  # the value of the choice "new …"
DEFAULT_NAME: Final = "default"
_PRACTICE_PLACE: Final = "practice service"


class Mode(StrEnum):
    """The way a session handles calls: it sends them, sends and records them, or replays recorded calls."""

    LIVE = "live"
    RECORD = "record"
    REPLAY = "replay"


# An environment is called "live" too, so the panel names this mode by what it does.
_MODE_LABELS: Final[Mapping[Mode, str]] = {
    Mode.LIVE: "call the service",
    Mode.RECORD: "record · call and keep the answers",
    Mode.REPLAY: "replay · nothing is sent",
}


@dataclass(frozen=True, slots=True)
class SavedChoice:
    """A saved profile, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class NewChoice:
    """Credentials of one kind that are still to be typed."""

    kind: CredentialKind


CredentialsChoice = Credentials | SavedChoice | NewChoice


def is_for_visitors(environ: Mapping[str, str]) -> bool:
    """Return True if this kernel answers visitors of a Voila server, who do not own the machine.

    Voila sets variables in the kernel's environment. A kernel that it starts ahead of its visitor (`--preheat_kernel`)
    gets neither the address of the request nor the name of the server, so any of the variables counts.

    Args:
        environ: environment variables of the kernel.
    """
    server = environ.get("SERVER_SOFTWARE", "").lower()
    return server.startswith("voila/") or any(name.upper().startswith("VOILA_") for name in environ)


def first_mode(cassette: str | Path | None, settings: Settings, *, for_visitors: bool = False) -> Mode:
    """Return the mode to start with: replay for an existing cassette, record for a new one, live without one.

    Args:
        cassette: the cassette that the notebook names.
        settings: where cassettes are.
        for_visitors: True if nothing may be recorded.

    Raises:
        ConfigurationError: if `cassette` is neither a name nor a path.
    """
    if is_offline():
        return Mode.REPLAY
    if cassette is None:
        return Mode.LIVE
    if find_cassette(cassette, settings).is_file():
        return Mode.REPLAY
    return Mode.LIVE if for_visitors else Mode.RECORD


def first_environment(profiles: Iterable[Profile]) -> Environment:
    """Return the environment to start with if the notebook does not name one; it never has a real account."""
    harmless = (profile.environment for profile in profiles if not profile.environment.rules.real_account)
    return next(harmless, Environment.PAPER)


def mode_choices(*, named: str | Path | None = None, for_visitors: bool = False) -> list[tuple[str, Mode]]:
    """Return the label and value of each mode that can be chosen now.

    Args:
        named: the cassette that the notebook names.
        for_visitors: True if nothing may be recorded and only the named cassette replayed.
    """
    modes = {Mode.REPLAY} if is_offline() else {*Mode}
    if for_visitors and not is_offline():
        modes = {Mode.LIVE} if named is None else {Mode.LIVE, Mode.REPLAY}
    return [(label, mode) for mode, label in _MODE_LABELS.items() if mode in modes]


def environment_choices() -> list[tuple[str, str]]:
    """Return the label and value of every environment."""
    return [(f"{environment} · {environment.rules.holder}", str(environment)) for environment in Environment]


def cassette_choices(
    settings: Settings, named: Iterable[str | Path] = (), *, listed: bool = True, new: bool = False
) -> list[tuple[str, str | Path]]:
    """Return the label and value of each cassette to choose from.

    Args:
        settings: where the cassettes folder is.
        named: cassettes that the notebook names or the panel recorded; they need not exist yet.
        listed: True to offer the cassettes in the folder too.
        new: True to offer a new cassette.
    """
    names = sorted(file.stem for file in settings.cassettes_folder.glob("*.yaml")) if listed else []
    choices: list[tuple[str, str | Path]] = [(name, name) for name in names if not name.endswith(".part")]
    choices = [(Path(name).name, name) for name in named if name not in names] + choices
    return [*choices, ("new …", NEW_CASSETTE)] if new else choices


def credential_choices(
    environment: Environment,
    profiles: Iterable[Profile],
    in_notebook: Iterable[Credentials] = (),
    practice: Sequence[RunningService] = (),
) -> list[tuple[str, CredentialsChoice]]:
    """Return the label and value of all credentials to choose from: name, place and, if there are several, kind.

    First those in this notebook, then saved ones, then those of practice services, and last those still to be typed.

    Args:
        environment: the environment of the credentials to offer.
        profiles: saved profiles of any environment.
        in_notebook: credentials passed to the panel or typed into it, of any environment.
        practice: the practice services that run in this kernel.
    """
    kinds = sorted(environment.rules.credentials, key=list(CredentialKind).index)

    def label(name: str, place: str, kind: CredentialKind) -> str:
        return " · ".join([name, place, *([kind] if len(kinds) > 1 else [])])

    here = [credentials for credentials in in_notebook if credentials.environment is environment]
    saved = [profile for profile in profiles if profile.environment is environment]
    options: list[tuple[str, CredentialsChoice]] = [
        (label(own.name, _PRACTICE_PLACE if own.is_practice else "this notebook", own.kind), own) for own in here
    ]
    options += [(label(item.name, item.source, item.kind), SavedChoice(item.name)) for item in saved]
    for number, service in enumerate(practice, start=1):
        place = f"{_PRACTICE_PLACE} {number}" if len(practice) > 1 else _PRACTICE_PLACE
        options += [
            (label(own.name, place, own.kind), own)
            for own in service.credentials.values()
            if own.environment is environment and not any(own is other for other in here)
        ]
    return [*options, *((f"new {kind} …", NewChoice(kind)) for kind in kinds)]


def kept_or_first(
    options: Sequence[tuple[str, CredentialsChoice]], chosen: CredentialsChoice | None, profile: str | None
) -> CredentialsChoice:
    """Return the choice if it is still there, else the one to start with.

    Practice credentials are kept by their name: a service that starts again makes up new ones.
    """
    values = [value for _, value in options]
    if chosen is not None and chosen in values:
        return chosen
    if isinstance(chosen, Credentials) and chosen.is_practice:
        new = (value for value in values if isinstance(value, Credentials) and value.is_practice)
        again = next((value for value in new if value.name == chosen.name), None)
        if again is not None:
            return again
    return first_credentials(options, profile)


def first_credentials(options: Sequence[tuple[str, CredentialsChoice]], profile: str | None) -> CredentialsChoice:
    """Return the choice to start with: the named profile, else the first choice, and among saved ones `default`.

    If the named profile is not there, no other saved profile is chosen in its place.
    """
    values = [value for _, value in options]
    default = SavedChoice(DEFAULT_NAME)
    if profile is None and isinstance(values[0], SavedChoice) and default in values:
        return default
    if profile is None or SavedChoice(profile) in values:
        return values[0] if profile is None else SavedChoice(profile)
    return next(value for value in values if not isinstance(value, SavedChoice))
