"""The single way to the disk: complete interactions, checked for secrets, appended one by one.

A recording is append-only. What is written was leak-checked as the very bytes it is written in.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import warnings
from pathlib import Path

from toolkit.cassettes import contents, layout, leaks
from toolkit.cassettes import format as cassette_format
from toolkit.cassettes.format import HEADER, Interaction
from toolkit.cassettes.scrub import Scrubber
from toolkit.errors import CassetteError


class Recorder:
    """Appends interactions to one file.

    Args:
        path: the file; made with its folder when the first interaction is complete.
        scrubber: takes out the secrets that must not be in what is written.
        anew: whether what the file holds goes. Otherwise it stays: a torn tail is cut off before the
            first append, and a file that is not laid out as we write it is rewritten once, atomically.
    """

    def __init__(self, path: Path, scrubber: Scrubber, *, anew: bool = False) -> None:
        self.path = path
        self.count = 0
        self._scrubber = scrubber
        self._anew = anew
        self._is_prepared = False
        self._lock = threading.Lock()

    def append(self, interaction: Interaction) -> None:
        """Scrub an interaction and write it.

        Raises:
            SecretLeak: it cannot be checked, or would hold a known secret; nothing was written.
            CassetteCorrupt: what the file holds by now is no cassette; it is left as it is.
            CassetteError: the disk is full, or the folder cannot be written; what was recorded is intact.
        """
        item = cassette_format.encode(self._scrubber.interaction(interaction))
        self._check(item, f"The recording of {interaction.request.method} in {self.path.name}")
        with self._lock:
            try:
                self._prepare()
                self._write(item)
            except OSError as error:
                raise CassetteError(
                    f"Cannot record to {self.path}: {error.strerror or error}.",
                    "What was recorded before is intact. Free space or mend the folder, then run the call again.",
                ) from None
            self.count += 1

    def _prepare(self) -> None:
        """Once, bring the file into a shape that can be appended to, as it is at this moment."""
        if self._is_prepared:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = self.path.read_bytes() if self.path.exists() else b""
        whole = b"" if self._anew else self._whole(data)
        if whole != data:
            if data.startswith(whole):
                os.truncate(self.path, len(whole))
            else:
                replace_atomically(self.path, whole)
        self._is_prepared = True

    def _whole(self, data: bytes) -> bytes:
        held = contents.read(data, source=str(self.path))
        if isinstance(held, contents.Unparsed):
            return layout.mended(held.layout)
        if not len(held):
            return b""
        interactions = [self._scrubber.interaction(held.interaction(number)) for number in range(len(held))]
        whole = HEADER + b"".join(map(cassette_format.encode, interactions))
        self._check(whole, f"{self.path.name}, as it is rewritten in our layout,")
        return whole

    def _check(self, data: bytes, where: str) -> None:
        leaks.check(data, self._scrubber.known, where=where)

    def _write(self, item: bytes) -> None:
        """One write at the end of the file; a short one (disk full) is taken back."""
        with self.path.open("ab", buffering=0) as file:
            before = file.tell()
            if self.count and not before:
                warnings.warn(
                    f"{self.path} vanished while it was recorded; it begins anew without the {self.count} interactions "
                    "that were in it.",
                    stacklevel=2,
                )
            data = item if before else HEADER + item
            try:
                written = file.write(data)
            except BaseException:
                file.truncate(before)
                raise
            if written != len(data):
                file.truncate(before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def replace_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never half."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(name).chmod(path.stat().st_mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
