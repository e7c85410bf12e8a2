"""Profiles that earlier versions kept in the keyring: read and removed, no longer written.

They kept the text of a profile in pieces, each an entry of its own, because keyrings limit the length of an entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from toolkit.auth.profiles.keyring import read_entry, real_keyring, unusable
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.folders import APPLICATION
from toolkit.transport.tracebacks import attempt

_TOKEN: Final = re.compile(r"[0-9a-f]{16}\Z")
_MOST_PIECES: Final = 100


@dataclass(frozen=True, slots=True)
class EarlierEntry:
    """Where in the keyring the pieces of a profile are.

    Attributes:
        token: 16 hexadecimal digits that were new whenever the profile was saved.
        pieces: number of pieces.
    """

    token: str
    pieces: int

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> EarlierEntry | None:
        """Return what a file says, or None if it says something else."""
        token, pieces = table.get("keyring"), table.get("pieces")
        if table.keys() != {"kind", "keyring", "pieces"} or not isinstance(token, str) or not _TOKEN.match(token):
            return None
        return cls(token, pieces) if type(pieces) is int and 0 < pieces <= _MOST_PIECES else None

    def open(self, profile: str, next_step: str) -> Secret:
        """Return the text.

        Args:
            profile: environment and name of the profile.
            next_step: what to do if the text is not there.

        Raises:
            ConfigurationError: if the keyring is locked, or does not have all of the text.
        """
        backend = real_keyring()
        pieces = [read_entry(backend, service, profile) for service in self._services(profile)] if backend else []
        if not pieces or None in pieces:
            raise ConfigurationError(
                f"The system keyring does not have the credentials {profile}.", next_step, about="keyring"
            )
        return Secret("".join(piece.reveal() for piece in pieces if piece))

    def delete(self, profile: str) -> None:
        """Remove the text; if it is gone already, do nothing.

        Raises:
            ConfigurationError: if the keyring is locked or does not work.
        """
        backend = real_keyring()
        if backend is None:
            raise unusable()
        for service in self._services(profile):
            if read_entry(backend, service, profile) is not None:
                attempt(partial(backend.delete_password, service, profile), otherwise=unusable())

    def _services(self, profile: str) -> list[str]:
        return [f"{APPLICATION}/{profile}/{self.token}/{number}" for number in range(1, self.pieces + 1)]
