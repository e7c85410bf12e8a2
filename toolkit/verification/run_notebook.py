"""Runs one notebook from top to bottom, in a fresh kernel of its own."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import math
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.verification.kernel_environment import IN_KERNEL, Surroundings
from toolkit.verification.normalize import CellResult, RunResult
from toolkit.verification.verdict import CellPlace, Failure

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

STARTUP: Final = 60  # seconds for a kernel to answer
_NOT_TO_RUN: Final = "skip-execution"  # tag of a cell that is left as it is
_SHUT: Final = "the network is shut while a notebook is verified"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_LINE: Final = re.compile(r"Cell In\s?\[\d+\], line (\d+)")
_LONGEST: Final = 500  # characters of an error's message
_quiet: Final = logging.Logger("notebook kernels")  # noqa: LOG001 - outside the hierarchy, so that nobody listens
_quiet.addHandler(logging.NullHandler())


class NotebookFailed(Exception):
    """A notebook did not run to its end."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


def need_kernels() -> None:
    """Check that notebooks can be run here.

    Raises:
        ConfigurationError: the extra is not installed.
    """
    missing = [name for name in ("nbclient", "ipykernel") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"Notebooks cannot be run: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed.",
            "Install the extra: pip install 'service-access-toolkit[lab]', or in a checkout pip install '.[lab]'.",
        )


def cell_place(cells: list[dict[str, Any]], number: int) -> CellPlace:
    """The cell at a place from 0, as a reader finds it."""
    lines = [line for line in cells[number]["source"].splitlines() if line.strip()]
    return CellPlace(number + 1, excerpt(lines[0], 60) if lines else "")


async def run_notebook(
    content: Mapping[str, Any],
    folder: Path,
    surroundings: Surroundings,
    *,
    patience: float,
    outside: Mapping[str, str],
    at_cell: Callable[[int], None],
) -> RunResult:
    """What each cell of a notebook gives, run in order with its folder as the working directory.

    A cell tagged "skip-execution" does not run, and gives nothing.

    Args:
        content: of the notebook; not changed.
        patience: seconds for each cell, rounded up to whole ones.
        outside: the environment of this process.
        at_cell: told the place of each cell, from 0, before it runs.

    Raises:
        NotebookFailed: a cell raised or took too long, or the kernel did not start, or ended.
    """
    import nbformat  # an extra, and slow to load
    from nbclient import NotebookClient  # likewise

    notebook = nbformat.from_dict(copy.deepcopy(dict(content)))  # type: ignore[no-untyped-call]
    cells: list[Any] = notebook["cells"]
    to_run = {number: cell for number, cell in enumerate(cells) if _is_to_run(cell)}
    for cell in to_run.values():  # an empty one has nothing to run, and would keep what it had
        cell["outputs"], cell["execution_count"] = [], None
    async with _kernel(folder, surroundings, outside) as manager:
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=math.ceil(patience),
            startup_timeout=STARTUP,
            record_timing=False,  # when a cell ran is another time in every run
            coalesce_streams=True,  # how printed text is cut into messages depends on the hurry of the machine
            skip_cells_with_tag=_NOT_TO_RUN,
            store_widget_state=True,  # without it, nbclient stumbles over what an Output widget captures
            log=_quiet,
        )
        try:
            await _ready(client)
            for number in range(len(cells)):
                at_cell(number)
                with _told_of(cells, number, patience):
                    await client.async_execute_cell(cells[number], number, execution_count=_next_count(client))
            client.set_widgets_metadata()
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
    results = {number: CellResult(list(cell["outputs"]), cell["execution_count"]) for number, cell in to_run.items()}
    # Front ends store it only on request; whoever did is given it, and has it compared.
    return RunResult(results, notebook["metadata"].get("widgets") if "widgets" in content["metadata"] else None)


def _is_to_run(cell: Mapping[str, Any]) -> bool:
    return cell["cell_type"] == "code" and _NOT_TO_RUN not in cell["metadata"].get("tags", ())


@contextlib.asynccontextmanager
async def _kernel(
    folder: Path, surroundings: Surroundings, outside: Mapping[str, str]
) -> AsyncIterator[AsyncKernelManager]:
    """A kernel of this interpreter, killed with all that it started when the block ends, however it ends."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager  # an extra
    from jupyter_client.manager import AsyncKernelManager  # likewise

    command = [sys.executable, str(IN_KERNEL / "kernel.py"), "-f", "{connection_file}"]
    # The history of this user's other sessions stays out of it, and its own is not kept.
    command.append("--HistoryManager.hist_file=:memory:")

    class ThisInterpreter(KernelSpecManager):
        """Knows one kernel: not what a user may have registered under the same name."""

        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(argv=command, display_name=kernel_name, language="python")

    of_channels: dict[str, Any] = {"transport": surroundings.transport}
    if surroundings.transport == "ipc":
        of_channels["ip"] = str(surroundings.channels)
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=ThisInterpreter(log=_quiet),
        connection_file=str(surroundings.channels.with_name("kernel.json")),
        log=_quiet,
        **of_channels,
    )
    try:
        await manager.start_kernel(
            cwd=str(folder),
            env=surroundings.environment(outside),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield manager
    finally:
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
        await manager.cleanup_resources()


async def _ready(client: NotebookClient) -> None:
    try:
        await client.async_start_new_kernel_client()
    except RuntimeError:
        raise NotebookFailed(
            Failure(
                "The kernel did not start, or did not answer.",
                f"Try it in a terminal: {os.path.basename(sys.executable)} -m ipykernel_launcher",  # noqa: PTH119
            )
        ) from None


def _next_count(client: NotebookClient) -> int:
    return client.code_cells_executed + 1


@contextlib.contextmanager
def _told_of(cells: list[Any], number: int, patience: float) -> Any:
    """Turns what goes wrong while a cell runs into words."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # an extra

    place = cell_place(cells, number)
    try:
        yield
    except CellExecutionError as error:
        failure = raised(place, error.ename, error.evalue, error.traceback)
    except CellTimeoutError:
        failure = Failure(
            f"It was not done after {patience:g} seconds.",
            "If it only needs longer, add --timeout SECONDS; replay has no reason to wait.",
            place,
        )
    except DeadKernelError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # nbclient takes every cancellation for a dead kernel
            raise asyncio.CancelledError from None
        failure = Failure("The kernel ended in it.", "Run it in JupyterLab to see why.", place)
    except Exception as error:  # noqa: BLE001 - what the kernel sends may be anything, and nbclient trusts it
        said = excerpt(f"{type(error).__name__}: {error}", _LONGEST)
        failure = Failure(f"What the kernel sent could not be taken: {said}", "Run it in JupyterLab to see why.", place)
    else:
        return
    raise NotebookFailed(failure) from None


def raised(place: CellPlace, name: str, message: str, traceback: str) -> Failure:
    """The error of a cell in words: its last line, and where in the cell it came from.

    Args:
        name: of the error's class.
        message: of the error; the second line of one of the toolkit's says what to do next.
        traceback: as IPython shows it.
    """
    lines = _LINE.findall(_COLOURS.sub("", traceback))
    where = f" (line {lines[-1]})" if lines else ""
    head, *rest = message.split("\n", 1) if message.strip() else [""]
    what = excerpt(f"{name}: {head}" if head else name, _LONGEST)
    if _SHUT in message:
        return Failure(f"{what}{where}", "Let it replay a recording: tk.Session(cassette=...).", place)
    if rest and not lines:  # two lines instead of a traceback: an error of the toolkit
        return Failure(what, excerpt(rest[0], _LONGEST), place)
    return Failure(f"{what}{where}", "Run it in JupyterLab to see the whole traceback.", place)
