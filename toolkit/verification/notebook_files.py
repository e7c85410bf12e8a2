"""Notebooks as they lie on the disk: found, read, and written anew."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt

SUFFIX: Final = ".ipynb"
_LARGEST: Final = 200_000_000  # bytes
_PASSED_OVER: Final = frozenset({".ipynb_checkpoints", "__pycache__", "node_modules", "site-packages"})


class NotANotebook(Exception):
    """The content of a file is no notebook that can be run here; says why, and what to do."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what)
        self.what, self.next_step = what, next_step


@dataclass(frozen=True, slots=True)
class StoredNotebook:
    """A notebook's content.

    Attributes:
        data: the very bytes, with the line ends that a repository has (see `_with_plain_line_ends`).
        content: the same, parsed; texts that the file holds line by line are joined.
    """

    data: bytes
    content: dict[str, Any]

    @property
    def cells(self) -> list[dict[str, Any]]:
        return list(self.content["cells"])


def find_notebooks(paths: Iterable[Path | str]) -> list[Path]:
    """The notebooks among files and below folders, each once, in order; checkpoints and hidden folders are none.

    Raises:
        ConfigurationError: a path does not exist, is no notebook, or is a folder without any.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            below = sorted(each for each in path.rglob(f"*{SUFFIX}") if each.is_file() and not _is_hidden(each, path))
            if not below:
                raise ConfigurationError(f"There is no notebook in {path}.", "Name a folder that has some, or a file.")
            found |= dict.fromkeys(below)
        elif not path.exists():
            raise ConfigurationError(f"{path} does not exist.", "Name notebooks, or folders with notebooks.")
        elif path.suffix != SUFFIX or not path.is_file():
            raise ConfigurationError(f"{path} is no notebook.", f"Name files that end in {SUFFIX}, or folders.")
        else:
            found[path] = None
    if not found:
        raise ConfigurationError("No notebook is named.", "Name notebooks, or folders with notebooks.")
    once = {path.resolve(): path for path in reversed(found)}
    return [path for path in found if once[path.resolve()] is path]


def read_notebook(path: Path) -> StoredNotebook:
    """A notebook's bytes and their content.

    Raises:
        NotANotebook: it cannot be read, or is no notebook of format 4 in Python.
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
    """The content of a notebook's bytes.

    Raises:
        NotANotebook: they are no notebook of format 4 in Python.
    """
    try:
        content = _parsed(data)
        _check_language(content)
        return StoredNotebook(data, _valid(content))
    except RecursionError:
        raise NotANotebook("It is nested too deep to be read.", "Restore it from the repository.") from None


def _parsed(data: bytes) -> Any:
    """The JSON of a file, all of which can be written again."""
    try:
        content = json.loads(data)
        json.dumps(content, ensure_ascii=False).encode()  # JSON can spell half a character, which UTF-8 cannot hold
    except json.JSONDecodeError as error:
        conflict = b"\n<<<<<<< " in data
        raise NotANotebook(
            f"Line {error.lineno} is not JSON: {error.msg}.",
            "It holds conflicts of a merge; settle them." if conflict else "Restore it from the repository.",
        ) from None
    except UnicodeDecodeError:
        raise NotANotebook("It is not JSON in UTF-8.", "Restore it from the repository.") from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise NotANotebook(
            f"It holds half a character, {half}, which UTF-8 cannot hold.",
            "Search the file for it, and write the whole character or none.",
        ) from None
    except ValueError:  # the one that is left: Python reads no number of thousands of digits
        raise NotANotebook(
            "It holds a number of too many digits to be read.", "Write it as a text, or restore the file."
        ) from None
    return content


def _check_language(content: Any) -> None:
    """Refuse what is no notebook of format 4, or one in another language than Python."""
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list) or content.get("nbformat") != 4:
        raise NotANotebook("It is no notebook of format 4.", "Open it in JupyterLab and save it.")
    metadata = content.get("metadata")
    of_language = [metadata.get(key) for key in ("kernelspec", "language_info")] if isinstance(metadata, dict) else []
    for named, key in zip(of_language, ("language", "name"), strict=False):
        language = named.get(key) if isinstance(named, dict) else None
        if isinstance(language, str) and language.lower() not in {"python", "python3", "ipython"}:
            raise NotANotebook(f"Its language is {excerpt(language, 40)}.", "Notebooks in Python can be verified.")


def _valid(content: dict[str, Any]) -> dict[str, Any]:
    """The content with its texts joined, every cell with an id, found in keeping with the notebook format."""
    import nbformat  # an extra, and slow to load
    from nbformat.v4.rwbase import rejoin_lines  # likewise

    try:
        notebook = rejoin_lines(nbformat.from_dict(content))  # type: ignore[no-untyped-call]
        _name_cells(notebook)
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        place = "/".join(map(str, getattr(error, "absolute_path", ()) or ())) or "its top level"
        raise NotANotebook(
            f"It is not in keeping with the notebook format, at {excerpt(place)}.",
            "Open it in JupyterLab and save it, or restore it from the repository.",
        ) from None
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):  # such as a format of 4.0
        raise NotANotebook(
            "It is not in keeping with the notebook format.",
            "Open it in JupyterLab and save it, or restore it from the repository.",
        ) from None
    return dict(notebook)


def _name_cells(notebook: Any) -> None:
    """Give an id to each cell that has none or another's: by its number, the same every time."""
    if notebook.get("nbformat_minor", 0) < 5:
        return
    taken = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell.get("id"), str) or cell["id"] in taken:
            cell["id"] = next(name for name in _names(number) if name not in taken)
        taken.add(cell["id"])


def _names(number: int) -> Iterable[str]:
    yield f"cell-{number}"
    extra = 2
    while True:
        yield f"cell-{number}-{extra}"
        extra += 1


def replace_notebook(path: Path, read: bytes, data: bytes) -> None:
    """Put new bytes in place of those that were read: all of them, or none; through a link, to what it leads to.

    Raises:
        ConfigurationError: the file changed meanwhile, or cannot be written.
    """
    target = path.resolve()
    try:
        if _with_plain_line_ends(target.read_bytes()) != read:
            raise ConfigurationError(
                f"{path} changed while it was verified; it is left as it is.", "Save it, then run this again."
            )
        descriptor, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(partial).chmod(target.stat().st_mode & 0o777)
            Path(partial).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.", "Check the file and its permissions."
        ) from None


def _with_plain_line_ends(data: bytes) -> bytes:
    r"""The bytes with "\n" for "\r\n" if every line ends so, as git checks a file out on Windows.

    Line ends within a notebook's texts are escaped, so these are of the file's layout alone.
    """
    return data.replace(b"\r\n", b"\n") if b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n") else data


def _is_hidden(path: Path, below: Path) -> bool:
    folders = path.relative_to(below).parts[:-1]
    return any(name in _PASSED_OVER or name.startswith(".") for name in folders)
