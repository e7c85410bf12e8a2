"""Scan files and folders, and leave out the findings that the project allows.

Hidden files are included, since `.env` and `.netrc` contain credentials, and so are hidden folders in which people keep
settings. Other hidden folders, caches, installed packages and links to folders are skipped, and listed in the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import REGISTER, Secret
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scanning.allow import AllowList
from toolkit.scrubbing.scanning.contents import Opener
from toolkit.scrubbing.scanning.findings import Finding, FindingList, Unreadable, fingerprint_of
from toolkit.scrubbing.scanning.source_text import secrets_in

# Hidden folders with files that people write or save.
_SCANNED: Final = frozenset(
    {
        *(".ipynb_checkpoints", ".github", ".gitlab", ".circleci", ".streamlit", ".vscode", ".idea", ".devcontainer"),
        *(".aws", ".azure", ".docker", ".kube", ".ssh", ".config", ".jupyter"),
    }
)
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules"})
Paths = str | Path | Iterable[str | Path]


def scan_files(
    paths: Paths, *, secrets: str | Secret | Iterable[str | Secret] = (), settings: Settings | None = None
) -> FindingList:
    """Search files for the secrets that the process knows, and for values that look like secrets.

    Args:
        paths: files and folders.
        secrets: additional strings to search for in every form.
        settings: the settings with the table [scan]; defaults to the project's settings.

    Raises:
        ConfigurationError: if a path does not exist or cannot be read, or the settings are invalid.
    """
    named = _named(paths)
    settings = as_settings(settings)
    allowed = AllowList(settings.scan, settings.project)
    known = KnownSecrets()
    known.add_texts(secrets)
    found: list[Finding] = []
    unreadable: list[Unreadable] = []
    skipped: list[Path] = []
    files: set[Path] = set()

    def note(error: OSError, path: Path) -> None:
        reason = error.strerror or type(error).__name__
        if path in named:
            advice = "Fix its permissions or leave it out."
            raise ConfigurationError(f"Cannot read {path}: {reason}.", advice, about="paths") from None
        unreadable.append(Unreadable(path, reason))

    for path in named:
        for file in _files_at(path, note, skipped):
            if file.absolute() not in files:
                try:
                    found += _findings_in(file, known, unreadable)
                    files.add(file.absolute())
                except OSError as error:
                    note(error, file)
    result = FindingList(finding for finding in found if not allowed.allows(finding))
    result.files, result.allowed = len(files), len(found) - len(result)
    result.unreadable, result.skipped = tuple(unreadable), tuple(skipped)
    is_whole = any(settings.project.resolve().is_relative_to(path.resolve()) for path in named)
    result.unused_allowances, result.project = allowed.unused() if is_whole else (), settings.project
    return result


def _named(paths: Paths) -> list[Path]:
    several = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not all(isinstance(path, str | os.PathLike) for path in several):
        what = "paths must be a path or a list of paths."
        raise ConfigurationError(what, 'For example tk.scan(".").', about="paths")
    return list(dict.fromkeys(expanded(Path(path), about="paths") for path in several))


def _files_at(path: Path, note: Callable[[OSError, Path], None], skipped: list[Path]) -> list[Path]:
    """Return a file itself, or the files below a folder in order; note the folders that are skipped."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigurationError(f"{path} is neither a file nor a folder.", "Pass a file or a folder.", about="paths")
    files: list[Path] = []
    for folder, names, file_names in os.walk(path, onerror=lambda error: note(error, Path(error.filename))):
        left_out = [name for name in names if _is_left_out(Path(folder, name))]
        skipped += [Path(folder, name) for name in sorted(left_out)]
        names[:] = [name for name in names if name not in left_out]
        files += [file for name in file_names if (file := Path(folder, name)).is_file()]
    return sorted(files)


def _is_left_out(folder: Path) -> bool:
    if folder.name in _LEFT_OUT or (folder.name.startswith(".") and folder.name not in _SCANNED):
        return True
    return folder.is_symlink() or os.path.lexists(folder / "pyvenv.cfg")


def _findings_in(path: Path, known: KnownSecrets, unreadable: list[Unreadable]) -> list[Finding]:
    findings: dict[tuple[Finding, str], Finding] = {}
    with path.open("rb") as stream:
        opener = Opener(os.fstat(stream.fileno()).st_size)
        for text, place in opener.texts_in(stream):
            unknown = secrets_in(text) if isinstance(text, str) else ()
            for number, kind, value in {*_known_in(text, known), *unknown}:
                line, cell, part = place(number)
                finding = Finding(path, line, kind, cell, part, fingerprint_of(kind, value))
                findings[finding, finding.fingerprint] = finding
    unreadable += (Unreadable(path, note) for note in sorted(opener.notes))
    return sorted(findings.values(), key=lambda each: (each.line, each.cell or 0, each.part, each.kind))


def _known_in(text: str | bytes, known: KnownSecrets) -> Iterator[tuple[int, str, str]]:
    """Yield the line and kind of each known secret, without its value; for a multi-line key, only the first line."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    anywhere = known.find(data)
    if anywhere is None:
        return
    keys = {known.placeholder_of(secret) for _, secret in REGISTER.since(0) if "\n" in secret.reveal().strip()}
    kinds: dict[int, str] = {}
    before = None
    for number, line in enumerate(data.split(b"\n"), start=1):
        hit = known.find(line)
        if hit is not None and (hit != before or hit[0] not in keys):
            kinds[number] = f"known secret, {hit[1]}"
        before = hit
    for number, kind in (kinds or {1: f"known secret across lines, {anywhere[1]}"}).items():
        yield number, kind, ""
