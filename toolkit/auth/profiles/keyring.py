"""The key that seals profile files: 32 random bytes in the system keyring, the same for all profiles.

The system keyring is the keychain of macOS, the credential manager of Windows, or a secret service on Linux. It is
asked for the key when a sealed profile is loaded or saved, never for a list.

The key is made when the first profile is saved. It is never replaced: a new key would make every saved profile
unreadable. So a keyring that is locked or broken is an error, and only a missing key is made, by one process at a time.
"""

from __future__ import annotations

import base64
import secrets
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolkit.auth.sealing import Seal
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import attempt
from toolkit.local.locks import try_lock
from toolkit.local.user_folders import APPLICATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from keyring.backend import KeyringBackend

USER_NAME: Final = "key of saved profiles"  # what the keyring shows beside the application's name
_KEY_LENGTH: Final = 32  # bytes
_NO_KEYRINGS: Final = ("keyring.backends.fail", "keyring.backends.null")
_LOCK: Final = ".keyring.lock"
_LOOK_AGAIN: Final = 0.05  # seconds
_MOST_LOOKS: Final = 1200  # one minute: the process that holds the lock may be asking its user to unlock the keyring


def seal_text(text: Secret, profile: str, folder: Path, *, pause: Callable[[float], None] = time.sleep) -> str | None:
    """Return a text sealed for one profile, or None if this system has no keyring. What is sealed is not secret.

    Args:
        text: the text.
        profile: environment and name of the profile.
        folder: an existing folder for the lock that processes share while they make the key.
        pause: waits for a number of seconds.

    Raises:
        ConfigurationError: if the keyring is locked or does not work.
    """
    backend = _real_keyring()
    if backend is None:
        return None
    key = _read_key(backend)
    if key is None:
        with _locked(folder / _LOCK, pause):
            key = _read_key(backend) or _make_key(backend)
    return _seal(key, profile).seal(text.reveal().encode("utf-8")).decode("ascii")


def open_text(sealed: str, profile: str, next_step: str) -> Secret:
    """Return the text that was sealed for this profile; it does not open under the name of another.

    Raises:
        ConfigurationError: if the keyring is locked or does not have the key, or the text does not open; with
            `next_step` as its advice.
    """
    backend = _real_keyring()
    key = None if backend is None else _read_key(backend)
    if key is None:
        raise ConfigurationError(
            f"The system keyring does not have the key that the profile {profile} was sealed with.",
            next_step,
            about="keyring",
        )
    data = _seal(key, profile).open(sealed.encode("utf-8", "replace"))
    if data is None:
        raise ConfigurationError(
            f"The profile {profile} does not open with the key in the system keyring.", next_step, about="keyring"
        )
    return Secret(data.decode("utf-8"))


def _real_keyring() -> KeyringBackend | None:
    """Return the first keyring of this system that stores secrets, and encrypts them; None if there is none."""
    import keyring

    chosen = attempt(keyring.get_keyring, otherwise=_unusable)
    backends = getattr(chosen, "backends", None) or [chosen]  # several, if it is a chain
    return next((backend for backend in backends if _is_real(type(backend))), None)


def _unusable() -> ConfigurationError:
    """Return the error for a locked or broken keyring. Its own message is dropped, because it may quote an entry."""
    return ConfigurationError(
        "The system keyring is locked, or does not work.",
        "Unlock it and try again. To do without it, set environment variables instead of saving the credentials; or "
        "set the variable PYTHON_KEYRING_BACKEND to keyring.backends.null.Keyring, and save them in a file that only "
        "you can read.",
        about="keyring",
    )


def _is_real(kind: type[object]) -> bool:
    return kind.__module__ not in _NO_KEYRINGS and "plaintext" not in kind.__name__.lower()


def _read_key(backend: KeyringBackend) -> Secret | None:
    """Return the key as base64 text, or None if it does not exist yet."""
    text = attempt(lambda: backend.get_password(APPLICATION, USER_NAME), otherwise=_unusable)
    key = None if text is None else Secret(text)
    if key is not None and len(_key_bytes(key)) != _KEY_LENGTH:
        raise ConfigurationError(
            f"The entry {APPLICATION!r} ({USER_NAME}) of the system keyring is not a key.",
            "Remove it there, and save your credentials again.",
            about="keyring",
        )
    return key


def _make_key(backend: KeyringBackend) -> Secret:
    key = Secret(base64.b64encode(secrets.token_bytes(_KEY_LENGTH)).decode("ascii"))
    attempt(lambda: backend.set_password(APPLICATION, USER_NAME, key.reveal()), otherwise=_unusable)
    if _read_key(backend) != key:  # some keyrings keep nothing, and do not say so
        raise _unusable()
    return key


def _key_bytes(key: Secret) -> bytes:
    """Return the bytes of the key, or no bytes if the text is not base64."""
    try:
        return base64.b64decode(key.reveal(), validate=True)
    except ValueError:
        return b""


def _seal(key: Secret, profile: str) -> Seal:
    return Seal(_key_bytes(key), f"profile\x00{profile}")


@contextmanager
def _locked(file: Path, pause: Callable[[float], None]) -> Iterator[None]:
    """Keep other processes out; on a disk that does not support locks, do nothing."""
    lock = None
    with suppress(OSError):  # if the disk is full or read-only, writing the profile will say so
        for _ in range(_MOST_LOOKS):
            lock = try_lock(file)
            if lock is not None:
                break
            pause(_LOOK_AGAIN)
        else:
            raise ConfigurationError(
                "Another process has been using the system keyring for a minute.",
                "End it, and try again.",
                about="keyring",
            )
    try:
        yield
    finally:
        if lock is not None:
            with suppress(OSError):  # Windows does not remove an open file
                file.unlink()
            lock.release()
