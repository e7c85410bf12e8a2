"""`scan`: search files for secrets, including the secrets in saved credentials, before you share them."""

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
    """Search files for passed, saved and known secrets, and for values in places where credentials usually are.

    Findings that `[scan]` in the project's `toolkit.toml` allows are left out. A `toolkit.toml` in a subfolder has no
    effect, because it may have come with someone else's code. If saved credentials cannot be opened, for example
    because the keyring is locked, a warning names them, and their secrets are not searched for.

    Args:
        paths: files and folders. Caches, installed packages and hidden folders below a folder are skipped, except two
            kinds of hidden folders: notebook checkpoints and settings folders such as `.github`. Hidden files are read.
            The result names the folders that were skipped.
        secrets: additional strings to search for in every form.

    Returns:
        The findings, ordered by file and line.

    Raises:
        ConfigurationError: if a path does not exist or cannot be read, or the settings are invalid. Unreadable files
            below a folder are listed in the result's `unreadable` attribute.
    """
    learn_credentials()
    return scan_files(paths, secrets=secrets)


def learn_credentials(settings: Settings | None = None) -> None:
    """Register the secrets of all saved credentials in this process, and warn about credentials that cannot be opened.

    If a project's settings are passed, the credentials in its `.env` file and in environment variables are included.
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
