"""Conclude from the addresses in the settings which environment was called, and note it beside each call.

A recording of the toolkit says how each call was authorized. With the same note an imported cassette replays in a
session without arguments, and its tables show tokens as those of a recording do. It holds no secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.core.document import ACCESS, TOKEN_PATH, CredentialKind, Environment, Interface
from toolkit.core.errors import ConfigurationError
from toolkit.core.ledger import Authorization
from toolkit.local.settings import Settings

_PROFILE = "default"  # of credentials without a name
_LONGEST_LIFETIME = 366 * 24 * 3600  # seconds


class Callers:
    """The environments of the calls in a file.

    Args:
        settings: the addresses.
        environment: the environment that the user names, or None.
        uris: the URIs of all calls.

    Attributes:
        environment: the environment of the calls whose address several have, such as market data; None if unknown.

    Raises:
        ConfigurationError: if no call goes to an address of the named environment.
    """

    def __init__(self, settings: Settings, environment: Environment | None, uris: Iterable[str]) -> None:
        self._names_by_address: dict[str, set[str]] = {}
        for name, address in settings.addresses.items():
            self._names_by_address.setdefault(address, set()).add(name)
        called = [candidates for uri in uris if (candidates := self._candidates(uri))]
        if environment is not None and not any(environment in candidates for candidates in called):
            raise _not_called(settings, environment)
        common = set.intersection(*called) if called else set()
        self.environment = environment or (next(iter(common)) if len(common) == 1 else None)
        self._tokens: dict[str, Authorization] = {}
        self._kind = CredentialKind.CLIENT_SECRET

    def addresses(self, settings: Settings) -> Mapping[str, str]:
        """Return the addresses of the settings; if two names share one, that of the environment comes first."""
        own = set(self.environment.rules.addresses.values()) if self.environment else set()
        return dict(sorted(settings.addresses.items(), key=lambda pair: pair[0] not in own))

    def is_known(self, uri: str) -> bool:
        """Check whether a URI is at an address of the settings."""
        return bool(self._names(uri))

    def noted(self, interactions: Iterable[Interaction]) -> Iterator[Interaction]:
        """Yield interactions, in their order, with how each was authorized."""
        for interaction in interactions:
            environment = self._environment_of(interaction.request.uri)
            if environment is None:
                yield interaction
            elif self._is_token_request(interaction, environment):
                yield self._with_token(interaction, environment)
            else:
                yield interaction._replace(authorized_by=self._authorization(interaction, environment))

    def _environment_of(self, uri: str) -> Environment | None:
        candidates = self._candidates(uri)
        if self.environment is not None:
            return self.environment if self.environment in candidates else None
        return next(iter(candidates)) if len(candidates) == 1 else None

    def _names(self, uri: str) -> set[str]:
        """Return the names of the longest address that a URI is at."""
        fitting = [address for address in self._names_by_address if _is_at(uri, address)]
        return self._names_by_address[max(fitting, key=len)] if fitting else set()

    def _candidates(self, uri: str) -> set[Environment]:
        names = self._names(uri)
        return {each for each, rules in ACCESS.items() if not names.isdisjoint(rules.addresses.values())}

    def _is_token_request(self, interaction: Interaction, environment: Environment) -> bool:
        name = environment.rules.addresses.get(Interface.AUTH)
        request = interaction.request
        return name in self._names(request.uri) and urlsplit(request.uri).path.endswith(TOKEN_PATH)

    def _with_token(self, interaction: Interaction, environment: Environment) -> Interaction:
        if b"client_assertion" in interaction.request.body:
            self._kind = CredentialKind.CLIENT_KEY
        text, lifetime = _token_in(interaction.response.body)
        if interaction.recorded_at is None or not text or lifetime is None:
            return interaction
        issued, number = interaction.recorded_at, len(self._tokens) + 1
        token = Authorization(self._kind, environment, _PROFILE, number, issued, issued + lifetime)
        self._tokens[text] = token
        return interaction._replace(token_obtained=token)

    def _authorization(self, interaction: Interaction, environment: Environment) -> Authorization:
        if CredentialKind.KEY_PAIR in environment.rules.credentials:
            return Authorization(CredentialKind.KEY_PAIR, environment, _PROFILE)
        for name, value in interaction.request.headers:
            scheme, _, text = value.partition(" ")
            if name.lower() == "authorization" and scheme.lower() == "bearer" and text.strip() in self._tokens:
                return self._tokens[text.strip()]
        return Authorization(self._kind, environment, _PROFILE)


@lru_cache(maxsize=1024)
def _is_at(uri: str, address: str) -> bool:
    return uri.startswith(address) and uri[len(address) : len(address) + 1] in ("", "/", "?")


def _token_in(body: bytes) -> tuple[str, timedelta | None]:
    """Return the access token of a token response and its lifetime, or "" and None."""
    try:
        fields = json.loads(body)
        text, seconds = fields["access_token"], fields["expires_in"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", None
    is_usable = isinstance(text, str) and type(seconds) in (int, float) and 0 < seconds <= _LONGEST_LIFETIME
    return (text, timedelta(seconds=seconds)) if is_usable else ("", None)


def _not_called(settings: Settings, environment: Environment) -> ConfigurationError:
    names = [str(name) for name in environment.rules.addresses.values()]
    missing = [name for name in names if name not in settings.addresses]
    what = f"No request in the file goes to an address of {environment}."
    if missing:
        next_step = f"Set the addresses {', '.join(missing)} in toolkit.toml, or leave the environment out."
    else:
        next_step = f"Its addresses are {', '.join(settings.addresses[name] for name in names)}. Leave it out."
    return ConfigurationError(what, next_step, about="environment")
