"""Mask known secrets in what a kernel shows: displays, results, stdout, stderr, tracebacks, help and widgets.

Methods of the shell's own objects are wrapped, so masking holds for threads and tasks alike. In a kernel the messages
are masked once more when they are sent, because only there text that was written in pieces is complete.

Deliberately absent: what a cell writes past Python, such as with `os.write`, which a kernel repeats in the server's
log; and, in a plain terminal, what is written to a C stream that was stored earlier, such as by a log handler.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from toolkit.auth.cell_warning import remember_input
from toolkit.notebook.masked_values import UNCHECKED, masked

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Masking:
    """Masks everything that one shell shows, from `start` to `stop`. Both may be called repeatedly."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._undo: list[Callable[[], None]] = []

    def start(self) -> None:
        """Wrap the methods of the shell and of its kernel, and both output streams."""
        if self._undo:
            return
        shell = self._shell
        self._wrap(shell.display_formatter, "format", _masked_result)
        self._wrap(shell.display_pub, "publish", _masked_publish)
        self._wrap(shell, "_showtraceback", _masked_traceback)
        self._wrap(shell.payload_manager, "write_payload", _masked_payload)
        self._wrap(shell.logger, "log_write", _masked_log)
        if hasattr(shell, "_format_exception_for_storage"):  # for %notebook, from IPython 9 on
            self._wrap(shell, "_format_exception_for_storage", _masked_result)
        kernel = getattr(shell, "kernel", None)
        if kernel is not None and getattr(kernel, "session", None) is not None:
            self._wrap(kernel.session, "msg", _masked_message)
            self._wrap(kernel.session, "send", _masked_send)
        if kernel is not None and hasattr(kernel, "raw_input"):
            self._wrap(kernel, "raw_input", _remembered_input)
        self._undo += [mask_stream("stdout"), mask_stream("stderr")]

    def stop(self) -> None:
        """Undo everything that `start` did."""
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        own = vars(owner).get(name)
        inner = getattr(owner, name)
        outer = wraps(inner)(wrapper(inner))
        setattr(owner, name, outer)

        def undo() -> None:
            if vars(owner).get(name) is not outer:
                return  # other code has wrapped it since, and still calls this wrapper
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._undo.append(undo)


def _masked_result(inner: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        return masked(inner(*args, **more))

    return call


def _masked_publish(inner: Callable[..., Any]) -> Callable[..., Any]:
    def publish(data: Any, metadata: Any = None, *args: Any, **more: Any) -> Any:
        return inner(masked(data), masked(metadata), *args, **more)

    return publish


def _masked_traceback(inner: Callable[..., Any]) -> Callable[..., Any]:
    def show(kind: type[BaseException], error: BaseException, lines: Any) -> Any:
        try:
            text = str(error)
        except Exception:  # noqa: BLE001 - whatever an error's own __str__ raises
            text = UNCHECKED
        shown = masked(text)
        return inner(kind, error if shown == text else Exception(shown), masked(lines))

    return show


def _masked_payload(inner: Callable[..., Any]) -> Callable[..., Any]:
    def write(data: Any, *args: Any, **more: Any) -> Any:
        # The pager's payload is shown, and saved with the cell; other payloads are code for the next cell.
        is_shown = isinstance(data, Mapping) and data.get("source") == "page"
        return inner(masked(data) if is_shown else data, *args, **more)

    return write


def _masked_log(inner: Callable[..., Any]) -> Callable[..., Any]:
    def write(data: str, kind: str = "input") -> Any:
        return inner(masked(data) if kind == "output" else data, kind)

    return write


def _masked_message(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Mask everything that a kernel sends: replies, prompts, widgets, and streams once they are put together."""

    def message(kind: Any, content: Any = None, *args: Any, **more: Any) -> Any:
        if kind == "execute_reply" and isinstance(content, Mapping) and content.get("payload"):
            rest = {key: value for key, value in content.items() if key != "payload"}
            content = {**masked(rest), "payload": content["payload"]}  # masked when it was written
        elif kind != "execute_input":  # the source, as it was typed
            content = masked(content)
        return inner(kind, content, *args, **more)

    return message


def _masked_send(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Mask the binary part of a message: the bytes of a widget, which a notebook keeps with its state."""

    def send(  # the signature of jupyter_client, whose callers may pass the buffers by position
        stream: Any,
        message: Any,
        content: Any = None,
        parent: Any = None,
        ident: Any = None,
        buffers: Any = None,
        *args: Any,
        **more: Any,
    ) -> Any:
        shown = buffers and [_masked_buffer(buffer) for buffer in buffers]
        return inner(stream, message, content, parent, ident, shown, *args, **more)

    return send


def _masked_buffer(buffer: Any) -> Any:
    data = bytes(buffer)
    shown = masked(data)
    return buffer if shown == data else shown if isinstance(shown, bytes) else b""


def _remembered_input(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what is typed at `input()`, so that making credentials from it can warn."""

    def ask(*args: Any, **more: Any) -> Any:
        answer = inner(*args, **more)
        remember_input(answer)
        return answer

    return ask


def mask_stream(name: str) -> Callable[[], None]:
    """Mask what is written to `sys.stdout` or `sys.stderr`, and return a function that undoes it.

    The stream object gets another class. This masks it for everything that holds a reference to it, such as a log
    handler, and keeps `isinstance` working. A stream written in C cannot change its class and is replaced.

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
    """A masking replacement for a stream that is written in C."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> Any:
        return self._stream.write(masked(text))

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
