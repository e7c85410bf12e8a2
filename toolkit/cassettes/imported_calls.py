"""Choose the calls to import, conclude who made them, and scrub them as if they were recorded here.

A recording of the toolkit says how each call was authorized. With the same note an imported cassette replays in a
session without arguments, and its tables show tokens as those of a recording do. It holds no secret.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, replacement_counts
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.recording.repair import holds_secret, scrub
from toolkit.core.document import ACCESS, TOKEN_PATH, CredentialKind, Environment, Interface
from toolkit.core.errors import ConfigurationError, SecretLeak
from toolkit.core.ledger import Authorization
from toolkit.local.settings import Settings
from toolkit.scrubbing import gate
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse, header_bytes
from toolkit.scrubbing.scrubber import Scrubber

_LONGEST_PATTERN: Final = 200  # characters
_MOST_STARS: Final = 10  # in a pattern
_PROFILE: Final = "default"  # of credentials without a name
_LONGEST_LIFETIME: Final = 366 * 24 * 3600  # seconds
_NO_SECRETS: Final = (ADDRESS, OTHER)
_UNCHECKABLE: Final = "it holds data that cannot be checked for secrets"
_INSEPARABLE: Final = "a secret in it cannot be replaced"


class EntryChoice:
    """Patterns, of which a request must match one; without patterns every request is chosen.

    `api.example.com` chooses a host and `*.example.com` several; `api.example.com/v1/*` chooses paths, where `*`
    stands for any text. A scheme before the host is ignored, and so is the query of a request.

    Raises:
        ConfigurationError: if a pattern is empty or too long.
    """

    def __init__(self, patterns: str | Sequence[str]) -> None:
        texts = [patterns] if isinstance(patterns, str) else list(patterns)
        self._patterns = [_host_and_path(text) for text in texts]

    def has(self, uri: str) -> bool:
        """Check whether a request to this URI is chosen."""
        if not self._patterns:
            return True
        try:
            parts = urlsplit(uri)
        except ValueError:
            return False
        host = parts.netloc.rpartition("@")[2].lower()
        names = {host, host.partition(":")[0]}
        return any(
            pattern.fullmatch(name + (parts.path or "/") if has_path else name)
            for pattern, has_path in self._patterns
            for name in names
        )


def _host_and_path(pattern: str) -> tuple[re.Pattern[str], bool]:
    """Return the regular expression of a pattern, and whether the pattern has a path."""
    text = pattern.strip() if isinstance(pattern, str) else ""
    text = text.partition("://")[2] if "://" in text else text
    if not text or len(text) > _LONGEST_PATTERN or text.count("*") > _MOST_STARS:
        raise ConfigurationError(
            "A pattern of the requests to import is empty, too long, or has too many stars.",
            "Name a host, or a host and a path: api.example.com/v1/*.",
            about="only",
        )
    host, slash, path = text.partition("/")
    first, *rest = map(re.escape, re.split(r"\*+", host.lower() + slash + path))
    # Each text between two stars is taken where it first fits, and no other place is tried: that is linear.
    middle = "".join(f"(?>.*?{each})" for each in rest[:-1])
    return re.compile(first + middle + "".join(f".*{each}" for each in rest[-1:]), re.DOTALL), bool(slash)


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
        self._addresses = settings.addresses
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
            candidates &= {self.environment}
        return next(iter(candidates)) if len(candidates) == 1 else None

    def _names(self, uri: str) -> set[str]:
        """Return the names of the longest address that a URI is at."""
        fitting = {name: address for name, address in self._addresses.items() if _is_at(uri, address)}
        longest = max(map(len, fitting.values()), default=0)
        return {name for name, address in fitting.items() if len(address) == longest}

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
    names = list(map(str, environment.rules.addresses.values()))
    missing = [name for name in names if name not in settings.addresses]
    what = f"No request in the file goes to an address of {environment}."
    if missing:
        next_step = f"Set the addresses {', '.join(missing)} in toolkit.toml, or leave the environment out."
    else:
        next_step = f"Its addresses are {', '.join(settings.addresses[name] for name in names)}. Leave it out."
    return ConfigurationError(what, next_step, about="environment")


class Cleaned(NamedTuple):
    """Interactions in a form that is safe to write.

    Attributes:
        data: the whole file; empty without interactions.
        imported: number of interactions in it.
        reasons: why interactions were left out, by their positions among those that were given.
        replaced: number of places where something was replaced, by the kind of what stood there.
    """

    data: bytes
    imported: int
    reasons: dict[int, str]
    replaced: Counter[str]


def cleaned(interactions: Sequence[Interaction], hints: Sequence[RecordedRequest], scrubber: Scrubber) -> Cleaned:
    """Scrub interactions until none reveals a secret that another one may hold, and check the result.

    Args:
        interactions: the interactions, in their order.
        hints: further messages in which secrets are looked for.
        scrubber: its known secrets grow.
    """
    scrubbed, reasons = _scrubbed(interactions, hints, scrubber)
    items = {position: encode(interaction) for position, interaction in scrubbed.items()}
    known = scrubber.known
    if holds_secret(_file(items), known):
        for position, item in tuple(items.items()):
            if gate.holds_secret(item, known):
                reasons[position] = _INSEPARABLE
                del items[position]
    replaced: Counter[str] = Counter()
    for position in items:
        replaced.update(replacement_counts(interactions[position], scrubbed[position], scrubber))
    for kind in _NO_SECRETS:
        replaced.pop(kind, None)
    return Cleaned(_file(items), len(items), reasons, replaced)


def _scrubbed(
    interactions: Sequence[Interaction], hints: Sequence[RecordedRequest], scrubber: Scrubber
) -> tuple[dict[int, Interaction], dict[int, str]]:
    """Return the scrubbed interactions, and why others cannot be scrubbed, both by their positions."""
    scrubbed: dict[int, Interaction] = {}
    reasons: dict[int, str] = {}
    known_count = -1
    while len(scrubber.known) != known_count:
        known_count = len(scrubber.known)
        for position, interaction in enumerate(interactions):
            if position in reasons or not _is_due(scrubbed.get(position), scrubber):
                continue
            try:
                scrubbed[position] = scrub(interaction, scrubber)
            except SecretLeak:
                reasons[position] = _UNCHECKABLE
                scrubbed.pop(position, None)
        # After the interactions, which say best what kind of secret a value is.
        for hint in hints:
            with suppress(SecretLeak):
                scrubber.lookup_request(hint)  # for the secrets that it learns
        hints = ()
    return scrubbed, reasons


def _is_due(scrubbed: Interaction | None, scrubber: Scrubber) -> bool:
    """Check whether an interaction is to be scrubbed, for the first time or because more secrets are known."""
    if scrubbed is None or scrubber.has_rules or _is_encoded(scrubbed.request) or _is_encoded(scrubbed.response):
        return True
    return scrubber.known.may_hold(_whole(scrubbed))


def _is_encoded(message: RecordedRequest | RecordedResponse) -> bool:
    return any(name.lower() == "content-encoding" for name, _ in message.headers)


def _file(items: dict[int, bytes]) -> bytes:
    return HEADER + b"".join(items.values()) if items else b""


def _whole(interaction: Interaction) -> bytes:
    request, response = interaction.request, interaction.response
    values = [header_bytes(value) for _, value in (*request.headers, *response.headers)]
    return b"\n".join((request.uri.encode("utf-8", "replace"), *values, request.body, response.body))
