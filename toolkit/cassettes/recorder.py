"""The single way to the disk: complete interactions, checked for secrets, appended one by one.

A recording is append-only. What is written was leak-checked as the very bytes it is written in.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from toolkit.cassettes import format as cassette_format
from toolkit.cassettes import leaks
from toolkit.cassettes.format import HEADER, Interaction
from toolkit.cassettes.scrub import KnownSecrets
from toolkit.errors import CassetteError


class Recorder:
    """Appends interactions to one file.

    Args:
        path: the file; made with its folder when the first interaction is complete.
        known: secrets that must not be in what is written.
        keep: bytes of an existing file of ours that are complete; a torn tail after them is cut off
            before the first append.
        convert: interactions of a foreign file, which is rewritten once, atomically, in our format.
    """

    def __init__(
        self, path: Path, known: KnownSecrets, *, keep: int | None = None, convert: Callable[[], Sequence[Interaction]] | None = None
    ) -> None:
        self.path = path
        self.count = 0
        self._known = known
        self._keep = keep
        self._convert = convert
        self._lock = threading.Lock()

    def append(self, interaction: Interaction) -> None:
        """Write one scrubbed interaction.

        Raises:
            SecretLeak: it would hold a known secret; nothing was written.
            CassetteError: the disk is full, or the folder cannot be written; what was recorded is intact.
        """
        item = cassette_format.encode(interaction)
        leaks.check(item, self._known, where=f"The recording of {interaction.request.method} in {self.path.name}")
        with self._lock:
            try:
                self._prepare()
                self._write(item)
            except OSError as error:
                raise CassetteError(
                    f"Cannot record to {self.path}: {error.strerror}.",
                    "What was recorded before is intact. Free space or mend the folder, then run the call again.",
                ) from None
        self.count += 1

    def _prepare(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._convert is not None:
            data = HEADER + b"".join(map(cassette_format.encode, self._convert()))
            leaks.check(data, self._known, where=f"{self.path.name}, which was recorded by another tool,")
            replace_atomically(self.path, data)
            self._convert = None
        elif self._keep is not None and self.path.exists():
            os.truncate(self.path, self._keep)
        self._keep = None

    def _write(self, item: bytes) -> None:
        """One write at the end of the file; a short one (disk full) is taken back."""
        with self.path.open("ab", buffering=0) as file:
            before = file.tell()
            data = item if before else HEADER + item
            try:
                if file.write(data) != len(data):
                    raise OSError(28, "No space left on device")
            except OSError:
                file.truncate(before)
                raise


def replace_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never half."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(name, path.stat().st_mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
