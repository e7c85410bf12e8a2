"""Ask the user for a secret, which is typed unseen. Commands and the notebook panel use this.

`can_ask` tells whether somebody can answer, and `ask_secret` asks one question.
"""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Callable
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless, shell

Prompt = Callable[[str], str]
_USE_VARIABLES: Final = "Set environment variables instead."


def can_ask() -> bool:
    """Return True if somebody can answer: at a terminal, or in a notebook with a front end that takes input."""
    kernel = getattr(shell(), "kernel", None)
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

    Raises:
        ConfigurationError: if nobody answers, or the answer would be seen while it is typed.
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
