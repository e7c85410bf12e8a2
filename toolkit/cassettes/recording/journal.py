"""Secrets that may still have to be removed from a recording, kept until they are, so that a kill does not matter.

A secret may become known after it was recorded: a service sends a value in one answer and names it a cookie in the
next. The journal holds such secrets, encrypted, in the user's cache folder, from the moment they become known until the
recording has been checked for them. Its key is in the user's configuration folder. After a kill, the next opening of
the recording on this machine finds the journal there, under the path of the recording: one that was moved in the
meantime keeps these secrets. If the folders cannot be used, there is no journal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from toolkit.auth.sealing import Seal
from toolkit.core.secret import Secret
from toolkit.local import user_keys
from toolkit.local.private_files import open_own, private_folder, read_private
from toolkit.local.user_folders import cache_folder

_KEY: Final = "journals"
_LARGEST: Final = 64 << 20  # bytes


class PendingSecret(NamedTuple):
    """A secret to remove from a recording.

    Attributes:
        kind: its kind, "" for personal data.
        secret: the secret.
        stand_in: what stands for personal data, "" for a secret of another kind.
    """

    kind: str
    secret: Secret
    stand_in: str = ""


class Journal:
    """The journal of one recording.

    Args:
        file: the real path of the recording.
    """

    def __init__(self, file: Path) -> None:
        self._recording = os.path.normcase(file)
        self._seal: Seal | None = None

    @cached_property
    def file(self) -> Path:
        """Where the journal is, if there is one."""
        name = hashlib.sha256(os.fsencode(self._recording)).hexdigest()[:32]
        return cache_folder() / "recording" / f"{name}.journal"

    def note(self, secrets: Iterable[PendingSecret]) -> None:
        """Add secrets to the journal."""
        with suppress(OSError):
            seal = self._opened_seal(makes=True)
            if seal is None:
                return
            lines = (json.dumps([entry.kind, entry.secret.reveal(), entry.stand_in]).encode() for entry in secrets)
            data = b"".join(seal.seal(line) + b"\n" for line in lines)
            private_folder(self.file.parent.parent)
            private_folder(self.file.parent)
            descriptor = open_own(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(descriptor, "ab", buffering=0) as stream:
                stream.write(data)

    def read(self) -> list[PendingSecret]:
        """Return the secrets in the journal; a line that was not written completely is ignored."""
        try:
            data = read_private(self.file, _LARGEST)
            seal = self._opened_seal(makes=False) if data else None
        except OSError:
            return []
        if not data or seal is None:
            return []
        opened = (seal.open(line) for line in data.split(b"\n") if line)
        entries = (json.loads(line) for line in opened if line is not None)
        return [PendingSecret(kind, Secret(text), stand_in) for kind, text, stand_in in entries]

    def clear(self) -> None:
        """Remove the journal, because the recording is free of the secrets in it."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)

    def _opened_seal(self, *, makes: bool) -> Seal | None:
        if self._seal is None:
            key = user_keys.user_key(_KEY, makes=makes)
            self._seal = None if key is None else Seal(key, f"journal of {self._recording}")
        return self._seal
