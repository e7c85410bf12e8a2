"""The parts of a new session: its cassette, environment, credentials, token store, and whose certificates it trusts.

Editors export the `.env` of a project into the process. Whoever wrote that file could vouch for a server of his own,
write down the keys of connections, or name a proxy with a reference to a secret in its URL, which the editor expands.
So such a file does not choose them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.auth.tokens.single_flight import SHARED_IN_PROCESS, MemoryTokenStore
from toolkit.auth.tokens.store import TokenStore
from toolkit.cassettes import cell_cassette
from toolkit.cassettes.paths import as_mode, same_name_in_project
from toolkit.core.addresses import Address, is_loopback
from toolkit.core.clock import Clock
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteMiss, ConfigurationError, CredentialsMismatch, UnsafeAddress
from toolkit.local.dotenv import exported_by
from toolkit.local.files import shown
from toolkit.local.settings import VERIFY, Settings
from toolkit.local.variables import VERIFY_VARIABLE, is_offline
from toolkit.transport.certificates import AUTHORITY_VARIABLES, KEY_LOG_VARIABLE, SYSTEM, Verify, as_verify
from toolkit.transport.network import PROXY_VARIABLES, ProxyTypes

# A live session loads neither cassettes nor the scrubber, which would double the time of its first call.
if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette


class ResolvedCredentials(NamedTuple):
    """The caller of a session.

    Attributes:
        environment: the environment that is called.
        credentials: the credentials; None in a replay without credentials.
        profile: name of the profile whose recordings are replayed; None for any profile.
    """

    environment: Environment
    credentials: Credentials | None
    profile: str | None


def open_cassette(cassette: Cassette | str | Path | None, mode: str | None, *, settings: Settings) -> Cassette | None:
    """Return the cassette of a session: the one in the arguments, else that of the running cell, else None for live.

    Raises:
        CassetteMiss: if the cassette to replay does not exist, or none is named while offline.
        CassetteCorrupt: if the file is not a cassette.
        ConfigurationError: if a mode comes without a cassette, or if an open cassette has another mode.
    """
    as_mode(mode)
    cassette = cell_cassette.current() if cassette is None else cassette
    if cassette is None:
        _check_live(mode)
        return None
    from toolkit.cassettes.cassette import Cassette

    if isinstance(cassette, str | Path):
        return Cassette(cassette, mode, settings=settings)
    if not isinstance(cassette, Cassette):
        raise ConfigurationError(
            f"A cassette is a name, a path or a Cassette, not {type(cassette).__name__}.",
            'For example cassette="tour".',
            about="cassette",
        )
    if mode is not None and as_mode(mode) != cassette.mode:
        raise ConfigurationError(
            f"The cassette is open with mode {cassette.mode}, not {mode}.",
            "Leave out mode, or name the cassette by its path.",
            about="mode",
        )
    register_with(cassette, settings)
    return cassette


def _check_live(mode: str | None) -> None:
    if is_offline():
        raise CassetteMiss(
            "The session has no cassette to replay, and TOOLKIT_OFFLINE keeps calls from being sent.",
            "Name a cassette to replay; to go online, unset TOOLKIT_OFFLINE and start again.",
            about="cassette",
        )
    if mode is not None:
        what = f"The mode {mode} needs a cassette."
        raise ConfigurationError(what, 'Name a cassette, such as cassette="tour".', about="cassette")


def register_with(cassette: Cassette, settings: Settings) -> None:
    """Add the addresses, header prefix and rules of a session to the open cassette that it uses."""
    from toolkit.scrubbing.rules.model import project_rules

    cassette.scrubber.use_addresses(settings.addresses, settings.header_prefix)
    cassette.scrubber.add_rules(project_rules(settings))


def resolve_credentials(
    environment: Environment | str | None,
    credentials: Credentials | str | None,
    *,
    cassette: Cassette | None,
    settings: Settings,
) -> ResolvedCredentials:
    """Return the caller, from the arguments of a session, its cassette and the saved profiles.

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
        return ResolvedCredentials(credentials.environment, credentials, credentials.name)
    if credentials is not None and not isinstance(credentials, str):
        raise ConfigurationError(
            "Credentials are a KeyPair, a ClientSecret, a ClientKey or a profile name, "
            f"not {type(credentials).__name__}.",
            'For example tk.KeyPair(key_id, secret_key, environment="paper").',
            about="credentials",
        )
    if cassette is not None and not cassette.records:
        return ResolvedCredentials(requested or _environment_of(cassette), None, credentials)
    if requested is None:  # this mode may send, so a file does not choose where to
        raise _without_environment(cassette, settings)
    from toolkit.auth.profiles.saving import load_credentials

    try:
        loaded = load_credentials(requested, credentials, settings=settings)
    except ConfigurationError:
        if credentials is None and cassette is not None and cassette.replays:
            # Recorded calls replay without credentials; any other call says which credentials it needs.
            return ResolvedCredentials(requested, None, None)
        raise
    return ResolvedCredentials(requested, loaded, loaded.name)


def open_token_store(
    store: TokenStore | MemoryTokenStore | str | None, *, clock: Clock | None
) -> TokenStore | MemoryTokenStore:
    """Return where a session keeps its tokens.

    Args:
        store: None for this process, "shared" for the user's cache folder, or a store.
        clock: the clock that was passed to the session, or None. Its tokens are useless to other sessions, so they are
            not shared.

    Raises:
        ConfigurationError: if `store` is none of these.
    """
    if store is None:
        return SHARED_IN_PROCESS if clock is None else MemoryTokenStore()
    if store == "shared":
        from toolkit.auth.tokens.file_store import user_token_store

        return user_token_store()
    if isinstance(store, MemoryTokenStore | TokenStore):
        return store
    raise ConfigurationError(
        'token_store is neither "shared" nor a store with the methods read, write and try_lock.',
        'Leave it out to keep tokens in this process, or use token_store="shared".',
        about="token_store",
    )


def session_verify(verify: Verify, *, cassette: Cassette | None, settings: Settings) -> Verify:
    """Return whose certificates a session trusts: with True what the settings say, and httpx's if they say nothing.

    Raises:
        ConfigurationError: if it is nothing that a session takes.
        UnsafeAddress: if the project's `.env` sets the variable that names the authorities in force, to a file or
            folder, or that names the file for the keys of connections.
    """
    trusted = settings.trusted or True if verify is True else as_verify(verify)
    if cassette is not None and not cassette.records:
        return trusted
    variables: tuple[str, ...] = ()
    if trusted is True or trusted == SYSTEM:
        variables = AUTHORITY_VARIABLES
    elif verify is True and settings.place_of(VERIFY) == VERIFY_VARIABLE:
        variables = (VERIFY_VARIABLE,)
    to_trust = (
        f"set it in your own environment; or pass the path of a file as verify= in code. {VERIFY_VARIABLE}={SYSTEM} "
        "may stay."
    )
    _refuse_exported(variables, settings, "whom you trust", to_trust, about=VERIFY)
    to_log = "set it in your own environment, if you want to see what is sent."
    _refuse_exported((KEY_LOG_VARIABLE,), settings, "who can read what is sent", to_log, about=KEY_LOG_VARIABLE)
    return trusted


def check_proxy(proxy: ProxyTypes | None, *, cassette: Cassette | None, settings: Settings) -> None:
    """Check that the project's `.env` does not choose the proxy of a session that may send beyond this machine.

    Raises:
        UnsafeAddress: if it sets a proxy variable, and code does not name a proxy.
    """
    if proxy is not None or (cassette is not None and not cassette.records):
        return
    hosts = (Address.parse(text, setting=name).origin.host for name, text in settings.addresses.items())
    if not all(map(is_loopback, hosts)):
        to_set = "set it in your own environment, or pass proxy= in code."
        _refuse_exported(PROXY_VARIABLES, settings, "your proxy", to_set, about="proxy")


def _refuse_exported(names: Iterable[str], settings: Settings, what: str, otherwise: str, *, about: str) -> None:
    """Raise if the project's `.env` sets one of the variables, of which this process has at least one."""
    names = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
    exported = exported_by(settings.project, beside=VERIFY_VARIABLE in names) if names else {}
    for name in names:
        if name in exported:
            raise UnsafeAddress(
                f"{shown(exported[name])} sets {name}, and the file of a project does not choose {what}.",
                f"Take it out there, and {otherwise}",
                about=about,
            )


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
