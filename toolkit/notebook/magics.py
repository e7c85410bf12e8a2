"""`%load_ext toolkit` masks known secrets in all output, and adds the cell magic `%%cassette NAME [--mode MODE]`.

In a cell that starts with `%%cassette`, every session without its own cassette uses the named one. `without_cell_magic`
turns the first line into the line magic `%cassette`; IPython's events signal the end of the cell.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO
from weakref import WeakKeyDictionary

from toolkit.cassettes import selection
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.selection import MODES
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text, printable
from toolkit.notebook.masking import Masking
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

_CELL_MAGIC: Final = "%%cassette"
_LINE_MAGIC: Final = "cassette"
_USAGE: Final = "Usage: %%cassette NAME [--mode none|once|new_episodes|all]"


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"%%cassette: {message}.", _USAGE, about="cassette")


class Magics:
    """The cell magic of one shell, and the masking of its output."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self.masking = Masking(shell)
        # For each cassette that belongs to a session: how much was played and recorded when the cell began.
        self._counts_before: dict[Cassette, tuple[int, int]] | None = None
        # The cell that started last, and the cell with the cassette.
        self._latest: ExecutionInfo | None = None
        self._owner: ExecutionInfo | None = None
        self._arguments = _Arguments(prog=_CELL_MAGIC, add_help=False)
        self._arguments.add_argument("name")
        self._arguments.add_argument("--mode", choices=MODES)

    def cassette(self, line: str) -> None:
        """Record or replay the calls that this cell's sessions make: %%cassette NAME [--mode MODE].

        The cell's output shows how much was replayed and recorded. A session with its own cassette keeps it, and the
        output says so if the cell used that session. A session that is opened in the cell keeps the cell's cassette.
        """
        try:
            arguments = self._arguments.parse_args(shlex.split(line))
        except ValueError as error:
            raise ConfigurationError(f"%%cassette: {error}.", _USAGE, about="cassette") from None
        present = selection.current()
        if present is not None:
            what = f"%%cassette: this cell already has the cassette {present.path.name}."
            raise ConfigurationError(what, "Use one %%cassette line per cell.", about="cassette")
        selection.put_in_place(Cassette(arguments.name, arguments.mode))
        self._owner = self._latest
        self._counts_before = {own: _counts(own) for _, own in self._own_cassettes()}

    def start_of_cell(self, cell: ExecutionInfo) -> None:
        """Remember the cell that has started."""
        self._latest = cell

    def end_of_cell(self, result: ExecutionResult | None) -> None:
        """Stop using the cell's cassette, however the cell ended; `result` may be None if the cell was interrupted."""
        owner, cell = self._owner, None if result is None else result.info
        # Compared by text: IPython creates a new ExecutionInfo for a cell that was interrupted during an `await`.
        if owner is not None and cell is not None and cell.raw_cell != owner.raw_cell:
            return  # it ran within the cell that has the cassette
        self._owner = None
        cassette = selection.current()
        try:
            selection.take_away(well=result is not None and bool(result.success))
        finally:
            before, self._counts_before = self._counts_before, None
            if cassette is not None and before is not None:
                _print(_summary(cassette), sys.stdout)
                self._print_own_cassettes(cassette, before)

    def _print_own_cassettes(self, cassette: Cassette, before: dict[Cassette, tuple[int, int]]) -> None:
        for name, own in self._own_cassettes():
            # If not, it is the cell's own cassette, or another one of the same file.
            is_other = os.path.realpath(own.path) != os.path.realpath(cassette.path)
            if is_other and _counts(own) != before.get(own, (0, 0)):
                what = f"{name} keeps its own cassette, {own.path.name}, so its calls are not in {cassette.path.name}."
                _print(what, sys.stderr)

    def _own_cassettes(self) -> Iterator[tuple[str, Cassette]]:
        """Yield the cassettes of sessions and panels held in variables, each with the name of the variable."""
        panels = sys.modules.get("toolkit.notebook.panel")  # loaded if there is a panel
        for name, value in [*self._shell.user_ns.items()]:
            kind = type(value)  # isinstance() would ask a proxy, which may answer with an error
            session, place = (value, name) if issubclass(kind, Session | AsyncSession) else (None, name)
            if panels is not None and issubclass(kind, panels.Panel):
                session, place = value.connected_session, f"{name}.session"
            if session is not None and session.cassette is not None and not name.startswith("_"):
                yield place, session.cassette


def _counts(cassette: Cassette) -> tuple[int, int]:
    return cassette.play_count, cassette.recorded_count


def _summary(cassette: Cassette) -> str:
    """Summarize how a cassette has been used since it was opened; the text is the same in every replay."""
    counts = (("replayed", cassette.play_count), ("recorded", cassette.recorded_count))
    parts = [f"{verb} {count_text(count, 'interaction')}" for verb, count in counts if count]
    return f"{' and '.join(parts) or 'nothing in this cell used the cassette'} ({cassette.path.name})."


def _print(text: str, stream: TextIO) -> None:
    """Print a line as output of the cell. A warning would also show this source file."""
    print(printable(f"{_CELL_MAGIC}: {text}"), file=stream)


def without_cell_magic(lines: list[str]) -> list[str]:
    """Return the lines of a cell, with `%%cassette` in the first line replaced by the line magic of that name.

    This lets the rest of the cell run like any other cell: `await` works, tracebacks show the cell's own lines, and the
    value of its last expression is shown. The rest may begin with another cell magic, such as `%%time`.
    """
    if lines and lines[0].startswith(_CELL_MAGIC):
        from IPython.core import inputtransformer2

        other_magic: Callable[[list[str]], list[str]] = inputtransformer2.cell_magic
        without_empty_lines: Callable[[list[str]], list[str]] = inputtransformer2.leading_empty_lines
        return [lines[0][1:], *other_magic(without_cell_magic(without_empty_lines(lines[1:])))]
    return lines


_LOADED: Final[WeakKeyDictionary[InteractiveShell, Magics]] = WeakKeyDictionary()


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Mask secrets and add `%%cassette`; called by `%load_ext toolkit`."""
    unload_ipython_extension(shell)  # loading twice must not register twice
    _LOADED[shell] = magics = Magics(shell)
    magics.masking.start()
    manager: Any = shell.magics_manager
    manager.register_function(magics.cassette, "line", _LINE_MAGIC)
    shell.input_transformers_cleanup.append(without_cell_magic)
    shell.events.register("pre_run_cell", magics.start_of_cell)
    shell.events.register("post_run_cell", magics.end_of_cell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Stop masking and remove the magic; called by `%unload_ext toolkit`."""
    magics = _LOADED.pop(shell, None)
    if magics is not None:
        magics.end_of_cell(None)
        magics.masking.stop()
        shell.events.unregister("pre_run_cell", magics.start_of_cell)
        shell.events.unregister("post_run_cell", magics.end_of_cell)
        shell.input_transformers_cleanup.remove(without_cell_magic)
        shell.magics_manager.magics["line"].pop(_LINE_MAGIC, None)
