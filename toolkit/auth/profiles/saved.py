"""The files of saved profiles, one for each, in the user's configuration folder.

Each profile has a file of its own, so that two processes can save at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.fields import Profile, ProfileFields
from toolkit.auth.profiles.keyring import EarlierEntry
from toolkit.auth.profiles.profile_document import ClosedDocument, Document, parse
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.secret import Secret
from toolkit.core.shells import shell_word
from toolkit.core.user_code import warn
from toolkit.local.files import read_text, shown, write_atomically
from toolkit.local.folders import belongs_to_stranger
from toolkit.local.private_files import LinkInTheWay, is_open_to_others, private_folder, refuse_link
from toolkit.local.user_folders import config_folder

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

KEYRING: Final = "keyring"
_SUFFIX: Final = ".toml"
_ENVIRONMENTS: Final = frozenset(map(str, Environment))
_OTHER_WAYS: Final = "Set environment variables instead, or fix the folder."


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
        if isinstance(document, ClosedDocument):
            return Profile(self.name, self.environment, document.kind, KEYRING)
        return self._fields(document, shown(self.file)).profile()

    def credentials(self) -> Credentials:
        """Return the credentials, bound to the destinations that they were saved for.

        Raises:
            ConfigurationError: if the file is not a profile, or the keyring does not open it.
            CredentialsMismatch: if the environment does not take such credentials.
        """
        document, source = self._read(), shown(self.file)
        if isinstance(document, ClosedDocument):
            text = document.content.open(self.label, f"Unlock or restore the keyring. Or {self._save_again}")
            source, document = KEYRING, parse(text, f"The profile {self.label} in the keyring", self._fix)
            if isinstance(document, ClosedDocument):
                raise ConfigurationError(f"The profile {self.label} in the keyring is not a profile.", self._fix)
        elif is_open_to_others(self.file):
            warn(f"Others on this machine can read the credentials in {source}. Run `chmod 600` on it.")
        credentials = self._fields(document, source).credentials()
        credentials.note_source(source, document.binding)
        return credentials

    def earlier_entry(self) -> EarlierEntry | None:
        """Return the keyring entry in which an earlier version kept the profile, or None if it is kept elsewhere."""
        try:
            document = self._read()
        except ToolkitError:
            return None
        content = document.content if isinstance(document, ClosedDocument) else None
        return content if isinstance(content, EarlierEntry) else None

    @property
    def _save_again(self) -> str:
        command = f"toolkit credentials add {shell_word(self.name)} --environment {self.environment}"
        return f"save the credentials again with `{command}`."

    @property
    def _fix(self) -> str:
        return f"Fix or remove it, or {self._save_again}"

    def _read(self) -> Document | ClosedDocument:
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
