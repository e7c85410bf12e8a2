"""`%load_ext toolkit`: cell and line magics.

`%%cassette NAME [--mode MODE]` records or replays what the sessions of a cell do; `%calls` and `%tokens`
show the tables of a session.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.cassettes import ambient
from toolkit.cassettes.cassette import MODES, Cassette
from toolkit.errors import ConfigurationError
from toolkit.session import AsyncSession, Session

if TYPE_CHECKING:
    import pandas as pd
    from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

_CELL_MAGIC = "%%cassette"
_USAGE = "%%cassette NAME [--mode none|once|new_episodes|all]"


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"%%cassette: {message}.", f"Usage: {_USAGE}")


class Magics:
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._arguments = _Arguments(prog=_CELL_MAGIC, add_help=False)
        self._arguments.add_argument("name")
        self._arguments.add_argument("--mode", choices=MODES)

    def cassette(self, line: str) -> None:
        """Record or replay what the sessions of this cell do: %%cassette NAME [--mode MODE].

        Sessions with a cassette of their own keep it. A session opened in the cell stays with the cassette.
        """
        try:
            given = self._arguments.parse_args(shlex.split(line))
        except ValueError as error:
            raise ConfigurationError(f"%%cassette: {error}.", f"Usage: {_USAGE}") from None
        ambient.put_in_place(Cassette(given.name, given.mode))

    def calls(self, line: str) -> pd.DataFrame:
        """The calls of a session: %calls [NAME OF ITS VARIABLE]."""
        return self._session(line).calls()

    def tokens(self, line: str) -> pd.DataFrame:
        """The tokens of a session: %tokens [NAME OF ITS VARIABLE]."""
        return self._session(line).tokens()

    def end_of_cell(self, result: ExecutionResult) -> None:
        """Put the cell's cassette away, however the cell ended."""
        ambient.take_away(well=bool(result.success))

    def _session(self, line: str) -> Session | AsyncSession:
        found: dict[str, Session | AsyncSession] = {
            name: value
            for name, value in self._shell.user_ns.items()
            if isinstance(value, Session | AsyncSession) and not name.startswith("_")
        }
        name = line.strip()
        if name in found or (not name and found):
            # Without a name the one that was assigned last.
            return found[name or list(found)[-1]]
        known = (
            f"There are {', '.join(found)}."
            if found
            else 'Open one first, such as session = tk.Session(cassette="tour").'
        )
        raise ConfigurationError(f"There is no session {name}." if name else "There is no session yet.", known)


def without_cell_magic(lines: list[str]) -> list[str]:
    """A cell whose `%%cassette` line is the line magic of the same name.

    So the rest of the cell runs as any cell does: with `await`, with its own traceback, with its last
    expression shown.
    """
    if lines and lines[0].startswith(_CELL_MAGIC):
        return [lines[0][1:], *lines[1:]]
    return lines


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext toolkit`."""
    magics = Magics(shell)
    manager: Any = shell.magics_manager
    for magic in (magics.cassette, magics.calls, magics.tokens):
        manager.register_function(magic, "line")
    shell.input_transformers_cleanup.append(without_cell_magic)
    shell.events.register("post_run_cell", magics.end_of_cell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%unload_ext toolkit`."""
    shell.input_transformers_cleanup[:] = [
        one for one in shell.input_transformers_cleanup if one is not without_cell_magic
    ]
    for callback in list(shell.events.callbacks["post_run_cell"]):
        if isinstance(getattr(callback, "__self__", None), Magics):
            shell.events.unregister("post_run_cell", callback)
