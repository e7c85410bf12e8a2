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
    private_key_passphrase_file = "~/keys/it"  # or private_key_passphrase
    assertion_lifetime = "30"                  # seconds; also algorithm, audience, private_key_id
    assertion_typ = "none"                     # leaves out what is "JWT" by default
    form_fields = "scope=accounts.read"        # as a form is sent; with a client secret too

    [origins]
    auth = "https://auth.example.com"
    broker = "https://broker.example.com"
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.auth.profiles.document import Document, Marker, origins_of, parse, render, render_marker
from toolkit.auth.profiles.fields import REQUIRED, Given
from toolkit.auth.profiles.keyring import store
from toolkit.auth.profiles.lookup import candidates, survey
from toolkit.auth.profiles.profile import Profile, ProfileList
from toolkit.auth.profiles.prompt import ask, ask_unseen, can_ask
from toolkit.auth.profiles.saved import (
    KEYRING,
    delete,
    profile_at,
    profiles_folder,
    saved_profiles,
    write,
)
from toolkit.auth.profiles.serialize import decompose
from toolkit.auth.profiles.variables import DEFAULT, FILE_NAME, variable
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.escaping import excerpt
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.core.warn import warn
from toolkit.local.files import shown
from toolkit.local.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolkit.auth.profiles.keyring import Entry
    from toolkit.auth.profiles.profile import Candidate
    from toolkit.core.secret import Secret

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
    for found in survey(_settings(settings, environ), environ):
        if isinstance(found.outcome, Profile) and found.comes_first:
            profiles.append(found.outcome)
        elif found.comes_first:
            warn(f"Left out: {found.outcome}")
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
    first: dict[str, Candidate] = {}
    for candidate in candidates(settings, environ):
        if candidate.environment is environment:
            if candidate.name == name:
                return candidate.credentials()
            first.setdefault(candidate.name, candidate)
    if name is None and len(first) == 1:
        return first.popitem()[1].credentials()
    if name is None and first:
        raise ConfigurationError(
            f"There are several profiles for {environment}: {', '.join(sorted(first))}.",
            "Say which of them by its name.",
        )
    if callable(prompt) or (prompt and can_ask()):
        return ask(environment, name or DEFAULT, prompt if callable(prompt) else ask_unseen)
    raise _not_found(environment, name, sorted(first), settings)


def save_credentials(credentials: Credentials, name: str, *, settings: Settings | None = None) -> Profile:
    """Save credentials under a name, for the addresses that the settings give; replaces a profile of that name.

    They go into the system keyring. Where there is none, they go into a file that only its user may read,
    with a warning that names it.

    Raises:
        ConfigurationError: the private key is kept elsewhere, no address of the environment is set, the name
            is not one, or neither keyring nor file can be written.
    """
    fields = decompose(credentials)
    environment = credentials.environment
    text = render(Document(fields, origins_of(environment, _settings(settings, None))))
    _check_that_it_loads(text, credentials, name)
    saved = profile_at(environment, name)
    replaced, entry = saved.entry(), store(saved.label, text)
    try:
        write(saved.file, text.reveal() if entry is None else render_marker(Marker(credentials.kind, entry)))
    except ToolkitError:
        _forget(entry)
        raise
    _forget(replaced)
    if entry is not None:
        return Profile(name, environment, credentials.kind, KEYRING)
    warn(
        f"No system keyring takes the credentials. They are now in {shown(saved.file)}, unencrypted: other users "
        "cannot read it, every program that you run can."
    )
    return Profile(name, environment, credentials.kind, shown(saved.file))


def remove_credentials(name: str, environment: Environment | str) -> None:
    """Remove a saved profile, from the keyring too.

    Raises:
        ConfigurationError: no such profile is saved, or the keyring or the folder does not let go of it.
    """
    environment = as_environment(environment)
    saved = {each.name: each for each in saved_profiles() if each.environment is environment}
    if name not in saved:
        raise ConfigurationError(
            f"No profile of that name is saved for {environment}.",
            f"Saved: {', '.join(saved) or 'none'}. Variables are yours to unset, and {FILE_NAME} is yours to edit.",
        )
    entry = saved[name].entry()
    if entry is not None:
        entry.delete()
    delete(saved[name].file)


def _settings(settings: Settings | None, environ: Mapping[str, str] | None) -> Settings:
    return Settings.load(environ=environ) if settings is None else settings


def _check_that_it_loads(text: Secret, credentials: Credentials, name: str) -> None:
    """Before anything is replaced: that what is about to be written makes equal credentials, under this name."""
    # Not all that is saved tells one token from another: the fingerprint alone would not do.
    environment, source = credentials.environment, "what is to be saved"
    document = parse(text.reveal(), source, source)
    if isinstance(document, Document):
        again = Given(environment, name, source, document.values, str, Path()).credentials()
        if again.fingerprint() == credentials.fingerprint() and decompose(again) == decompose(credentials):
            return
    raise ConfigurationError("These credentials cannot be saved as they are.", "Make them anew when you need them.")


def _forget(entry: Entry | None) -> None:
    """Remove what nothing refers to any more; a keyring that keeps it all the same does no harm."""
    if entry is not None:
        with suppress(ConfigurationError):
            entry.delete()


def _not_found(environment: Environment, name: str | None, others: list[str], settings: Settings) -> ConfigurationError:
    what = f"no profile {_called(name)} for {environment}" if name else f"no credentials for {environment}"
    choices = f"Choose one of {', '.join(others)}; or set" if others else "Set"
    return ConfigurationError(
        f"There {'is' if name else 'are'} {what}{', nor any other' if name and not others else ''}.",
        f"{choices} {what_to_set(environment, name)}, as environment variables or in "
        f"{shown(settings.project / FILE_NAME)}; or save a profile with `toolkit credentials add` or "
        f"save_credentials(). Looked there and in {shown(profiles_folder())}.",
    )


def _called(name: str) -> str:
    # A name that may be a secret, given in its place, is not quoted.
    return "of that name" if len(name) >= SHORTEST_SECRET else repr(excerpt(name))


def what_to_set(environment: Environment, name: str | None) -> str:
    """The variables that make up a profile, for each kind of credentials of the environment."""
    profile = DEFAULT if name in (None, DEFAULT) else "<PROFILE>"
    ways = [
        [variable(environment, profile, field) for field in REQUIRED[kind]]
        for kind in sorted(environment.rules.credentials, key=list(CredentialKind).index)
    ]
    return ", or ".join(" and ".join(names) for names in ways).replace("PRIVATE_KEY", "PRIVATE_KEY_FILE")
