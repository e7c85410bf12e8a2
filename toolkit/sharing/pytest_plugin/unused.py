"""`--toolkit-unused`: list the cassettes below the tests that no test of the run opened.

All processes of the run, kernels of notebooks included, note the cassettes that they open in a play log. What
pytest-recording opens is noted as well.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from toolkit.cassettes.catalog.facts import cassettes_in
from toolkit.cassettes.replay.player import VARIABLE, PlayLog, read_play_log
from toolkit.core.errors import ToolkitError
from toolkit.core.text import count_text
from toolkit.local.dotenv import own_variable
from toolkit.local.files import append_to
from toolkit.sharing.pytest_plugin.notes import Notes
from toolkit.sharing.pytest_plugin.places import FAILED, FOLDER, project_settings

_SKIPPED: Final = ("__pycache__", "node_modules", "site-packages")
_WORKER_INPUT: Final = "toolkit_play_log"


class UnusedCassettes:
    """Collects what is opened in the run, and prints what is not.

    Args:
        config: the configuration of the run.
        notes: the notes of this process, to which other processes add theirs.
    """

    def __init__(self, config: pytest.Config, notes: Notes) -> None:
        self._config, self._notes = config, notes
        self._outside = own_variable(VARIABLE)
        shared = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
        folder = None if shared is None else Path(shared)
        if folder is not None and not folder.is_dir():  # a worker on another machine
            folder = None
        self._is_own = folder is None
        self._log = folder or Path(tempfile.mkdtemp(prefix="opened-"))
        self._of_others = self._log / "others"
        os.environ[VARIABLE] = str(self._log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let a worker of pytest-xdist use the log of this process."""
        node.workerinput[_WORKER_INPUT] = str(self._log)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Note what pytest-recording opens for a test."""
        yield
        values = getattr(item, "funcargs", {})
        path = getattr(values.get("vcr"), "_path", None)
        if path is not None:
            extra = [name for mark in item.iter_markers("vcr") for name in mark.args if isinstance(name, str)]
            folder = values.get("vcr_cassette_dir", "")
            for name in (path, *(os.path.join(folder, name) for name in extra)):  # noqa: PTH118 - an absolute name stays
                PlayLog(self._of_others, Path(name)).note(None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Report what was opened, unless the process that prints can read the log itself."""
        if self._is_own:
            self._notes.opened += sorted(map(str, {*read_play_log(self._log), *self._opened_by_others()}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the cassettes that no test opened."""
        opened = (
            set(self._notes.opened) | set(map(str, read_play_log(self._log))) | set(map(str, self._opened_by_others()))
        )
        write = terminalreporter.write_line
        terminalreporter.write_sep("-", "cassettes that no test opened")
        if self._config.option.collectonly:
            write("No test ran, so nothing is known.")
            return
        folders = cassette_folders(_roots(self._config), self._config.getini("norecursedirs"))
        files = [file for folder in folders for file in cassettes_in(folder) if not is_aside(file)]
        unused = [file for file in files if os.path.realpath(file) not in opened]
        for file in unused:
            write(shown(file, self._config.invocation_params.dir))
        write(f"{len(unused)} of {count_text(len(files), 'cassette')} in {count_text(len(folders), 'folder')}")
        if reasons := self._partial(terminalreporter):
            write(f"Only a part of the tests ran ({'; '.join(reasons)}), so others may use them.")

    def _partial(self, terminalreporter: Any) -> list[str]:
        """Return why some tests did not run to their end; empty if all did."""
        counts = {name: len(terminalreporter.stats.get(name, ())) for name in ("skipped", "failed", "error")}
        reasons = [f"{count_text(self._notes.deselected, 'test')} deselected"] if self._notes.deselected else []
        reasons += [f"{number} {name}" for name, number in counts.items() if number]
        if any("::" in text for text in self._config.args) or self._are_others():
            reasons.insert(0, "others were not named")
        if self._config.getoption("ignore") or self._config.getoption("ignore_glob"):
            reasons.append("some ignored")
        if terminalreporter._session is not None and (  # noqa: SLF001 - there is no other way to the session
            terminalreporter._session.shouldstop or terminalreporter._session.shouldfail  # noqa: SLF001
        ):
            reasons.append("the run was stopped")
        return reasons

    def _are_others(self) -> bool:
        """Return True if there are tests outside the files and folders that the run is about."""
        roots, needed = _roots(self._config), _all_roots(self._config)
        if covers(roots, needed):
            return False
        patterns = self._config.getini("python_files")
        return any(
            not covers(roots, [folder / name]) and any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
            for start in needed
            for folder, names in walk(start, self._config.getini("norecursedirs"))
            for name in names
        )

    def _opened_by_others(self) -> Iterable[Path]:
        return read_play_log(self._of_others) if self._of_others.is_dir() else ()

    def pytest_unconfigure(self) -> None:
        """Restore the variable, and hand the log on to the folder that it named."""
        if self._outside is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._outside
        if not self._is_own:
            return
        if self._outside:
            hand_on(self._log, Path(self._outside))
        shutil.rmtree(self._log, ignore_errors=True)


def cassette_folders(roots: Iterable[Path], skipped: Iterable[str] = ()) -> list[Path]:
    """Return the folders named `cassettes` below folders of tests, and those of their projects, each once.

    Args:
        roots: folders, or files, whose folder counts.
        skipped: patterns of folders that pytest does not enter.
    """
    folders: dict[Path, None] = {}
    for root in roots:
        start = root if root.is_dir() else root.parent
        folders |= dict.fromkeys(folder for folder, _ in walk(start, [*skipped]) if folder.name == FOLDER)
        try:
            own = project_settings(start / "any").cassettes_folder
        except ToolkitError:
            continue
        if own.is_dir():
            folders[own] = None
    return [folder for folder in folders if not any(parent in folders for parent in folder.parents)]


def walk(start: Path, skipped: Iterable[str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders that pytest would enter, with the names of their files; not what is in virtual environments.

    Args:
        start: the folder to begin with.
        skipped: patterns of folders that are not entered.
    """
    patterns = [*skipped, *_SKIPPED]
    for folder, names, files in os.walk(start):
        if "pyvenv.cfg" in files:
            names.clear()
            continue
        yield Path(folder), files
        names[:] = sorted(name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns))


def is_aside(file: Path) -> bool:
    """Return True for a recording that is unfinished, or kept from a test that failed."""
    return file.stem.endswith((FAILED, ".part"))


def covers(roots: Iterable[Path], needed: Iterable[Path]) -> bool:
    """Return True if each needed folder is one of the roots or below one."""
    several = list(roots)
    return all(any(place.is_relative_to(root) for root in several) for place in needed)


def hand_on(log: Path, folder: Path) -> None:
    """Append the files of a play log to those of another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in log.iterdir():
        if file.is_file():
            append_to(folder / file.name, file.read_bytes())


def shown(file: Path, folder: Path) -> str:
    """Return a path as a reader in a folder writes it."""
    return str(file.relative_to(folder) if file.is_relative_to(folder) else file)


def _roots(config: pytest.Config) -> list[Path]:
    """Return the files and folders that were named for the run."""
    return [Path(os.path.abspath(config.invocation_params.dir / text.partition("::")[0])) for text in config.args]  # noqa: PTH100


def _all_roots(config: pytest.Config) -> list[Path]:
    """Return the files and folders of a run without named paths."""
    named = [config.rootpath / name for name in config.getini("testpaths")]
    return [path for path in named if path.exists()] or [config.rootpath]
