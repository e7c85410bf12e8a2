"""The credentials of practice services that run in this process, found by name like saved profiles.

They are found only with settings in which every address of the environment is the service's own, so no other address
can receive them. There they come before saved profiles of the same name, because nobody else's credentials are accepted
there. When the service has stopped, no profile takes their place: another program may have its ports.

Displays show such a session as practice, whatever its environment, because no real account is behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.core.document import Environment
    from toolkit.local.settings import Settings


@dataclass
class RunningService:
    """A practice service of this process: its addresses, and the credentials that it accepts until it has stopped."""

    addresses: Mapping[str, str]
    credentials: Mapping[str, Credentials]


_SERVICES: Final[list[RunningService]] = []


def register_service(addresses: Mapping[str, str], credentials: Mapping[str, Credentials]) -> Callable[[], None]:
    """Enter a practice service that has started, and return the function that notes that it has stopped."""
    service = RunningService(dict(addresses), credentials)
    _SERVICES.append(service)
    return lambda: setattr(service, "credentials", {})


def running_services() -> list[RunningService]:
    """Return the practice services that run in this process, in the order in which they started."""
    return [service for service in _SERVICES if service.credentials]


def _services_at(environment: Environment, settings: Settings) -> list[RunningService]:
    """Return the services whose addresses the settings have for each interface of the environment; the latest first."""
    wanted = {name: settings.addresses.get(name, "") for name in environment.rules.addresses.values()}
    return [service for service in reversed(_SERVICES) if wanted.items() <= service.addresses.items()]


def practice_credentials(environment: Environment, settings: Settings) -> dict[str, Credentials]:
    """Return the practice credentials of an environment by name; empty unless the settings are a running service's."""
    own = next((service.credentials for service in _services_at(environment, settings)), {})
    return {name: each for name, each in own.items() if each.environment is environment}


def is_over(environment: Environment, settings: Settings) -> bool:
    """Return True if these are the addresses of a practice service of this process that has stopped."""
    services = _services_at(environment, settings)
    return bool(services) and not services[0].credentials


def is_practice(environment: Environment, credentials: Credentials | None, settings: Settings | None) -> bool:
    """Check whether a practice service answers: by the credentials, or by the addresses while it runs here."""
    if credentials is not None and credentials.is_practice:
        return True
    return settings is not None and bool(practice_credentials(environment, settings))
