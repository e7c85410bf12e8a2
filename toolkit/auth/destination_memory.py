"""The destinations that credentials may go to, remembered in the user's configuration folder.

The file `destinations.json` lists the destinations of each set of credentials, and the places that named them.
Credentials are listed by a fingerprint (HMAC) of their secret, made with the key in `destinations.key`, so that nobody
can test guesses of a secret against the file. IDs and options are not part of the fingerprint: they say who calls, and
the secret is what must not go elsewhere. The file also lists, under the name of each environment, the destinations of
all its credentials: the terminal and the panel compare with them before a secret is typed.

Only what the user allowed is remembered: with `toolkit credentials allow`, on the panel, or by saving credentials.
Without a file, or in a folder that cannot be written, as in CI, nothing is allowed yet; addresses in code and in the
user's own variables need no permission.
"""

from __future__ import annotations

import errno
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.destinations import (
    HEADER_PREFIX,
    Change,
    Destination,
    Uses,
    changes,
    destinations_of,
    refusal,
    without_loopback,
)
from toolkit.core.errors import ConfigurationError
from toolkit.local.files import remove_partials, shown, write_atomically
from toolkit.local.locks import FileLock, try_lock
from toolkit.local.private_files import private_folder, read_private
from toolkit.local.user_folders import config_folder
from toolkit.local.user_keys import user_key

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.core.document import CredentialKind, Environment
    from toolkit.local.settings import Settings

_NAME: Final = "destinations"
_VERSION: Final = 1
_LARGEST_FILE: Final = 4 << 20  # bytes
_MOST_ENTRIES: Final = 2000  # a few hundred bytes each; the ones that were not changed for longest are dropped
_PAUSE, _PAUSES = 0.01, 200  # seconds to wait for another process, which needs a few milliseconds
_UNUSED: Final[Uses] = {}

Table = dict[str, dict[str, dict[str, str]]]  # by fingerprint or environment: texts by name, with their places


class DestinationMemory:
    """The destinations in the user's configuration folder."""

    def __init__(self) -> None:
        self.file = config_folder() / f"{_NAME}.json"

    def uses_of(self, credentials: Credentials) -> Uses | None:
        """Return where credentials may go, or None if they are not remembered.

        Raises:
            ConfigurationError: if the file is malformed.
        """
        table = self._table()  # read first: a malformed list is an error even without a key
        try:
            key = user_key(_NAME, makes=False)
        except OSError:
            return None
        return None if key is None else table.get(_fingerprint(credentials, key))

    def uses_in(self, environment: Environment) -> Uses:
        """Return where any credentials of an environment may go.

        Raises:
            ConfigurationError: if the file is malformed.
        """
        return self._table().get(str(environment), _UNUSED)

    def add(self, credentials: Credentials, destinations: list[Destination]) -> None:
        """Remember that credentials may go to destinations, besides those that are remembered.

        Raises:
            ConfigurationError: if the file is malformed, or cannot be written.
        """
        try:
            with self._locked() as table:
                fingerprint = _fingerprint(credentials, user_key(_NAME, makes=True))
                for entry in (fingerprint, str(credentials.environment)):
                    _note(table, entry, destinations)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write {shown(self.file)}: {error.strerror or error}.",
                "Fix the folder, then allow it again. Or set the addresses in code or in your own variables.",
            ) from None

    def note(self, environment: Environment, destinations: list[Destination]) -> None:
        """Remember that credentials of an environment may go to destinations.

        Raises:
            ConfigurationError: if the file is malformed.
            OSError: if it cannot be written.
        """
        with self._locked() as table:
            _note(table, str(environment), destinations)

    @contextmanager
    def _locked(self) -> Iterator[Table]:
        """Provide the table, and write it at the end. Other processes wait in the meantime."""
        private_folder(self.file.parent)
        lock = self._wait_for_lock()
        try:
            table = self._table()
            yield table
            for entry in list(table)[: max(0, len(table) - _MOST_ENTRIES)]:
                del table[entry]
            data = json.dumps({"version": _VERSION, "uses": table}, indent=1).encode()
            remove_partials(self.file)
            write_atomically(self.file, data, private=True)
        finally:
            if lock is not None:
                lock.release()

    def _table(self) -> Table:
        try:
            data = read_private(self.file, _LARGEST_FILE)
        except OSError:  # the disk fails; nothing is remembered
            data = None
        if data is None:
            return {}
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.get("version") != _VERSION or not _is_table(content.get("uses")):
            raise ConfigurationError(
                f"{shown(self.file)} was changed or cut short, so it does not say where credentials may be sent.",
                "Look at it, then remove it, and allow the destinations again.",
            )
        table: Table = content["uses"]
        return table

    def _wait_for_lock(self) -> FileLock | None:
        for _ in range(_PAUSES):
            try:
                lock = try_lock(self.file.with_suffix(".lock"))
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    raise
                return None  # this disk does not have locks; the file is still replaced in one step
            if lock is not None:
                return lock
            time.sleep(_PAUSE)
        raise OSError(errno.EBUSY, "another process is writing it", str(self.file))


def check_destinations(credentials: Credentials, settings: Settings) -> None:
    """Refuse credentials if the settings would send them where they may not go. Call before anything is sent.

    Raises:
        UnsafeAddress: if they would go there. The message names both destinations, and how to allow the new one.
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    if new := not_allowed(credentials, settings):
        raise refusal(
            new,
            name=credentials.name,
            environment=credentials.environment,
            source=credentials.loaded_from or "made in code",
            is_bound=credentials.binding is not None,
        )


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
        with suppress(OSError, ConfigurationError):
            DestinationMemory().note(environment, remote)


def uses_of(credentials: Credentials) -> Uses:
    """Return where credentials may go: what they are bound to, and what was allowed.

    Raises:
        ConfigurationError: if the file of remembered destinations is malformed.
    """
    remembered = DestinationMemory().uses_of(credentials) or _UNUSED
    bound = credentials.binding or {}
    return {
        name: {**({bound[name]: "as saved"} if name in bound else {}), **remembered.get(name, {})}
        for name in {**bound, **remembered}
    }


def _note(table: Table, entry: str, destinations: list[Destination]) -> None:
    uses = table.pop(entry, {})  # and to the end: the first entries are those that were not changed for longest
    for destination in destinations:
        uses.setdefault(destination.name, {}).setdefault(destination.text, destination.place_in_words)
    table[entry] = uses


def _is_table(value: Any) -> bool:
    """Check the types of a Table."""
    return isinstance(value, dict) and all(
        isinstance(uses, dict)
        and all(
            isinstance(places, dict) and all(isinstance(place, str) for place in places.values())
            for places in uses.values()
        )
        for uses in value.values()
    )


def _fingerprint(credentials: Credentials, key: bytes | None) -> str:
    assert key is not None  # noqa: S101 - it was made just now
    return hmac.digest(key, credentials.proof().encode("utf-8", "surrogatepass"), "sha256").hex()
