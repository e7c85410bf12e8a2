"""Where calls and credentials go: to which addresses, whether one is missing, and whether the user trusts them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import running_services
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment, Interface
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import CredentialsChoice, NewChoice, SavedChoice

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


class ChosenDestinations:
    """Where the chosen credentials would be sent: texts that are typed now, or a profile from variables or `.env`.

    Other credentials are bound to their destinations, or come from code.

    Args:
        settings: the addresses.
        for_visitors: True if the owner of the machine is not the user.

    Attributes:
        places: the destinations of typed texts, if a file of the project names one of them.
        untrusted: the destinations to trust first, because these credentials may not go there yet; for typed texts,
            because no credentials of the environment may.
    """

    def __init__(self, settings: Settings, *, for_visitors: bool) -> None:
        self._settings = settings
        self._for_visitors = for_visitors
        self._trusted: set[tuple[object, ...]] = set()
        self._environment = Environment.PAPER
        self._chosen: CredentialsChoice | None = None
        self._profile: Credentials | None = None
        self.places: list[Destination] = []
        self.untrusted: list[Change] = []

    def look(self, environment: Environment, chosen: CredentialsChoice) -> None:
        """Note where these credentials would be sent."""
        self._environment, self._chosen, self._profile = environment, chosen, None
        places: list[Destination] = []
        untrusted: list[Change] = []
        with suppress(ToolkitError):  # an unreadable .env, profile or memory is an error when something is to be sent
            if isinstance(chosen, NewChoice):
                places, untrusted = self._of_texts(environment, chosen.kind)
            elif isinstance(chosen, SavedChoice):
                untrusted = self._of_profile(environment, chosen.name)
        if self._for_visitors or self._key(untrusted) in self._trusted:
            untrusted = []  # what the owner of the machine allowed is not shown to visitors
        # At once: a kernel may handle what a page sends in a thread of its own.
        self.places, self.untrusted = places, untrusted

    def _of_texts(self, environment: Environment, kind: CredentialKind) -> tuple[list[Destination], list[Change]]:
        from toolkit.auth.destinations import destinations_of, new_in_environment, without_loopback

        places = without_loopback(destinations_of(environment, kind, self._settings))
        if not any(place.is_of_project for place in places):
            return [], []
        return places, new_in_environment(environment, kind, self._settings)

    def _of_profile(self, environment: Environment, name: str) -> list[Change]:
        from toolkit.auth.destinations import not_allowed
        from toolkit.auth.profiles.saving import unbound_credentials

        self._profile = unbound_credentials(environment, name, settings=self._settings)
        return [] if self._profile is None else not_allowed(self._profile, self._settings)

    def accept(self) -> None:
        """Trust these destinations."""
        from toolkit.auth.destinations import DestinationMemory, note_destinations

        self._trusted.add(self._key(self.untrusted))  # the folder may be read-only
        destinations = [change.destination for change in self.untrusted]
        if self._profile is None:
            note_destinations(self._environment, destinations)
        else:
            with suppress(ConfigurationError):  # then connecting says how to allow them
                DestinationMemory().add(self._profile, destinations)

    def _key(self, untrusted: list[Change]) -> tuple[object, ...]:
        return self._environment, self._chosen, *(change.destination for change in untrusted)
