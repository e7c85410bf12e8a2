"""The credentials of practice services that run in this process, found by name like saved profiles.

A practice service enters its addresses and credentials when it starts, and they are removed when it stops. They are
found only with settings in which every address of the environment is the service's own, so no other address can receive
them. There they come before saved profiles of the same name, because nobody else's credentials are accepted there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings

_RUNNING: Final[dict[object, tuple[Mapping[str, str], Mapping[str, Credentials]]]] = {}


def register_service(addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Callable[[], None]:
    """Enter a practice service that has started, and return the function that removes it again.

    Args:
        addresses: the URLs of the service by name of the address.
        credentials: the credentials that it accepts, by their names.
    """
    entry = object()
    _RUNNING[entry] = dict(addresses), credentials

    def remove() -> None:
        _RUNNING.pop(entry, None)

    return remove


def practice_credentials(environment: Environment, settings: Settings) -> dict[str, Credentials]:
    """Return the practice credentials of an environment by name; empty unless the settings are a running service's."""
    names = environment.rules.addresses.values()
    for addresses, credentials in list(_RUNNING.values()):
        if all(name in addresses and settings.addresses.get(name) == addresses[name] for name in names):
            return {name: own for name, own in credentials.items() if own.environment is environment}
    return {}
