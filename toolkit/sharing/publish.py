"""`publish`: make a copy of a notebook to share, with the recordings that it replays."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution, version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.errors import ConfigurationError, PublishError, SecretLeak
from toolkit.core.secret import Secret
from toolkit.core.text import printable
from toolkit.local.files import expanded, shown, write_atomically
from toolkit.local.folders import SETTINGS_FILE, project_of
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import PROCESS_SECRETS, KnownSecrets
from toolkit.scrubbing.scanning import scan_files
from toolkit.sharing.copying import (
    ADVICE,
    Replacements,
    check_notebook,
    check_text,
    copied_cassettes,
    copied_notebook,
    texts_in,
    with_parameters,
)
from toolkit.sharing.saved_secrets import learn_credentials
from toolkit.verification import Verdict, verify
from toolkit.verification.notebooks import SUFFIX, read_notebook, write_notebook
from toolkit.verification.run import TIMEOUT, need_kernels

_COMPANIONS: Final = (SETTINGS_FILE, "requirements.txt", "README.md")
_COMMENT: Final = "# Written by `toolkit publish`: a copy to replay, without addresses and credentials."
_ARCHIVE, _PAGES = ".zip", (".html", ".htm")
_OTHER_FILES: Final = (SUFFIX, ".pdf", ".md", ".py", ".tex", ".tar", ".gz", ".docx", ".pptx")
_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date a ZIP archive can store
_TOOLKIT: Final = "service-access-toolkit"
_PINNED: Final = ("matplotlib", "numpy", "pandas")  # their versions affect outputs
_GIT: Final = re.compile(r"https://[\w.:/~-]+", re.ASCII)  # without a user name, a password or a query
_README: Final = """# {title}

This folder contains a notebook and the recordings that it replays. Personal data and secrets in the recordings are
replaced with stand-ins or placeholders. The notebook needs no network, credentials or configuration, and sends nothing.
To open it, run this command in this folder:

```
{command}
```

The outputs were made with Python {python}. To check that the notebook still produces them, run `toolkit verify .`.
Other packages that the notebook imports must also be installed.
"""
_AUTHORS: Final = "Data in the code, data in files that the notebook reads, and pictures were not checked."


@dataclass(frozen=True)
class PublishedCopy:
    """A published copy of a notebook.

    Attributes:
        path: the folder, archive or page.
        sizes: the file sizes in bytes, keyed by path with "/" as the separator. A page is a single file.
        environments: names of the environments in which the recordings were made.
        replaced: descriptions of the replacements in each recording and each cell.
        notes: what the author should know before sharing the copy.
        command: the command that opens the copy, to be run in its folder; empty for a page.
    """

    path: Path
    sizes: Mapping[str, int]
    environments: tuple[str, ...]
    replaced: tuple[str, ...]
    notes: tuple[str, ...] = ()
    command: str = ""

    def __str__(self) -> str:
        """Return what was published, what was replaced, and what the author should know."""
        lines = [str(self.path), *(f"  {name} ({size:,} bytes)" for name, size in self.sizes.items())]
        lines += ["Replaced:", *(f"  {words}" for words in self.replaced or ["nothing"])]
        lines += [f"Note: {note}" for note in self.notes]
        lines += [f"To open it, run this in its folder: {self.command}"] if self.command else []
        return printable("\n".join(lines))

    __repr__ = __str__


def publish(
    notebook: str | Path,
    to: str | Path,
    *,
    replace: bool = False,
    parameters: Mapping[str, Any] | None = None,
    code: bool = True,
    secrets: str | Secret | Iterable[str | Secret] = (),
    timeout: float = TIMEOUT,
    watch: Callable[[str], None] = lambda _: None,
) -> PublishedCopy:
    """Make a copy of a notebook for others, with the recordings that it replays.

    The notebook runs offline, in a fresh kernel without your environment variables and home folder. Only the recorded
    calls that it replays are copied. The rules under `[scrubbing]` in `toolkit.toml` are applied to them again, and the
    same values are replaced in text and code. The copy then runs from these recordings, so its outputs contain only
    data from them. Finally, everything is searched for secrets and for the values that were replaced.

    Args:
        notebook: the notebook, which must be in a project.
        to: a folder, an archive that ends in `.zip`, or a page that ends in `.html`.
        replace: True to replace an earlier publication.
        parameters: values by variable name, set in a new cell after the one tagged `parameters`, as in papermill.
        code: False to leave the code out of a page.
        secrets: one or more additional strings that must not be in the copy in any form.
        timeout: seconds for each cell.
        watch: called with a description of each step.

    Returns:
        The copy's files, the replacements, and notes for the author.

    Raises:
        ConfigurationError: if the notebook does not exist, is not in a project, or has no cell tagged `parameters`
            although `parameters` is passed, if the target exists, or if the `lab` extra is not installed.
        PublishError: if the notebook does not run offline, replays no recording, or replays recordings of real accounts
            although `toolkit.toml` sets neither `pseudonyms` nor `publish = "as is"`.
        SecretLeak: if the copy would contain a secret or a value that was replaced. No copy is left behind.
    """
    source = expanded(notebook, about="notebook").resolve()
    target = Path(os.path.normpath(expanded(to, about="to").absolute()))
    is_page = target.suffix.lower() in _PAGES
    _check_target(target, source, replace=replace)
    if not code and not is_page:
        raise ConfigurationError("Only a page can omit its code.", "Name a file that ends in .html.", about="code")
    if source.suffix != SUFFIX or not source.is_file():
        what = "is not a notebook" if source.exists() else "does not exist"
        raise ConfigurationError(f"{notebook} {what}.", f"Name a file that ends in {SUFFIX}.", about="notebook")
    need_kernels()
    settings = _settings_of(source)
    content = with_parameters(read_notebook(source), parameters or {})
    known = KnownSecrets()
    known.add_texts(secrets)
    learn_credentials(settings)
    texts = list(texts_in([content["cells"], content["metadata"]]))
    place = source.relative_to(settings.project.resolve())
    with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        watch("Running the notebook offline")
        played = _played(source, content, folder / "plays", timeout)
        watch("Copying the recordings it replays")
        copied = copied_cassettes(played, settings, known, texts)
        clean, places = copied_notebook(content, copied.replacements)
        stage = folder / "copy"
        for name, data in {**copied.files, **_companions(place, settings)}.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(data)
        write_notebook(stage / place, clean)
        watch("Running the copy")
        _run_copy(stage, place, folder / "plays-again", timeout)
        watch("Checking the copy")
        ran = read_notebook(stage / place)
        check_notebook(place.as_posix(), ran, known, copied.replacements)
        if is_page:
            from toolkit.sharing.page import page_of

            stage = folder / "page"
            stage.mkdir()
            page = page_of(ran, title=place.stem, environments=copied.environments, with_code=code)
            (stage / target.name).write_bytes(page)
        _check(stage, target.name, known, copied.replacements)
        sizes = {name: path.stat().st_size for name, path in _files_in(stage).items()}
        _put(stage, target)
    notes = [*_secret_notes(place, texts, played), _AUTHORS]
    if not is_page and _toolkit_requirement().startswith("#"):
        notes.append("requirements.txt does not install the toolkit: tell your readers where to get it.")
    where = (*copied.places, *(f"{place.as_posix()}, {words}" for words in places))
    return PublishedCopy(
        target, sizes, copied.environments, where, tuple(notes), "" if is_page else _command(place.as_posix())
    )


def _settings_of(notebook: Path) -> Settings:
    project = project_of(notebook.parent) or notebook.parent
    if not any((project / marker).is_file() for marker in (SETTINGS_FILE, "pyproject.toml")):
        raise ConfigurationError(
            f"{notebook.name} is not in a project, but the rules for personal data are read from a project's settings.",
            f"Create the file {SETTINGS_FILE} in the project's folder; it may be empty.",
            about="notebook",
        )
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else Settings(project=project)


def _played(source: Path, content: dict[str, Any], log: Path, timeout: float) -> dict[Path, set[int]]:
    """Run the notebook, and return the interactions that it replays, keyed by cassette."""
    # Next to the original, so that it finds the same files.
    descriptor, name = tempfile.mkstemp(prefix=f".{source.stem}-", suffix=SUFFIX, dir=source.parent)
    os.close(descriptor)
    try:
        write_notebook(Path(name), content)
        _, opened = _run(Path(name), log, timeout, f"{source.name} does not run offline")
    finally:
        Path(name).unlink()
    if not any(opened.values()):
        raise PublishError(
            f"{source.name} does not replay a recording, so nobody else could run it.",
            'Record its calls first, with tk.Session(..., cassette="name"), and save the notebook.',
            about="notebook",
        )
    return {path: numbers for path, numbers in opened.items() if numbers}


def _run_copy(stage: Path, place: Path, log: Path, timeout: float) -> None:
    """Run the copy twice from its own recordings, to make its outputs and to check that they are reproducible."""
    what = "The copy does not run in its own folder, without the project's other files"
    verdict, opened = _run(stage / place, log, timeout, what, update=True)
    strangers = [path for path in opened if not path.is_relative_to(stage)]
    if strangers:
        what = f"The notebook opens {shown(min(strangers))} by an absolute path."
        raise PublishError(what, "Open it by name, or by a path relative to the notebook.", about="notebook")
    if not verdict.outcome.is_good:
        cells = ", ".join(str(each.cell) for each in verdict.differences)
        what = f"Two runs of the copy give different outputs: {cells}."
        next_step = "Remove everything from the notebook that depends on the clock, random numbers or the machine."
        raise PublishError(what, next_step, about="notebook")


def _run(
    notebook: Path, log: Path, timeout: float, what: str, *, update: bool = False
) -> tuple[Verdict, dict[Path, set[int]]]:
    """Verify a notebook, and return the verdict and the cassettes that it opened. Error messages begin with `what`."""
    log.mkdir()
    [verdict] = verify([notebook], update=update, timeout=timeout, jobs=1, play_log=log)
    if verdict.failure is not None:
        raise PublishError(f"{what}: {verdict.failure}", verdict.failure.next_step, about="notebook")
    return verdict, read_play_log(log)


def _check(stage: Path, target: str, known: KnownSecrets, replacements: Replacements) -> None:
    """Raise an error if a file contains a secret or a replaced value. The notebook has already been checked."""
    check_text("The name of the publication", target, known, replacements)
    for name, path in _files_in(stage).items():
        check_text(f"The name of a {path.suffix} file", name, known, replacements)
        if path.suffix.lower() in (*_PAGES, SUFFIX):
            known.check(path.read_bytes(), where=name)
        else:
            check_text(f"{name}, line {{}},", path.read_text("utf-8", "replace"), known, replacements)
    for finding in scan_files(stage, settings=Settings(project=stage)):
        place = f"{finding.path.relative_to(stage).as_posix()}, line {finding.line}, {finding.place or 'text'}"
        raise SecretLeak(f"{place} contains what looks like a secret ({finding.kind}).", ADVICE, about="notebook")


def _files_in(stage: Path) -> dict[str, Path]:
    return {path.relative_to(stage).as_posix(): path for path in sorted(stage.rglob("*")) if path.is_file()}


def _secret_notes(place: Path, texts: Iterable[str], played: Iterable[Path]) -> list[str]:
    """Return a note for each original file that contains a known secret, since only its copy is clean."""
    originals = {place.as_posix(): "\n".join(texts).encode("utf-8", "replace")}
    originals |= {path.name: path.read_bytes() for path in played}
    return [
        f"The original {name} contains a secret ({hit[0]}), but its copy does not. Remove the secret from the "
        "original, and change it if anyone else has that file."
        for name, data in originals.items()
        if (hit := PROCESS_SECRETS.find(data)) is not None
    ]


def _check_target(target: Path, source: Path, *, replace: bool) -> None:
    """Raise an error if the target has an unsupported type, contains the notebook, or must not be replaced."""
    what, next_step = "", "Choose another name."
    if target.suffix.lower() in _OTHER_FILES:
        what = f"A publication cannot be a {target.suffix} file."
        next_step = "Name a folder, a file that ends in .zip, or a page that ends in .html."
    elif source.is_relative_to(target.resolve()):
        what = f"{shown(target)} contains the notebook itself."
    elif os.path.lexists(target) and not replace:
        what, next_step = f"{shown(target)} already exists.", "Choose another name, or add --replace (replace=True)."
    elif target.is_symlink() or (target.is_dir() and not _is_published(target)):
        what = f"{shown(target)} contains more than an earlier publication, so it is not replaced."
    if what:
        raise ConfigurationError(what, next_step, about="to")


def _is_published(folder: Path) -> bool:
    """Return whether a folder contains an earlier publication to which no files were added."""
    settings, names = folder / SETTINGS_FILE, [name for name in _files_in(folder) if "_checkpoints/" not in name]
    added = [name for name in names if not name.endswith((SUFFIX, ".yaml")) and name not in _COMPANIONS]
    has_one_notebook = sum(name.endswith(SUFFIX) for name in names) == 1
    is_ours = settings.is_file() and settings.read_text(encoding="utf-8").startswith(_COMMENT)
    return is_ours and has_one_notebook and not added


def _put(stage: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix.lower() in _PAGES:
            write_atomically(target, (stage / target.name).read_bytes())
        elif target.suffix.lower() == _ARCHIVE:
            stream = BytesIO()
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:  # sorted, date fixed: reproducible
                for name, path in _files_in(stage).items():
                    archive.writestr(zipfile.ZipInfo(f"{target.stem}/{name}", _FIRST_DATE), path.read_bytes())
            write_atomically(target, stream.getvalue())
        else:
            with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
                shutil.copytree(stage, Path(beside, "new"))
                if target.exists():
                    target.rename(Path(beside, "old"))
                Path(beside, "new").rename(target)
    except OSError as error:
        what = f"Cannot write {shown(target)}: {error.strerror or type(error).__name__}."
        raise ConfigurationError(what, "Choose another place.", about="to") from None


def _companions(place: Path, settings: Settings) -> dict[str, bytes]:
    """Return the files beside a published notebook, keyed by name: settings, requirements and a README."""
    own = Settings.load(settings.file, environ={}) if settings.file else Settings(project=settings.project)
    folder = own.cassettes_folder.resolve().relative_to(settings.project.resolve()).as_posix()
    packages = "".join(f"{name}=={version(name)}\n" for name in _PINNED if find_spec(name))
    texts = {
        SETTINGS_FILE: f"{_COMMENT}\ncassettes = {json.dumps(folder, ensure_ascii=False)}\n",
        "requirements.txt": f"{_toolkit_requirement()}\n{packages}",
        "README.md": _README.format(
            title=place.stem,
            command=_command(place.as_posix()),
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
        ),
    }
    return {name: text.encode() for name, text in texts.items()}


def _command(notebook: str) -> str:
    return f'python -m pip install -r requirements.txt && python -m jupyterlab "{notebook}"'


def _toolkit_requirement() -> str:
    """Return the requirement that installs the toolkit, or a comment on where to get it.

    Given only the name, pip would install whatever package has that name on the index, which may be unrelated.
    """
    record = json.loads(distribution(_TOOLKIT).read_text("direct_url.json") or "{}")  # written by pip (PEP 610)
    if record.get("vcs_info", {}).get("vcs") == "git" and _GIT.fullmatch(record["url"]):
        return f"{_TOOLKIT}[lab] @ git+{record['url']}@{record['vcs_info']['commit_id']}"
    return f"# Install {_TOOLKIT}[lab] {version(_TOOLKIT)} first, from the source that the author of this copy used."
