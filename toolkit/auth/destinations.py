"""Destinations: credentials are sent to those that they are bound to, and nowhere else.

A destination is an address with its path prefix, or for a key pair the prefix of the headers that carry it. The
`toolkit.toml` of a project names destinations, and a project may come from anybody: without a binding, a cloned
repository could name an address of its own and receive the user's secrets.

- Saved profiles are bound when they are saved, and no later setting changes that.
- Credentials from variables and `.env` go to addresses that the user sets in code, or in the variables TOOLKIT_*_URL.
  To an address that only a file of the project names they go after the user allowed it, as SSH asks about a new host.
- A `.env` file belongs to its project: a clone brings one along, and editors export it into the process. So a variable
  that a `.env` sets, in the working folder, above or beside it, counts as set by the project, like a line of
  `toolkit.toml`. Its value does not have to be the same, because editors expand references in it.
- Credentials that code holds go where the code says. If the same credentials are remembered, they are compared too.
- Loopback needs no permission, because the practice service is there. It is compared for saved profiles, and where a
  file names it for credentials that are remembered: any user of this machine may listen there. So is a header prefix.

What was allowed is remembered in `destinations.json` in the user's configuration folder: with `toolkit credentials
allow`, on the panel, or by saving credentials, and never without being asked. The file lists the destinations of each
set of credentials, and the places that named them. Credentials are listed by a fingerprint (HMAC) of their secret, made
with the key in `destinations.key`, so that nobody can test guesses of a secret against the file. It also lists, under
the name of each environment, the destinations of all its credentials: the terminal and the panel compare with them
before a secret is typed. Without a file, nothing is allowed yet. A replay sends nothing, so nothing is compared.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.auth.sealing import locked
from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.shells import shell_word
from toolkit.local.dotenv import FILE_NAME, exported_by
from toolkit.local.files import remove_partials, shown, write_atomically
from toolkit.local.private_files import private_folder, read_private
from toolkit.local.user_folders import config_folder
from toolkit.local.user_keys import user_key
from toolkit.local.variables import variable_name

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.local.settings import Settings

HEADER_PREFIX: Final = "header_prefix"
Uses = Mapping[str, Mapping[str, str]]  # texts by name, each with the place that named it, in words
Table = dict[str, dict[str, dict[str, str]]]  # the same by fingerprint or environment
_NAME: Final = "destinations"
_VERSION: Final = 1
_LARGEST_FILE: Final = 4 << 20  # bytes
_MOST_ENTRIES: Final = 2000  # a few hundred bytes each; the ones that were not changed for longest are dropped
_UNUSED: Final[Uses] = {}


class Destination(NamedTuple):
    """A part of where credentials go.

    Attributes:
        name: name of an address, or `header_prefix`.
        text: the address with its path prefix, or the prefix.
        place: the settings file or the variable that names it; "" for code.
    """

    name: str
    text: str
    place: Path | str = ""

    @property
    def label(self) -> str:
        """The name in words."""
        return "header prefix" if self.name == HEADER_PREFIX else f"address {self.name}"

    @property
    def place_in_words(self) -> str:
        if isinstance(self.place, Path):
            return shown(self.place)
        return f"the variable {self.place}" if self.place else "code"

    @property
    def is_of_project(self) -> bool:
        """True if a file of the project names it, and not the user."""
        return isinstance(self.place, Path)

    @property
    def is_in_settings_file(self) -> bool:
        """True if commands read it, too: they do not know what code and a `.env` say."""
        return self.place != "" and (isinstance(self.place, str) or self.place.name != FILE_NAME)

    @property
    def is_loopback(self) -> bool:
        """True if it is an address of this machine."""
        return self.name != HEADER_PREFIX and is_loopback(Address.parse(self.text, setting="The address").origin.host)


class Change(NamedTuple):
    """A destination that credentials are not bound to, and those of the same name that they are bound to."""

    destination: Destination
    earlier: Mapping[str, str]

    def in_words(self) -> str:
        label, text = self.destination.label, self.destination.text
        if not self.earlier:
            return f"The {label} is new: {text} ({self.destination.place_in_words})."
        before = " or ".join(f"{old} ({place})" for old, place in self.earlier.items())
        return f"The {label} is now {text} ({self.destination.place_in_words}); earlier, it was {before}."


def destinations_of(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Destination]:
    """Return where the settings send credentials.

    These are the addresses of the environment that are set and, for a key pair, the prefix of the headers that carry
    it.
    """
    texts = {name: settings.addresses.get(name, "") for name in environment.rules.addresses.values()}
    if kind is CredentialKind.KEY_PAIR and any(texts.values()):
        texts[HEADER_PREFIX] = settings.header_prefix
    places = {name: settings.place_of(name) for name, text in texts.items() if text}
    if any(isinstance(place, str) and place for place in places.values()):
        exported = exported_by(settings.project, beside=True)
        places = {name: exported.get(str(place), place) for name, place in places.items()}
    return [Destination(name, texts[name], place) for name, place in places.items()]


def without_loopback(destinations: list[Destination]) -> list[Destination]:
    """Return the destinations beyond this machine."""
    remote = [destination for destination in destinations if not destination.is_loopback]
    return remote if any(destination.name != HEADER_PREFIX for destination in remote) else []


def changes(destinations: list[Destination], uses: Uses) -> list[Change]:
    """Return the destinations that are not among the earlier ones; the usual prefix is new beside another one only."""
    usual = {HEADER_PREFIX: {DEFAULT_HEADER_PREFIX: ""}}
    return [
        Change(destination, uses.get(destination.name, {}))
        for destination in destinations
        if destination.text not in (uses.get(destination.name) or usual.get(destination.name, {}))
    ]


def check_destinations(credentials: Credentials, settings: Settings) -> None:
    """Refuse credentials if the settings would send them where they may not go. Call before anything is sent.

    Raises:
        UnsafeAddress: if they would go there. The message names both destinations, and how to allow the new one.
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    new = not_allowed(credentials, settings)
    if not new:
        return
    name, environment = credentials.name, credentials.environment
    who = f"the credentials {name} for {environment} ({credentials.loaded_from or 'made in code'})"
    if any(change.earlier for change in new):
        what = f"{who} would go elsewhere. {' '.join(change.in_words() for change in new)}"
    else:
        added = (f"the {to.label}, {to.text} ({to.place_in_words})" for to, _ in new)
        what = f"{who} have not been allowed to go to {' and '.join(added)}."
    allow = f"run `toolkit credentials allow {shell_word(name)} --environment {environment}`"
    unread = [to for to, _ in new if not to.is_in_settings_file]  # the command does not know what code and editors say
    if unread:
        allow += f" with {' and '.join(f'{variable_name(to.name)}={to.text}' for to in unread)} in the environment"
    else:
        allow += " in that project"
    places = " and ".join(dict.fromkeys(to.place_in_words for to, _ in new))
    next_step = f"Check {places}: whoever wrote that would receive the credentials. If you trust it, {allow}."
    if credentials.binding is None:
        own = " and ".join(variable_name(to.name) for to, _ in new)
        next_step += f" If you set {own} yourself, outside of files of the project, it needs no permission."
    raise UnsafeAddress(f"Nothing was sent, because {what}", next_step, about=new[0].destination.name)


def not_allowed(credentials: Credentials, settings: Settings) -> list[Change]:
    """Return the destinations of the settings that credentials may not go to, each with those that they may.

    Raises:
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    destinations = destinations_of(credentials.environment, credentials.kind, settings)
    if credentials.binding is not None:
        new = [to for to in destinations if credentials.binding.get(to.name) != to.text]
        return changes(new, uses_of(credentials)) if new else []
    of_project = [destination for destination in destinations if destination.is_of_project]
    if all(to.name == HEADER_PREFIX for to in of_project) and not (of_project and without_loopback(destinations)):
        return []
    uses = DestinationMemory().uses_of(credentials)
    if uses is not None:
        return changes(of_project, uses)
    return changes(without_loopback(of_project), _UNUSED) if credentials.loaded_from else []


def new_in_environment(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Change]:
    """Return the destinations that a file of the project names, and that no credentials of the environment may go to.

    The terminal and the panel show them before a secret is typed.

    Raises:
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    destinations = without_loopback(destinations_of(environment, kind, settings))
    of_project = [destination for destination in destinations if destination.is_of_project]
    return changes(of_project, DestinationMemory().uses_in(environment)) if of_project else []


def note_destinations(environment: Environment, destinations: list[Destination]) -> None:
    """Remember that the user lets credentials of an environment go there, where that is possible."""
    if remote := without_loopback(destinations):
        with suppress(ConfigurationError):
            DestinationMemory().add(environment, remote)


def uses_of(credentials: Credentials) -> Uses:
    """Return where credentials may go: what they are bound to, and what was allowed.

    Raises:
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    remembered = DestinationMemory().uses_of(credentials) or _UNUSED
    bound = {name: {text: "as saved"} for name, text in (credentials.binding or {}).items()}
    return {name: {**bound.get(name, {}), **remembered.get(name, {})} for name in {**bound, **remembered}}


class DestinationMemory:
    """The destinations in the user's configuration folder. Methods raise ConfigurationError if the file is malformed."""

    def __init__(self) -> None:
        self.file = config_folder() / f"{_NAME}.json"

    def uses_of(self, credentials: Credentials) -> Uses | None:
        """Return where credentials may go, or None if they are not remembered."""
        table = self._table()  # read first: a malformed list is an error even without a key
        with suppress(OSError):
            key = user_key(_NAME, makes=False)
            return None if key is None else table.get(_fingerprint(credentials, key))
        return None

    def uses_in(self, environment: Environment) -> Uses:
        """Return where any credentials of an environment may go."""
        return self._table().get(str(environment), _UNUSED)

    def add(self, caller: Credentials | Environment, destinations: list[Destination]) -> None:
        """Remember that credentials, or any of an environment, may go to destinations, besides the earlier ones.

        Raises:
            ConfigurationError: if the file cannot be written.
        """
        try:
            with self._locked() as table:
                entries = [str(caller)]
                if not isinstance(caller, Environment):
                    entries = [str(caller.environment), _fingerprint(caller, user_key(_NAME, makes=True) or b"")]
                for entry in entries:
                    uses = table.pop(entry, {})  # and to the end: the first were not changed for longest
                    for to in destinations:
                        uses.setdefault(to.name, {}).setdefault(to.text, to.place_in_words)
                    table[entry] = uses
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write {shown(self.file)}: {error.strerror or error}.",
                "Fix the folder, then allow it again. Or set the addresses in code or in your own variables.",
            ) from None

    @contextmanager
    def _locked(self) -> Iterator[Table]:
        """Provide the table, and write it at the end. Other processes wait in the meantime."""
        private_folder(self.file.parent)
        with locked(self.file.with_suffix(".lock")):
            table = self._table()
            yield table
            for entry in list(table)[: max(0, len(table) - _MOST_ENTRIES)]:
                del table[entry]
            remove_partials(self.file)
            data = json.dumps({"version": _VERSION, "uses": table}, indent=1).encode()
            write_atomically(self.file, data, private=True)

    def _table(self) -> Table:
        data = None
        with suppress(OSError):  # if the disk fails, nothing is remembered
            data = read_private(self.file, _LARGEST_FILE)
        if data is None:
            return {}
        try:
            content = json.loads(data)
            if content["version"] == _VERSION and _is_table(content["uses"]):
                return content["uses"]  # type: ignore[no-any-return]
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            pass
        raise ConfigurationError(
            f"{shown(self.file)} was changed or cut short, so it does not say where credentials may be sent.",
            "Look at it, then remove it, and allow the destinations again.",
        )


def _is_table(value: Any) -> bool:
    """Check the types of a Table; other types than dictionaries raise AttributeError."""
    return all(isinstance(text, str) for uses in value.values() for texts in uses.values() for text in texts.values())


def _fingerprint(credentials: Credentials, key: bytes) -> str:
    return hmac.digest(key, credentials.proof().encode("utf-8", "surrogatepass"), "sha256").hex()
