"""Asking below the cell for what would be typed into the panel, where a front end does not show its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.errors import ConfigurationError
from toolkit.notebook.form import Field
from toolkit.profiles.prompt import answer, ask_unseen, can_ask

if TYPE_CHECKING:
    from toolkit.secret import Secret
    from toolkit.service import Environment


def ask(
    fields: Sequence[Field], environment: Environment, prompt: Callable[[str], str] | None = None
) -> dict[str, Secret | Path]:
    """The texts of fields, by their names, typed unseen; of a private key the path of its file.

    Args:
        fields: what is asked for.
        environment: whose credentials, for the question.
        prompt: what to ask with, by default getpass.

    Raises:
        ConfigurationError: nobody is there to answer, or typing would be seen.
    """
    if prompt is None and not can_ask():
        raise ConfigurationError(
            "Nobody is there to type the credentials.", "Name saved ones, or set environment variables."
        )
    return {field.name: _answer(field, environment, prompt or ask_unseen) for field in fields}


def _answer(field: Field, environment: Environment, prompt: Callable[[str], str]) -> Secret | Path:
    asked = "Path of the private key file" if field.is_key else field.label
    given = answer(prompt, f"{asked} of {environment}: ")
    text = given.reveal().strip()
    return Path(text) if field.is_key and text and "-----" not in text else given
