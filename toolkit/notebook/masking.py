"""Mask known secrets in what a kernel shows: displays, results, stdout, stderr, tracebacks, help and widgets.

Methods of the shell's own objects are wrapped, so masking holds for threads and tasks alike. In a kernel the messages
are masked once more when they are sent, because only there text that was written in pieces is complete.

Tables of pandas are also shown without the control and bidirectional characters that a service may have put into them.
Their data stay as they are, and so does what `print` writes.

Deliberately absent: what a cell or a subprocess writes past Python, such as with `os.write`. A kernel shows it masked,
but repeats it in the server's log as it is, and a plain terminal shows it as it is. In a plain terminal the same goes
for what is written to a C stream that was stored earlier, such as by a log handler.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from toolkit.auth.typed_secrets import remember_input
from toolkit.core.text import printable
from toolkit.notebook.masked_streams import MaskedStream, mask_stream
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
        self._wrap(shell.display_formatter, "format", _safe_display)
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
        streams = [mask_stream("stdout"), mask_stream("stderr")]
        for stream in streams:
            self._on_end_of_cell(stream.release)
            atexit.register(stream.release)  # a thread may have written after the last cell
            self._undo += [partial(atexit.unregister, stream.release), stream.undo]
        if kernel is not None and hasattr(kernel, "raw_input"):
            self._wrap(kernel, "raw_input", partial(_input, streams))
        self._on_end_of_cell(self._mask_history)

    def _on_end_of_cell(self, callback: Callable[[], None]) -> None:
        self._shell.events.register("post_execute", callback)
        self._undo.append(partial(self._shell.events.unregister, "post_execute", callback))

    def _mask_history(self) -> None:
        """Mask the outputs that IPython keeps for `%notebook`: those of `%%capture` too, which nothing has shown."""
        kept = getattr(self._shell.history_manager, "outputs", {})  # from IPython 9 on
        for count in (self._shell.execution_count - 1, self._shell.execution_count):
            for output in kept.get(count, ()):
                pieces = output.bundle.get("stream")
                if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
                    output.bundle["stream"] = ["".join(pieces)]  # a secret may have been written in pieces
                output.bundle = masked(output.bundle)

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


def _safe_display(inner: Callable[..., Any]) -> Callable[..., Any]:
    def shown(value: Any, *args: Any, **more: Any) -> Any:
        data, metadata = masked(inner(value, *args, **more))
        if any(kind.__module__.partition(".")[0] == "pandas" for kind in type(value).__mro__):
            texts = {kind: printable(text) for kind, text in data.items() if isinstance(text, str)}
            data = {**data, **texts}
        return data, metadata

    return shown


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


def _input(streams: Sequence[MaskedStream], inner: Callable[..., Any]) -> Callable[..., Any]:
    """Show all text before `input()` asks, and remember the answer, so that making credentials from it can warn."""

    def ask(*args: Any, **more: Any) -> Any:
        for stream in streams:
            stream.release()
        answer = inner(*args, **more)
        remember_input(answer)
        return answer

    return ask
