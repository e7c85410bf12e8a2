"""Load, save, list and remove profiles, which come from several places in a fixed order of precedence.

The credentials of a practice service in this process are used only if the settings have its addresses for every
interface of the environment, so that no other address can receive them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials, as_profile_name
from toolkit.auth.destinations import Destination, check_destinations, destinations_of, note_destinations
from toolkit.auth.profiles.fields import (
    DEFAULT,
    Profile,
    ProfileFields,
    decompose,
    fields_in_dotenv,
    fields_in_variables,
    variables_to_set,
)
from toolkit.auth.profiles.saved import KEYRING, SavedProfile, profile_at, profiles_folder, saved_profiles
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.core.text import excerpt, list_text
from toolkit.core.tracebacks import frameless, warn
from toolkit.local.files import shown
from toolkit.local.folders import ENV_FILE, SETTINGS_FILE
from toolkit.local.settings import VARIABLES, Settings, as_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolkit.core.document import CredentialKind

# Practice services whose addresses are in the settings come before saved profiles, because they accept no other
# credentials. If such a service has stopped, no profile is used instead: another program may now be using its port.
_SERVICES: Final[list[RunningService]] = []
_COLUMNS: Final = ("environment", "profile", "kind", "source")


@dataclass
class RunningService:
    """A practice service in this process: its addresses, and the credentials that it accepts until it stops."""

    addresses: Mapping[str, str]
    credentials: Mapping[str, Credentials]


def register_service(addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Callable[[], None]:
    """Register a practice service that has started, and return a function to call when it stops."""
    service = RunningService(dict(addresses), credentials)
    _SERVICES.append(service)
    return lambda: setattr(service, "credentials", {})


def running_services() -> list[RunningService]:
    """Return the practice services that run in this process, in the order in which they started."""
    return [service for service in _SERVICES if service.credentials]


def _services_at(environment: Environment, settings: Settings) -> list[RunningService]:
    """Return the services whose addresses are in the settings for the environment, latest first."""
    wanted = {name: settings.addresses.get(name, "") for name in environment.rules.addresses.values()}
    return [service for service in reversed(_SERVICES) if wanted.items() <= service.addresses.items()]


def practice_credentials(environment: Environment, settings: Settings) -> dict[str, Credentials]:
    """Return an environment's practice credentials by name; empty unless the settings are for a running service."""
    own = next((service.credentials for service in _services_at(environment, settings)), {})
    return {name: each for name, each in own.items() if each.environment is environment}


def is_over(environment: Environment, settings: Settings) -> bool:
    """Return True if the settings point to a practice service in this process that has stopped."""
    services = _services_at(environment, settings)
    return bool(services) and not services[0].credentials


def is_practice(environment: Environment, credentials: Credentials | None, settings: Settings | None) -> bool:
    """Return True if a practice service made the credentials, or the settings point to one in this process."""
    if credentials is not None and credentials.is_practice:
        return True
    return settings is not None and bool(practice_credentials(environment, settings))


class ProfileList(list[Profile]):
    """Profiles, shown as a table in notebooks and terminals."""

    def __repr__(self) -> str:
        rows = [(profile.environment, profile.name, profile.kind, profile.source) for profile in self]
        return list_text(_COLUMNS, rows) if self else "No profiles."


@dataclass(frozen=True, slots=True)
class ListedProfile:
    """A profile found in one place, or the error raised when reading it."""

    environment: Environment
    name: str
    outcome: Profile | ToolkitError
    comes_first: bool  # False if an earlier place has a profile of this name, so that this one is not used


def profiles_in_order(settings: Settings, environ: Mapping[str, str] | None) -> Iterator[ProfileFields | SavedProfile]:
    """Yield every profile, reading each place only when it is needed. Using an invalid profile raises an error."""
    yield from fields_in_variables(os.environ if environ is None else environ, "environment variables", Path())
    yield from fields_in_dotenv(settings.project)
    yield from saved_profiles()


def survey(settings: Settings, environ: Mapping[str, str] | None) -> list[ListedProfile]:
    """Return all profiles, sorted by environment, name and precedence. No keyring is opened."""
    listed: list[ListedProfile] = []
    known = set()
    for profile in profiles_in_order(settings, environ):
        outcome: Profile | ToolkitError
        try:
            outcome = profile.profile()
        except ToolkitError as error:
            outcome = error.with_traceback(None)
        key = profile.environment, profile.name
        listed.append(ListedProfile(*key, outcome, key not in known))
        known.add(key)
    return sorted(listed, key=lambda each: (list(Environment).index(each.environment), each.name))


@frameless
def saved_credentials(*, settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> list[Profile]:
    """Return all profiles with their sources, sorted by environment and name.

    No value is shown and no keyring is opened. If two places have a profile of the same name, the one that would be
    used is listed. A profile that is incomplete or unreadable is left out, with a warning that states the problem.

    Args:
        settings: the settings of the project to look in; defaults to `Settings.load()`.
        environ: environment variables; defaults to `os.environ`.

    Raises:
        ConfigurationError: if `.env` or the folder of saved profiles cannot be read.
    """
    profiles = ProfileList()
    for listed in survey(_settings(settings, environ), environ):
        if isinstance(listed.outcome, Profile) and listed.comes_first:
            profiles.append(listed.outcome)
        elif listed.comes_first:
            warn(f"Left out: {listed.outcome}")
    return profiles


@frameless
def load_credentials(
    environment: Environment | str,
    name: str | None = None,
    *,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    anywhere: bool = False,
) -> Credentials:
    """Return the credentials of a profile or, if the settings are for a running practice service, practice credentials.

    If no name is given, the environment's only profile is used or, if there are several, `default`. `settings` name the
    project and the addresses that the credentials are about to be sent to. If `anywhere` is True, a saved profile is
    returned regardless of these addresses.

    Raises:
        ConfigurationError: if no profile matches, or if the profile is incomplete, invalid or cannot be decrypted.
        CredentialsMismatch: if a variable or file has a field that does not belong to the environment.
        UnsafeAddress: if a saved profile was saved for destinations that differ from the settings. (Credentials
            from variables are checked before each session's first live call.)
    """
    settings = _settings(settings, environ)
    environment = Environment(environment)
    practice = practice_credentials(environment, settings)
    if name in practice:
        return practice[name]
    if is_over(environment, settings):
        what = "The practice service with these addresses has stopped, so its credentials no longer work."
        raise ConfigurationError(what, "Start it again, and use the new settings.", about="name")
    by_name: dict[str, ProfileFields | SavedProfile] = {}
    for profile in profiles_in_order(settings, environ):
        if profile.environment is environment:
            by_name.setdefault(profile.name, profile)
            if profile.name == name:
                break
    chosen = next(iter(by_name), None) if name is None and len(by_name) == 1 else name or DEFAULT
    if chosen in by_name:
        credentials = by_name[chosen].credentials()
        if credentials.binding is not None and not anywhere:
            check_destinations(credentials, settings)
        return credentials
    raise _not_found(environment, name, [*practice, *sorted(by_name)], settings)


@frameless
def save_credentials(credentials: Credentials, name: str, *, settings: Settings | None = None) -> Profile:
    """Save credentials under a name, replacing any profile of that name.

    They are bound to the destinations in the settings: each address of their environment with its path prefix and, for
    a key pair, the header prefix.

    They are saved in a file that only the user can read, encrypted with a key in the system keyring. On a system
    without a keyring, the file is not encrypted, and a warning names it.

    Args:
        credentials: a KeyPair, ClientSecret or ClientKey.
        name: the name to load them by: `tk.Session("paper", "research")`.
        settings: settings with the addresses that may receive the credentials; defaults to the project's settings.

    Returns:
        The saved profile.

    Raises:
        ConfigurationError: if a Signer keeps the private key elsewhere, no address of the environment is set, the name
            is invalid, the keyring is locked or broken, or the file cannot be written.
    """
    fields, environment = decompose(credentials), credentials.environment
    saved = profile_at(environment, as_profile_name(name))
    destinations = destinations_to_save(environment, credentials.kind, _settings(settings, None))
    source = saved.save(fields, {name: text for name, text, _ in destinations}, credentials.kind)
    note_destinations(environment, destinations)
    if source != KEYRING:
        what = f"No system keyring is available. The credentials are now stored unencrypted in {source}"
        warn(f"{what}: other users cannot read this file, but every program that you run can.")
    return Profile(name, environment, credentials.kind, source)


def destinations_to_save(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Destination]:
    """Return the destinations that credentials are saved for."""
    destinations = destinations_of(environment, kind, settings)
    if not destinations:
        names = environment.rules.addresses.values()
        what = f"No address is set for {environment}, so these credentials cannot be bound to one."
        variables = ", ".join(VARIABLES[name] for name in names)
        where = f"Set {', '.join(names)} under [addresses] in {SETTINGS_FILE}, or the variables {variables}."
        raise ConfigurationError(what, where, about=next(iter(names)))
    return destinations


def remove_credentials(name: str, environment: Environment | str) -> None:
    """Remove a saved profile.

    Args:
        name: the name of the profile.
        environment: the environment that it belongs to.

    Raises:
        ConfigurationError: if no such profile is saved, or it cannot be removed.
    """
    environment = Environment(environment)
    try:
        profile_at(environment, as_profile_name(name)).file.unlink()
    except OSError as error:
        # The name is not quoted: somebody may have pasted a secret in its place.
        what = f"The saved profile for {environment} could not be removed: {error.strerror}."
        next_step = "`toolkit credentials list` shows all profiles. Only saved profiles can be removed."
        raise ConfigurationError(what, next_step, about="name") from None


def _settings(settings: Settings | None, environ: Mapping[str, str] | None) -> Settings:
    return Settings.load(environ=environ) if settings is None else as_settings(settings)


def _not_found(environment: Environment, name: str | None, others: list[str], settings: Settings) -> ConfigurationError:
    choice = f"Choose one of {', '.join(others)}. " if others else ""
    what = f"No profile exists for {environment}."
    if name is None and others:
        what = f"Several profiles exist for {environment}, and none is named {DEFAULT}."
    elif name is not None:  # a name long enough to be a misplaced secret is not quoted
        quoted = "of that name" if len(name) >= SHORTEST_SECRET else repr(excerpt(name))
        what = f"No profile {quoted} exists for {environment}."
    return ConfigurationError(
        what,
        f"{choice}To save a profile, run `toolkit credentials add NAME --environment {environment}` in a terminal, or "
        f"save_credentials() in Python. Or set {variables_to_set(environment, name)}, as environment variables or in "
        f"{shown(settings.project / ENV_FILE)}. These and the files in {shown(profiles_folder())} were searched.",
        about="name" if name else "credentials",
    )
