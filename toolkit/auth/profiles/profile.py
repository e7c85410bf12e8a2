"""Profiles as a list shows them: name and source, never a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.html import list_html, list_text

_COLUMNS: Final = ("environment", "profile", "kind", "source")
_NONE: Final = "No saved credentials."


@dataclass(frozen=True, slots=True)
class Profile:
    """Credentials that can be loaded by name.

    Attributes:
        name: the name to load them by; "default" if the source names none.
        environment: the environment that they belong to.
        kind: key pair, client secret or client key.
        source: where they come from, in words: "environment variables", ".env", "keyring" or a file.
    """

    name: str
    environment: Environment
    kind: CredentialKind
    source: str


class ProfileList(list[Profile]):
    """Profiles, shown as a table in a notebook and a terminal."""

    def __repr__(self) -> str:
        return list_text(_COLUMNS, _rows(self)) if self else _NONE

    def _repr_html_(self) -> str:
        return list_html(_COLUMNS, _rows(self)) if self else f"<p>{_NONE}</p>"


def _rows(profiles: list[Profile]) -> list[tuple[str, ...]]:
    return [(profile.environment, profile.name, profile.kind, profile.source) for profile in profiles]
