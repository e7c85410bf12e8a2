"""What is said of a profile: its name and where it comes from, never a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from toolkit.auth.credentials import Credentials
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.escaping import as_html, printable

_COLUMNS: Final = ("environment", "profile", "kind", "source")


@dataclass(frozen=True, slots=True)
class Profile:
    """Credentials that can be had by name.

    Attributes:
        name: what to ask for; "default" where the source names none.
        environment: the one environment that they belong to.
        kind: key pair, client secret or client key.
        source: where they come from, in words: "environment variables", ".env", "keyring" or a file.
    """

    name: str
    environment: Environment
    kind: CredentialKind
    source: str


class Candidate(Protocol):
    """Credentials found at a source, not yet loaded: a broken one harms nobody until it is asked for."""

    @property
    def environment(self) -> Environment: ...

    @property
    def name(self) -> str: ...

    def profile(self) -> Profile:
        """What to say of them; raises ConfigurationError when they are half given or unreadable."""
        ...

    def credentials(self) -> Credentials:
        """The credentials themselves; raises as `profile` does, and when a value is malformed."""
        ...


class ProfileList(list[Profile]):
    """Profiles, shown as a table in a notebook and a terminal."""

    def __repr__(self) -> str:
        if not self:
            return "No saved credentials."
        rows = [_COLUMNS, *_rows(self)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No saved credentials.</p>"
        head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
        body = "".join(f"<tr>{''.join(f'<td>{as_html(cell)}</td>' for cell in row)}</tr>" for row in _rows(self))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rows(profiles: list[Profile]) -> list[tuple[str, ...]]:
    return [(each.environment, each.name, each.kind, printable(each.source)) for each in profiles]
