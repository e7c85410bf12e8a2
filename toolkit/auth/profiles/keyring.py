"""Texts in the system keyring: the keychain, the credential manager, the secret service.

A text lies there in pieces, under a token that is new at every saving: what refers to it by its token
finds all of it or nothing, also when two processes save at once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from keyring.backend import KeyringBackend

SERVICE: Final = "service-access-toolkit"
_PIECE: Final = 1000  # characters; Windows takes 2,560 bytes of UTF-16, and a PEM is longer
_NO_KEYRINGS: Final = ("keyring.backends.fail", "keyring.backends.null")
_WITHOUT_IT: Final = "Unlock the keyring and try again, or set environment variables instead."


@dataclass(frozen=True, slots=True)
class Entry:
    """Where in the keyring a text lies.

    Attributes:
        profile: environment and name, as a person sees them in the keyring.
        token: tells one saving from another.
        pieces: into how many the text is cut; 1 or more.
    """

    profile: str
    token: str
    pieces: int

    def services(self) -> list[str]:
        # One service a piece: Windows moves entries about when a second user of a service is saved, and
        # two processes doing so at once lose one.
        return [f"{SERVICE}/{self.profile}/{self.token}/{number}" for number in range(1, self.pieces + 1)]

    def read(self) -> Secret:
        """The text.

        Raises:
            ConfigurationError: the keyring is locked, or does not have it.
        """
        backend = _backend()
        pieces = [_attempt(_reading(backend, service, self.profile)) for service in self.services()] if backend else []
        if not pieces or not all(isinstance(piece, str) for piece in pieces):
            raise ConfigurationError(
                f"The keyring does not give the credentials {self.profile}: it is locked, or no longer has them.",
                f"{_WITHOUT_IT} Or save the credentials again with save_credentials().",
            )
        return Secret("".join(pieces))

    def delete(self) -> None:
        """Remove the text; one that is gone already is none too many.

        Raises:
            ConfigurationError: the keyring is locked, or keeps it.
        """
        backend = _backend()
        kept = [service for service in self.services() if not (backend and _deleted(backend, service, self.profile))]
        if kept:
            raise ConfigurationError(
                f"The keyring does not let go of the credentials {self.profile}.", "Unlock it and try again."
            )


def store(profile: str, text: Secret) -> Entry | None:
    """Put a text into the keyring, under a new token; None when there is no real one, or it does not take it."""
    backend = _backend()
    if backend is None:
        return None
    whole = text.reveal()
    pieces = [whole[start : start + _PIECE] for start in range(0, len(whole), _PIECE)]
    entry = Entry(profile, secrets.token_hex(8), len(pieces))
    if all(_kept(backend, service, profile, piece) for service, piece in zip(entry.services(), pieces, strict=True)):
        return entry
    _attempt(entry.delete)
    return None


def _backend() -> KeyringBackend | None:
    """The first keyring that keeps secrets, and not in the clear."""
    import keyring  # keeps keyring out of `import toolkit`

    chosen = _attempt(keyring.get_keyring)
    chained = _attempt(lambda: chosen.backends) or [chosen]
    return next((each for each in chained if each is not None and _is_real(type(each))), None)


def _is_real(kind: type[object]) -> bool:
    return kind.__module__ not in _NO_KEYRINGS and "plaintext" not in kind.__name__.lower()


def _kept(backend: KeyringBackend, service: str, profile: str, piece: str) -> bool:
    _attempt(lambda: backend.set_password(service, profile, piece))
    return bool(_attempt(_reading(backend, service, profile)) == piece)  # some keep nothing, and say nothing


def _deleted(backend: KeyringBackend, service: str, profile: str) -> bool:
    _attempt(lambda: backend.delete_password(service, profile))
    return _attempt(_reading(backend, service, profile), failed="unknown") is None


def _reading(backend: KeyringBackend, service: str, profile: str) -> Callable[[], Any]:
    return lambda: backend.get_password(service, profile)


def _attempt(call: Callable[[], Any], failed: object = None) -> Any:
    """What it returns, or `failed`.

    The error is dropped rather than chained: back ends raise what they like, with what they like in it.
    """
    try:
        return call()
    except Exception:  # noqa: BLE001
        return failed
