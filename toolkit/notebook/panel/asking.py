"""Questions below the cell, for a front end that does not show the panel's fields or does not send their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.auth.typed_secrets import ask_secret, can_ask
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.notebook.panel import problems
from toolkit.notebook.panel.fields import Field

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change
    from toolkit.core.secret import Secret


def is_trusted(new: Sequence[Change], prompt: Callable[[str], str] | None = None) -> bool:
    """Ask below the cell whether credentials may be sent to a new destination.

    Args:
        new: the destinations.
        prompt: the function to ask with; by default `input`.

    Raises:
        ConfigurationError: if questions cannot be answered here.
    """
    what = " ".join(problems.new_destinations(new))
    if prompt is None and not can_ask():
        raise ConfigurationError(f"{what}.", "Check the settings, or name saved credentials.", about="credentials")
    answer = ask_secret(f"{what}. Do you trust it? Type yes or no: ", prompt or input)
    return answer.reveal().strip().lower() in ("y", "yes")


def ask(
    fields: Sequence[Field], environment: Environment, prompt: Callable[[str], str] | None = None
) -> dict[str, Secret | Path]:
    """Ask below the cell for the texts of fields, without echo; for a private key, ask for the path of its file.

    Args:
        fields: what to ask for.
        environment: the environment of the credentials, named in the question.
        prompt: the function to ask with; by default getpass.

    Returns:
        The answers, by the names of the fields.

    Raises:
        ConfigurationError: if questions cannot be answered here, or typing would be visible.
    """
    if prompt is None and not can_ask():
        raise ConfigurationError(
            "Credentials cannot be typed here.", "Name saved credentials, or set environment variables."
        )
    return {field.name: _answer(field, environment, prompt) for field in fields}


def _answer(field: Field, environment: Environment, prompt: Callable[[str], str] | None) -> Secret | Path:
    label = "Path of the private key file" if field.is_key else field.label
    typed = ask_secret(f"{label} of {environment}: ", prompt)
    text = typed.reveal().strip()
    return Path(text) if field.is_key and text and "-----" not in text else typed
