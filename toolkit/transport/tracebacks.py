"""Errors from below auth without the frames that hold credentials.

Verbose tracebacks (IPython's `%xmode Verbose`, rich, `pytest -l`) show the local variables of every
frame, and those of httpx, httpcore and h11 hold the authorized request: its headers, its very bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any


def without_frames(error: BaseException, request: Any = None) -> None:
    """Take the tracebacks off an error that a transport raised, and off all that it hangs together with.

    Types, messages, notes and the chain stay. Causes, contexts and members of groups are cleaned alike;
    an error that the caller of the call was handling already, and that is the context of this one for
    that reason, keeps its traceback. Call it where the error was caught.

    Args:
        error: the error; changed in place.
        request: what `error.request` (and `error.response.request`) is from here on wherever it was set,
            since below auth it is the authorized one. None unsets it, until an httpx client sets its own.
    """
    above = _frames_above(error)
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if one is not error and one.__traceback__ is not None and one.__traceback__.tb_frame in above:
            continue  # what it hangs together with is the caller's as well
        one.with_traceback(None)  # assigning fails for errors that are frozen dataclasses
        for holder in (one, vars(one).get("response")):
            # Not by its property, which raises while it is unset.
            if getattr(holder, "_request", None) is not None:
                holder._request = request  # type: ignore[union-attr] # noqa: SLF001
        pending += (one.__cause__, one.__context__, *_members(one))


def _frames_above(error: BaseException) -> frozenset[FrameType]:
    """The frames that called the one in which the error was caught; in a task, those that await it."""
    return frozenset(_callers(error.__traceback__.tb_frame.f_back if error.__traceback__ else None))


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()
