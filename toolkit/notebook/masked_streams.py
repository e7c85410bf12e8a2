"""Mask what is written to stdout and stderr, also when a secret arrives in pieces.

A secret that is written in pieces is complete only when the last piece is written, and then the first ones are on the
screen. So text that ends like the beginning of a secret waits for the next write, or for the end of the cell.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from toolkit.notebook.masked_values import masked, secret_beginning

_CONTEXT: Final = 3  # characters; a shorter beginning of a secret does not wait


class PieceByPiece:
    """Masks text that is written in pieces."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = threading.local()
        self._sent = ""  # the last characters that were passed on
        self._held = ""

    def write(self, text: Any, inner: Callable[[Any], Any]) -> Any:
        """Write text with `inner`: masked, and without an end that may be part of a secret."""
        if getattr(self._inside, "is_true", False):
            return inner(text)  # while a cell runs, `inner` is a function of IPython that calls the masking one
        self._inside.is_true = True
        try:
            return inner(self._passed(text) if isinstance(text, str) else masked(text))
        finally:
            self._inside.is_true = False

    def release(self, write: Callable[[str], Any]) -> None:
        """Write the text that waits, which turned out not to be the beginning of a secret."""
        with self._lock:
            text, self._sent, self._held = masked(self._held), "", ""
        if text:
            self._inside.is_true = True
            try:
                with suppress(ValueError):  # the stream is closed
                    write(text)
            finally:
                self._inside.is_true = False

    def _passed(self, text: str) -> str:
        with self._lock:
            whole = self._sent + self._held + text
            end = max(len(self._sent), len(whole) - secret_beginning(whole))
            self._held = whole[end:]
            # A secret may begin in what was sent, and is then replaced beside it.
            passed: str = masked(whole[:end]).removeprefix(self._sent)
            self._sent = whole[:end][-_CONTEXT:]
            return passed


class MaskedStream(NamedTuple):
    """A stream that is masked.

    Attributes:
        release: write the text that waits, at the end of a cell.
        undo: write it and stop masking.
    """

    release: Callable[[], None]
    undo: Callable[[], None]


def mask_stream(name: str) -> MaskedStream:
    """Mask what is written to `sys.stdout` or `sys.stderr`.

    The stream object gets another class. This masks it for everything that holds a reference to it, such as a log
    handler, and keeps `isinstance` working. A stream written in C cannot change its class and is replaced.

    Args:
        name: "stdout" or "stderr".
    """
    stream: Any = getattr(sys, name)
    kind = type(stream)
    if isinstance(stream, _Replacement | _MaskedWrite):
        return MaskedStream(lambda: None, lambda: None)
    pieces = PieceByPiece()
    try:
        stream.__class__ = type(kind.__name__, (_MaskedWrite, kind), {"__module__": kind.__module__, "pieces": pieces})
    except TypeError:
        replacement = _Replacement(stream, pieces)
        setattr(sys, name, replacement)

        def put_back() -> None:
            pieces.release(stream.write)
            if getattr(sys, name) is replacement:
                setattr(sys, name, stream)

        return MaskedStream(lambda: pieces.release(stream.write), put_back)

    def release() -> None:
        pieces.release(stream.write)

    def change_back() -> None:
        release()
        stream.__class__ = kind

    return MaskedStream(release, change_back)


class _MaskedWrite:
    """A base class put in front of the class of a stream that is written in Python.

    `write` is a property: IPython assigns a function of its own to `stream.write` while a cell runs, and afterwards
    assigns what was there before.
    """

    __slots__ = ()
    pieces: PieceByPiece

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
        pieces = self._stream.pieces if isinstance(self._stream, _MaskedWrite) else None
        return self.inner(text) if pieces is None else pieces.write(text, self.inner)


class _Replacement:
    """A masking replacement for a stream that is written in C."""

    def __init__(self, stream: Any, pieces: PieceByPiece) -> None:
        self._stream, self._pieces = stream, pieces

    def write(self, text: Any) -> Any:
        return self._pieces.write(text, self._stream.write)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
