"""Where to correct credentials that the service refused."""

from __future__ import annotations

from toolkit.auth.credentials import Credentials
from toolkit.core.shells import shell_word


def where_to_correct(credentials: Credentials | None) -> str:
    """Return a sentence that names the profile of refused credentials and says where to correct it.

    It is empty for credentials that code made or that are borrowed, and names no file, because the output of a notebook
    is the same on every machine.
    """
    if credentials is None or not credentials.loaded_from:
        return ""
    name, environment = credentials.name, credentials.environment
    if credentials.binding is None:  # saved profiles are bound
        return f"The credentials are the profile {name} in {credentials.loaded_from}: correct them there."
    command = f"toolkit credentials add {shell_word(name)} --environment {environment}"
    return f"The credentials are the saved profile {name}; to save others in their place: `{command}`."
