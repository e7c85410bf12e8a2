"""The arguments of a new session: who calls, and whose certificates and proxy are trusted.

Editors export the `.env` of a project into the process. Whoever wrote that file could vouch for a server of his own,
write down the keys of connections, or name a proxy with a reference to a secret in its URL, which the editor expands.
So such a file does not choose them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.cassettes.paths import same_name_in_project
from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.local.dotenv import refuse_exported
from toolkit.local.settings import VERIFY, Settings
from toolkit.local.variables import VERIFY_VARIABLE
from toolkit.transport.certificates import AUTHORITY_VARIABLES, KEY_LOG_VARIABLE, SYSTEM, Verify, as_verify
from toolkit.transport.network import PROXY_VARIABLES

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
        raise ConfigurationError(
            "Credentials are a KeyPair, a ClientSecret, a ClientKey or a profile name, "
            f"not {type(credentials).__name__}.",
            'For example tk.KeyPair(key_id, secret_key, environment="paper").',
            about="credentials",
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


def check_trust(verify: Verify, settings: Settings, *, needs_proxy: bool) -> Verify:
    """Return whose certificates a session that may send trusts: with True, what the settings say, or httpx's.

    Raises:
        ConfigurationError: if `verify` is of a type that a session does not take.
        UnsafeAddress: if the project's `.env` sets the variable that names the authorities in force, or the file for
            the keys of connections; or a proxy for a session that may send beyond this machine.
    """
    trusted = settings.trusted or True if verify is True else as_verify(verify)
    variables: tuple[str, ...] = ()
    if trusted is True or trusted == SYSTEM:
        variables = AUTHORITY_VARIABLES
    elif verify is True and settings.place_of(VERIFY) == VERIFY_VARIABLE:
        variables = (VERIFY_VARIABLE,)
    project, in_your_own = settings.project, "set it in your own environment"
    to_trust = f"{in_your_own}; or pass the path of a file as verify= in code. {VERIFY_VARIABLE}={SYSTEM} may stay."
    refuse_exported(variables, project, "whom you trust", to_trust, about=VERIFY)
    to_log = f"{in_your_own}, if you want to see what is sent."
    refuse_exported((KEY_LOG_VARIABLE,), project, "who can read what is sent", to_log, about=KEY_LOG_VARIABLE)
    hosts = (Address.parse(text, setting=name).origin.host for name, text in settings.addresses.items())
    if needs_proxy and not all(map(is_loopback, hosts)):
        refuse_exported(
            PROXY_VARIABLES, project, "your proxy", f"{in_your_own}, or pass proxy= in code.", about="proxy"
        )
    return trusted


def _without_environment(cassette: Cassette | None, settings: Settings) -> ConfigurationError:
    """Return the error for a session that has nothing to replay, or whose cassette's name may be misspelt."""
    choices = f"give one of {', '.join(Environment)}, or give credentials, which belong to one"
    if cassette is not None and cassette.mode != "all" and not cassette.replays:
        from toolkit.cassettes.replay import misses

        elsewhere = same_name_in_project(cassette.path, settings)
        missing = misses.missing(cassette.path, elsewhere=elsewhere, to_record=choices)
        what = f"{missing.what} To record one, the session needs an environment."
        return ConfigurationError(what, missing.next_step, about="environment")
    what = f"To {'call live' if cassette is None else 'record'}, the session needs an environment."
    if cassette is not None and cassette.replays:
        what += " A recording chooses it only in a mode that replays, since other modes may send requests."
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
