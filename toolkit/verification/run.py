"""Verify notebooks: run each in a fresh kernel without a network, and compare its outputs with the stored ones.

The kernel gets only the environment variables on an allow-list. Its home, configuration and cache folders are empty, so
it finds no saved credentials, startup files or history.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import math
import os
import re
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError, how_to_install
from toolkit.core.text import excerpt
from toolkit.local.folders import project_of
from toolkit.verification.compare import CellPlace, Difference, cell_place, differences, normal_form, places_of
from toolkit.verification.notebooks import (
    SKIP_TAG,
    changed_notebooks,
    find_notebooks,
    is_skipped,
    read_notebook,
    with_outputs,
    write_notebook,
)
from toolkit.verification.report import Failure, Outcome, Verdict

if TYPE_CHECKING:
    from nbclient import NotebookClient

TIMEOUT: Final = 120.0  # seconds for a cell
# Where programs and libraries are, and what Windows needs to start a process.
_ALLOWED_VARIABLES: Final = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX SYSTEMROOT WINDIR COMSPEC PATHEXT "
    "NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE"
).split()
# The same on every machine and at any time.
_FIXED_VARIABLES: Final = {
    "TOOLKIT_OFFLINE": "1",
    "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",  # the notebook's folder may be read-only
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "COLUMNS": "80",
    "LINES": "24",
    "SOURCE_DATE_EPOCH": "946684800",  # 1 January 2000, the date in images
}
_LINE: Final = re.compile(r"Cell In\s?\[\d+\], line (\d+)")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST: Final = 500  # characters of a message
_LONGEST_SOCKET: Final = 100  # bytes of a socket's path; every system allows at least 103
# Outside the logger hierarchy, and silent: libraries log the kernel's messages, including outputs.
_SILENT: Final = logging.Logger("notebook kernels", level=logging.CRITICAL + 1)  # noqa: LOG001


class _Failed(Exception):
    """A notebook could not be run to the end; the argument is the `Failure`."""


def verify(
    paths: Iterable[Path | str],
    *,
    update: bool = False,
    since: str | None = None,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    save_to: Path | None = None,
    watch: Callable[[str], None] = lambda _: None,
    play_log: Path | str | None = None,
) -> list[Verdict]:
    """Run notebooks in replay, each in a fresh kernel, and compare their outputs with the stored outputs.

    The kernels have no network, and do not see the user's environment variables or home folder. However, the code does
    run, so this is not a sandbox.

    If `update` is true, new outputs that differ are stored, provided that a second run gives the same outputs. If
    `since` is a commit, only notebooks that changed, or whose cassettes changed, after this branch diverged from that
    commit are run. `timeout` is in whole seconds per cell, rounded up. Executed notebooks are saved in `save_to`, with
    the outputs of the cells that ran. `watch` is called with a description of each step. The kernels log what they
    replay from cassettes to the folder `play_log`.
    """
    notebooks = find_notebooks(paths)
    need_kernels()
    if since is not None:
        notebooks = changed_notebooks(notebooks, since)
    targets = _targets(notebooks, save_to) if save_to is not None and notebooks else {}
    with tempfile.TemporaryDirectory(prefix="verify-", ignore_cleanup_errors=True) as folder:
        # Resolved, because programs that ask for their folder see the resolved path.
        slots = asyncio.Semaphore(jobs or os.cpu_count() or 1)
        verification = _Verification(Path(folder).resolve(), slots, update, timeout, targets, watch, play_log)
        work = functools.partial(asyncio.run, verification.verify_all(notebooks))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work()
        with ThreadPoolExecutor(1) as thread:  # in a notebook, this thread has a loop already
            return thread.submit(work).result()


def need_kernels() -> None:
    """Raise ConfigurationError if the `lab` extra is not installed."""
    if find_spec("nbclient") is None:
        raise ConfigurationError("Cannot run notebooks: nbclient is not installed.", how_to_install("lab"))


def _targets(notebooks: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Map each notebook to the path to save it to: in `folder`, relative to the notebooks' common folder."""
    files = {path: path.resolve() for path in notebooks}
    base = os.path.commonpath([file.parent for file in files.values()])
    targets = {path: folder / file.relative_to(base) for path, file in files.items()}
    if {target.resolve() for target in targets.values()} & set(files.values()):
        what = f"Saving to {folder} would replace the notebooks."
        raise ConfigurationError(what, "Choose another folder.", about="save_to")
    return targets


@dataclass
class _Verification:
    """One call to `verify`, with its arguments; its kernels write below `folder`."""

    folder: Path
    slots: asyncio.Semaphore
    update: bool
    timeout: float
    targets: Mapping[Path, Path]
    watch: Callable[[str], None]
    play_log: Path | str | None

    async def verify_all(self, notebooks: Sequence[Path]) -> list[Verdict]:
        return await asyncio.gather(*map(self._verify, notebooks))

    async def _verify(self, path: Path) -> Verdict:
        """Return the verdict on one notebook. An error is part of the verdict, and does not stop other notebooks."""
        async with self.slots:
            started = time.monotonic()
            verdict = Verdict(path, Outcome.FAILED, saved_to=self.targets.get(path))
            try:
                stored = read_notebook(path)
                verdict = replace(verdict, cells=len(stored["cells"]))
                outcome, changed = await self._compare(path, stored)
                verdict = replace(verdict, outcome=outcome, differences=changed)
            except _Failed as error:
                verdict = replace(verdict, failure=error.args[0])
            except ConfigurationError as error:
                verdict = replace(verdict, failure=Failure(error.what, error.next_step))
            except Exception as error:  # noqa: BLE001 - a notebook may fail in unforeseen ways
                what = excerpt(f"The notebook could not be verified: {type(error).__name__}: {error}", _LONGEST)
                verdict = replace(verdict, failure=Failure(what, "Run it in JupyterLab, and save it."))
            return replace(verdict, seconds=time.monotonic() - started)

    async def _compare(self, path: Path, stored: dict[str, Any]) -> tuple[Outcome, tuple[Difference, ...]]:
        cells = stored["cells"]
        new, places = await self._run(path, stored)
        changed = differences(cells, normal_form(cells, places), new)
        if not changed or not self.update:
            return (Outcome.DIFFERS if changed else Outcome.SAME), changed
        # Only a second run shows whether the outputs to store will be the same tomorrow.
        again, _ = await self._run(path, stored)
        if unstable := differences(cells, new, again):
            return Outcome.UNSTABLE, unstable
        write_notebook(path, with_outputs(stored, new))
        return Outcome.UPDATED, changed

    async def _run(self, path: Path, stored: dict[str, Any]) -> tuple[list[list[dict[str, Any]]], dict[str, str]]:
        """Run a notebook, and return its outputs in normal form and the folders that outputs may contain."""
        folder, here = Path(tempfile.mkdtemp(dir=self.folder)), path.resolve().parent  # noqa: ASYNC240
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        places = places_of(project_of(here) or here, home=folder / "home", temporary=folder / "tmp")
        cells: list[Any] = copy.deepcopy(stored["cells"])
        for cell in cells:  # nbclient does not run empty cells, which would keep their outputs
            if cell["cell_type"] == "code" and not is_skipped(cell):
                cell["outputs"] = []
        try:
            async with self._kernel({**stored, "cells": cells}, here, folder) as client:
                for number, cell in enumerate(cells):
                    self.watch(f"{path.name}: cell {number + 1} of {len(cells)}")
                    try:
                        await client.async_execute_cell(cell, number)
                    except Exception as error:  # noqa: BLE001 - the kernel may send anything, and nbclient trusts it
                        raise _Failed(self._failure(error, cell_place(cells, number))) from None
        finally:
            outputs = normal_form(cells, places)
            if path in self.targets:
                write_notebook(self.targets[path], with_outputs(stored, outputs))
        return outputs, places

    @asynccontextmanager
    async def _kernel(self, notebook: dict[str, Any], cwd: Path, folder: Path) -> AsyncIterator[NotebookClient]:
        """Start a kernel with this interpreter; kill it and its children when the block ends, even after an error."""
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager
        from nbclient import NotebookClient
        from nbformat import NotebookNode

        # Unix sockets, which no other user can open, if the system has them and their path is short enough.
        in_files = os.name == "posix" and len(os.fsencode(folder)) + 4 <= _LONGEST_SOCKET
        manager = AsyncKernelManager(
            # Without folders, only this interpreter is found, even if the user registered another under the same name.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[], log=_SILENT),
            connection_file=str(folder / "kernel.json"),
            log=_SILENT,
            **({"transport": "ipc", "ip": str(folder / "k")} if in_files else {}),
        )
        client = NotebookClient(
            NotebookNode(notebook),  # type: ignore[no-untyped-call]
            km=manager,
            timeout=math.ceil(self.timeout),
            iopub_timeout=math.ceil(self.timeout),  # outputs may be late; nbclient would drop them after 4 seconds
            skip_cells_with_tag=SKIP_TAG,
            store_widget_state=True,  # without it, nbclient fails on the outputs that an Output widget captures
            log=_SILENT,
        )
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            await client.async_start_new_kernel(cwd=str(cwd), env=self._variables(folder), **silent)
            await client.async_start_new_kernel_client()
            yield client
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)
            await manager.cleanup_resources()

    def _variables(self, folder: Path) -> dict[str, str]:
        """Return the environment variables for a kernel. Its configuration is below its home folder."""
        # Absolute, because the kernel has another working directory.
        paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]  # noqa: PTH100
        return {
            **{name: os.environ[name] for name in _ALLOWED_VARIABLES if name in os.environ},
            **_FIXED_VARIABLES,
            **({} if self.play_log is None else {"TOOLKIT_PLAY_LOG": str(Path(self.play_log).absolute())}),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parent / "in_kernel"), *paths]),
            "PYTHONUSERBASE": site.getuserbase(),
            "MPLCONFIGDIR": _drawing().name,
            **dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(folder / "home")),
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp")),
        }

    def _failure(self, error: Exception, cell: CellPlace) -> Failure:
        """Return the failure that stopped a cell, described in one line, and the next step."""
        from nbclient.exceptions import CellExecutionError, CellTimeoutError

        if isinstance(error, CellTimeoutError):
            what = f"The cell did not finish within {self.timeout:g} seconds."
            return Failure(what, "If the cell needs more time, add --timeout SECONDS.", cell)
        if not isinstance(error, CellExecutionError):
            what = excerpt(f"The kernel failed: {type(error).__name__}: {error}", _LONGEST)
            return Failure(what, "Run the notebook in JupyterLab.", cell)
        first, _, second = error.evalue.strip().partition("\n")
        what = excerpt(f"{error.ename}: {first}" if first else error.ename, _LONGEST)
        lines = _LINE.findall(_COLOURS.sub("", error.traceback))
        if second and not lines:  # an error of the toolkit has two lines instead of a traceback
            return Failure(what, excerpt(second, _LONGEST), cell)
        where = f" (line {lines[-1]})" if lines else ""
        return Failure(f"{what}{where}", "Run the notebook in JupyterLab to see the whole traceback.", cell)


@functools.cache
def _drawing() -> tempfile.TemporaryDirectory[str]:
    """Return a matplotlib configuration folder with a prebuilt font list, which takes seconds to build."""
    folder = tempfile.TemporaryDirectory(prefix="fonts-", ignore_cleanup_errors=True)
    Path(folder.name, "matplotlibrc").write_text("svg.hashsalt: the same in each run\n", encoding="utf-8")
    command = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(command, env={**os.environ, "MPLCONFIGDIR": folder.name}, capture_output=True, check=False)  # noqa: S603
    return folder
