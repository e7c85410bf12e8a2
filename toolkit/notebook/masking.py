"""Known secrets masked in what a kernel shows: displays, results, stdout, stderr, tracebacks, help, widgets.

What sessions know is replaced by its placeholder, in whatever form it is there, and so is what is left of
it where a display cuts it; everything else passes as it was. It takes place on the shell's own objects, so
it holds for threads and tasks alike, and for whoever kept a reference to a stream of a kernel; and once more
on the messages of the kernel, where what was written in pieces is put together. Deliberately absent: what a
cell writes past Python, such as by `os.write`, which a kernel repeats in the server's log; and at a plain
terminal what is written to a stream that was kept before, such as by a log handler.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.cell_warning import remember_input
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.live import SESSION_SECRETS
from toolkit.scrubbing.pieces import Pieces

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_UNCHECKED: Final = "<not shown: it could not be checked for secrets>"
_STREAMS: Final = ("stdout", "stderr")
# Kinds of which a piece may be public. Of a private key what leads it, and what it has in common with its public
# half, which people do show; its lines count as secrets. Personal data and cookies hold words and dates.
_NOT_PIECED: Final = frozenset({"PRIVATE_KEY", "COOKIE", ""})
_pieces = Pieces()
_asked: Final[weakref.WeakKeyDictionary[KnownSecrets, int]] = weakref.WeakKeyDictionary()
_piecing: Final = threading.RLock()


def masked(value: Any) -> Any:
    """A value of a message without secrets: text, bytes, and whatever holds them; the same object when there are none.

    Never raises: what cannot be checked is not shown.
    """
    if isinstance(value, Mapping | list | tuple):
        with suppress(Exception):  # then each by itself
            # One search in all is many times as fast as one in each.
            texts = "\0".join(dict.fromkeys(_texts_in(value)))
            if _masked_text(texts) == texts:
                return value
    try:
        return _masked(value)
    except RecursionError:  # it contains itself
        return {} if isinstance(value, Mapping) else []


def _masked(value: Any) -> Any:
    """Like the value in kind, whatever happens: a message whose content is none stops the kernel."""
    if isinstance(value, Mapping):
        return {_masked(key): _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_masked(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    try:
        if isinstance(value, str):
            return _masked_text(value)
        if isinstance(value, bytes | bytearray):
            return SESSION_SECRETS.scrub(bytes(value))
    except Exception:  # noqa: BLE001 - a display must not break a cell
        return _UNCHECKED
    return value


def _masked_text(text: str) -> str:
    return _all_pieces().replace_in(SESSION_SECRETS.scrub_text(text))


def _texts_in(value: Any) -> list[str]:
    texts: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, bytes | bytearray):
            texts.append(value.decode("utf-8", "surrogateescape"))
        elif isinstance(value, Mapping):
            for key, item in value.items():
                collect(key)
                collect(item)
        elif isinstance(value, list | tuple):
            for item in value:
                collect(item)

    collect(value)
    return texts


def _forget_pieces() -> None:
    """Those of sessions that live are known anew when somebody asks."""
    global _pieces  # noqa: PLW0603 - replaced as a whole, so that it is searched without a lock
    with _piecing:
        _asked.clear()
        _pieces = Pieces()


def _all_pieces() -> Pieces:
    """Pieces of what all sessions know: of what became known, too, since they were last asked."""
    for known in SESSION_SECRETS.living():
        if _asked.get(known, 0) != len(known):
            with _piecing:
                count = _asked.get(known, 0)
                new = known.since(count)
                for secret, kind in new:
                    if kind not in _NOT_PIECED:
                        _pieces.add(secret.reveal(), known.placeholder_of(secret) or "")
                _asked[known] = count + len(new)
    return _pieces


class Masking:
    """Masks what one shell shows, from `start` to `stop`. Both may be called again."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._undo: list[Callable[[], None]] = []

    def start(self) -> None:
        if self._undo:
            return
        shell = self._shell
        SESSION_SECRETS.hold()
        self._undo.append(SESSION_SECRETS.release)
        self._replace(shell.display_formatter, "format", _of_format)
        self._replace(shell.display_pub, "publish", _of_publish)
        self._replace(shell, "_showtraceback", _of_traceback)
        self._replace(shell.payload_manager, "write_payload", _of_payload)
        self._replace(shell.logger, "log_write", _of_log)
        if hasattr(shell, "_format_exception_for_storage"):  # what %notebook writes, from IPython 9 on
            self._replace(shell, "_format_exception_for_storage", _of_storage)
        kernel = getattr(shell, "kernel", None)
        if kernel is not None and getattr(kernel, "session", None) is not None:
            self._replace(kernel.session, "msg", _of_message)
            self._replace(kernel.session, "send", _of_send)
        if kernel is not None and hasattr(kernel, "raw_input"):
            self._replace(kernel, "raw_input", _of_input)
        self._undo += [mask_stream(name) for name in _STREAMS]

    def stop(self) -> None:
        while self._undo:
            self._undo.pop()()
        _forget_pieces()

    def _replace(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        own = vars(owner).get(name)
        inner = getattr(owner, name)
        outer = wraps(inner)(wrapper(inner))
        setattr(owner, name, outer)

        def undo() -> None:
            if vars(owner).get(name) is not outer:
                return  # somebody else has wrapped it since, and calls on through this one
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._undo.append(undo)


def mask_stream(name: str) -> Callable[[], None]:
    """Mask what is written to `sys.stdout` or `sys.stderr`.

    The stream changes its class, so that it is masked for whoever holds it, a log handler say, and stays
    what it was to those who ask for its kind. A stream of C cannot, and is replaced.

    Returns:
        what undoes it.
    """
    stream: Any = getattr(sys, name)
    kind = type(stream)
    if isinstance(stream, _MaskedStream | _MaskedWrite):
        return lambda: None
    try:
        stream.__class__ = type(kind.__name__, (_MaskedWrite, kind), {"__module__": kind.__module__})
    except TypeError:
        replacement = _MaskedStream(stream)
        setattr(sys, name, replacement)

        def put_back() -> None:
            if getattr(sys, name) is replacement:
                setattr(sys, name, stream)

        return put_back

    def change_back() -> None:
        stream.__class__ = kind

    return change_back


class _MaskedWrite:
    """Put before the class of a stream that is written in Python.

    `write` is a property, since IPython puts a function of its own in its place while a cell runs, and
    then puts back what was there.
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
    """What writes to a stream, masked for as long as the stream is."""

    def __init__(self, stream: object, inner: Callable[[Any], Any]) -> None:
        self._stream, self.inner = stream, inner

    def __call__(self, text: Any) -> Any:
        return self.inner(masked(text) if isinstance(self._stream, _MaskedWrite) else text)


class _MaskedStream:
    """Stands in for a stream that is written in C."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> Any:
        return self._stream.write(masked(text))

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _of_format(inner: Callable[..., Any]) -> Callable[..., Any]:
    def formatted(*args: Any, **more: Any) -> Any:
        data, metadata = inner(*args, **more)
        return masked(data), masked(metadata)

    return formatted


def _of_publish(inner: Callable[..., Any]) -> Callable[..., Any]:
    def publish(data: Any, metadata: Any = None, *args: Any, **more: Any) -> Any:
        return inner(masked(data), masked(metadata), *args, **more)

    return publish


def _of_traceback(inner: Callable[..., Any]) -> Callable[..., Any]:
    def show(kind: type[BaseException], error: BaseException, lines: Any) -> Any:
        try:
            said = str(error)
        except Exception:  # noqa: BLE001 - whatever an error's own __str__ raises
            said = _UNCHECKED
        shown = masked(said)
        return inner(kind, error if shown == said else Exception(shown), masked(lines))

    return show


def _of_payload(inner: Callable[..., Any]) -> Callable[..., Any]:
    def write(data: Any, *args: Any, **more: Any) -> Any:
        # A pager's is shown, and saved with the cell; another's is code for the next cell.
        is_shown = isinstance(data, Mapping) and data.get("source") == "page"
        return inner(masked(data) if is_shown else data, *args, **more)

    return write


def _of_log(inner: Callable[..., Any]) -> Callable[..., Any]:
    def write(data: str, kind: str = "input") -> Any:
        return inner(masked(data) if kind == "output" else data, kind)

    return write


def _of_storage(inner: Callable[..., Any]) -> Callable[..., Any]:
    def stored(*args: Any, **more: Any) -> Any:
        return masked(inner(*args, **more))

    return stored


def _of_message(inner: Callable[..., Any]) -> Callable[..., Any]:
    """All that a kernel sends: replies, prompts, widgets, and streams once their pieces are put together."""

    def message(kind: Any, content: Any = None, *args: Any, **more: Any) -> Any:
        if kind == "execute_reply" and isinstance(content, Mapping) and content.get("payload"):
            shown = {key: value for key, value in content.items() if key != "payload"}
            content = {**masked(shown), "payload": content["payload"]}  # which was masked when it was written
        elif kind != "execute_input":  # the source, as it was typed
            content = masked(content)
        return inner(kind, content, *args, **more)

    return message


def _of_send(inner: Callable[..., Any]) -> Callable[..., Any]:
    """What goes along with a message in binary: the bytes of a widget, which a notebook keeps with its state."""

    def send(  # as jupyter_client has it: what comes before the buffers may come by its place
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


def _of_input(inner: Callable[..., Any]) -> Callable[..., Any]:
    def ask(*args: Any, **more: Any) -> Any:
        answer = inner(*args, **more)
        remember_input(answer)
        return answer

    return ask
