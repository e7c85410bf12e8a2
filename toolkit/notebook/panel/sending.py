"""Where calls and typed texts go: to which addresses, whether one is missing, and whether the user trusts them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import running_services
from toolkit.core.document import DEFAULT_HEADER_PREFIX, Environment, Interface
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import CredentialsChoice, NewChoice

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change, Destination


def settings_for(chosen: CredentialsChoice, settings: Settings) -> Settings:
    """Return the settings to connect with: practice credentials go to their own service while it runs.

    Args:
        chosen: the credentials.
        settings: the settings of the panel, for all other credentials.
    """
    if isinstance(chosen, Credentials) and chosen.is_practice:
        for service in running_services():
            if any(own is chosen for own in service.credentials.values()):
                return replace(settings, addresses=service.addresses, header_prefix=DEFAULT_HEADER_PREFIX)
    return settings


def missing_addresses(environment: Environment, settings: Settings) -> list[str]:
    """Return the names of the addresses that connecting needs and the settings do not have.

    The trial call goes to the interface of the accounts, and a broker partner's token comes from the auth interface.
    """
    rules = environment.rules
    needed = [rules.addresses.get(interface) for interface in (rules.accounts[0], Interface.AUTH)]
    return [name for name in needed if name is not None and name not in settings.addresses]


class TypedDestinations:
    """Where texts that are typed now would be sent.

    Args:
        settings: the addresses.
        for_visitors: True if the owner of the machine is not the user.

    Attributes:
        places: the destinations, if a file of the project names one of them.
        untrusted: the destinations to trust first, because no credentials of the environment went there.
    """

    def __init__(self, settings: Settings, *, for_visitors: bool) -> None:
        self._settings = settings
        self._for_visitors = for_visitors
        self._trusted: set[tuple[Destination, ...]] = set()
        self._environment = Environment.PAPER
        self.places: list[Destination] = []
        self.untrusted: list[Change] = []

    def look(self, environment: Environment, chosen: CredentialsChoice) -> None:
        """Note where texts for these credentials would be sent; nowhere if they are not to be typed."""
        self._environment = environment
        places: list[Destination] = []
        untrusted: list[Change] = []
        if isinstance(chosen, NewChoice):
            from toolkit.auth.destination_memory import new_in_environment
            from toolkit.auth.destinations import destinations_of, without_loopback

            with suppress(ConfigurationError):  # an unreadable .env or memory is an error when something is to be sent
                destinations = without_loopback(destinations_of(environment, chosen.kind, self._settings))
                if any(isinstance(destination.place, Path) for destination in destinations):
                    places = destinations
                # What the owner of the machine used before is not shown to visitors.
                if not self._for_visitors and tuple(destinations) not in self._trusted:
                    untrusted = new_in_environment(environment, chosen.kind, self._settings)
        # At once: a kernel may handle what a page sends in a thread of its own.
        self.places, self.untrusted = places, untrusted

    def accept(self) -> None:
        """Trust these destinations."""
        from toolkit.auth.destination_memory import note_destinations

        self._trusted.add(tuple(self.places))  # the folder may be read-only
        note_destinations(self._environment, self.places)
