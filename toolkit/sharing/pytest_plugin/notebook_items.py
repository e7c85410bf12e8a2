"""`--toolkit-verify`: notebooks as tests. Each is run offline and compared with its file, as `toolkit verify` does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolkit.core.errors import ConfigurationError

if TYPE_CHECKING:
    from toolkit.verification import Verdict


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
        from toolkit.cassettes.replay.player import VARIABLE
        from toolkit.local.variables import own_variable
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
