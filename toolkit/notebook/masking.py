"""Mask known secrets in what a kernel shows: displays, results, stdout, stderr, tracebacks, help and widgets.

`masked` replaces secrets in text, bytes and containers of these; `MaskedStream` replaces them in a stream, where a
secret may arrive in pieces. `Masking` wraps the methods of one shell, so it applies to threads and tasks too. In a
kernel, messages are masked again when they are sent, because text that was written in pieces is complete only then.

Control and bidirectional characters, which may come from a service, are also removed from displayed pandas tables.

Output that bypasses Python's streams, such as output from `os.write` or a subprocess, is masked in a kernel, but not in
the server's log or in a plain terminal.
"""

from __future__ import annotations

import atexit
import html
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Self

from toolkit.auth.credentials import remember_input
from toolkit.core.secret import HELD, REGISTER
from toolkit.core.text import printable
from toolkit.scrubbing.known import KnownSecrets, is_secret
from toolkit.scrubbing.pieces import Pieces

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

UNCHECKED: Final = "<not shown: it could not be checked for secrets>"
# Kinds of secrets that are masked only as a whole, because pieces of them may be public. A private key shares its first
# bytes with all keys and its last bytes with its public key; each of its lines is a separate secret. Cookies contain
# ordinary words and dates.
_MASKED_AS_A_WHOLE: Final = frozenset({"PRIVATE_KEY", "COOKIE"})
_COLOUR: Final = r"\x1b\[[0-9;:?]{0,40}[@-~]|\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)"  # ECMA-48, and terminal links
_TAG: Final = r"</?[A-Za-z][^<>]{0,400}>"
_CONTEXT: Final = 3  # characters; shorter beginnings of a secret are not held back


class _Known:
    """Every secret in the process: the secrets in the register, and every `tk.Secret` that the user made."""

    def __init__(self) -> None:
        self.secrets = KnownSecrets()
        self.shown = Pieces()  # replaced wherever they are shown
        self.unfinished = Pieces()  # of every secret; text that ends with one may be the start of a secret
        self._counts = (0, 0)
        self._lock = threading.RLock()

    def up_to_date(self) -> Self:
        """Add new secrets, and return self."""
        if self._counts != (len(REGISTER), len(HELD)):
            with self._lock:
                registered, held = REGISTER.since(self._counts[0]), list(HELD)[self._counts[1] :]
                counts = self._counts[0] + len(registered), self._counts[1] + len(held)
                self.secrets.add_stand_ins((secret, "<SECRET>") for secret in held)
                own = [("SECRET", secret) for secret in held if secret not in REGISTER]
                for kind, secret in registered + own:
                    if is_secret(secret):
                        self._add(kind, secret.reveal())
                self._counts = counts  # set last, so that no other thread searches without the new secrets
        return self

    def _add(self, kind: str, text: str) -> None:
        self.unfinished.add(text, f"<{kind}>")
        if kind not in _MASKED_AS_A_WHOLE and " PRIVATE KEY-----" not in text:
            # Also add the pieces of its escaped forms in HTML, Python and JSON. For most secrets, all forms are the
            # same.
            for written in (text, html.escape(text), repr(text)[1:-1], json.dumps(text)[1:-1]):
                self.shown.add(written, f"<{kind}>")


_KNOWN: Final = _Known()


def masked(value: Any) -> Any:
    """Return a value with known secrets masked, or the same object if it does not contain any.

    Every secret that the process knows is replaced by its placeholder, in every form, and so are pieces of a secret
    that a display has truncated. It never raises an error: text that cannot be checked is not shown.
    """
    if isinstance(value, Mapping | list | tuple):
        with suppress(Exception):  # if this fails, each item is checked separately
            # Searching all strings at once is many times faster than searching each one separately.
            texts = "\0".join(dict.fromkeys(_texts_in(value, [])))
            if _masked_text(texts) == texts:
                return value
    try:
        return _masked(value)
    except RecursionError:  # the value contains itself
        return {} if isinstance(value, Mapping) else []


def _masked(value: Any) -> Any:
    """Return the masked value, always of the same basic type, because content of another type would stop the kernel."""
    if isinstance(value, Mapping):
        return {_masked(key): _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_masked(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    try:
        if isinstance(value, str):
            return _masked_text(value)
        if isinstance(value, bytes | bytearray):
            return _KNOWN.up_to_date().secrets.scrub(bytes(value))
    except Exception:  # noqa: BLE001 - a display must not break a cell
        return UNCHECKED
    return value


def _masked_text(text: str) -> str:
    known = _KNOWN.up_to_date()
    shown = known.secrets.scrub_text(text)
    for markup, sign in ((_COLOUR, "\x1b"), (_TAG, "<")):
        # A highlighter such as rich may change colours within a secret. Such text is shown without its markup.
        if sign in shown:
            plain = re.compile(markup).sub("", shown)
            without_secrets = known.secrets.scrub_text(plain)
            if without_secrets != plain:
                shown = without_secrets
    return known.shown.replace_in(shown)


def _texts_in(value: Any, texts: list[str]) -> list[str]:
    """Append every string in a value to `texts`, and return `texts`; a list is faster here than nested generators."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, bytes | bytearray):
        texts.append(value.decode("utf-8", "surrogateescape"))
    elif isinstance(value, Mapping | list | tuple):
        for item in value.items() if isinstance(value, Mapping) else value:
            _texts_in(item, texts)
    return texts


class MaskedStream:
    """A replacement for `sys.stdout` or `sys.stderr` that masks secrets, even if they are written in pieces.

    A secret written in pieces would be partly on screen before it is complete. So if text ends with what may be the
    beginning of a secret, that part is held back until the next write or the end of the cell.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._lock = threading.RLock()  # reentrant: a finalizer may run while it is held, and print
        self._sent = ""  # the last characters that were passed on
        self._held = ""

    def write(self, text: Any) -> Any:
        """Write masked text, but hold back its tail if a secret may begin there."""
        if not isinstance(text, str):
            return self.stream.write(masked(text))
        with self._lock:
            whole = self._sent + self._held + text
            known = _KNOWN.up_to_date()
            unfinished = known.unfinished.unfinished(whole)
            if unfinished and not known.secrets.scrub_text(whole).endswith(whole[-unfinished:]):
                unfinished = 0  # the end of a complete secret, which looks like the beginning of one
            end = max(len(self._sent), len(whole) - unfinished)
            self._held = whole[end:]
            # A secret may begin in text that was already sent. In that case, the rest of it is replaced.
            passed = masked(whole[:end]).removeprefix(self._sent)
            self._sent = whole[:end][-_CONTEXT:]
        self.stream.write(passed)
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def release(self) -> None:
        """Write the text that was held back and turned out not to be the beginning of a secret."""
        with self._lock:
            text, self._sent, self._held = masked(self._held), "", ""
        if text:
            with suppress(ValueError):  # the stream is closed
                self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


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
        self._wrap(shell.logger, "log_write", _masked_log)
        if hasattr(shell, "_format_exception_for_storage"):  # for %notebook, since IPython 9
            self._wrap(shell, "_format_exception_for_storage", lambda inner: lambda *args: masked(inner(*args)))
        kernel = getattr(shell, "kernel", None)
        if kernel is not None and getattr(kernel, "session", None) is not None:
            self._wrap(kernel.session, "msg", _masked_message)
            self._wrap(kernel.session, "send", _masked_send)
        streams = [self._mask_stream("stdout"), self._mask_stream("stderr")]
        if kernel is not None and hasattr(kernel, "raw_input"):
            self._wrap(kernel, "raw_input", partial(_input, streams))
        self._on_end_of_cell(self._mask_history)

    def stop(self) -> None:
        """Undo everything that `start` did."""
        while self._undo:
            self._undo.pop()()

    def _mask_stream(self, name: str) -> MaskedStream:
        stream = MaskedStream(getattr(sys, name))
        setattr(sys, name, stream)

        def put_back() -> None:
            stream.release()
            if getattr(sys, name) is stream:
                setattr(sys, name, stream.stream)

        self._undo.append(put_back)
        self._on_end_of_cell(stream.release)
        atexit.register(stream.release)  # a thread may have written after the last cell
        self._undo.append(partial(atexit.unregister, stream.release))
        return stream

    def _on_end_of_cell(self, callback: Callable[[], None]) -> None:
        self._shell.events.register("post_execute", callback)
        self._undo.append(partial(self._shell.events.unregister, "post_execute", callback))

    def _mask_history(self) -> None:
        """Mask the outputs that IPython keeps for `%notebook`, including those of `%%capture`, which were not shown."""
        kept = getattr(self._shell.history_manager, "outputs", {})  # since IPython 9
        for count in (self._shell.execution_count - 1, self._shell.execution_count):
            for output in kept.get(count, ()):
                pieces = output.bundle.get("stream")
                if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
                    output.bundle["stream"] = ["".join(pieces)]  # a secret may have been written in pieces
                output.bundle = masked(output.bundle)

    def _wrap(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        own = vars(owner).get(name)
        inner = getattr(owner, name)
        outer = wraps(inner)(wrapper(inner))
        setattr(owner, name, outer)

        def undo() -> None:
            if vars(owner).get(name) is not outer:
                return  # other code has wrapped it since then, and still calls this wrapper
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


def _masked_log(inner: Callable[..., Any]) -> Callable[..., Any]:
    def write(data: str, kind: str = "input") -> Any:
        return inner(masked(data) if kind == "output" else data, kind)

    return write


def _masked_message(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Mask everything that a kernel sends: replies, prompts, widgets, and complete streams."""

    def message(kind: Any, content: Any = None, *args: Any, **more: Any) -> Any:
        if kind == "execute_reply" and isinstance(content, Mapping):
            # Pager payloads are displayed and saved with the cell. Other payloads are code for the next cell, and stay
            # as typed.
            payload = [part if part.get("source") != "page" else masked(part) for part in content.get("payload", ())]
            content = {**masked({**content, "payload": []}), "payload": payload}
        elif kind != "execute_input":  # the source, as it was typed
            content = masked(content)
        return inner(kind, content, *args, **more)

    return message


def _masked_send(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Mask the binary part of a message: a widget's bytes, which are saved with its state in the notebook."""
    parameters = signature(inner)

    def send(*args: Any, **more: Any) -> Any:
        call = parameters.bind(*args, **more)
        buffers = call.arguments.get("buffers")
        call.arguments["buffers"] = buffers and [_masked_buffer(buffer) for buffer in buffers]
        return inner(*call.args, **call.kwargs)

    return send


def _masked_buffer(buffer: Any) -> Any:
    data = bytes(buffer)
    shown = masked(data)
    return buffer if shown == data else shown if isinstance(shown, bytes) else b""


def _input(streams: Sequence[MaskedStream], inner: Callable[..., Any]) -> Callable[..., Any]:
    """Write held-back text before `input()` asks, and remember the answer, to warn if credentials are made from it."""

    def ask(*args: Any, **more: Any) -> Any:
        for stream in streams:
            stream.release()
        answer = inner(*args, **more)
        remember_input(answer)
        return answer

    return ask
