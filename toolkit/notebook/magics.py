"""`%load_ext toolkit`: known secrets are masked in what is shown, and there are cell and line magics.

`%%cassette NAME [--mode MODE]` records or replays what the sessions of a cell do; `%calls` and `%tokens`
show the tables of a session.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from toolkit.cassettes import cell_cassette
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.paths import MODES
from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import printable
from toolkit.core.words import count_text
from toolkit.notebook.masking import Masking
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    import pandas as pd
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

_CELL_MAGIC: Final = "%%cassette"
_LINE_MAGICS: Final = ("cassette", "calls", "tokens")
_USAGE: Final = "%%cassette NAME [--mode none|once|new_episodes|all]"


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"%%cassette: {message}.", f"Usage: {_USAGE}")


class Magics:
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self.masking = Masking(shell)
        # What each cassette that a session brought along had played and held when the cell began.
        self._brought: dict[Cassette, tuple[int, int]] | None = None
        # The cells that run, each within the one before, as with `%%capture`; and the one that named the cassette.
        self._running: list[ExecutionInfo] = []
        self._owner: ExecutionInfo | None = None
        self._arguments = _Arguments(prog=_CELL_MAGIC, add_help=False)
        self._arguments.add_argument("name")
        self._arguments.add_argument("--mode", choices=MODES)

    def cassette(self, line: str) -> None:
        """Record or replay what the sessions of this cell do: %%cassette NAME [--mode MODE].

        Below the cell it says what it did. Sessions with a cassette of their own keep it, and the cell says so
        when it used one. A session opened in the cell stays with the cassette.
        """
        try:
            given = self._arguments.parse_args(shlex.split(line))
        except ValueError as error:
            raise ConfigurationError(f"%%cassette: {error}.", f"Usage: {_USAGE}") from None
        present = cell_cassette.current()
        if present is not None:
            raise ConfigurationError(
                f"%%cassette: this cell has {present.path.name} already.", "A cell has one cassette."
            )
        cell_cassette.put_in_place(Cassette(given.name, given.mode))
        self._owner = self._running[-1] if self._running else None
        self._brought = {own: _extent(own) for _, own in self._own_cassettes()}

    def calls(self, line: str) -> pd.DataFrame:
        """The calls of a session: %calls [NAME OF ITS VARIABLE]."""
        return self._session("calls", line).calls()

    def tokens(self, line: str) -> pd.DataFrame:
        """The tokens of a session: %tokens [NAME OF ITS VARIABLE]."""
        return self._session("tokens", line).tokens()

    def start_of_cell(self, cell: ExecutionInfo) -> None:
        """Note which cell runs."""
        self._running.append(cell)

    def end_of_cell(self, result: ExecutionResult | None) -> None:
        """Put the cell's cassette away, however the cell ended; an interrupted one may have no result."""
        cell = None if result is None else result.info
        owner = self._owner
        if cell is not None and owner is not None and cell.raw_cell == owner.raw_cell and cell not in self._running:
            cell = owner  # IPython describes a cell anew that was interrupted while it awaited
        if result is None:
            self._running.clear()
        # An empty cell ends without having started.
        started = next((at for at, one in enumerate(self._running) if one is cell), None)
        if started is not None:
            del self._running[started:]
        if cell is not None and self._owner is not None and cell is not self._owner:
            return  # it ran within the cassette's
        self._owner = None
        cassette = cell_cassette.current()
        try:
            cell_cassette.take_away(well=result is not None and bool(result.success))
        finally:
            brought, self._brought = self._brought, None
            if cassette is not None and brought is not None:
                _tell(_done(cassette), sys.stdout)
                self._tell_of_kept(cassette, brought)

    def _tell_of_kept(self, cassette: Cassette, brought: dict[Cassette, tuple[int, int]]) -> None:
        for name, own in self._own_cassettes():
            if os.path.realpath(own.path) == os.path.realpath(cassette.path):
                continue  # opened in the cell, or by hand for the same file: its calls are in there
            if own in brought:
                was_used = _extent(own) != brought[own]
            else:
                was_used = own.play_count > 0 or (own.records and len(own) > 0)
            if was_used:
                what = f"{name} keeps its own cassette {own.path.name}: its calls are not in {cassette.path.name}."
                _tell(what, sys.stderr)

    def _own_cassettes(self) -> Iterator[tuple[str, Cassette]]:
        for name, session in self._sessions().items():
            if session.cassette is not None:
                yield name, session.cassette

    def _sessions(self) -> dict[str, Session | AsyncSession]:
        """The sessions in variables, those of panels included, the one that was assigned last at the end."""
        panels = sys.modules.get("toolkit.notebook.panel")  # whoever has a panel has loaded its module
        found: dict[str, Session | AsyncSession] = {}
        for name, value in self._shell.user_ns.items():
            if name.startswith("_"):
                continue
            kind = type(value)  # what isinstance asks, a proxy may answer with an error
            if issubclass(kind, Session | AsyncSession):
                found[name] = value
            elif panels is not None and issubclass(kind, panels.Panel):
                try:
                    found[f"{name}.session"] = value.session
                except ConfigurationError:
                    continue  # it is not connected
        return found

    def _session(self, magic: str, line: str) -> Session | AsyncSession:
        found = self._sessions()
        name = line.strip()
        if name in found:
            return found[name]
        if not name and found:
            *others, last = found
            if others:  # which one is not plain, and an empty table would say nothing
                print(f"%{magic} of {last}, which was assigned last; there are also {', '.join(others)}.")  # noqa: T201
            return found[last]
        known = (
            f"There are {', '.join(found)}."
            if found
            else 'Open one first, such as session = tk.Session(cassette="tour").'
        )
        raise ConfigurationError(f"There is no session {name}." if name else "There is no session yet.", known)


def _extent(cassette: Cassette) -> tuple[int, int]:
    return cassette.play_count, len(cassette)


def _done(cassette: Cassette) -> str:
    """What was done with a cassette since it was opened: the same words in every replay."""
    did = [
        f"{what} {count_text(count, 'interaction')}"
        for what, count in (("replayed", cassette.play_count), ("recorded", cassette.recorded_count))
        if count
    ]
    return f"{' and '.join(did) or 'nothing in this cell used it'} ({cassette.path.name})."


def _tell(what: str, stream: TextIO) -> None:
    """In a line of the cell's output: a warning would show a place in this file, and its path."""
    print(printable(f"{_CELL_MAGIC}: {what}"), file=stream)


def without_cell_magic(lines: list[str]) -> list[str]:
    """A cell whose `%%cassette` line is the line magic of the same name.

    So the rest of the cell runs as any cell does: with `await`, with its own traceback, with its last
    expression shown. It may begin with a cell magic of its own, such as `%%time`.
    """
    if lines and lines[0].startswith(_CELL_MAGIC):
        from IPython.core import inputtransformer2  # once a shell has called this

        other_magic: Callable[[list[str]], list[str]] = inputtransformer2.cell_magic
        without_empty_lines: Callable[[list[str]], list[str]] = inputtransformer2.leading_empty_lines
        return [lines[0][1:], *other_magic(without_cell_magic(without_empty_lines(lines[1:])))]
    return lines


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext toolkit`."""
    unload_ipython_extension(shell)  # once is enough
    magics = Magics(shell)
    magics.masking.start()
    manager: Any = shell.magics_manager
    for name in _LINE_MAGICS:
        manager.register_function(getattr(magics, name), "line", name)
    shell.input_transformers_cleanup.append(without_cell_magic)
    shell.events.register("pre_run_cell", magics.start_of_cell)
    shell.events.register("post_run_cell", magics.end_of_cell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%unload_ext toolkit`: nothing is masked any more, and the magics are gone."""
    shell.input_transformers_cleanup[:] = [
        one for one in shell.input_transformers_cleanup if one is not without_cell_magic
    ]
    for callback in list(shell.events.callbacks["post_run_cell"]):
        magics = getattr(callback, "__self__", None)
        if isinstance(magics, Magics):
            magics.end_of_cell(None)
            magics.masking.stop()
            shell.events.unregister("pre_run_cell", magics.start_of_cell)
            for name in _LINE_MAGICS:
                shell.magics_manager.magics["line"].pop(name, None)
            shell.events.unregister("post_run_cell", callback)
