"""`--toolkit-unused`: list the cassettes below the tests that no test of the run opened.

All processes of the run, kernels of notebooks included, note the cassettes that they open in a play log. What
pytest-recording opens is noted as well.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from toolkit.cassettes.catalog.facts import cassettes_in
from toolkit.cassettes.replay.player import VARIABLE, PlayLog, read_play_log
from toolkit.core.text import count_text
from toolkit.local.variables import own_variable
from toolkit.sharing.pytest_plugin.item_cassette import FAILED, FOLDER, project_settings

_CHOOSING: Final = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "collectonly")  # options of pytest


class UnusedCassettes:
    """Collects what is opened in the run, and prints what is not.

    Args:
        config: the configuration of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._outside = config, own_variable(VARIABLE)
        self._log = Path(self._outside or tempfile.mkdtemp(prefix="opened-"))
        os.environ[VARIABLE] = str(self._log)  # workers of pytest-xdist and kernels inherit it

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Note what pytest-recording opens for a test."""
        yield
        values = getattr(item, "funcargs", {})
        path = getattr(values.get("vcr"), "_path", None)
        if path is not None:
            named = [name for mark in item.iter_markers("vcr") for name in mark.args if isinstance(name, str)]
            for name in (path, *(Path(values.get("vcr_cassette_dir", ""), name) for name in named)):
                PlayLog(self._log, Path(name)).note(None)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the cassettes that no test opened."""
        write, start = terminalreporter.write_line, self._config.invocation_params.dir
        terminalreporter.write_sep("-", "cassettes that no test opened")
        opened = set(read_play_log(self._log)) if self._log.is_dir() else set()
        files = sorted({file for folder in self._folders() for file in cassettes_in(folder)})
        files = [file for file in files if not file.stem.endswith((FAILED, ".part"))]
        unused = [file for file in files if file.resolve() not in opened]
        for file in unused:
            write(os.path.relpath(file, start))
        write(f"{len(unused)} of {count_text(len(files), 'cassette')}")
        stats = terminalreporter.stats
        chosen = (*(text for text in self._config.args if "::" in text), *map(self._config.getoption, _CHOOSING))
        if any(chosen) or any(stats.get(name) for name in ("deselected", "skipped", "failed", "error")):
            write("Only a part of the tests ran to its end, so others may use them.")

    def pytest_unconfigure(self) -> None:
        """Restore the variable."""
        if self._outside is None:
            os.environ.pop(VARIABLE, None)

    def _folders(self) -> Iterator[Path]:
        """Yield the folders named `cassettes` below the tests that were named, and those of their projects."""
        for text in self._config.args:
            root = Path(self._config.invocation_params.dir, text.partition("::")[0])
            start = root if root.is_dir() else root.parent
            yield from (path for path in start.rglob(FOLDER) if path.is_dir() and "site-packages" not in path.parts)
            yield project_settings(start / "any").cassettes_folder
