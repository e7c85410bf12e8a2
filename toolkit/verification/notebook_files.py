"""Find notebooks on the disk, read them, and replace them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.local.files import lies_in, write_atomically

SUFFIX: Final = ".ipynb"
_NAME_NOTEBOOKS: Final = "Name notebooks, or folders with notebooks."
_SAVE_AGAIN: Final = "Open it in JupyterLab and save it, or restore it from the repository."
_RESTORE: Final = "Restore it from the repository."
_LARGEST: Final = 200_000_000  # bytes
_SKIPPED_FOLDERS: Final = frozenset({".ipynb_checkpoints", "__pycache__", "node_modules", "site-packages"})


class NotANotebook(Exception):
    """A file is not a notebook that can be run here.

    Attributes:
        what: the reason.
        next_step: what to do about it.
    """

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what)
        self.what, self.next_step = what, next_step


@dataclass(frozen=True, slots=True)
class StoredNotebook:
    """The bytes and the content of a notebook.

    Attributes:
        data: the bytes, with the line ends of a repository (see `_with_plain_line_ends`).
        content: the parsed bytes; texts that the file stores line by line are joined.
    """

    data: bytes
    content: dict[str, Any]

    @property
    def cells(self) -> list[dict[str, Any]]:
        return list(self.content["cells"])


def find_notebooks(paths: Iterable[Path | str], *, without: Path | None = None) -> list[Path]:
    """Return the notebooks among files and below folders, each once, without checkpoints and hidden folders.

    Args:
        paths: notebooks, and folders with notebooks.
        without: a folder whose notebooks are left out, unless it or they are named themselves.

    Raises:
        ConfigurationError: if a path does not exist, is not a notebook, or is a folder without notebooks.
    """
    notebooks: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            left_out = None if without is None or lies_in(path, without) else without
            below = sorted(
                file
                for file in path.rglob(f"*{SUFFIX}")
                if file.is_file() and not _is_hidden(file, path) and not (left_out and lies_in(file, left_out))
            )
            if not below:
                raise ConfigurationError(
                    f"The folder {path} has no notebooks in it.",
                    "Name a notebook, or a folder with notebooks.",
                    about="paths",
                )
            notebooks |= dict.fromkeys(below)
        elif not path.exists():
            raise ConfigurationError(f"{path} does not exist.", _NAME_NOTEBOOKS, about="paths")
        elif path.suffix != SUFFIX or not path.is_file():
            raise ConfigurationError(
                f"{path} is not a notebook.", f"Name files that end in {SUFFIX}, or folders.", about="paths"
            )
        else:
            notebooks[path] = None
    if not notebooks:
        raise ConfigurationError("No notebooks were named.", _NAME_NOTEBOOKS, about="paths")
    first_names = {path.resolve(): path for path in reversed(notebooks)}
    return [path for path in notebooks if first_names[path.resolve()] is path]


def read_notebook(path: Path) -> StoredNotebook:
    """Read a notebook.

    Raises:
        NotANotebook: if it cannot be read, or is not a Python notebook of format 4.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise NotANotebook(
                f"It is larger than {_LARGEST // 1_000_000} MB.", "Clear its outputs and keep data in files."
            )
        data = _with_plain_line_ends(path.read_bytes())
    except OSError as error:
        raise NotANotebook(f"It cannot be read: {error.strerror}.", "Check the file and its permissions.") from None
    return parse_notebook(data)


def parse_notebook(data: bytes) -> StoredNotebook:
    """Parse the bytes of a notebook.

    Raises:
        NotANotebook: if they are not a Python notebook of format 4.
    """
    try:
        content = _parse_json(data)
        _check_language(content)
        return StoredNotebook(data, _validated(content))
    except RecursionError:
        raise NotANotebook("It is nested too deeply.", _RESTORE) from None


def _parse_json(data: bytes) -> Any:
    """Return the content of a JSON file; refuse content that cannot be written as UTF-8 again."""
    try:
        content = json.loads(data)
        json.dumps(content, ensure_ascii=False).encode()  # JSON can contain a lone surrogate, which UTF-8 cannot
    except json.JSONDecodeError as error:
        has_conflict = b"\n<<<<<<< " in data
        raise NotANotebook(
            f"Line {error.lineno} is not JSON: {error.msg}.",
            "It contains merge conflicts; resolve them." if has_conflict else _RESTORE,
        ) from None
    except UnicodeDecodeError:
        raise NotANotebook("It is not JSON in UTF-8.", _RESTORE) from None
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(error.object[error.start]):04x}"
        raise NotANotebook(
            f"It contains half a character, {surrogate}, which UTF-8 cannot represent.",
            "Search the file for it, and write the whole character or remove it.",
        ) from None
    except ValueError:  # Python does not read numbers of thousands of digits
        raise NotANotebook(
            "It contains a number with too many digits.", "Write it as a text, or restore the file."
        ) from None
    return content


def _check_language(content: Any) -> None:
    """Raise NotANotebook unless this is a notebook of format 4 in Python."""
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list) or content.get("nbformat") != 4:
        raise NotANotebook("It is not a notebook of format 4.", "Open it in JupyterLab and save it.")
    metadata = content.get("metadata")
    languages = [metadata.get(key) for key in ("kernelspec", "language_info")] if isinstance(metadata, dict) else []
    for entry, key in zip(languages, ("language", "name"), strict=False):
        language = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(language, str) and language.lower() not in {"python", "python3", "ipython"}:
            raise NotANotebook(f"Its language is {excerpt(language, 40)}.", "Only Python notebooks can be verified.")


def _validated(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with joined texts and an id in each cell, after validating it against the notebook format."""
    import nbformat
    from nbformat.v4.rwbase import rejoin_lines

    try:
        notebook = rejoin_lines(nbformat.from_dict(content))  # type: ignore[no-untyped-call]
        _name_cells(notebook)
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        place = "/".join(map(str, getattr(error, "absolute_path", ()) or ())) or "its top level"
        raise NotANotebook(f"It does not follow the notebook format, at {excerpt(place)}.", _SAVE_AGAIN) from None
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):  # such as a format of 4.0
        raise NotANotebook("It does not follow the notebook format.", _SAVE_AGAIN) from None
    return dict(notebook)


def _name_cells(notebook: Any) -> None:
    """Give an id to each cell without a unique one: derived from its number, so the same every time."""
    if notebook.get("nbformat_minor", 0) < 5:
        return
    used = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell.get("id"), str) or cell["id"] in used:
            names = (f"cell-{number}-{extra}" if extra > 1 else f"cell-{number}" for extra in count(1))
            cell["id"] = next(name for name in names if name not in used)
        used.add(cell["id"])


def replace_notebook(path: Path, read: bytes, data: bytes) -> None:
    """Replace a notebook in one step.

    Raises:
        ConfigurationError: if it is a link, its bytes are not equal to `read` any more, or it cannot be written.
    """
    try:
        if _with_plain_line_ends(path.read_bytes()) != read:
            raise ConfigurationError(
                f"{path} changed while it was verified, so it was not updated.", "Run this again.", about="paths"
            )
        write_atomically(path, data, durable=True)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.", "Fix its permissions, or name the file.", about="paths"
        ) from None


def _with_plain_line_ends(data: bytes) -> bytes:
    r"""Return the bytes with "\n" for "\r\n" if every line ends that way, as in a checkout on Windows.

    Line ends in the texts of a notebook are escaped, so these belong to the layout of the file only.
    """
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n") else data


def _is_hidden(path: Path, below: Path) -> bool:
    folders = path.relative_to(below).parts[:-1]
    return any(name in _SKIPPED_FOLDERS or name.startswith(".") for name in folders)
