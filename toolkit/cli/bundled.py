"""The notebooks that come with the toolkit, their recordings, and how to have them as a project of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.project import SETTINGS_FILE

NOTEBOOKS: Final = (
    "01-tour.ipynb",
    "02-authentication.ipynb",
    "03-record-your-own.ipynb",
    "04-tables-and-charts.ipynb",
    "05-token-lifetimes.ipynb",
    "06-sharing-without-secrets.ipynb",
    "tour.png",
)
# Named one by one: whoever runs the notebooks in a checkout records beside these.
CASSETTES: Final = (
    "accounts-friday.yaml",
    "accounts-monday.yaml",
    "authentication.yaml",
    "first-recording.yaml",
    "forty-minutes.yaml",
    "sharing.yaml",
    "tour.yaml",
)
_TEXTS: Final = ("README.md", "CHANGELOG.md")  # the notebooks link to the first, and it to the second
_PACKAGE: Final = Path(__file__).resolve().parents[1]


def shipped(kind: str) -> Path:
    """The folder of shipped "notebooks" or "cassettes": in the checkout, else inside the installed package.

    Raises:
        ConfigurationError: neither is there.
    """
    for folder in (_PACKAGE.parent, _PACKAGE / "_shipped"):
        if all((folder / file).is_file() for file in _files(kind)):
            return folder / kind
    raise ConfigurationError(f"The shipped {kind} are missing from this installation.", "Install the toolkit again.")


def is_installed() -> bool:
    """Whether they lie inside the installed package, where nobody should work."""
    return shipped("notebooks").parent.name == "_shipped"


def copy_to(target: Path) -> Path:
    """Notebooks and cassettes below `target`, made a project of its own; what is there already stays.

    Returns:
        The folder of the copied notebooks.

    Raises:
        ConfigurationError: they cannot be written there, or are missing.
    """
    source = shipped("notebooks").parent
    try:
        for file in (*_files("notebooks"), *_files("cassettes"), *map(Path, _TEXTS)):
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                shutil.copyfile(source / file, copy)
        settings = target / SETTINGS_FILE
        if not settings.exists():
            settings.write_text("# Addresses of the service go here; see the README.\n[addresses]\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"Cannot copy the notebooks to {target}: {error.strerror}.", "Choose another folder."
        ) from None
    return target / "notebooks"


def _files(kind: str) -> Iterator[Path]:
    for name in {"notebooks": NOTEBOOKS, "cassettes": CASSETTES}[kind]:
        yield Path(kind) / name
