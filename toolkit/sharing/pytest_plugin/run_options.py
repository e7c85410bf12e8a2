"""Options of a run: `--toolkit-unused` lists unused cassettes, `--toolkit-verify` makes tests of notebooks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolkit.cassettes.catalog.facts import cassettes_in
from toolkit.cassettes.replay.player import VARIABLE, PlayLog, read_play_log
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text
from toolkit.local.folders import own_variable
from toolkit.sharing.pytest_plugin.item_cassette import FAILED, FOLDER, project_settings

if TYPE_CHECKING:
    from toolkit.verification import Verdict


class UnusedCassettes:
    """Prints the cassettes below the tests that no test of the run opened.

    All processes of the run, kernels of notebooks included, note the cassettes that they open in a play log. What
    pytest-recording opens is noted as well.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._patch = config, pytest.MonkeyPatch()
        self._log = Path(own_variable(VARIABLE) or tempfile.mkdtemp(prefix="opened-"))
        self._patch.setenv(VARIABLE, str(self._log))  # workers of pytest-xdist and kernels inherit it

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Note what pytest-recording opens for a test."""
        yield
        values = getattr(item, "funcargs", {})
        if path := getattr(values.get("vcr"), "_path", None):
            named = [name for mark in item.iter_markers("vcr") for name in mark.args if isinstance(name, str)]
            for name in (path, *(Path(values.get("vcr_cassette_dir", ""), name) for name in named)):
                PlayLog(self._log, Path(name)).note(None)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the cassettes that no test opened."""
        write, start = terminalreporter.write_line, self._config.invocation_params.dir
        terminalreporter.write_sep("-", "cassettes that no test opened")
        folders = {project_settings(start / "any").cassettes_folder}
        for text in self._config.args:
            root = Path(start, text.partition("::")[0])
            folders |= {path for path in (root if root.is_dir() else root.parent).rglob(FOLDER) if path.is_dir()}
        files = sorted({file for folder in folders if folder.is_dir() for file in cassettes_in(folder)})
        files = [file for file in files if not file.stem.endswith((FAILED, ".part"))]
        opened = read_play_log(self._log) if self._log.is_dir() else {}
        unused = [file for file in files if file.resolve() not in opened]
        for file in unused:
            write(os.path.relpath(file, start))
        write(f"{len(unused)} of {count_text(len(files), 'cassette')}")
        options = map(self._config.getoption, ("keyword", "markexpr", "deselect", "ignore", "ignore_glob"))
        is_part = any("::" in text for text in self._config.args) or any(options)
        if is_part or any(map(terminalreporter.stats.get, ("deselected", "skipped", "failed", "error"))):
            write("Only a part of the tests ran to its end, so others may use them.")

    def pytest_unconfigure(self) -> None:
        """Restore the variable."""
        self._patch.undo()


class NotebookCollector:
    """Collects notebooks; registered only if they are asked for."""

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a notebook, which has a single test."""
        return NotebookFile.from_parent(parent, path=file_path) if file_path.suffix == ".ipynb" else None


class NotebookFile(pytest.File):
    """A notebook."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its test."""
        yield NotebookItem.from_parent(self, name="verify")


class NotebookItem(pytest.Item):
    """The test that a notebook still gives the outputs that are stored in it."""

    def runtest(self) -> None:
        """Run the notebook in a kernel of its own and compare the outputs.

        Raises:
            NotebookDiffers: if something differs, or the notebook cannot be run to its end.
            ConfigurationError: if notebooks cannot be run here.
        """
        from toolkit.verification import verify

        [verdict] = verify([self.path], jobs=1, play_log=own_variable(VARIABLE))
        if not verdict.outcome.is_good:
            raise NotebookDiffers(verdict)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return what differs, without a traceback."""
        if isinstance(excinfo.value, NotebookDiffers | ConfigurationError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test is, and its heading in the report."""
        return self.path, None, self.path.name


class NotebookDiffers(AssertionError):
    """A notebook does not give what is stored in it; the text is the report of `toolkit verify`."""

    def __init__(self, verdict: Verdict) -> None:
        end = "" if verdict.failure else "\nIf the new outputs are right: toolkit verify --update"
        super().__init__(f"{verdict}{end}")
