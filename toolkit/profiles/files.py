"""Saved profiles: one small file each, in the user's own configuration folder.

Each profile has a file of its own, so that two processes that save at once lose none. The file holds
the credentials, or says where in the system keyring they are; a person may write one too.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, Final

from toolkit.errors import ConfigurationError
from toolkit.profiles.binding import check_binding
from toolkit.profiles.document import Document, Marker, parse
from toolkit.profiles.fields import Given
from toolkit.profiles.listing import Profile, shown
from toolkit.profiles.reading import read_text
from toolkit.profiles.warning import warn
from toolkit.service import Environment

if TYPE_CHECKING:
    from toolkit.credentials import Credentials
    from toolkit.settings import Settings

APPLICATION: Final = "service-access-toolkit"
KEYRING: Final = "keyring"
_SUFFIX: Final = ".toml"
_OTHERS: Final = 0o077
_ELSEWHERE: Final = "Set environment variables instead, or mend the folder."


def profiles_folder() -> Path:
    """The folder of saved profiles, whether it exists or not."""
    from platformdirs import user_config_dir  # noqa: PLC0415 - keeps platformdirs out of `import toolkit`

    return Path(user_config_dir(APPLICATION, appauthor=False)) / "profiles"


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile that was saved; its file is read when something of it is asked for.

    Attributes:
        environment: the environment it is for.
        name: profile name.
        file: where it is, or where it says that it is in the keyring.
        settings: addresses to hold against those it was saved for.
    """

    environment: Environment
    name: str
    file: Path
    settings: Settings

    def profile(self) -> Profile:
        content = self.content()
        if isinstance(content, Marker):
            return Profile(self.name, self.environment, content.kind, KEYRING)
        return self._given(content, shown(self.file)).profile()

    def credentials(self) -> Credentials:
        """The credentials, if they may be used with the addresses that are set.

        Raises:
            UnsafeAddress: they were saved for other addresses.
            ConfigurationError: the file is no profile, or the keyring does not give it.
        """
        content, source = self.content(), shown(self.file)
        if isinstance(content, Marker):
            source, text = KEYRING, content.entry.read()
            content = parse(text.reveal(), f"The keyring's entry {self.label}", self.label)
            if isinstance(content, Marker):
                raise ConfigurationError(f"The keyring's entry {self.label} is no profile.", "Save it again.")
        elif os.name == "posix" and S_IMODE(self.file.stat().st_mode) & _OTHERS:
            warn(f"Others on this machine may read the credentials in {source}. Run `chmod 600` on it.")
        check_binding(content.origins, self.environment, source, self.settings)
        return self._given(content, source).credentials()

    def content(self) -> Document | Marker:
        """What the file says."""
        where = shown(self.file)
        return parse(read_text(self.file, where, "Mend or remove the file."), where, self.label)

    @property
    def label(self) -> str:
        """What the keyring knows the profile by."""
        return f"{self.environment}/{self.name}"

    def _given(self, document: Document, source: str) -> Given:
        return Given(self.environment, self.name, source, document.values, str, self.file.parent)


def saved_profiles(settings: Settings) -> list[SavedProfile]:
    """The profiles in the user's configuration folder, sorted by environment and name.

    Raises:
        ConfigurationError: the folder cannot be read.
    """
    folder = profiles_folder()
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        reason = error.strerror
    else:
        found = [(*file.name.removesuffix(_SUFFIX).partition("."), file) for file in files if file.suffix == _SUFFIX]
        environments = set(Environment)
        return [
            SavedProfile(Environment(environment), name, file, settings)
            for environment, _, name, file in found
            if environment in environments and name
        ]
    raise ConfigurationError(f"Cannot read the folder {shown(folder)}: {reason}.", _ELSEWHERE)


def profile_at(environment: Environment, name: str, settings: Settings) -> SavedProfile:
    """The profile of this name, saved already or yet to be saved.

    Raises:
        ConfigurationError: another differs from it by upper and lower case alone, which some disks do not tell apart.
    """
    for other in saved_profiles(settings):
        if other.environment is environment and other.name != name and other.name.lower() == name.lower():
            raise ConfigurationError(
                f"The name differs from that of the profile {other.name} of {environment} by upper and lower case alone.",
                "Choose another name, or remove that profile first.",
            )
    return SavedProfile(environment, name, profiles_folder() / f"{environment}.{name}{_SUFFIX}", settings)


def write(file: Path, text: str) -> None:
    """Write a file that only its user may read, all of it or nothing, and not through a link.

    Raises:
        ConfigurationError: it cannot be written, or the folder or the file is a link.
    """
    try:
        _private_folder(file.parent)
        _refuse_link(file)
        # Made for its user alone (0600) and under a new name; renaming replaces a link and does not follow it.
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).replace(file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise ConfigurationError(f"Cannot write {shown(file)}: {reason}.", _ELSEWHERE)


def _private_folder(folder: Path) -> None:
    for each in (folder.parent, folder):
        _refuse_link(each)
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix" and S_IMODE(each.stat().st_mode) & _OTHERS:
            each.chmod(0o700)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise ConfigurationError(f"{shown(path)} is a link; secrets are not written through one.", _ELSEWHERE)
