"""Verify notebooks: run several at once, compare each with its file, and store the new outputs on request."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.local.folders import find_project
from toolkit.verification.comparing import differences
from toolkit.verification.kernel_environment import KernelEnvironment
from toolkit.verification.normalize import as_bytes, normal_form, stored_versions
from toolkit.verification.notebook_files import (
    NotANotebook,
    StoredNotebook,
    find_notebooks,
    parse_notebook,
    read_notebook,
    replace_notebook,
)
from toolkit.verification.run_notebook import NotebookFailed, need_kernels, run_notebook
from toolkit.verification.saving import save_notebook, saved_paths
from toolkit.verification.verdict import Difference, Failure, Kind, Outcome, Verdict, running_versions, version_changes

TIMEOUT: Final = 120.0  # seconds for a cell
_LONGEST_MESSAGE: Final = 500  # characters


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one notebook.

    Attributes:
        path: the notebook.
        cell: the cell that starts, from 1; None if the notebook is finished.
        cells: number of cells.
        verdict: the result of a finished notebook.
    """

    path: Path
    cell: int | None
    cells: int
    verdict: Verdict | None = None


def verify(
    paths: Iterable[Path | str],
    *,
    update: bool = False,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    strict: bool = False,
    save_to: Path | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
    stopping: Callable[[], None] = lambda: None,
    play_log: Path | str | None = None,
    shared: Path | None = None,
) -> list[Verdict]:
    """Run notebooks in replay, each in a fresh kernel, and compare their outputs with the stored ones.

    The kernels have no network, and see neither the environment variables nor the home folder of the user. Their code
    runs nevertheless: this is not a sandbox.

    Args:
        paths: notebooks, and folders with notebooks.
        update: store the new outputs of notebooks that differ, if a second run gives the same ones.
        jobs: number of notebooks to run at once; by default one per processor.
        timeout: seconds for each cell, rounded up to whole seconds.
        strict: count metadata that an editor added when it saved as a difference.
        save_to: a folder for the notebooks as executed; one that fails is saved as far as it ran.
        watch: called for each cell that starts and each notebook that is finished.
        stopping: called on an interrupt, before the kernels are stopped, which takes seconds.
        play_log: a folder in which the kernels note what they play from cassettes (`read_play_log` reads it).
        shared: a folder that several calls share for what takes seconds to make, such as matplotlib's list of fonts.

    Returns:
        A verdict for each notebook, in order.

    Raises:
        ConfigurationError: if a path does not lead to a notebook, an argument is out of range, or the extra `lab` is
            not installed; if `save_to` cannot be written to, or a notebook would be replaced there.
    """
    notebooks = find_notebooks(paths, without=save_to)
    if not math.isfinite(timeout) or timeout <= 0:
        raise ConfigurationError(
            "The timeout must be above 0 and finite.", "Leave it out, or pass a number of seconds.", about="timeout"
        )
    if jobs is not None and jobs < 1:
        raise ConfigurationError(
            "The number of jobs must be above 0.", "Leave it out, or pass 1 or more.", about="jobs"
        )
    need_kernels()
    targets = saved_paths(notebooks, save_to) if save_to is not None else {}
    at_once = min(jobs or _processors(), len(notebooks))
    log = None if play_log is None else Path(play_log).absolute()
    with tempfile.TemporaryDirectory(prefix="verify-", ignore_cleanup_errors=True) as folder:
        # Resolved, because programs that ask for their own folder see the resolved path.
        place = Path(folder).resolve()
        verification = _Verification(place, update, timeout, strict, targets, watch, stopping, log, shared)
        return asyncio.run(verification.verify_all(notebooks, at_once))


@dataclass
class _Verification:
    """One call of `verify`.

    Attributes:
        folder: the folder for everything that its kernels write.
        targets: where to save each notebook as executed; empty if it is not asked for.
        update, timeout, strict, watch, stopping, play_log, shared: the arguments of `verify`.
        versions: versions of the libraries in use.
    """

    folder: Path
    update: bool
    timeout: float
    strict: bool
    targets: Mapping[Path, Path]
    watch: Callable[[Progress], None]
    stopping: Callable[[], None]
    play_log: Path | None = None
    shared: Path | None = None
    versions: dict[str, str] = field(default_factory=running_versions)
    _runs: int = 0
    _saved: dict[Path, Path] = field(default_factory=dict)

    @property
    def shared_folder(self) -> Path:
        """The folder that all kernels share."""
        return self.shared or self.folder / "shared"

    async def verify_all(self, notebooks: list[Path], at_once: int) -> list[Verdict]:
        """Return the verdicts on all notebooks."""
        work = asyncio.create_task(self._verify_all(notebooks, at_once))
        try:
            return await asyncio.shield(work)  # so that an interrupt arrives here before the clean-up
        except asyncio.CancelledError:
            self.stopping()
            work.cancel()
            await asyncio.wait([work])
            raise

    async def _verify_all(self, notebooks: list[Path], at_once: int) -> list[Verdict]:
        self.shared_folder.mkdir(parents=True, exist_ok=True)
        # nbclient takes seconds to load, too. It loads in a thread, so that an interrupt is not delayed.
        await asyncio.gather(self._list_fonts(), asyncio.to_thread(import_module, "nbclient"))
        slots = asyncio.Semaphore(at_once)

        async def verify_in_turn(path: Path) -> Verdict:
            async with slots:
                verdict = await self.verify_one(path)
            self.watch(Progress(path, None, verdict.cells, verdict))
            return verdict

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(verify_in_turn(path)) for path in notebooks]
        return [task.result() for task in tasks]

    async def verify_one(self, path: Path) -> Verdict:
        """Return the verdict on one notebook. An error belongs to this notebook and does not stop the others."""
        started = time.monotonic()
        verdict = Verdict(path, Outcome.FAILED)
        try:
            stored = read_notebook(path)
            versions = stored_versions(stored.content)
            verdict = replace(verdict, cells=len(stored.cells), versions=version_changes(versions, self.versions))
            outcome, difference = await self._compare(path, stored, versions or self.versions)
            verdict = replace(verdict, outcome=outcome, differences=difference)
        except Exception as error:  # noqa: BLE001 - a notebook may fail in unforeseen ways
            verdict = replace(verdict, failure=_failure(error))
        return replace(verdict, seconds=time.monotonic() - started, saved_to=self._saved.get(path))

    async def _compare(
        self, path: Path, stored: StoredNotebook, versions: Mapping[str, str]
    ) -> tuple[Outcome, tuple[Difference, ...]]:
        normalize = await self._run_once(path, stored)
        expected = normalize(versions)
        changed = differences(stored, as_bytes(expected), expected)
        if self.strict:
            changed = tuple(map(_counted, changed))
        is_same = all(difference.kind is Kind.EDITOR for difference in changed)
        self._save(path, expected if is_same else normalize(self.versions))
        if not changed or not self.update:
            return Outcome.SAME if is_same else Outcome.DIFFERS, changed
        # Only a second run shows that the outputs about to be stored will be the same tomorrow.
        first = as_bytes(normalize(self.versions))
        second = (await self._run_once(path, stored))(self.versions)
        unstable = differences(parse_notebook(first), as_bytes(second), second)
        if unstable:
            return Outcome.UNSTABLE, unstable
        replace_notebook(path, stored.data, first)
        return Outcome.UPDATED, changed

    async def _run_once(self, path: Path, stored: StoredNotebook) -> Callable[[Mapping[str, str]], dict[str, Any]]:
        """Run a notebook and return a function that gives its normal form with the versions passed to it."""
        environment = self._new_environment()
        notebook = path.resolve()  # noqa: ASYNC240 - takes microseconds
        placeholders = environment.placeholders(notebook, find_project(notebook.parent))
        try:
            result = await run_notebook(
                stored.content,
                notebook.parent,
                environment,
                timeout=self.timeout,
                variables=os.environ,
                at_cell=lambda number: self.watch(Progress(path, number + 1, len(stored.cells))),
            )
        except NotebookFailed as error:
            if error.result is not None:
                form = normal_form(stored.content, error.result, places=placeholders, versions=self.versions)
                self._save(path, form)
            raise
        return lambda versions: normal_form(stored.content, result, places=placeholders, versions=versions)

    def _save(self, path: Path, notebook: Mapping[str, Any]) -> None:
        if path in self.targets:
            save_notebook(self.targets[path], as_bytes(notebook))
            self._saved[path] = self.targets[path]

    def _new_environment(self) -> KernelEnvironment:
        self._runs += 1
        return KernelEnvironment.create(self.folder / str(self._runs), self.shared_folder, self.play_log)

    async def _list_fonts(self) -> None:
        """Let matplotlib list the fonts once for all kernels; a slow listing would print a message in a cell."""
        if find_spec("matplotlib") is None or any(self.shared_folder.glob("fontlist*.json")):
            return
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "import matplotlib.font_manager"),
            env=self._new_environment().variables(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _counted(difference: Difference) -> Difference:
    """Return what other programs save as a difference like any other."""
    if difference.kind is not Kind.EDITOR:
        return difference
    return replace(
        difference, kind=Kind.METADATA, hint="Other programs save this; --update stores it as this run has it."
    )


def _failure(error: Exception) -> Failure:
    """Describe why a notebook could not be verified."""
    if isinstance(error, NotebookFailed):
        return error.failure
    if isinstance(error, (NotANotebook, ConfigurationError)):
        return Failure(error.what, error.next_step)
    return Failure(
        excerpt(f"It could not be verified: {type(error).__name__}: {error}", _LONGEST_MESSAGE),
        "Open it in JupyterLab, run and save it. If that does not help, report it with the notebook.",
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
