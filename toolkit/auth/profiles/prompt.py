"""Asking the person at the keyboard, as the last place where credentials come from."""

from __future__ import annotations

import getpass
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.auth.profiles.fields import REQUIRED, Given
from toolkit.core.document import CredentialKind
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolkit.auth.credentials import Credentials
    from toolkit.core.document import Environment


def ask(environment: Environment, name: str, prompt: Callable[[str], str]) -> Credentials:
    """Ask for a key pair, or for a client ID and a client secret; a private key is no text to type.

    Raises:
        ConfigurationError: the answer is missing or malformed, or typing would be seen.
    """
    takes_key_pair = CredentialKind.KEY_PAIR in environment.rules.credentials
    kind = CredentialKind.KEY_PAIR if takes_key_pair else CredentialKind.CLIENT_SECRET
    answers = {field: answer(prompt, f"{spoken(field)} of {environment}: ") for field in REQUIRED[kind]}
    return Given(environment, name, "your answers", answers, spoken, Path()).credentials()


def can_ask() -> bool:
    """Whether somebody is there to answer: a terminal, or a notebook whose front end takes input."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    return sys.stdin is not None and sys.stdin.isatty()


def ask_unseen(question: str) -> str:
    """One line, typed unseen. Refused, rather than shown, where that cannot be done."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        return getpass.getpass(question)


def answer(prompt: Callable[[str], str], question: str) -> Secret:
    """One answer, whatever it is; a secret until somebody knows better.

    Raises:
        ConfigurationError: there is no answer, or typing would be seen.
    """
    try:
        return Secret(prompt(question))
    except EOFError:
        reason = "there was no answer"
    except getpass.GetPassWarning:
        reason = "what you type would be seen"
    raise ConfigurationError(f"Cannot ask for credentials: {reason}.", "Set environment variables instead.")


def spoken(field: str) -> str:
    """The field in words: `key_id` is "Key ID"."""
    words = field.replace("_", " ")
    return (words[0].upper() + words[1:]).replace(" id", " ID")
