"""Warn when the running notebook cell contains a secret, or a secret was typed at its `input()`.

The notebook file and IPython's history keep the source of a cell, and JupyterLab keeps in the notebook what is
typed at `input()`. The toolkit cannot remove it there, so the user has to.
"""

from __future__ import annotations

import json
import linecache
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import shell as running_shell

_LABELS: Final = {"API_KEY_ID": "key ID", "API_SECRET_KEY": "secret key"}
_IN_SOURCE: Final = (
    "This cell contains the {label}, so the notebook file and the history contain it as well. Remove it, clear the "
    "history (ipython history clear),"
)
_AT_INPUT: Final = (
    "The {label} was typed at input(), and JupyterLab saves in the notebook what is typed there. Clear that output,"
)
_MOST_INPUTS: Final = 50
_inputs: Final[deque[Secret]] = deque(maxlen=_MOST_INPUTS)
_warned: set[tuple[str, str]] = set()  # kinds and messages
_warned_in: list[object] = [None]  # the execution of a cell in which they were shown


def warn_if_in_cell(secrets: Iterable[tuple[str, Secret]]) -> None:
    """Warn if the source of the running IPython cell, or an answer to its `input()`, holds one of these secrets.

    The warning is shown once for each execution of a cell and each kind of secret. Outside IPython, which is not
    imported, this costs nothing. Nothing is raised, unless the user has turned warnings into errors.

    Args:
        secrets: secrets with their kinds, as `Credentials.secrets()` returns them.
    """
    searched = list(secrets)
    try:
        shell = running_shell()
        if shell is None:
            return
        cells = shell.history_manager.input_hist_raw
        source = "\n".join((*cells[-1:], *_sources_on_stack(shell)))
        answers = "\n".join(answer.reveal() for answer in tuple(_inputs))
        matches = [
            (kind, message)
            for text, message in ((source, _IN_SOURCE), (answers, _AT_INPUT))
            for kind, secret in searched
            if _holds(text, secret.reveal())
        ]
        new = _not_yet_warned((id(shell), len(cells), hash(source)), matches)
    except Exception:  # noqa: BLE001 - credentials can be made in any kind of shell
        return
    for kind, message in new:
        label = _LABELS.get(kind) or kind.lower().replace("_", " ")
        # Shown under the name of the cell and with a registry of its own. At this line, Python would show it only
        # once; at the line in the cell, it would print that line with the secret.
        warnings.warn_explicit(
            f"{message.format(label=label)} replace the key; type it with getpass.getpass() or save it with "
            "`toolkit credentials add`.",
            UserWarning,
            filename=f"In [{len(cells) - 1}]",
            lineno=1,
            module=__name__,
            registry={},
        )


def remember_input(answer: object) -> None:
    """Keep an answer to `input()` for a while, to recognize it if it turns out to be a secret."""
    if isinstance(answer, str) and len(answer) >= SHORTEST_SECRET:
        _inputs.append(Secret(answer))


def _sources_on_stack(shell: Any) -> Iterator[str]:
    """Yield the sources of cells with code on the stack, including cells that defined a running function.

    This is for silent cells: any other cell is the last entry of the history before it runs.
    """
    seen = set()
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the inspect module, which is slow to load, calls it
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_globals is shell.user_ns and name not in seen:
            seen.add(name)
            entry = linecache.cache.get(name, ())
            if len(entry) == 4 and entry[1] is None:  # a cell rather than a file
                yield "".join(entry[2])
        frame = frame.f_back


def _holds(source: str, secret: str) -> bool:
    r"""Return True if a source contains a secret as it is, escaped as in a literal, or by one of its lines.

    A PEM may be written with line breaks, with `\n` or without either. So this searches for each of its lines, except
    BEGIN and END, which are not secret.
    """
    lines = [line.strip() for line in secret.splitlines()]
    parts = lines if len(lines) > 1 else (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1])
    return any(len(part) >= SHORTEST_SECRET and not part.startswith("-----") and part in source for part in parts)


def _not_yet_warned(execution: object, matches: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the matches that were not shown in this execution of a cell, each once."""
    if _warned_in[0] != execution:
        _warned_in[0] = execution
        _warned.clear()
    new = [match for match in dict.fromkeys(matches) if match not in _warned]
    _warned.update(new)
    return new
