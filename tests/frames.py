"""Errors with a traceback, and what verbose tracebacks show of their frames."""

from __future__ import annotations

import contextlib
import traceback


def with_locals(error):
    """Return all local variables in the frames of an error and its chain, as shown by rich and `pytest -l`."""
    lines = []
    while error is not None:
        lines.append(repr(error))
        for frame, _ in traceback.walk_tb(error.__traceback__):
            for value in frame.f_locals.values():
                with contextlib.suppress(Exception):  # some objects are not initialised yet
                    lines.append(repr(value))
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def raised(error, cause=None):
    """Return the error with a traceback."""
    try:
        raise error from cause  # noqa: TRY301
    except BaseException as raised_error:  # noqa: BLE001
        return raised_error
