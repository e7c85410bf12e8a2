"""End recordings that nobody closes: after a notebook cell that succeeded, and at interpreter exit."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any, Protocol

from toolkit.core.errors import CassetteError
from toolkit.core.user_code import shell, warn


class Finish(Protocol):
    """A function that ends a recording for now: it moves the file into place."""

    def __call__(self, *, replaces: bool = True) -> None: ...


_parts_by_finish: dict[Finish, Path] = {}
_shells: list[Any] = []


def finish_later(part: Path, finish: Finish) -> None:
    """Call `finish` after each cell that succeeds, and at interpreter exit, until `cancel`.

    `part` is the file that is recorded. After a script that failed, it is not moved into place.
    """
    if finish in _parts_by_finish:
        return
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
            finish_or_warn(finish)
            cancel(finish)


def cancel(finish: Finish) -> None:
    """Undo `finish_later`."""
    _parts_by_finish.pop(finish, None)


def _after_cell(result: Any) -> None:
    if result is not None and result.success:  # IPython may pass None for an interrupted cell
        _finish_all()


def _at_exit() -> None:
    # `last_value` is set if a script ended in an exception; in a notebook any failed cell sets it.
    _finish_all(replaces=bool(_shells) or getattr(sys, "last_value", None) is None)


def _finish_all(*, replaces: bool = True) -> None:
    for finish in tuple(_parts_by_finish):
        finish_or_warn(finish, replaces=replaces)


def finish_or_warn(finish: Finish, *, replaces: bool = True) -> None:
    """Call `finish` where nobody could catch its error, and where others must be finished too."""
    try:
        finish(replaces=replaces)
    except CassetteError as error:
        warn(str(error))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_parts_by_finish.clear)  # only the parent finishes its recordings
