"""Who calls: the environment and the credentials of a new session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.cassettes.paths import same_name_in_project
from toolkit.core.arguments import wrong_type
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.local.settings import Settings

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette


def resolve_credentials(
    environment: Environment | str | None,
    credentials: Credentials | str | None,
    *,
    cassette: Cassette | None,
    settings: Settings,
) -> tuple[Environment, Credentials | None, str | None]:
    """Return the environment, the credentials, and the profile whose recordings are replayed, None for any.

    Raises:
        ConfigurationError: if environment or credentials are missing or malformed.
        CredentialsMismatch: if the credentials belong to another environment.
    """
    requested = None if environment is None else as_environment(environment)
    if isinstance(credentials, Credentials):
        if requested is not None and requested is not credentials.environment:
            raise CredentialsMismatch(
                f"These credentials are for {credentials.environment}, not for {requested}.",
                f"Leave out the environment, or use credentials for {requested}.",
                about="credentials",
            )
        return credentials.environment, credentials, credentials.name
    if credentials is not None and not isinstance(credentials, str):
        raise wrong_type(
            "credentials",
            "a KeyPair, a ClientSecret, a ClientKey or a profile name",
            credentials,
            'For example tk.KeyPair(key_id, secret_key, environment="paper").',
        )
    if cassette is not None and not cassette.records:
        return requested or _environment_of(cassette), None, credentials
    if requested is None:  # this mode may send, so a file does not choose where to
        raise _without_environment(cassette, settings)
    from toolkit.auth.profiles.saving import load_credentials

    try:
        loaded = load_credentials(requested, credentials, settings=settings)
    except ConfigurationError:
        if credentials is None and cassette is not None and cassette.replays:
            # Recorded calls replay without credentials; any other call says which credentials it needs.
            return requested, None, None
        raise
    return requested, loaded, loaded.name


def _without_environment(cassette: Cassette | None, settings: Settings) -> ConfigurationError:
    """Return the error for a session that has nothing to replay, or whose cassette's name may be misspelt."""
    choices = f"give one of {', '.join(Environment)}, or give credentials, which belong to one"
    if cassette is not None and cassette.mode != "all" and not cassette.replays:
        from toolkit.cassettes.replay import differences

        elsewhere = same_name_in_project(cassette.path, settings)
        missing = differences.missing(cassette.path, elsewhere=elsewhere, to_record=f"to record it, {choices}")
        return ConfigurationError(missing.what, missing.next_step, about="environment")
    what = "A session that may send requests needs an environment, which a cassette does not choose for it."
    return ConfigurationError(what, f"{choices.capitalize()}.", about="environment")


def _environment_of(cassette: Cassette) -> Environment:
    names = cassette.environments
    if len(names) == 1:
        return as_environment(names[0])
    content = f"It holds calls of {', '.join(names)}" if names else "It does not say which environment was called"
    raise ConfigurationError(
        f"The cassette {cassette.path.name} does not determine the environment.",
        f"{content}; give the session one of {', '.join(Environment)}.",
        about="environment",
    )
