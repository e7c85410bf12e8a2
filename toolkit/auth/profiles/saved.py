"""Saved profiles: one small file each, in the user's own configuration folder.

Each profile has a file of its own, so that two processes that save at once lose none. The file holds
the credentials, or says where in the system keyring they are; a person may write one too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.document import Document, Marker, check_binding, parse
from toolkit.auth.profiles.fields import Given
from toolkit.auth.profiles.profile import Profile
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.warn import warn
from toolkit.local.files import read_text, shown, write_private
from toolkit.local.private_files import LinkInTheWay, is_open_to_others, private_folder, refuse_link

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials
    from toolkit.auth.profiles.keyring import Entry
    from toolkit.local.settings import Settings

APPLICATION: Final = "service-access-toolkit"
KEYRING: Final = "keyring"
_SUFFIX: Final = ".toml"
_ENVIRONMENTS: Final = frozenset(map(str, Environment))
_ELSEWHERE: Final = "Set environment variables instead, or mend the folder."


def profiles_folder() -> Path:
    """The folder of saved profiles, whether it exists or not."""
    from platformdirs import user_config_dir  # keeps platformdirs out of `import toolkit`

    return Path(user_config_dir(APPLICATION, appauthor=False)) / "profiles"


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile that was saved; its file is read when something of it is asked for.

    Attributes:
        environment: the environment it is for.
        name: profile name.
        file: where it is, or where it says that it is in the keyring.
    """

    environment: Environment
    name: str
    file: Path

    @property
    def label(self) -> str:
        """What the keyring knows the profile by."""
        return f"{self.environment}/{self.name}"

    def profile(self) -> Profile:
        content = self._content()
        if isinstance(content, Marker):
            return Profile(self.name, self.environment, content.kind, KEYRING)
        return self._given(content, shown(self.file)).profile()

    def credentials(self, settings: Settings) -> Credentials:
        """The credentials, if they may be used with the addresses that are set.

        Raises:
            UnsafeAddress: they were saved for other addresses.
            ConfigurationError: the file is no profile, or the keyring does not give it.
        """
        content, source = self._content(), shown(self.file)
        if isinstance(content, Marker):
            source, text = KEYRING, content.entry.read()
            content = parse(text.reveal(), f"The keyring's entry {self.label}", self.label)
            if isinstance(content, Marker):
                raise ConfigurationError(
                    f"The keyring's entry {self.label} is no profile.", "Save the credentials again."
                )
        elif is_open_to_others(self.file):
            warn(f"Others on this machine may read the credentials in {source}. Run `chmod 600` on it.")
        check_binding(content.origins, self.environment, source, settings)
        return self._given(content, source).credentials()

    def entry(self) -> Entry | None:
        """Where in the keyring the profile is; None when it is not there, not saved yet, or its file is unreadable."""
        try:
            content = self._content()
        except ToolkitError:
            return None
        return content.entry if isinstance(content, Marker) else None

    def _content(self) -> Document | Marker:
        where = shown(self.file)
        return parse(read_text(self.file, where, "Mend or remove the file."), where, self.label)

    def _given(self, document: Document, source: str) -> Given:
        return Given(self.environment, self.name, source, document.values, str, self.file.parent)


@dataclass(frozen=True, slots=True)
class BoundProfile:
    """A saved profile together with the settings whose addresses are held against those it was saved for."""

    saved: SavedProfile
    settings: Settings

    @property
    def environment(self) -> Environment:
        return self.saved.environment

    @property
    def name(self) -> str:
        return self.saved.name

    def profile(self) -> Profile:
        return self.saved.profile()

    def credentials(self) -> Credentials:
        return self.saved.credentials(self.settings)


def saved_profiles() -> list[SavedProfile]:
    """The profiles in the user's configuration folder, sorted by environment and name.

    Raises:
        ConfigurationError: the folder cannot be read.
    """
    folder = profiles_folder()
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise ConfigurationError(f"Cannot read the folder {shown(folder)}: {error.strerror}.", _ELSEWHERE) from None
    found = []
    for file in files:
        environment, _, name = file.name.removesuffix(_SUFFIX).partition(".")
        if file.suffix == _SUFFIX and environment in _ENVIRONMENTS and name:
            found.append(SavedProfile(Environment(environment), name, file))
    return found


def profile_at(environment: Environment, name: str) -> SavedProfile:
    """The profile of this name, saved already or yet to be saved.

    Raises:
        ConfigurationError: another differs from it by upper and lower case alone, which some disks do not tell apart.
    """
    for other in saved_profiles():
        if other.environment is environment and other.name != name and other.name.lower() == name.lower():
            raise ConfigurationError(
                f"The profile {other.name} of {environment} has this name but for upper and lower case.",
                "Choose another name, or remove that profile first.",
            )
    return SavedProfile(environment, name, profiles_folder() / f"{environment}.{name}{_SUFFIX}")


def write(file: Path, text: str) -> None:
    """Write a file that only its user may read, all of it or nothing, and not through a link.

    Raises:
        ConfigurationError: it cannot be written, or the folder or the file is a link.
    """
    try:
        private_folder(file.parent.parent)
        private_folder(file.parent)
        refuse_link(file)
        write_private(file, text.encode())
    except LinkInTheWay as error:
        link = shown(Path(error.filename))
        raise ConfigurationError(f"{link} is a link; secrets are not written through one.", _ELSEWHERE) from None
    except OSError as error:
        raise ConfigurationError(f"Cannot write {shown(file)}: {error.strerror}.", _ELSEWHERE) from None


def delete(file: Path) -> None:
    """Remove a file; one that is gone already is none too many.

    Raises:
        ConfigurationError: it cannot be removed.
    """
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"Cannot remove {shown(file)}: {error.strerror}.", "Remove it yourself.") from None
