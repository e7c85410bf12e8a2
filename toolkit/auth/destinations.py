"""Check that credentials are sent only to destinations that they are bound to or that the user allowed.

A destination is an address with its path prefix or, for a key pair, the prefix of its headers. A project's
`toolkit.toml` names destinations, and a project may come from anyone.

- Saved profiles are bound when they are saved, and no later setting changes the binding.
- Credentials from variables and `.env` go to addresses that the user sets in code, or in the variables TOOLKIT_*_URL.
  If only a project file names an address, the user has to allow it first, as with a new SSH host.
- A `.env` file belongs to its project: a clone may contain one, and editors load it into the process's environment. A
  variable that a `.env` file in or near the project sets therefore counts as set by the project, whatever its value.
- Credentials made in code need no permission. But once destinations are allowed for them, files may name only those.
- Loopback addresses need no permission, because the practice service uses them. But any user of this machine can listen
  on them, so they are checked for saved profiles and, if a project file names a loopback address, for all credentials
  with remembered destinations. If all addresses are loopback addresses, the same applies to the header prefix.

The allowed destinations are stored in `destinations.json` in the configuration folder, twice: by environment, for
checks before a secret is typed, and by credentials. The file identifies credentials only by an HMAC with the key in
`destinations.key`, so guesses of a secret cannot be tested with this file alone. Nothing is checked during replay.
"""

from __future__ import annotations

import hmac
import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.auth.sealing import locked
from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.files import private_folder, read_private, shown, write_atomically
from toolkit.local.folders import SETTINGS_FILE, config_folder, exported_by, user_key
from toolkit.local.settings import VARIABLES

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.local.settings import Settings

HEADER_PREFIX: Final = "header_prefix"
Uses = Mapping[str, Mapping[str, str]]  # setting name -> text -> description of where it was set
Table = dict[str, dict[str, dict[str, str]]]  # fingerprint or environment -> Uses
_NAME: Final = "destinations"
_VERSION: Final = 1
_LARGEST_FILE: Final = 4 << 20  # bytes
_MOST_ENTRIES: Final = 2000  # a few hundred bytes each; the least recently changed are dropped
_UNUSED: Final[Uses] = {}


class Destination(NamedTuple):
    """A destination for credentials: an address with its path prefix, or the header prefix of a key pair."""

    name: str
    text: str
    place: Path | str = ""  # the settings file or the variable that names it; "" for code

    @property
    def label(self) -> str:
        return "header prefix" if self.name == HEADER_PREFIX else f"address {self.name}"

    @property
    def place_in_words(self) -> str:
        if isinstance(self.place, Path):
            return shown(self.place)
        return f"the variable {self.place}" if self.place else "code"

    @property
    def is_of_project(self) -> bool:
        """True if a project file set this destination, rather than the user."""
        return isinstance(self.place, Path)

    @property
    def is_loopback(self) -> bool:
        """True if this is a loopback address."""
        return self.name != HEADER_PREFIX and is_loopback(Address.parse(self.text, setting="The address").host)


class Change(NamedTuple):
    """A new destination, and the destinations of the same name that are already allowed."""

    destination: Destination
    earlier: Mapping[str, str]

    def in_words(self) -> str:
        label, text = self.destination.label, self.destination.text
        if not self.earlier:
            return f"The {label} is new: {text} ({self.destination.place_in_words})."
        before = " or ".join(f"{old} ({place})" for old, place in self.earlier.items())
        return f"The {label} is now {text} ({self.destination.place_in_words}); previously, it was {before}."


def destinations_of(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Destination]:
    """Return the destinations in the settings: the addresses that are set and, for a key pair, the header prefix."""
    texts = {name: settings.addresses.get(name, "") for name in environment.rules.addresses.values()}
    if kind is CredentialKind.KEY_PAIR and any(texts.values()):
        texts[HEADER_PREFIX] = settings.header_prefix
    places = {name: settings.place_of(name) for name, text in texts.items() if text}
    if any(isinstance(place, str) and place for place in places.values()):
        exported = exported_by(settings.project, beside=True)
        places = {name: exported.get(str(place), place) for name, place in places.items()}
    return [Destination(name, texts[name], place) for name, place in places.items()]


def without_loopback(destinations: list[Destination]) -> list[Destination]:
    """Return the destinations that are not on this machine."""
    remote = [destination for destination in destinations if not destination.is_loopback]
    return remote if any(destination.name != HEADER_PREFIX for destination in remote) else []


def changes(destinations: list[Destination], uses: Uses) -> list[Change]:
    """Return the destinations that are not in `uses`. The default prefix is new only if `uses` has another prefix."""
    usual = {HEADER_PREFIX: {DEFAULT_HEADER_PREFIX: ""}}
    return [
        Change(destination, uses.get(destination.name, {}))
        for destination in destinations
        if destination.text not in (uses.get(destination.name) or usual.get(destination.name, {}))
    ]


def check_destinations(credentials: Credentials, settings: Settings) -> None:
    """Raise an error if the settings would send credentials to a forbidden destination. Call this before sending.

    Raises:
        UnsafeAddress: if a destination in the settings needs permission and has not been allowed.
        ConfigurationError: if the list of allowed destinations is invalid.
    """
    new = not_allowed(credentials, settings)
    if not new:
        return
    name, environment, to = credentials.name, credentials.environment, [change.destination for change in new]
    who = f"the credentials {name} for {environment} ({credentials.loaded_from or 'made in code'})"
    what = f"{who} would be sent to a new destination. {' '.join(change.in_words() for change in new)}"
    if not any(change.earlier for change in new):
        added = " and ".join(f"the {each.label}, {each.text} ({each.place_in_words})" for each in to)
        what = f"{who} are not yet allowed to be used with {added}."
    next_step = (
        f"Check {' and '.join(dict.fromkeys(each.place_in_words for each in to))}: whoever wrote it would receive "
        f"the credentials. If you trust the author, run `toolkit credentials allow {shlex.quote(name)} --environment "
        f"{environment}` in the project folder"
    )
    # The command reads the settings file itself. Values from code or an editor are passed to it as variables.
    unread = [each for each in to if not (isinstance(each.place, Path) and each.place.name == SETTINGS_FILE)]
    variables = " ".join(f"{VARIABLES[each.name]}={each.text}" for each in unread)
    next_step += f", with {variables} in the environment." if unread else "."
    if credentials.binding is None:
        own = " and ".join(VARIABLES[each.name] for each in to)
        next_step += f" Values that you set in code or in your own environment ({own}) need no permission."
    raise UnsafeAddress(f"Nothing was sent, because {what}", next_step, about=to[0].name)


def not_allowed(credentials: Credentials, settings: Settings) -> list[Change]:
    """Return a Change for each destination in the settings that is not allowed for the credentials."""
    destinations = destinations_of(credentials.environment, credentials.kind, settings)
    if credentials.binding is not None:
        new = [to for to in destinations if credentials.binding.get(to.name) != to.text]
        return changes(new, uses_of(credentials)) if new else []
    of_project = [destination for destination in destinations if destination.is_of_project]
    if all(to.name == HEADER_PREFIX for to in of_project) and not (of_project and without_loopback(destinations)):
        return []
    uses = _remembered(credentials)
    if uses is not None:
        return changes(of_project, uses)
    return changes(without_loopback(of_project), _UNUSED) if credentials.loaded_from else []


def new_in_environment(environment: Environment, kind: CredentialKind, settings: Settings) -> list[Change]:
    """Return a Change for each destination that a project file names and that is not allowed for the environment.

    The terminal and the panel show them before a secret is typed.
    """
    destinations = without_loopback(destinations_of(environment, kind, settings))
    of_project = [destination for destination in destinations if destination.is_of_project]
    return changes(of_project, _table().get(str(environment), _UNUSED)) if of_project else []


def note_destinations(environment: Environment, destinations: list[Destination]) -> None:
    """Remember, if possible, that the user allows these destinations for an environment's credentials."""
    if remote := without_loopback(destinations):
        with suppress(ConfigurationError):
            allow_destinations(environment, remote)


def uses_of(credentials: Credentials) -> Uses:
    """Return the destinations that credentials are bound to and the destinations that were allowed for them."""
    remembered = _remembered(credentials) or _UNUSED
    bound = {name: {text: "as saved"} for name, text in (credentials.binding or {}).items()}
    return {name: {**bound.get(name, {}), **remembered.get(name, {})} for name in {**bound, **remembered}}


def memory_file() -> Path:
    """Return the path of the file that stores the allowed destinations. The file may not exist yet."""
    return config_folder() / f"{_NAME}.json"


def allow_destinations(caller: Credentials | Environment, destinations: list[Destination]) -> None:
    """Add to the destinations that are allowed for credentials and their environment, or only for an environment."""
    file = memory_file()
    try:
        private_folder(file.parent)
        with locked(file.with_suffix(".lock")):
            table, entries = _table(), [str(caller)]
            if not isinstance(caller, Environment):
                entries = [str(caller.environment), _fingerprint(caller, user_key(_NAME, makes=True) or b"")]
            for entry in entries:
                uses = table.pop(entry, {})  # re-added at the end: the first entries are the least recently changed
                for to in destinations:
                    uses.setdefault(to.name, {}).setdefault(to.text, to.place_in_words)
                table[entry] = uses
            latest = dict(list(table.items())[-_MOST_ENTRIES:])
            data = json.dumps({"version": _VERSION, "uses": latest}, indent=1).encode()
            write_atomically(file, data, private=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {shown(file)}: {error.strerror or error}.",
            "Make the folder writable and try again, or set the addresses in code or in your own environment.",
        ) from None


def _remembered(credentials: Credentials) -> Uses | None:
    table = _table()  # read first: an invalid list is an error even without a key
    with suppress(OSError):
        key = user_key(_NAME, makes=False)
        return None if key is None else table.get(_fingerprint(credentials, key))
    return None


def _table() -> Table:
    file, data = memory_file(), None
    with suppress(OSError):  # if the disk fails, nothing is remembered
        data = read_private(file, _LARGEST_FILE)
    if data is None:
        return {}
    with suppress(ValueError, RecursionError, KeyError, TypeError, AttributeError):  # not in the expected format
        content = json.loads(data)
        table: Table = content["uses"]
        texts = [text for uses in table.values() for places in uses.values() for text in places.values()]
        if content["version"] == _VERSION and all(isinstance(text, str) for text in texts):
            return table
    raise ConfigurationError(
        f"{shown(file)} was changed or truncated, so the allowed destinations cannot be read from it.",
        "Inspect it, remove it, and allow the destinations again.",
    )


def _fingerprint(credentials: Credentials, key: bytes) -> str:
    return hmac.digest(key, credentials.proof().encode("utf-8", "surrogatepass"), "sha256").hex()
