"""Secrets that a user types: asked for unseen, and a warning where a notebook keeps what was typed.

The notebook file and IPython's history keep the source of a cell, and JupyterLab keeps in the notebook what is typed at
`input()`. The toolkit cannot remove it there, so the user has to.
"""

from __future__ import annotations

import getpass
import json
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import frameless
from toolkit.core.tracebacks import shell as running_shell

Prompt = Callable[[str], str]
_USE_VARIABLES: Final = "Set environment variables instead."
_IN_SOURCE: Final = "This cell contains the {}, and so do the notebook file and the history. Remove it, clear both,"
_AT_INPUT: Final = "The {} was typed at input(), and JupyterLab saves what is typed there. Clear that output,"
_inputs: Final[deque[Secret]] = deque(maxlen=50)


def can_ask() -> bool:
    """Return True if somebody can answer: at a terminal, or in a notebook with a front end that takes input."""
    kernel = getattr(running_shell(), "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    return sys.stdin is not None and sys.stdin.isatty()


@frameless
def ask_secret(question: str, prompt: Prompt | None = None, *, next_step: str = _USE_VARIABLES) -> Secret:
    """Ask a question and return the answer as a Secret.

    Args:
        question: shown before the answer, such as "Key ID of paper: ".
        prompt: asks the question, such as `input` if the answer may be seen; by default the answer is typed unseen.
        next_step: what an error advises instead.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # before anything is typed
            return Secret((prompt or getpass.getpass)(question))
    except EOFError:
        reason = "the input has ended"
    except getpass.GetPassWarning:
        reason = "what you type would be seen"
    raise ConfigurationError(f'"{question.strip(" :")}" was not answered: {reason}.', next_step, about="prompt")


def field_in_words(field: str) -> str:
    """Return a field in words: `key_id` is "Key ID"."""
    words = field.replace("_", " ")
    return (words[0].upper() + words[1:]).replace(" id", " ID")


def warn_if_in_cell(secrets: Iterable[tuple[str, Secret]]) -> None:
    """Warn if the source of the running IPython cell, or an answer to its `input()`, holds one of these secrets.

    Outside IPython, which is not imported, this costs nothing. Nothing is raised, unless the user has turned warnings
    into errors.
    """
    try:
        cells = running_shell().history_manager.input_hist_raw  # type: ignore[union-attr]
        number, source = len(cells) - 1, cells[-1]
    except Exception:  # noqa: BLE001 - no shell, or another kind of shell
        return
    answers = "\n".join(answer.reveal() for answer in tuple(_inputs))
    for text, message in ((source, _IN_SOURCE), (answers, _AT_INPUT)):
        for kind in dict.fromkeys(kind for kind, secret in secrets if _holds(text, secret.reveal())):
            label = kind.removeprefix("API_").lower().replace("_", " ").replace(" id", " ID")
            # Shown under the name of the cell and with a registry of its own: at the line in the cell, Python would
            # print that line with the secret.
            warnings.warn_explicit(
                f"{message.format(label)} replace the key; type it with getpass.getpass() or save it with "
                "`toolkit credentials add`.",
                UserWarning,
                filename=f"In [{number}]",
                lineno=1,
                module=__name__,
                registry={},
            )


def remember_input(answer: object) -> None:
    """Keep an answer to `input()` for a while, to recognize it if it turns out to be a secret."""
    if isinstance(answer, str) and len(answer) >= SHORTEST_SECRET:
        _inputs.append(Secret(answer))


def _holds(source: str, secret: str) -> bool:
    r"""Return True if a source contains a secret as it is, escaped as in a literal, or by one of its lines.

    A PEM may be written with line breaks, with `\n` or without either. So this searches for each of its lines, except
    BEGIN and END, which are not secret.
    """
    lines = [line.strip() for line in secret.splitlines()]
    parts = lines if len(lines) > 1 else (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1])
    return any(len(part) >= SHORTEST_SECRET and not part.startswith("-----") and part in source for part in parts)
