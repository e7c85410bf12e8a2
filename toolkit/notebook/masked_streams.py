"""Mask what Python code writes to `sys.stdout` and `sys.stderr`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from toolkit.notebook.masked_values import masked


def mask_stream(name: str) -> Callable[[], None]:
    """Mask what is written to `sys.stdout` or `sys.stderr`, and return a function that undoes it.

    The stream object gets another class. So it is masked for everybody who holds a reference to it, such as a log
    handler, and `isinstance` answers as before. A stream written in C cannot change its class and is replaced.

    Args:
        name: "stdout" or "stderr".
    """
    stream: Any = getattr(sys, name)
    kind = type(stream)
    if isinstance(stream, _Replacement | _MaskedWrite):
        return lambda: None
    try:
        stream.__class__ = type(kind.__name__, (_MaskedWrite, kind), {"__module__": kind.__module__})
    except TypeError:
        replacement = _Replacement(stream)
        setattr(sys, name, replacement)

        def put_back() -> None:
            if getattr(sys, name) is replacement:
                setattr(sys, name, stream)

        return put_back

    def change_back() -> None:
        stream.__class__ = kind

    return change_back


class _MaskedWrite:
    """A base class put in front of the class of a stream that is written in Python.

    `write` is a property: IPython assigns a function of its own to `stream.write` while a cell runs, and afterwards
    assigns what was there before.
    """

    __slots__ = ()

    @property
    def write(self) -> Any:
        return _Write(self, vars(self).get("write") or super().write)  # type: ignore[misc]

    @write.setter
    def write(self, function: Any) -> None:
        while isinstance(function, _Write):
            function = function.inner
        vars(self)["write"] = function


class _Write:
    """The `write` of a stream, which masks for as long as the stream has the masking class."""

    def __init__(self, stream: object, inner: Callable[[Any], Any]) -> None:
        self._stream, self.inner = stream, inner

    def __call__(self, text: Any) -> Any:
        return self.inner(masked(text) if isinstance(self._stream, _MaskedWrite) else text)


class _Replacement:
    """Takes the place of a stream that is written in C."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> Any:
        return self._stream.write(masked(text))

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
