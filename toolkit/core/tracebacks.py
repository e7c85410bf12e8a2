"""Remove frames that contain credentials from tracebacks, and find the user's shell and variables.

Verbose tracebacks (IPython's `%xmode Verbose`, rich, `pytest -l`) show the local variables of every frame. These
include the credentials in code that reads them, and authorized requests in httpx, httpcore and h11.

- `frameless` is for public functions and constructors that take secrets: their errors do not show the toolkit's frames.
- `attempt` is for passing secrets to other libraries: it replaces their errors with the toolkit's own.
- `causes` yields an error and all errors linked to it, so that `transport.flow` can remove the frames of each.

`warn` points at the nearest line of the user's code; `shell` and `name_of` find the IPython shell and variable names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import wraps
from traceback import walk_tb
from types import FrameType
from typing import Any, Final, ParamSpec, TypeVar

from toolkit.core.errors import ToolkitError
from toolkit.core.text import masked

# contextlib's frames are between a context manager and its `with` statement.
_PASSED_OVER: Final = frozenset({"toolkit", "httpx", "httpx2", "contextlib"})

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def frameless(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function or constructor that takes secrets, so that its errors do not expose them.

    The traceback of any error ends at this decorator, which no longer holds the arguments. Its cause and context are
    dropped, except for an error that the caller was already handling. An error other than a ToolkitError, a Warning or
    a signature TypeError may quote a secret, so it is replaced by a ToolkitError that names its type and place.

    Do not use it for generator or coroutine functions, whose errors are raised only after the call has returned.
    """

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except BaseException as caught:  # noqa: BLE001
            error = _showable(caught, function.__qualname__)
        # Raised outside the handler; inside it, the caught error would become the context.
        del args, kwargs
        try:
            raise error
        finally:
            del error  # the error refers to this frame: a cycle would keep it and the callers' frames alive

    return call


def attempt(call: Callable[[], _Result], *, otherwise: Callable[[], ToolkitError]) -> _Result:
    """Return the result of `call`; if it fails, raise the error that `otherwise` returns, unlinked from the original.

    Use it for other libraries (cryptography, jwt, json) and third-party signers: their errors may contain a key.
    """
    with suppress(Exception):
        return call()
    raise otherwise()


def causes(error: BaseException, above: Container[FrameType] = ()) -> Iterator[BaseException]:
    """Yield an error and all errors linked to it, including the members of exception groups.

    Errors raised in one of the frames `above` are left out, as are errors linked only through them.
    """
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        linked = pending.pop()
        if linked is None or id(linked) in seen:
            continue
        seen.add(id(linked))
        if linked.__traceback__ is None or linked.__traceback__.tb_frame not in above:
            members = linked.exceptions if isinstance(linked, BaseExceptionGroup) else ()
            pending += [linked.__cause__, linked.__context__, *members]
            yield linked


def _showable(error: BaseException, name: str) -> BaseException:
    """Return the error without its traceback and chain or, if it may quote a secret, a ToolkitError in its place."""
    places = list(walk_tb(error.__traceback__))
    is_signature_mismatch = isinstance(error, TypeError) and len(places) == 1
    if isinstance(error, Exception) and not (isinstance(error, ToolkitError | Warning) or is_signature_mismatch):
        frame, line = places[-1]
        place = f"{frame.f_globals.get('__name__')}, line {line}"
        return ToolkitError(
            f"{name.removesuffix('.__init__')} failed with {type(error).__name__} in {place}.",
            "Check its arguments. The error itself is not shown, because it may quote a secret.",
        )
    error.__cause__ = error.__context__ = None
    error.__suppress_context__ = False  # setting the cause sets it; it would hide the error that the caller is handling
    return error.with_traceback(None)


def warn(message: str) -> None:
    """Issue a warning that points at the nearest caller outside the toolkit and its HTTP library, at any stack depth.

    Known secrets are masked, because a warning may quote names from a response.
    """
    level, frame = 1, sys._getframe()  # noqa: SLF001 - warnings can skip files by prefix only since Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(masked(message), stacklevel=level)


def shell() -> Any | None:
    """Return the running InteractiveShell, or None outside IPython. This never imports IPython."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def name_of(value: object) -> str:
    """Return the name of the first notebook variable that refers to this object, or ""."""
    names: dict[str, Any] = getattr(shell(), "user_ns", {})
    return next((name for name, held in [*names.items()] if held is value and not name.startswith("_")), "")
