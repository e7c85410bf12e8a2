"""Opening a session: which cassette, environment, credentials, token store, and where its calls may go."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.auth.tokens.single_flight import SHARED_IN_PROCESS, MemoryTokenStore
from toolkit.auth.tokens.store import TokenStore
from toolkit.cassettes import cell_cassette
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.paths import as_mode, of_that_name
from toolkit.cassettes.replay import misses
from toolkit.core.clock import Clock
from toolkit.core.document import Environment, Interface, symbolic_address
from toolkit.core.errors import CassetteMiss, ConfigurationError, CredentialsMismatch, InterfaceNotAllowed
from toolkit.local.settings import Settings, is_offline
from toolkit.scrubbing.rules.model import project_rules
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber
from toolkit.session.scope import Scope


class ResolvedCredentials(NamedTuple):
    """Who a session is.

    Attributes:
        environment: which environment it calls.
        credentials: who calls; None in a replay without credentials.
        profile: whose recordings it replays; None for anybody's.
    """

    environment: Environment
    credentials: Credentials | None
    profile: str | None


def open_cassette(cassette: Cassette | str | Path | None, mode: str | None, *, settings: Settings) -> Cassette | None:
    """The cassette of a session: the one given, else that of the running cell, else None, which is live.

    Raises:
        CassetteMiss: there is none, and calls may not go out; or it is to be replayed and does not exist.
        CassetteCorrupt: the file is no cassette.
        ConfigurationError: a mode without a cassette, or another than an open one's.
    """
    as_mode(mode)
    if isinstance(cassette, str | Path):
        scrubber = Scrubber(
            KnownSecrets(),
            addresses=settings.addresses,
            header_prefix=settings.header_prefix,
            rules=project_rules(settings),
        )
        return Cassette(cassette, mode, settings=settings, scrubber=scrubber)
    if cassette is not None and not isinstance(cassette, Cassette):
        raise ConfigurationError(
            f"A cassette is a name, a path or a Cassette, not {type(cassette).__name__}.",
            'For example cassette="tour".',
        )
    if cassette is None:
        cassette = cell_cassette.current()
    if cassette is None:
        if is_offline():
            raise CassetteMiss(
                "There is no cassette to replay, and TOOLKIT_OFFLINE keeps calls from going out.",
                "Name a cassette to replay; to go online, unset TOOLKIT_OFFLINE and start again.",
            )
        if mode is not None:
            raise ConfigurationError(
                f"The mode {mode} is given without a cassette.", 'Name one, such as cassette="tour".'
            )
        return None
    if mode is not None and as_mode(mode) != cassette.mode:
        raise ConfigurationError(
            f"The cassette is open with mode {cassette.mode}, not {mode}.",
            "Leave out mode, or name the cassette by its path.",
        )
    join(cassette, settings)
    return cassette


def join(cassette: Cassette, settings: Settings) -> None:
    """Let an open cassette know the addresses and rules of a session that uses it."""
    cassette.scrubber.use_addresses(settings.addresses, settings.header_prefix)
    cassette.scrubber.add_rules(project_rules(settings))


def identify(
    environment: Environment | str | None,
    credentials: Credentials | str | None,
    *,
    cassette: Cassette | None,
    settings: Settings,
) -> ResolvedCredentials:
    """Environment and credentials of a session, from what was given, the cassette and the saved profiles.

    Raises:
        ConfigurationError: one of them is missing, or is none.
        CredentialsMismatch: the credentials belong to another environment.
    """
    asked = None if environment is None else as_environment(environment)
    if isinstance(credentials, Credentials):
        if asked is not None and asked is not credentials.environment:
            raise CredentialsMismatch(
                f"These credentials are for {credentials.environment}, not for {asked}.",
                "Leave the environment out, since credentials name theirs; or give those of the other environment.",
            )
        return ResolvedCredentials(credentials.environment, credentials, credentials.name)
    if credentials is not None and not isinstance(credentials, str):
        raise ConfigurationError(
            "Credentials are a KeyPair, a ClientSecret, a ClientKey or a profile name, "
            f"not {type(credentials).__name__}.",
            'For example tk.KeyPair(key_id, secret_key, environment="paper").',
        )
    if cassette is not None and not cassette.records:
        return ResolvedCredentials(asked or _environment_of(cassette), None, credentials)
    if asked is None and cassette is not None and cassette.replays:
        asked = _environment_of(cassette)
    if asked is None:
        raise _without_environment(cassette, settings)
    from toolkit.auth.profiles.saving import load_credentials  # a replay needs none of it

    try:
        loaded = load_credentials(asked, credentials, settings=settings)
    except ConfigurationError:
        if credentials is None and cassette is not None and cassette.replays:
            # What is recorded replays; a call that is not will say which credentials it needs.
            return ResolvedCredentials(asked, None, None)
        raise
    return ResolvedCredentials(asked, loaded, loaded.name)


def scope_of(
    interface: Interface, environment: Environment, *, cassette: Cassette | None, settings: Settings
) -> tuple[Scope, str]:
    """Where the calls of an interface may go, and the base URL of its client: in replay the symbolic address.

    Raises:
        InterfaceNotAllowed: section 1 gives this environment no such interface.
        ConfigurationError: its address is needed and not set.
    """
    rules = environment.rules
    name = rules.addresses.get(interface)
    if name is None:
        has = ", ".join(str(one) for one in rules.addresses if one is not Interface.AUTH)
        raise InterfaceNotAllowed(
            f"The environment {environment} has no {interface} interface.", f"A {rules.holder} may call: {has}."
        )
    may_do_without = cassette is not None and cassette.replays
    own = None if may_do_without and name not in settings.addresses else settings.address(name)
    symbolic = symbolic_address(name)
    others = [settings.address(other) for other, text in settings.addresses.items() if text.startswith(f"{own}/")]
    scope = Scope(interface, own=own, symbolic=symbolic, header_prefix=settings.header_prefix, others=others)
    replays_only = cassette is not None and not cassette.records
    return scope, symbolic if own is None or replays_only else str(own)


def open_token_store(
    given: TokenStore | MemoryTokenStore | str | None, *, clock: Clock | None
) -> TokenStore | MemoryTokenStore:
    """Where a session keeps its tokens: in this process, in the user's cache folder, or in a store given.

    Args:
        given: None, "shared", or a store.
        clock: a clock given to the session. Its tokens are of use to nobody who lives by another.

    Raises:
        ConfigurationError: it is none of these.
    """
    if given is None:
        return SHARED_IN_PROCESS if clock is None else MemoryTokenStore()
    if given == "shared":
        from toolkit.auth.tokens.file_store import user_token_store  # few sessions share their tokens

        return user_token_store()
    if isinstance(given, MemoryTokenStore | TokenStore):
        return given
    raise ConfigurationError(
        'token_store is neither "shared" nor a store with the methods read, write and try_lock.',
        'Leave it out to keep tokens in this process, or use token_store="shared".',
    )


def _without_environment(cassette: Cassette | None, settings: Settings) -> ConfigurationError:
    """The error for a session that has nothing to replay; what was meant may be a cassette of nearly that name."""
    give_one = f"give one of {', '.join(Environment)}, or credentials, which name theirs"
    if cassette is not None and cassette.mode != "all":
        elsewhere = of_that_name(cassette.path, settings)
        missing = misses.missing(cassette.path, elsewhere=elsewhere, to_record=give_one)
        return ConfigurationError(f"{missing.what} To record one, the session needs an environment.", missing.next_step)
    purpose = "call live" if cassette is None else "record"
    return ConfigurationError(f"To {purpose}, the session needs an environment.", f"{give_one.capitalize()}.")


def _environment_of(cassette: Cassette) -> Environment:
    names = cassette.environments
    if len(names) == 1:
        return as_environment(names[0])
    held = f"It holds calls of {', '.join(names)}" if names else "It does not say whose calls it holds"
    raise ConfigurationError(
        f"The cassette {cassette.path.name} does not tell the environment.",
        f"{held}; give the session one of {', '.join(Environment)}.",
    )
