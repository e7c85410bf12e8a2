"""The files of saved profiles, one per profile, in the user's configuration folder.

A file contains the fields and a table [destinations] that lists where the credentials may be sent: addresses with their
path prefixes, and the header prefix. If the system has a keyring, these contents are encrypted ("sealed"), but the kind
of credentials is not, so profiles can be listed without opening the keyring.

The key is 32 random bytes in the system keyring, the same for all profiles. It is created when the first profile is
saved, by one process at a time, and never replaced: a new key would make every saved profile unreadable. So a locked or
broken keyring is an error.
"""

from __future__ import annotations

import base64
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.destinations import HEADER_PREFIX
from toolkit.auth.profiles.fields import FIELDS, Profile, ProfileFields
from toolkit.auth.sealing import Seal, locked
from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import attempt, frameless, warn
from toolkit.local.files import (
    is_open_to_others,
    parse_toml,
    private_folder,
    read_text,
    refuse_link,
    shown,
    toml_string,
    write_atomically,
)
from toolkit.local.folders import APPLICATION, config_folder

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

    from toolkit.auth.credentials import Credentials

KEYRING: Final = "keyring"
USER_NAME: Final = "key of saved profiles"  # what the keyring shows with the application's name
_DESTINATIONS: Final = "destinations"
_COMMENT: Final = "# Encrypted with a key in the system keyring. Without that keyring, nobody can read it."
_SUFFIX: Final = ".toml"
_OTHER_WAYS: Final = "Set environment variables instead, or fix the permissions of the folder."
_KEY: Final = re.compile(r"[A-Za-z0-9+/]{43}=\Z")  # 32 bytes
_NO_KEYRINGS: Final = ("keyring.backends.fail", "keyring.backends.null")


def profiles_folder() -> Path:
    """Return the folder of saved profiles, which may not exist yet."""
    return config_folder() / "profiles"


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile in the folder of saved profiles. Its file is read when needed, and need not exist yet."""

    environment: Environment
    name: str
    file: Path

    def profile(self) -> Profile:
        """Return the entry for this profile in profile lists, without opening a keyring."""
        table = self._table()
        if "sealed" in table:
            return Profile(self.name, self.environment, CredentialKind(table["kind"]), KEYRING)
        return self._fields(table, shown(self.file))[0].profile()

    @frameless
    def credentials(self) -> Credentials:
        """Return the credentials, bound to the destinations that they were saved for."""
        table, source = self._table(), shown(self.file)
        if "sealed" in table:
            key = _read_key(_keyring())
            text = None if key is None else _seal(key, self).open(table["sealed"].encode("utf-8", "replace"))
            if text is None:
                what = f"Profile {self.name} for {self.environment} cannot be decrypted with the key in the keyring."
                next_step = f"Unlock or restore the keyring, or {self._save_again}."
                raise ConfigurationError(what, next_step, about=KEYRING)
            source = KEYRING
            table = parse_toml(text.decode("utf-8"), source, f"{self._save_again}.")
        elif is_open_to_others(self.file):
            warn(f"Other users of this machine can read the credentials in {source}. Run `chmod 600` on it.")
        fields, binding = self._fields(table, source)
        credentials = fields.credentials()
        credentials.note_source(source, binding)
        return credentials

    def save(self, fields: Mapping[str, Secret], binding: Mapping[str, str], kind: CredentialKind) -> str:
        """Write the file, sealed if there is a keyring; return a description of where the secrets are stored."""
        lines = [f"{name} = {toml_string(text.reveal())}" for name, text in fields.items()]
        lines += ["", f"[{_DESTINATIONS}]", *(f"{name} = {toml_string(text)}" for name, text in binding.items()), ""]
        text, source = "\n".join(lines), shown(self.file)
        try:
            private_folder(self.file.parent.parent)
            private_folder(self.file.parent)
            key = _key_to_seal(self.file.parent / ".keyring.lock")
            if key is not None:
                source, sealed = KEYRING, _seal(key, self).seal(text.encode("utf-8")).decode("ascii")
                text = f"{_COMMENT}\nkind = {toml_string(kind)}\nsealed = {toml_string(sealed)}\n"
            refuse_link(self.file)
            write_atomically(self.file, text.encode(), private=True)
        except OSError as error:
            raise ConfigurationError(f"Cannot write {shown(self.file)}: {error.strerror}.", _OTHER_WAYS) from None
        return source

    @property
    def _save_again(self) -> str:
        command = f"toolkit credentials add {shlex.quote(self.name)} --environment {self.environment}"
        return f"save the credentials again with `{command}`"

    def _table(self) -> dict[str, Any]:
        """Return the content of the file. If it is sealed, it has two fields: the kind and the sealed text."""
        where, next_step = shown(self.file), f"Fix or remove it, or {self._save_again}."
        table = parse_toml(read_text(self.file, where, next_step), where, next_step)
        is_sealed = isinstance(table.get("sealed"), str) and table.get("kind") in list(CredentialKind)
        if "sealed" in table and not (is_sealed and len(table) == 2):
            raise ConfigurationError(f"{where} is not a valid profile: it was changed or truncated.", next_step)
        return table

    def _fields(self, table: dict[str, Any], where: str) -> tuple[ProfileFields, dict[str, str]]:
        """Return the fields and the binding in a table, which may be written by hand. Errors do not quote values."""
        destinations, next_step = table.pop(_DESTINATIONS, None), f"Fix or remove it, or {self._save_again}."
        if not table.keys() <= FIELDS or not all(isinstance(value, str) and value for value in table.values()):
            fields = f"Possible fields: {', '.join(sorted(FIELDS))}, and a table [{_DESTINATIONS}]."
            what = f"{where} has an unknown field, or a field that is empty or not a string."
            raise ConfigurationError(what, f"{next_step} {fields}")
        known = [*ADDRESS_NAMES, HEADER_PREFIX]
        if not isinstance(destinations, dict) or not {HEADER_PREFIX} < {HEADER_PREFIX, *destinations} <= {*known}:
            what = f"{where} does not list the addresses that the credentials may be sent to."
            form = f'Add a table [{_DESTINATIONS}] with lines such as auth = "https://..."; names: {", ".join(known)}.'
            raise ConfigurationError(what, form, about=_DESTINATIONS)
        binding = {
            name: str(text if name == HEADER_PREFIX else Address.parse(text, setting=f"{name} in {where}"))
            for name, text in destinations.items()
        }
        values = {name: Secret(value) for name, value in table.items()}
        return ProfileFields(self.environment, self.name, where, values, str, self.file.parent), binding


def saved_profiles() -> list[SavedProfile]:
    """Return the profiles in the user's configuration folder, sorted by environment and name."""
    folder = profiles_folder()
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise ConfigurationError(f"Cannot read the folder {shown(folder)}: {error.strerror}.", _OTHER_WAYS) from None
    profiles = []
    for file in files:
        environment, _, name = file.name.removesuffix(_SUFFIX).partition(".")
        if file.suffix == _SUFFIX and environment in list(map(str, Environment)) and name:
            profiles.append(SavedProfile(Environment(environment), name, file))
    return profiles


def profile_at(environment: Environment, name: str) -> SavedProfile:
    """Return the profile with this name, which need not be saved yet."""
    return SavedProfile(environment, name, profiles_folder() / f"{environment}.{name}{_SUFFIX}")


def _keyring() -> KeyringBackend | None:
    """Return the system's first keyring that stores and encrypts secrets, or None if there is none."""
    import keyring

    chosen = attempt(keyring.get_keyring, otherwise=_unusable)
    backends: list[KeyringBackend] = getattr(chosen, "backends", None) or [chosen]  # several, if it is a chain
    for backend in backends:
        kind = type(backend)
        if kind.__module__ not in _NO_KEYRINGS and "plaintext" not in kind.__name__.lower():
            return backend
    return None


def _key_to_seal(lock: Path) -> Secret | None:
    """Return the key, creating it if it does not exist yet; None if this system has no keyring."""
    backend = _keyring()
    key = _read_key(backend)
    if backend is None or key is not None:
        return key
    with locked(lock):
        key = _read_key(backend)
        if key is None:
            new = Secret(base64.b64encode(secrets.token_bytes(32)).decode("ascii"))
            attempt(lambda: backend.set_password(APPLICATION, USER_NAME, new.reveal()), otherwise=_unusable)
            key = _read_key(backend)
            if key != new:  # some keyrings do not store anything, without an error
                raise _unusable()
    return key


def _read_key(backend: KeyringBackend | None) -> Secret | None:
    """Return the key as base64 text, or None if it does not exist yet."""
    if backend is None:
        return None
    text = attempt(lambda: backend.get_password(APPLICATION, USER_NAME), otherwise=_unusable)
    if text is not None and not _KEY.match(text):
        raise _unusable()
    return None if text is None else Secret(text)


def _seal(key: Secret, profile: SavedProfile) -> Seal:
    return Seal(base64.b64decode(key.reveal()), f"profile\x00{profile.environment}/{profile.name}")


def _unusable() -> ConfigurationError:
    """Return the error for a locked or broken keyring, without the keyring's own message, which may quote an entry."""
    what = f"The system keyring is locked or does not work, or its entry {APPLICATION!r} ({USER_NAME}) is invalid."
    next_step = (
        "Unlock it and try again. To work without a keyring, set the environment variable PYTHON_KEYRING_BACKEND "
        "to keyring.backends.null.Keyring, and save the credentials in a file that only you can read."
    )
    return ConfigurationError(what, next_step, about=KEYRING)
