"""Verifies notebooks: runs several at once, compares each with its file, and on request writes it anew."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.local.project import find_project
from toolkit.verification.comparing import differences
from toolkit.verification.kernel_environment import Surroundings
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
from toolkit.verification.verdict import Difference, Failure, Kind, Outcome, Verdict, changes, running_versions

TIMEOUT: Final = 120.0  # seconds for a cell
_LONGEST: Final = 500  # characters of an error's message


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a verification is.

    Attributes:
        path: the notebook that something happened to.
        cell: the cell that begins, from 1; None when the notebook is done.
        cells: how many it has.
        verdict: when it is done.
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
    watch: Callable[[Progress], None] = lambda _: None,
    stopping: Callable[[], None] = lambda: None,
) -> list[Verdict]:
    """Run notebooks in replay, each in a fresh kernel, and compare what they give with what is stored.

    The network is shut to them, and they see neither the environment nor the home folder of whoever runs
    this. Their code runs all the same: that is no sandbox.

    Args:
        paths: notebooks, and folders with notebooks.
        update: write those anew that differ, provided that two runs of them give the same.
        jobs: how many run at once; by default as many as there are processors.
        timeout: seconds for each cell, rounded up to whole ones.
        watch: told of every cell that begins and every notebook that is done.
        stopping: told of an interrupt, before the seconds that it takes to end the kernels.

    Returns:
        A verdict for each notebook, in order.

    Raises:
        ConfigurationError: a path is none of a notebook, an argument makes no sense, or the extra is missing.
    """
    notebooks = find_notebooks(paths)
    if not math.isfinite(timeout) or timeout <= 0 or (jobs is not None and jobs < 1):
        raise ConfigurationError(
            "The timeout and the number of jobs are above 0, and finite.", "Leave them out, or name others."
        )
    need_kernels()
    at_once = min(jobs or _processors(), len(notebooks))
    with tempfile.TemporaryDirectory(prefix="verify-", ignore_cleanup_errors=True) as folder:
        # Resolved, as programs that ask for their own folder see it.
        verifying = _Verifying(Path(folder).resolve(), update, timeout, watch, stopping)
        return _run(lambda: verifying.all(notebooks, at_once))


@dataclass
class _Verifying:
    """One verification.

    Attributes:
        folder: for everything that its kernels write.
        others: all that is handed in to `verify`.
    """

    folder: Path
    update: bool
    timeout: float
    watch: Callable[[Progress], None]
    stopping: Callable[[], None]
    versions: dict[str, str] = field(default_factory=running_versions)
    _runs: int = 0

    async def all(self, notebooks: list[Path], at_once: int) -> list[Verdict]:
        """The verdicts on all notebooks, so many at once."""
        work = asyncio.create_task(self._all(notebooks, at_once))
        try:
            return await asyncio.shield(work)  # without it, an interrupt would be told of here after the clearing up
        except asyncio.CancelledError:
            self.stopping()
            work.cancel()
            await asyncio.wait([work])
            raise

    async def _all(self, notebooks: list[Path], at_once: int) -> list[Verdict]:
        (self.folder / "shared").mkdir()
        # What is needed next takes about as long to load; in a thread, so that an interrupt is told of meanwhile.
        await asyncio.gather(self._list_fonts(), asyncio.to_thread(import_module, "nbclient"))
        places = asyncio.Semaphore(at_once)

        async def one(path: Path) -> Verdict:
            async with places:
                verdict = await self.one(path)
            self.watch(Progress(path, None, verdict.cells, verdict))
            return verdict

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(path)) for path in notebooks]
        return [task.result() for task in tasks]

    async def one(self, path: Path) -> Verdict:
        """The verdict on one notebook; whatever goes wrong with it, the others have theirs."""
        started = time.monotonic()
        verdict = Verdict(path, Outcome.FAILED)
        try:
            stored = read_notebook(path)
            known = stored_versions(stored.content)
            verdict = replace(verdict, cells=len(stored.cells), versions=changes(known, self.versions))
            outcome, found = await self._compared(path, stored, known or self.versions)
            verdict = replace(verdict, outcome=outcome, differences=found)
        except Exception as error:  # noqa: BLE001 - a notebook may be odd in ways that nobody thought of
            verdict = replace(verdict, failure=_failure(error))
        return replace(verdict, seconds=time.monotonic() - started)

    async def _compared(
        self, path: Path, stored: StoredNotebook, versions: Mapping[str, str]
    ) -> tuple[Outcome, tuple[Difference, ...]]:
        given = await self._given(path, stored)
        expected = given(versions)
        found = differences(stored, as_bytes(expected), expected)
        if not found or not self.update:
            is_same = all(each.kind is Kind.EDITOR for each in found)
            return Outcome.SAME if is_same else Outcome.DIFFERS, found
        # Only a second run shows that what is about to be stored will be the same tomorrow.
        once = as_bytes(given(self.versions))
        again = (await self._given(path, stored))(self.versions)
        unstable = differences(parse_notebook(once), as_bytes(again), again)
        if unstable:
            return Outcome.UNSTABLE, unstable
        replace_notebook(path, stored.data, once)
        return Outcome.UPDATED, found

    async def _given(self, path: Path, stored: StoredNotebook) -> Callable[[Mapping[str, str]], dict[str, Any]]:
        """Runs a notebook; makes its normal form with given versions."""
        surroundings = self._surroundings()
        folder, places = _places(path, surroundings)
        result = await run_notebook(
            stored.content,
            folder,
            surroundings,
            patience=self.timeout,
            outside=os.environ,
            at_cell=lambda number: self.watch(Progress(path, number + 1, len(stored.cells))),
        )
        return lambda versions: normal_form(stored.content, result, places=places, versions=versions)

    def _surroundings(self) -> Surroundings:
        self._runs += 1
        return Surroundings.make(self.folder / str(self._runs), self.folder / "shared")

    async def _list_fonts(self) -> None:
        """Let matplotlib list this machine's fonts once for all kernels; it would say so in a cell if it took long."""
        if find_spec("matplotlib") is None:
            return
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "import matplotlib.font_manager"),
            env=self._surroundings().environment(os.environ),
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


def _failure(error: Exception) -> Failure:
    """What went wrong with a notebook, in words."""
    if isinstance(error, NotebookFailed):
        return error.failure
    if isinstance(error, (NotANotebook, ConfigurationError)):
        return Failure(error.what, error.next_step)
    return Failure(
        excerpt(f"It could not be verified: {type(error).__name__}: {error}", _LONGEST),
        "Open it in JupyterLab, run and save it; if this stays, report it with the notebook.",
    )


def _run(work: Callable[[], Coroutine[Any, Any, list[Verdict]]]) -> list[Verdict]:
    """What a coroutine gives; in a thread of its own where a loop runs in this one already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    task: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()
    result: Future[list[Verdict]] = Future()

    async def tracked() -> list[Verdict]:
        task.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work()

    def target() -> None:
        try:
            result.set_result(asyncio.run(tracked()))
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to who waits
            result.set_exception(error)

    thread = threading.Thread(target=target, name="toolkit-verify")
    thread.start()
    try:
        return result.result()
    except BaseException:  # an interrupt, which this thread alone is told of
        loop, running = task.result()
        if running is not None:
            with suppress(RuntimeError):  # closed already
                loop.call_soon_threadsafe(running.cancel)
        thread.join()
        raise


def _places(path: Path, surroundings: Surroundings) -> tuple[Path, dict[str, str]]:
    """The folder a notebook is in, through links, and what stands for folders in its outputs."""
    notebook = path.resolve()
    return notebook.parent, surroundings.places(notebook, find_project(notebook.parent))


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
