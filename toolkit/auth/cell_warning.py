"""A warning when a secret stands literally in the notebook cell that runs, or was typed at its `input()`.

Such a cell is saved in the notebook file and in IPython's history, where nothing of ours can take it out; and
so is, by JupyterLab, what is typed at `input()`.
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

_NAMES: Final = {"API_KEY_ID": "key ID", "API_SECRET_KEY": "secret key"}
_IN_CELL: Final = (
    "This cell's source holds the {name} itself; it is in the notebook file and in the history. Remove it, clear the "
    "history (ipython history clear),"
)
_TYPED: Final = (
    "The {name} was typed at input(), and JupyterLab saves in the notebook what is typed there. Clear that output,"
)
_MOST_TYPED: Final = 50
_typed: Final[deque[Secret]] = deque(maxlen=_MOST_TYPED)
_warned: set[tuple[str, str]] = set()
_warned_in: list[object] = [None]  # the execution that those were in


def warn_if_in_cell(secrets: Iterable[tuple[str, Secret]]) -> None:
    """Warn when the source of the running IPython cell holds one of these secrets literally, or it was typed there.

    Once for each execution of a cell and each kind of secret. Costs nothing outside of IPython, which is
    not imported. Searching never raises; the warning is an exception only to who turned warnings into such.

    Args:
        secrets: secrets with their kinds, as `Credentials.secrets()` gives them.
    """
    given = list(secrets)
    try:
        shell = _shell()
        if shell is None:
            return
        inputs = shell.history_manager.input_hist_raw
        source = "\n".join((*inputs[-1:], *_compiled(shell)))
        found = [(kind, _IN_CELL) for kind, secret in given if _stands_in(source, secret.reveal())]
        answers = "\n".join(answer.reveal() for answer in tuple(_typed))
        found += [(kind, _TYPED) for kind, secret in given if _stands_in(answers, secret.reveal())]
        found = _not_yet_warned((id(shell), len(inputs), hash(source)), found)
    except Exception:  # noqa: BLE001 - a shell of another kind; whoever makes credentials there is not to suffer
        return
    for kind, message in found:
        name = _NAMES.get(kind) or kind.lower().replace("_", " ")
        # Shown under the name of the cell and with a registry of its own: with this line's place, Python
        # would show it once only; with the cell's, it would print the line that holds the secret.
        warnings.warn_explicit(
            f"{message.format(name=name)} replace the key; type it with getpass.getpass() or save it with "
            "`toolkit credentials add`.",
            UserWarning,
            filename=f"In [{len(inputs) - 1}]",
            lineno=1,
            module=__name__,
            registry={},
        )


def remember_typed(answer: object) -> None:
    """Keep what was typed at `input()`, for as long as it takes to see whether it is a secret."""
    if isinstance(answer, str) and len(answer) >= SHORTEST_SECRET:
        _typed.append(Secret(answer))


def _shell() -> Any:
    """The interactive shell of this process, or None."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def _compiled(shell: Any) -> Iterator[str]:
    """The sources of the cells whose code is on the stack, functions that other cells defined included.

    A cell that is stored in the history is its last entry, from before it runs; these are for a silent one.
    """
    seen = set()
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - what the inspect module, slow to load, calls
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_globals is shell.user_ns and name not in seen:
            seen.add(name)
            entry = linecache.cache.get(name, ())
            if len(entry) == 4 and entry[1] is None:  # text that was typed, rather than a file
                yield "".join(entry[2])
        frame = frame.f_back


def _stands_in(source: str, secret: str) -> bool:
    r"""Whether a secret is in a source: as it is, escaped as in a literal, or a line of it.

    A PEM may stand there with line breaks, with `\n` or without either: each line of it is looked for, but not
    those that frame it, which are no secret.
    """
    lines = [line.strip() for line in secret.replace("\\n", "\n").splitlines()]
    pieces = lines if len(lines) > 1 else (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1])
    return any(len(piece) >= SHORTEST_SECRET and not piece.startswith("-----") and piece in source for piece in pieces)


def _not_yet_warned(execution: object, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of which nobody warned in this execution of a cell, each once."""
    if _warned_in[0] != execution:
        _warned_in[0] = execution
        _warned.clear()
    new = [one for one in dict.fromkeys(found) if one not in _warned]
    _warned.update(new)
    return new
