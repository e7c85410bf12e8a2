"""`publish`: make a copy of a notebook that anyone may have."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.arguments import as_flag, as_function, as_number
from toolkit.core.errors import ConfigurationError, PublishError
from toolkit.core.secret import Secret
from toolkit.local.files import expanded, shown
from toolkit.local.folders import SETTINGS_FILE, find_project
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.sharing.publishing import checking, companions, copied_cassettes, targets
from toolkit.sharing.publishing.copied_cassettes import PlayedCassette
from toolkit.sharing.publishing.copying import Copier, Copy
from toolkit.sharing.publishing.publication import PublishedCopy
from toolkit.sharing.publishing.targets import TargetShape
from toolkit.sharing.saved_secrets import learn_credentials
from toolkit.verification import Verdict, verify
from toolkit.verification.notebooks import SUFFIX, read_notebook
from toolkit.verification.run import TIMEOUT, need_kernels

_MARKERS: Final = (SETTINGS_FILE, "pyproject.toml")
_AS_IS: Final = "as is"


def publish(
    notebook: str | Path,
    to: str | Path,
    *,
    replace: bool = False,
    secrets: str | Secret | Iterable[str | Secret] = (),
    timeout: float = TIMEOUT,
    watch: Callable[[str], None] = lambda _: None,
) -> PublishedCopy:
    """Make a copy of a notebook to give away, with the recordings that it plays.

    The notebook runs offline, in fresh kernels without your variables and folders. The rules in `[scrubbing]` of
    `toolkit.toml` are applied anew to the recordings that it plays, and the same values are replaced in its texts and
    its code. Its outputs are then made again from those recordings. The copy has no widget state and nothing of the
    machine. All of it is searched for the values that were replaced, for known secrets and for what looks like one.

    Args:
        notebook: the notebook, in a project.
        to: a folder, an archive that ends in `.zip`, or a page that ends in `.html`.
        replace: replace an earlier publication.
        secrets: one or several further texts that must not be in the copy in any form.
        timeout: seconds for each cell.
        watch: called with each step in words.

    Returns:
        What was published, and what its author should know.

    Raises:
        ConfigurationError: if the notebook does not exist or is not in a project, the target exists, or the extra `lab`
            is not installed.
        PublishError: if the notebook does not run offline, plays no recording, or plays recordings of real accounts
            while no rule names pseudonyms and `toolkit.toml` does not say `publish = "as is"`.
        SecretLeak: if the copy would hold a secret or a value that was replaced. Nothing is left.
    """
    source = expanded(notebook, about="notebook").absolute()
    target = Path(os.path.normpath(expanded(to, about="to").absolute()))
    as_flag(replace, about="replace")
    timeout = as_number(timeout, about="timeout", least=1)
    as_function(watch, about="watch", example="print")
    shape = targets.shape_of(target)
    targets.check_target(target, shape, replace=replace)
    if source.resolve().is_relative_to(target.resolve()):
        raise ConfigurationError(
            f"{notebook} is in {shown(target)} itself, which would be replaced.", "Choose another name.", about="to"
        )
    need_kernels()
    if shape is TargetShape.PAGE:
        from toolkit.sharing.publishing.page import need_converter

        need_converter()
    return _Publishing(source, shown_name=str(notebook), secrets=secrets, timeout=timeout, watch=watch).publish(
        target, shape
    )


class _Publishing:
    """One call of `publish`."""

    def __init__(
        self,
        source: Path,
        *,
        shown_name: str,
        secrets: str | Secret | Iterable[str | Secret],
        timeout: float,
        watch: Callable[[str], None],
    ) -> None:
        self._name = shown_name
        self._source = source
        self._timeout, self._watch = timeout, watch
        self._stored = _read(source, shown_name)
        self._project = _project_of(source, shown_name)
        self._settings = _settings_of(self._project)
        self._known = KnownSecrets()
        self._known.add_texts(secrets)
        learn_credentials(self._settings)

    def publish(self, target: Path, shape: TargetShape) -> PublishedCopy:
        self._watch("Running the notebook offline")
        cassettes = self._played()
        self._refuse_real_accounts(cassettes)
        self._watch("Copying what it plays")
        place = self._source.resolve().relative_to(self._project.resolve())
        copy = Copier(self._settings, self._known).copy(self._stored, place, cassettes)
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            stage = Path(folder).resolve() / "copy"
            targets.write_files(stage, copy.files)
            self._watch("Running the copy")
            self._run_copy(stage, copy)
            self._stage = stage
            copy.files[copy.notebook] = (stage / copy.notebook).read_bytes()
            files = self._given_away(copy, shape, target)
            self._watch("Checking the copy")
            checking.check_name(target.name, copy.replacements)
            checking.check_files({**copy.files, **files}, self._known, copy.replacements)
            checked = Path(folder).resolve() / "checked"
            targets.write_files(checked, files)
            checking.check_with_scan(checked)
        if shape is TargetShape.FOLDER:
            targets.write_folder(target, files)
        else:
            data = (
                targets.archive_of(files, target.stem) if shape is TargetShape.ARCHIVE else next(iter(files.values()))
            )
            targets.write_file(target, data)
        command, notes = "", copy.notes
        if shape is not TargetShape.PAGE:
            command = companions.run_command(copy.notebook)
            notes += tuple(filter(None, [companions.note_for_author()]))
        sizes = {name: len(files[name]) for name in sorted(files)}
        return PublishedCopy(target, sizes, copy.environments, copy.replaced, notes, command)

    def _played(self) -> list[PlayedCassette]:
        """Run the notebook, and return the cassettes that it plays.

        Raises:
            PublishError: if it cannot run, or plays none.
        """
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            log = Path(folder).resolve() / "plays"
            log.mkdir()
            verdict = self._verify(self._source, play_log=log)
            if verdict.failure is not None:
                raise _failed(f"{self._name} does not run offline", verdict)
            played = read_play_log(log)
        if not any(played.values()):
            raise PublishError(
                f"{self._name} plays no recording, so nobody else could run it.",
                'Record its calls first, with tk.Session(..., cassette="name"), and save it.',
                about="notebook",
            )
        return copied_cassettes.read_played(played, self._project)

    def _verify(self, path: Path, *, update: bool = False, play_log: Path | None = None) -> Verdict:
        def run() -> list[Verdict]:
            return verify([path], update=update, timeout=self._timeout, jobs=1, play_log=play_log)

        return _outside_of_loop(run)[0]

    def _refuse_real_accounts(self, cassettes: list[PlayedCassette]) -> None:
        if self._settings.publish == _AS_IS or self._settings.scrubbing.get("pseudonyms"):
            return
        for cassette in cassettes:
            real = copied_cassettes.real_environments(cassette.interactions)
            if real:
                raise PublishError(
                    f"{cassette.place.as_posix()} was recorded in {' and '.join(real)}, so it holds data of real "
                    "accounts.",
                    'Name the fields with personal data in toolkit.toml, such as pseudonyms = ["account_number", '
                    '"name", "email"] under [scrubbing]; or, if anyone may see all of it, set publish = "as is".',
                    about="publish",
                )

    def _run_copy(self, stage: Path, copy: Copy) -> None:
        """Make the outputs of the copy from its own recordings, twice.

        Raises:
            PublishError: if it cannot run there, plays something else, or two runs differ.
        """
        with tempfile.TemporaryDirectory(prefix="publish-", ignore_cleanup_errors=True) as folder:
            log = Path(folder).resolve() / "plays"
            log.mkdir()
            verdict = self._verify(stage / copy.notebook, update=True, play_log=log)
            played = read_play_log(log)
        if verdict.failure is not None:
            raise _failed(
                "The copy does not run in its own folder",
                verdict,
                "The copy has the notebook and its recordings, and no other file of the project.",
            )
        strangers = [path for path in sorted(played) if not path.is_relative_to(stage)]
        if strangers:
            raise PublishError(
                f"The notebook opens {shown(strangers[0])} by a path of this machine.",
                "Open it by its name, or by a path relative to the notebook.",
                about="notebook",
            )
        if not verdict.outcome.is_good:
            places = ", ".join(str(item.cell) for item in verdict.differences[:3])
            raise PublishError(
                f"Two runs of the copy give different outputs: {places}.",
                "Remove from the notebook what depends on the clock, on chance or on the machine.",
                about="notebook",
            )

    def _given_away(self, copy: Copy, shape: TargetShape, target: Path) -> dict[str, bytes]:
        if shape is not TargetShape.PAGE:
            return copy.files
        from toolkit.sharing.publishing.page import page_of

        content = read_notebook(self._stage / copy.notebook)
        return {target.name: page_of(content, title=Path(copy.notebook).stem, environments=copy.environments)}


def _outside_of_loop(run: Callable[[], list[Verdict]]) -> list[Verdict]:
    """Run a function that runs an event loop: in a thread of its own if this one, as in a notebook, has a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    result: list[list[Verdict]] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            result.append(run())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=work, name="publish")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


def _read(path: Path, name: str) -> dict[str, Any]:
    if path.suffix != SUFFIX or not path.is_file():
        what = f"{name} is not a notebook." if path.exists() else f"{name} does not exist."
        raise ConfigurationError(what, f"Name a notebook, a file that ends in {SUFFIX}.", about="notebook")
    return read_notebook(path)


def _project_of(path: Path, name: str) -> Path:
    project = find_project(path.resolve().parent)
    if not any((project / marker).is_file() for marker in _MARKERS):
        raise ConfigurationError(
            f"{name} is not in a project, whose rules say what is personal.",
            f"Put a file {SETTINGS_FILE} into the project's folder; it may be empty.",
            about="notebook",
        )
    return project


def _settings_of(project: Path) -> Settings:
    file = project / SETTINGS_FILE
    return Settings.load(file) if file.is_file() else Settings(project=project)


def _failed(what: str, verdict: Verdict, hint: str = "") -> PublishError:
    failure = verdict.failure
    assert failure is not None  # noqa: S101 - the caller has checked
    place = f" at {failure.cell}" if failure.cell else ""
    return PublishError(f"{what}{place}: {failure.what}", f"{failure.next_step} {hint}".strip(), about="notebook")
