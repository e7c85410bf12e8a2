"""The credentials of practice services that run in this process, found by name like saved profiles.

A practice service enters its addresses and credentials when it starts, and they are removed when it stops. They are
found only with settings in which every address of the environment is the service's own, so no other address can receive
them. There they come before saved profiles of the same name, because nobody else's credentials are accepted there. When
the service has stopped, no profile of that name takes their place: another program may have its ports by then.

Displays show such a session as practice, whatever its environment, because no real account is behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings


class RunningService(NamedTuple):
    """A practice service that runs in this process.

    Attributes:
        addresses: its URLs by name of the address.
        credentials: the credentials that it accepts, by their names.
    """

    addresses: Mapping[str, str]
    credentials: Mapping[str, Credentials]


_RUNNING: Final[dict[object, RunningService]] = {}
_STOPPED: Final[list[tuple[Mapping[str, str], frozenset[str]]]] = []  # addresses, and names of the credentials


def register_service(addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Callable[[], None]:
    """Enter a practice service that has started, and return the function that removes it again.

    Args:
        addresses: the URLs of the service by name of the address.
        credentials: the credentials that it accepts, by their names.
    """
    entry = object()
    _RUNNING[entry] = RunningService(dict(addresses), credentials)

    def remove() -> None:
        if _RUNNING.pop(entry, None) is not None:
            _STOPPED.append((dict(addresses), frozenset(credentials)))

    return remove


def running_services() -> list[RunningService]:
    """Return the practice services that run in this process, in the order in which they started."""
    return list(_RUNNING.values())


def practice_credentials(environment: Environment, settings: Settings) -> dict[str, Credentials]:
    """Return the practice credentials of an environment by name; empty unless the settings are a running service's."""
    for addresses, credentials in running_services():
        if _are_addresses_of(environment, settings, addresses):
            return {name: own for name, own in credentials.items() if own.environment is environment}
    return {}


def is_over(environment: Environment, settings: Settings) -> bool:
    """Check whether these are the addresses of a practice service of this process that has stopped."""
    is_running = bool(practice_credentials(environment, settings))
    return not is_running and any(_are_addresses_of(environment, settings, own) for own, _ in _STOPPED)


def has_stopped(environment: Environment, name: str | None, settings: Settings) -> bool:
    """Check whether a name is that of credentials of a practice service that had these addresses and has stopped."""
    return any(name in names and _are_addresses_of(environment, settings, own) for own, names in _STOPPED)


def _are_addresses_of(environment: Environment, settings: Settings, addresses: Mapping[str, str]) -> bool:
    """Check whether the settings have a service's address for each interface of the environment."""
    names = environment.rules.addresses.values()
    return all(name in addresses and settings.addresses.get(name) == addresses[name] for name in names)


def is_practice(environment: Environment, credentials: Credentials | None, settings: Settings | None) -> bool:
    """Check whether a practice service answers: by the credentials, or by the addresses while it runs here.

    Args:
        environment: the environment that is called.
        credentials: the caller's credentials.
        settings: the addresses; None if nothing is sent to them.
    """
    if credentials is not None and credentials.is_practice:
        return True
    return settings is not None and bool(practice_credentials(environment, settings))
