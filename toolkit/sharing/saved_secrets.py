"""`scan`: look for secrets, including those of the saved credentials, in files before you share them."""

from __future__ import annotations

from collections.abc import Iterable

from toolkit.auth.profiles.saved import KEYRING, saved_profiles
from toolkit.auth.profiles.saving import profiles_in_order
from toolkit.core.errors import ToolkitError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless, warn
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning.files import Paths, scan_files
from toolkit.scrubbing.scanning.findings import FindingList


@frameless
def scan(paths: Paths, *, secrets: str | Secret | Iterable[str | Secret] = ()) -> FindingList:
    """Look in files for secrets that are passed, saved or known, and for values where credentials usually are.

    Findings that `[scan]` in the project's `toolkit.toml` allows are left out. A `toolkit.toml` in a subfolder allows
    nothing: it may have come with somebody else's code. If saved credentials cannot be opened, for example because the
    keyring is locked, a warning names them, and their secrets are not looked for.

    Args:
        paths: files, and folders with everything below them except caches, installed packages and hidden folders.
            Hidden files are read, and so are two kinds of hidden folders: notebook checkpoints and settings folders
            such as `.github`. The result names the folders that were skipped.
        secrets: strings to look for in every form.

    Returns:
        The findings by file and line.

    Raises:
        ConfigurationError: if a path does not exist or cannot be read, or the settings are invalid. Unreadable files
            below a folder are in the `unreadable` attribute of the result.
    """
    learn_credentials()
    return scan_files(paths, secrets=secrets)


def learn_credentials(settings: Settings | None = None) -> None:
    """Register the secrets of all saved credentials in this process, and warn of credentials that cannot be opened.

    If the settings of a project are passed, the credentials in its `.env` and in environment variables are included.
    """
    closed: dict[str, str] = {}  # by profile: why it could not be read
    is_locked = False
    try:
        for profile in saved_profiles() if settings is None else profiles_in_order(settings, None):
            name = f"{profile.environment}/{profile.name}"
            try:
                # A locked keyring may ask its user to unlock it, and would ask again for every profile.
                if is_locked and profile.profile().source == KEYRING:
                    closed[name] = ""
                else:
                    profile.credentials()
            except ToolkitError as error:
                closed[name] = str(error)
                is_locked = is_locked or error.about == "keyring"
    except ToolkitError as error:
        warn(f"Cannot search for the secrets of saved credentials: {error}")
    if closed:
        first = next(iter(closed.values()))
        warn(f"Cannot search for the secrets of {', '.join(closed)}, because these profiles cannot be opened: {first}")
