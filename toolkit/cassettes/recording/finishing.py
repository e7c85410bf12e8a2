"""End recordings that nobody closes: after a notebook cell that succeeded, and at interpreter exit."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.core.errors import CassetteError
from toolkit.core.user_code import shell, warn

_parts_by_finish: dict[Callable[[], None], Path] = {}
_shells: list[Any] = []


def finish_later(part: Path, finish: Callable[[], None]) -> None:
    """Call `finish` after each cell that succeeds, and at a normal interpreter exit, until `cancel`.

    `finish` ends the recording of the file `part` for now, for example by moving the file into place.
    """
    running = shell()
    if running is not None and not any(running is known for known in _shells):
        running.events.register("post_run_cell", _after_cell)
        _shells.append(running)
    if not _parts_by_finish:
        atexit.register(_at_exit)
    _parts_by_finish[finish] = part


def finish_now(part: Path) -> None:
    """Finish what this process still records to a file, because the cell that opened it is running again."""
    for finish, other in tuple(_parts_by_finish.items()):
        if other == part:
            finish()
            cancel(finish)


def cancel(finish: Callable[[], None]) -> None:
    """Undo `finish_later`."""
    _parts_by_finish.pop(finish, None)


def _after_cell(result: Any) -> None:
    if result is not None and result.success:  # IPython may pass None for an interrupted cell
        _finish_all()


def _at_exit() -> None:
    # `last_value` is set if a script ended in an exception; in a notebook any failed cell sets it.
    if _shells or getattr(sys, "last_value", None) is None:
        _finish_all()


def _finish_all() -> None:
    for finish in tuple(_parts_by_finish):
        try:
            finish()
        except CassetteError as error:  # nobody could catch it here, and the others must finish too
            warn(str(error))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_parts_by_finish.clear)  # only the parent finishes its recordings
