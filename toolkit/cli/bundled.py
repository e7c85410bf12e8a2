"""The notebooks and cassettes that come with the toolkit, a copy of them to work in, and the tour.

The tour is a handful of calls: `toolkit demo` replays them, the first notebook explains them, and `cassettes/record.py`
records them against the practice service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import create_new
from toolkit.local.folders import SETTINGS_FILE
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

TOUR_CASSETTE: Final = "tour"
TOUR_NOTEBOOK: Final = "01-my-accounts.ipynb"
QUOTES_PATH: Final = "/v2/practice/quotes"  # a path of the practice service; the document shows no market data path
# Listed one by one, because a reader who runs the notebooks in a checkout records cassettes beside these. The pages
# beside the notebooks (Markdown) are copied whatever they are called.
FILES: Final = {
    "notebooks": (
        "01-my-accounts.ipynb",
        "02-what-changed.ipynb",
        "03-money-and-prices.ipynb",
        "04-record-and-replay.ipynb",
        "05-all-accounts.ipynb",
        "06-a-report-for-each-client.ipynb",
        "07-signing-in.ipynb",
        "tour.png",
    ),
    "cassettes": (
        "accounts-friday.yaml",
        "accounts-monday.yaml",
        "authentication.yaml",
        "first-recording.yaml",
        "forty-minutes.yaml",
        "many-calls.yaml",
        "reports.yaml",
        "tour.yaml",
    ),
}
# All of these pages are copied as well: nobody records into their folders.
_PAGES: Final = ("index.md", "how-to/*.md", "explanation/*.md", "reference/*.md")
_DOCUMENTS: Final = ("README.md", "CHANGELOG.md")  # notebooks link to the README, and the README to the changelog
_SETTINGS: Final = b"# Addresses of the service go here; see the README.\n[addresses]\n"
_PACKAGE: Final = Path(__file__).resolve().parents[1]


def bundled_folder(kind: str) -> Path:
    """Return the folder of the bundled "notebooks" or "cassettes": in the checkout, or inside the installed package.

    Raises:
        ConfigurationError: if files are missing in both.
    """
    for root in (_PACKAGE.parent, _PACKAGE / "_shipped"):
        if all((root / kind / name).is_file() for name in FILES[kind]):
            return root / kind
    raise ConfigurationError(f"The bundled {kind} are missing from this installation.", "Install the toolkit again.")


def is_installed() -> bool:
    """Return True if the bundled files lie inside an installed package, where nobody should edit them."""
    return bundled_folder("notebooks").parent.name == "_shipped"


def copy_to(target: Path) -> Path:
    """Copy notebooks, pages and cassettes to a folder and make it a project; existing files are kept.

    Returns:
        The folder of the copied notebooks.

    Raises:
        ConfigurationError: if the files cannot be written, or are missing from this installation.
    """
    source = bundled_folder("notebooks").parent
    pages = (page.relative_to(source).as_posix() for page in sorted((source / "notebooks").rglob("*.md")))
    names = [*_DOCUMENTS, *(f"{kind}/{name}" for kind, files in FILES.items() for name in files), *pages]
    try:
        for name in names:
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                create_new(copy, (source / name).read_bytes(), private=False)
        with suppress(FileExistsError):
            create_new(target / SETTINGS_FILE, _SETTINGS, private=False)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot copy the notebooks to {target}: {error.strerror}.", "Choose another folder.", about="copy_to"
        ) from None
    return target / "notebooks"


def take_tour(session: Session, *, pause: Callable[[], None] = lambda: None) -> Iterator[tuple[str, pd.DataFrame]]:
    """Make the calls of the tour, and yield title and table of each; `pause` runs before the last call."""
    from toolkit.tables.tabulation import tabulate

    yield "Accounts", session.accounts()
    quotes = session.market_data.get(QUOTES_PATH, params={"symbols": "ALFA,BRVO,CHRL"})
    yield "Quotes, with the same token", tabulate(quotes, records="quotes")
    pause()
    yield "Open accounts, 20 minutes later: with a new token", session.accounts(status="open")
