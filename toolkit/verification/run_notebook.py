"""Run one notebook from top to bottom in a fresh kernel."""

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

from toolkit.core.errors import ConfigurationError, how_to_install
from toolkit.core.text import excerpt
from toolkit.verification.kernel_environment import IN_KERNEL, KernelEnvironment
from toolkit.verification.normalize import COLOURS, CellResult, RunResult
from toolkit.verification.verdict import CellPlace, Failure

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

_STARTUP: Final = 60  # seconds for a kernel to answer
SKIP_TAG: Final = "skip-execution"  # a cell with this tag does not run
_NO_NETWORK: Final = "the network is off while a notebook is verified"  # the words of in_kernel/bootstrap
_LINE: Final = re.compile(r"Cell In\s?\[\d+\], line (\d+)")
_LONGEST: Final = 500  # characters of an error's message
# Outside the hierarchy of loggers, so that nobody listens: libraries log messages of the kernel, outputs included.
_silent_log: Final = logging.Logger("notebook kernels")  # noqa: LOG001
_silent_log.addHandler(logging.NullHandler())


class NotebookFailed(Exception):
    """A notebook could not be run to its end.

    Attributes:
        failure: what happened.
        result: the outputs as far as it ran; None if the kernel did not start.
    """

    def __init__(self, failure: Failure, result: RunResult | None = None) -> None:
        super().__init__(failure.what)
        self.failure = failure
        self.result = result


def need_kernels() -> None:
    """Check that notebooks can be run here.

    Raises:
        ConfigurationError: if the extra `lab` is not installed.
    """
    missing = [name for name in ("nbclient", "ipykernel") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"Cannot run notebooks: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed.",
            how_to_install("lab"),
        )


def cell_place(cells: list[dict[str, Any]], number: int) -> CellPlace:
    """Return the cell at a position (from 0) as a reader finds it."""
    lines = [line for line in cells[number]["source"].splitlines() if line.strip()]
    return CellPlace(number + 1, excerpt(lines[0], 60) if lines else "")


async def run_notebook(
    content: Mapping[str, Any],
    folder: Path,
    environment: KernelEnvironment,
    *,
    timeout: float,  # noqa: ASYNC109 - for each cell, handed on to nbclient
    variables: Mapping[str, str],
    at_cell: Callable[[int], None],
) -> RunResult:
    """Run the cells of a notebook in order and return their outputs.

    A cell with the tag "skip-execution" does not run and has no result.

    Args:
        content: the notebook; it is not changed.
        folder: the working directory of the kernel.
        environment: folders and variables of the kernel.
        timeout: seconds for each cell, rounded up to whole seconds.
        variables: environment variables of this process.
        at_cell: called with the position of each cell, from 0, before it runs.

    Raises:
        NotebookFailed: if a cell raises or takes too long, or the kernel does not start or dies.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.from_dict(copy.deepcopy(dict(content)))  # type: ignore[no-untyped-call]
    cells: list[Any] = notebook["cells"]
    to_run = {
        number: cell
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code" and SKIP_TAG not in cell["metadata"].get("tags", ())
    }
    for cell in to_run.values():  # nbclient does not run empty cells, which would keep their outputs
        cell["outputs"], cell["execution_count"] = [], None
    async with _kernel(folder, environment, variables) as manager:
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=math.ceil(timeout),
            startup_timeout=_STARTUP,
            record_timing=False,  # times differ in each run
            coalesce_streams=True,  # how printed text is split into messages depends on the speed of the machine
            skip_cells_with_tag=SKIP_TAG,
            store_widget_state=True,  # without it, nbclient fails on the outputs that an Output widget captures
            log=_silent_log,
        )
        try:
            await _start_client(client)
            for number in range(len(cells)):
                at_cell(number)
                with _as_failure(cells, number, timeout):
                    count = client.code_cells_executed + 1
                    await client.async_execute_cell(cells[number], number, execution_count=count)
            client.set_widgets_metadata()
        except NotebookFailed as error:
            error.result = RunResult(_results(to_run))
            raise
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
    # Front ends store widget state on request only; it is compared if the notebook has some.
    widgets = notebook["metadata"].get("widgets") if "widgets" in content["metadata"] else None
    return RunResult(_results(to_run), widgets)


def _results(cells: Mapping[int, Any]) -> dict[int, CellResult]:
    return {number: CellResult(list(cell["outputs"]), cell["execution_count"]) for number, cell in cells.items()}


@contextlib.asynccontextmanager
async def _kernel(
    folder: Path, environment: KernelEnvironment, variables: Mapping[str, str]
) -> AsyncIterator[AsyncKernelManager]:
    """Start a kernel of this interpreter; kill it and its children when the block ends, however it ends."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    command = [sys.executable, str(IN_KERNEL / "kernel.py"), "-f", "{connection_file}"]
    # The kernel neither sees the user's history nor adds to it.
    command.append("--HistoryManager.hist_file=:memory:")

    class ThisInterpreter(KernelSpecManager):
        """Offers this interpreter only, whatever the user registered under the same name."""

        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(argv=command, display_name=kernel_name, language="python")

    connection: dict[str, Any] = {"transport": environment.transport}
    if environment.transport == "ipc":
        connection["ip"] = str(environment.channels)
    manager = AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=ThisInterpreter(log=_silent_log),
        connection_file=str(environment.channels.with_name("kernel.json")),
        log=_silent_log,
        **connection,
    )
    try:
        await manager.start_kernel(
            cwd=str(folder),
            env=environment.variables(variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield manager
    finally:
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
        await manager.cleanup_resources()


async def _start_client(client: NotebookClient) -> None:
    try:
        await client.async_start_new_kernel_client()
    except RuntimeError:
        raise NotebookFailed(
            Failure(
                "The kernel did not start or did not answer.",
                f"Try this in a terminal: {os.path.basename(sys.executable)} -m ipykernel_launcher",  # noqa: PTH119
            )
        ) from None


@contextlib.contextmanager
def _as_failure(cells: list[Any], number: int, timeout: float) -> Any:
    """Raise errors of a running cell as NotebookFailed."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    place = cell_place(cells, number)
    try:
        yield
    except CellExecutionError as error:
        failure = describe_error(place, error.ename, error.evalue, error.traceback)
    except CellTimeoutError:
        failure = Failure(
            f"The cell did not finish within {timeout:g} seconds.",
            "If it needs more time, add --timeout SECONDS; a replay does not have to wait.",
            place,
        )
    except DeadKernelError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # nbclient reports every cancellation as a dead kernel
            raise asyncio.CancelledError from None
        failure = Failure("The kernel died in this cell.", "Run it in JupyterLab to see why.", place)
    except Exception as error:  # noqa: BLE001 - the kernel may send anything, and nbclient trusts it
        message = excerpt(f"{type(error).__name__}: {error}", _LONGEST)
        failure = Failure(f"The kernel sent an invalid message: {message}", "Run it in JupyterLab to see why.", place)
    else:
        return
    raise NotebookFailed(failure) from None


def describe_error(place: CellPlace, name: str, message: str, traceback: str) -> Failure:
    """Describe the error of a cell by its class and message, and the line of the cell that raised it.

    The second line of a message of the toolkit says what to do next. The traceback is the text that IPython shows.
    """
    lines = _LINE.findall(COLOURS.sub("", traceback))
    line = f" (line {lines[-1]})" if lines else ""
    head, *rest = message.split("\n", 1) if message.strip() else [""]
    what = excerpt(f"{name}: {head}" if head else name, _LONGEST)
    if _NO_NETWORK in message:
        return Failure(f"{what}{line}", "Replay a recording: tk.Session(cassette=...).", place)
    if rest and not lines:  # an error of the toolkit has two lines instead of a traceback
        return Failure(what, excerpt(rest[0], _LONGEST), place)
    return Failure(f"{what}{line}", "Run it in JupyterLab to see the whole traceback.", place)
