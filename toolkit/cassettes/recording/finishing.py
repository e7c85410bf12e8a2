"""When a recording has ended well. Notebooks never call close(): a cell does, or the interpreter."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkit.core.errors import CassetteError
from toolkit.core.warn import warn

_waiting: dict[Callable[[], None], Path] = {}
_shells: list[Any] = []


def finish_later(part: Path, finish: Callable[[], None]) -> None:
    """Call it after each cell that ran well, and when the interpreter exits well, until it is called off.

    Args:
        part: the file that is recorded until then.
        finish: puts it in place.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and not any(shell is one for one in _shells):
        shell.events.register("post_run_cell", _after_cell)
        _shells.append(shell)
    if not _waiting:
        atexit.register(_at_exit)
    _waiting[finish] = part


def finish_now(part: Path) -> None:
    """Finish now what this process still records there: the cell that opened it runs again."""
    for finish, one in tuple(_waiting.items()):
        if one == part:
            finish()
            cancel(finish)


def cancel(finish: Callable[[], None]) -> None:
    """Not any more."""
    _waiting.pop(finish, None)


def _after_cell(result: Any) -> None:
    if result is not None and result.success:  # an interrupted cell may have none
        _finish_all()


def _at_exit() -> None:
    # A script that died of an exception left this behind; in a notebook any cell that failed did.
    if _shells or getattr(sys, "last_value", None) is None:
        _finish_all()


def _finish_all() -> None:
    for finish in tuple(_waiting):
        try:
            finish()
        except CassetteError as error:  # nobody is there to catch it, and the others are to finish too
            warn(str(error))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # the parent's recordings are the parent's to end
