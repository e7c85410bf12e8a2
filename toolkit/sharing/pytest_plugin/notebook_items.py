"""`--toolkit-verify`: notebooks as tests. Each is run offline and compared with its file, as `toolkit verify` does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text, excerpt

if TYPE_CHECKING:
    from toolkit.verification import Verdict

_SUFFIX: Final = ".ipynb"
_MOST_DIFFERENCES: Final = 20
_MOST_LINES: Final = 30  # of one difference
_LONGEST_MESSAGE: Final = 500  # characters


class NotebookCollector:
    """Collects notebooks; registered only if they are asked for.

    Attributes:
        shared: a folder that the kernels of this process share.
    """

    def __init__(self) -> None:
        self.shared = Path(tempfile.mkdtemp(prefix="notebooks-")).resolve()

    def pytest_unconfigure(self) -> None:
        """Remove the shared folder."""
        shutil.rmtree(self.shared, ignore_errors=True)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a notebook, which has a single test."""
        if file_path.suffix != _SUFFIX:
            return None
        file: NotebookFile = NotebookFile.from_parent(parent, path=file_path)
        file.shared = self.shared
        return file


class NotebookFile(pytest.File):
    """A notebook.

    Attributes:
        shared: a folder that the kernels of this process share.
    """

    shared: Path | None = None

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
        from toolkit.local.dotenv import own_variable
        from toolkit.verification import verify

        shared = self.parent.shared if isinstance(self.parent, NotebookFile) else None
        [verdict] = verify([self.path], jobs=1, play_log=own_variable(VARIABLE), shared=shared)
        if not verdict.outcome.is_good:
            raise NotebookDiffers(verdict)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return what differs, without a traceback."""
        if isinstance(excinfo.value, NotebookDiffers):
            return verdict_text(excinfo.value.verdict)
        if isinstance(excinfo.value, ConfigurationError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test is, and its heading in the report."""
        return self.path, None, self.path.name


class NotebookDiffers(AssertionError):
    """A notebook does not give what is stored in it.

    Attributes:
        verdict: what differs, or why it could not be run.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(headline(verdict))
        self.verdict = verdict


def headline(verdict: Verdict) -> str:
    """Return the result in one line."""
    failure = verdict.failure
    if failure is not None:
        place = f"{failure.cell}: " if failure.cell is not None else ""
        return excerpt(f"{place}{failure.what}", _LONGEST_MESSAGE)
    places = count_text(len(verdict.decisive_differences), "place")
    return f"the outputs differ from the stored ones at {places}"


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict for the report of a failed test: place and lines of each difference."""
    from toolkit.verification.verdict import describe_changes

    lines = [f"{verdict.path.name}: {headline(verdict)}"]
    if verdict.failure is not None:
        lines.append(excerpt(verdict.failure.next_step, _LONGEST_MESSAGE))
    differences = verdict.decisive_differences
    for difference in differences[:_MOST_DIFFERENCES]:
        place = difference.place if difference.cell is None else f"{difference.cell}: {difference.place}"
        lines.append(excerpt(f"{place} [{difference.kind}]", _LONGEST_MESSAGE))
        lines += [f"  {line}" for line in difference.excerpt(_MOST_LINES)]
        if difference.hint:
            lines.append(f"  {excerpt(difference.hint)}")
    if len(differences) > _MOST_DIFFERENCES:
        lines.append(f"… and {len(differences) - _MOST_DIFFERENCES} more; toolkit verify --json prints all")
    if versions := describe_changes(verdict.versions):
        lines.append(f"{versions}.")
    if verdict.failure is None:
        lines.append("If the new outputs are right: toolkit verify --update, and check what git shows.")
    return "\n".join(lines)
