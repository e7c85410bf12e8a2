"""The files of saved profiles, one for each, in the user's configuration folder.

Each profile has a file of its own, so that two processes can save at the same time. Its text has the fields and a table
[destinations]: the addresses with their path prefixes, and the prefix of key headers, that the credentials may be sent
to. If the system has a keyring, the file holds that text sealed, beside the kind of the credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.destinations import HEADER_PREFIX
from toolkit.auth.profiles.fields import FIELDS, Profile, ProfileFields
from toolkit.auth.profiles.keyring import open_text
from toolkit.core.addresses import Address
from toolkit.core.document import ADDRESS_NAMES, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.shells import shell_word, toml_string
from toolkit.core.tracebacks import frameless, warn
from toolkit.local.files import read_text, shown, write_atomically
from toolkit.local.folders import belongs_to_stranger
from toolkit.local.private_files import LinkInTheWay, is_open_to_others, private_folder, refuse_link
from toolkit.local.toml_text import parse_toml
from toolkit.local.user_folders import config_folder

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

KEYRING: Final = "keyring"
_DESTINATIONS: Final = "destinations"
_COMMENT: Final = "# Sealed with a key in the system keyring: without that keyring nobody can read it."
_SUFFIX: Final = ".toml"
_ENVIRONMENTS: Final = frozenset(map(str, Environment))
_OTHER_WAYS: Final = "Set environment variables instead, or fix the folder."


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a profile, parsed.

    Attributes:
        values: text of each field.
        binding: the destinations that the credentials may be used with.
    """

    values: Mapping[str, Secret]
    binding: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SealedDocument:
    """The text of a profile that only the keyring opens.

    Attributes:
        kind: kind of the credentials, so that a list need not open the keyring.
        sealed: the sealed text of a Document.
    """

    kind: CredentialKind
    sealed: str


def profiles_folder() -> Path:
    """Return the folder of saved profiles; it need not exist."""
    return config_folder() / "profiles"


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile in the folder of saved profiles. Its file is read when it is needed.

    Attributes:
        environment: the environment that it is for.
        name: name of the profile.
        file: the file, which need not exist yet.
    """

    environment: Environment
    name: str
    file: Path

    @property
    def label(self) -> str:
        """Environment and name, as messages and the keyring show them."""
        return f"{self.environment}/{self.name}"

    def profile(self) -> Profile:
        """Return the profile as a list shows it. No keyring is opened.

        Raises:
            ConfigurationError: if the file is not a profile.
            CredentialsMismatch: if the environment does not take such credentials.
        """
        document = self._read()
        if isinstance(document, SealedDocument):
            return Profile(self.name, self.environment, document.kind, KEYRING)
        return self._fields(document, shown(self.file)).profile()

    def credentials(self) -> Credentials:
        """Return the credentials, bound to the destinations that they were saved for.

        Raises:
            ConfigurationError: if the file is not a profile, or the keyring does not open it.
            CredentialsMismatch: if the environment does not take such credentials.
        """
        document, source = self._read(), shown(self.file)
        if isinstance(document, SealedDocument):
            text = open_text(document.sealed, self.label, f"Unlock or restore the keyring. Or {self._save_again}")
            source, document = KEYRING, parse(text, f"The profile {self.label} in the keyring", self._fix)
            if isinstance(document, SealedDocument):
                raise ConfigurationError(f"The profile {self.label} in the keyring is not a profile.", self._fix)
        elif is_open_to_others(self.file):
            warn(f"Others on this machine can read the credentials in {source}. Run `chmod 600` on it.")
        credentials = self._fields(document, source).credentials()
        credentials.note_source(source, document.binding)
        return credentials

    @property
    def _save_again(self) -> str:
        command = f"toolkit credentials add {shell_word(self.name)} --environment {self.environment}"
        return f"save the credentials again with `{command}`."

    @property
    def _fix(self) -> str:
        return f"Fix or remove it, or {self._save_again}"

    def _read(self) -> Document | SealedDocument:
        where = shown(self.file)
        if belongs_to_stranger(self.file, self.file.parent):
            raise ConfigurationError(
                f"{where} belongs neither to you nor to the owner of its folder, so anybody may have put it there.",
                "If you trust it, make it yours (chown); otherwise remove it.",
            )
        return parse(Secret(read_text(self.file, where, self._fix)), where, self._fix)

    def _fields(self, document: Document, source: str) -> ProfileFields:
        return ProfileFields(self.environment, self.name, source, document.values, str, self.file.parent)


def saved_profiles() -> list[SavedProfile]:
    """Return the profiles in the user's configuration folder, sorted by environment and name.

    Raises:
        ConfigurationError: if the folder cannot be read.
    """
    folder = profiles_folder()
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise ConfigurationError(f"Cannot read the folder {shown(folder)}: {error.strerror}.", _OTHER_WAYS) from None
    profiles = []
    for file in files:
        environment, _, name = file.name.removesuffix(_SUFFIX).partition(".")
        if file.suffix == _SUFFIX and environment in _ENVIRONMENTS and name:
            profiles.append(SavedProfile(Environment(environment), name, file))
    return profiles


def profile_at(environment: Environment, name: str) -> SavedProfile:
    """Return the profile of this name, which need not be saved yet.

    Raises:
        ConfigurationError: if another name differs in upper and lower case only, which some disks do not distinguish.
    """
    for other in saved_profiles():
        if other.environment is environment and other.name != name and other.name.lower() == name.lower():
            raise ConfigurationError(
                f"The name of the profile {other.name} of {environment} differs from the new name only in upper and "
                "lower case.",
                "Choose another name, or remove that profile first.",
                about="name",
            )
    return SavedProfile(environment, name, profiles_folder() / f"{environment}.{name}{_SUFFIX}")


def render(document: Document) -> Secret:
    """Return a document as TOML text, which is a Secret because it contains the values."""
    fields = [f"{field} = {toml_string(text.reveal())}" for field, text in document.values.items()]
    lines = [f"{name} = {toml_string(text)}" for name, text in document.binding.items()]
    return Secret("\n".join([*fields, "", f"[{_DESTINATIONS}]", *lines, ""]))


def render_sealed(document: SealedDocument) -> Secret:
    """Return a sealed document as TOML text."""
    return Secret(f"{_COMMENT}\nkind = {toml_string(document.kind)}\nsealed = {toml_string(document.sealed)}\n")


@frameless
def parse(text: Secret, where: str, next_step: str) -> Document | SealedDocument:
    """Parse the text of a profile file, written by `render`, `render_sealed` or a person.

    Messages name the file or keyring (`where`) and the next step, and do not quote the text.

    Raises:
        ConfigurationError: if it is not TOML, or not a profile.
        UnsafeAddress: if an address is plain http beyond this machine, or has userinfo.
    """
    table = parse_toml(text.reveal(), where, next_step)
    if "sealed" in table:
        sealed, kind = table["sealed"], table.get("kind")
        if table.keys() != {"kind", "sealed"} or not isinstance(sealed, str) or kind not in list(CredentialKind):
            raise ConfigurationError(f"{where} is not a profile: it was changed or cut short.", next_step)
        return SealedDocument(CredentialKind(kind), sealed)
    destinations = table.pop(_DESTINATIONS, None)
    if not table.keys() <= FIELDS:
        raise ConfigurationError(
            f"{where} has a setting that profiles do not have.",
            f"{next_step} Known: {', '.join(sorted(FIELDS))}, and a table [{_DESTINATIONS}].",
        )
    for field, value in table.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{field} in {where} is not text.", next_step, about=field)
    return Document({field: Secret(value) for field, value in table.items()}, _binding(destinations, where))


def _binding(table: Any, where: str) -> dict[str, str]:
    names = {*ADDRESS_NAMES, HEADER_PREFIX}
    if not isinstance(table, dict) or not table.keys() & set(ADDRESS_NAMES) or table.keys() - names:
        raise ConfigurationError(
            f"{where} does not say with which addresses the credentials may be used.",
            f'Add one table [{_DESTINATIONS}] with lines such as auth = "https://..."; names: '
            f"{', '.join(ADDRESS_NAMES)}, and {HEADER_PREFIX} for a key pair.",
            about=_DESTINATIONS,
        )
    return {
        name: str(text if name == HEADER_PREFIX else Address.parse(text, setting=f"{name} in {where}"))
        for name, text in table.items()
    }


def make_folder() -> Path:
    """Return the folder of saved profiles, made if necessary; only the user can enter it.

    Raises:
        ConfigurationError: if it cannot be made, or is a link.
    """
    folder = profiles_folder()
    try:
        private_folder(folder.parent)
        private_folder(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from None
    return folder


def write(file: Path, text: Secret) -> None:
    """Write a file in the folder that only the user can read, whole or not at all, and not through a link.

    Raises:
        ConfigurationError: if it cannot be written, or is a link.
    """
    try:
        refuse_link(file)
        write_atomically(file, text.reveal().encode(), private=True, durable=True)
    except OSError as error:
        raise _cannot_write(file, error) from None


def delete(file: Path) -> None:
    """Remove a file; if it is gone already, do nothing.

    Raises:
        ConfigurationError: if it cannot be removed.
    """
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"Cannot remove {shown(file)}: {error.strerror}.", "Remove it by hand.") from None


def _cannot_write(path: Path, error: OSError) -> ConfigurationError:
    if isinstance(error, LinkInTheWay):
        link = shown(Path(error.filename))
        return ConfigurationError(f"{link} is a link; secrets are not written through links.", _OTHER_WAYS)
    return ConfigurationError(f"Cannot write {shown(path)}: {error.strerror}.", _OTHER_WAYS)
