"""Where credentials come from: named profiles, each of one environment.

They are looked for in this order, and the first place that has a name gives it:

1. environment variables: TOOLKIT_BROKER_SANDBOX_CLIENT_ID and the like make up the profile "default",
   TOOLKIT_BROKER_SANDBOX__MY_FUND_CLIENT_ID and the like the profile "my-fund";
2. the same variables in the `.env` file of the project's folder, without getting into `os.environ`;
3. profiles saved with `save_credentials`, in the system keyring or a file of the user's own;
4. the person at the keyboard, when asked to ask.

A place gives all of a profile or nothing: parts of two places are never put together, or a cloned
repository's `.env` could add what it likes to the user's secret.

Saved profiles are bound to the origins of the addresses that they were saved for. Variables and `.env`
are not: whoever sets them has chosen where they apply. In replay nothing of this is needed.

A file `<environment>.<name>.toml` in the folder of saved profiles may be written by hand:

    client_id = "..."
    private_key_file = "~/keys/broker.pem"     # or client_secret_file, secret_key_file; relative to the file

    [origins]
    auth = "https://auth.example.com"
    broker = "https://broker.example.com"
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolkit.credentials import Credentials, as_environment
from toolkit.errors import ConfigurationError, ToolkitError
from toolkit.profiles.binding import origins_of
from toolkit.profiles.document import Document, Marker, parse, render, render_marker
from toolkit.profiles.dotenv import FILE_NAME, given_in_dotenv
from toolkit.profiles.environ import DEFAULT, given_in, variable
from toolkit.profiles.fields import REQUIRED, Given, decompose
from toolkit.profiles.files import SavedProfile, profile_at, profiles_folder, saved_profiles, write
from toolkit.profiles.keyring import store
from toolkit.profiles.listing import Profile, ProfileList, shown
from toolkit.profiles.prompt import ask, ask_unseen, can_ask
from toolkit.profiles.warning import warn
from toolkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolkit.profiles.listing import Candidate
    from toolkit.service import Environment

VARIABLES = "environment variables"

__all__ = ["Profile", "load_credentials", "remove_credentials", "save_credentials", "saved_credentials"]


def saved_credentials(*, settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> list[Profile]:
    """What profiles there are and where from, by environment and name; never a value, and no keyring is opened.

    Where two places have a profile of the same name, the one that would be used is listed. A profile
    that is half given or unreadable is left out, with a warning that says what is wrong.

    Args:
        settings: where the project is, by default as `Settings.load()` finds it.
        environ: environment variables, by default those of the process.

    Raises:
        ConfigurationError: `.env` or the folder of saved profiles cannot be read.
    """
    profiles = ProfileList()
    seen: set[tuple[Environment, str]] = set()
    for candidate in _candidates(_settings(settings, environ), environ):
        if (candidate.environment, candidate.name) in seen:
            continue
        seen.add((candidate.environment, candidate.name))
        try:
            profiles.append(candidate.profile())
        except ToolkitError as error:
            warn(f"Left out: {error}")
    order = list(type(next(iter(seen))[0])) if seen else []
    profiles.sort(key=lambda profile: (order.index(profile.environment), profile.name))
    return profiles


def load_credentials(
    environment: Environment | str,
    name: str | None = None,
    *,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    prompt: Callable[[str], str] | bool | None = None,
) -> Credentials:
    """The credentials of a profile.

    Args:
        environment: whose profiles to look at.
        name: the profile; None for the only one that the environment has.
        settings: where the project is, and the addresses that the credentials are about to be used with.
        environ: environment variables, by default those of the process.
        prompt: whether to ask when there are none and somebody is there to answer, or what to ask with.

    Raises:
        ConfigurationError: there is no such profile, or there are several; one is half given or malformed.
        CredentialsMismatch: a variable or file gives what the environment does not take.
        UnsafeAddress: a saved profile was saved for other addresses than the settings now give.
    """
    environment, settings = as_environment(environment), _settings(settings, environ)
    candidates = (each for each in _candidates(settings, environ) if each.environment is environment)
    if name is not None:
        chosen = next((each for each in candidates if each.name == name), None)
        if chosen is not None:
            return chosen.credentials()
        candidates = (each for each in _candidates(settings, environ) if each.environment is environment)
    first_by_name: dict[str, Candidate] = {}
    for candidate in candidates:
        first_by_name.setdefault(candidate.name, candidate)
    if name is None and len(first_by_name) == 1:
        return first_by_name.popitem()[1].credentials()
    if prompt and (name is not None or not first_by_name) and (callable(prompt) or can_ask()):
        return ask(environment, name or DEFAULT, prompt if callable(prompt) else ask_unseen, settings.project)
    raise _not_found(environment, name, sorted(first_by_name), settings)


def save_credentials(credentials: Credentials, name: str, *, settings: Settings | None = None) -> Profile:
    """Save credentials under a name, for the addresses that the settings give; replaces a profile of that name.

    They go into the system keyring. Where there is none, they go into a file that only its user may read,
    with a warning that names it.

    Raises:
        ConfigurationError: the private key is kept elsewhere, no address of the environment is set, the name
            is none, or neither keyring nor file can be written.
    """
    settings = _settings(settings, None)
    document = Document(decompose(credentials), origins_of(credentials.environment, settings))
    text = render(document)
    saved = profile_at(credentials.environment, _checked_name(credentials, name, text.reveal()), settings)
    replaced = _entry_of(saved)
    entry = store(saved.label, text)
    if entry is not None:
        write(saved.file, render_marker(Marker(credentials.kind, entry)))
    else:
        write(saved.file, text.reveal())
        warn(
            f"No system keyring takes the credentials: they are now in {shown(saved.file)}, unencrypted, "
            "for you alone to read. Anything that runs as you can read them as well."
        )
    ...
