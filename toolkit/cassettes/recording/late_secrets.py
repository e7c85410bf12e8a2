"""Secrets that become known after interactions were written: check the files again, and rewrite them if needed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolkit.cassettes.recording import appending, repair
from toolkit.cassettes.recording.writer_lock import Claim
from toolkit.local.files import write_atomically
from toolkit.scrubbing.scrubber import Scrubber

# A service may set a new cookie, or send new personal data, with every response. Both are scrubbed where they
# occur as such. The rest of the file is checked for them once, at the end; otherwise each interaction would cost more
# than the one before it.
_FREQUENTLY_NEW: Final = frozenset({"COOKIE", ""})


class PendingCheck:
    """The pending check of a recorder's files for secrets that became known after they were written.

    Attributes:
        is_due: check before anything else is appended.
        is_due_at_finish: check when the recording finishes.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self.is_due = False
        self.is_due_at_finish = False
        self._scrubber = scrubber
        self._known_count = 0
        self._is_running = False

    def can_wait(self) -> bool:
        """Return True if all secrets that became known since the last call can be checked at the end."""
        known = self._scrubber.known
        kinds = {kind for _, kind in known.since(self._known_count)}
        self._known_count = len(known)
        return kinds <= _FREQUENTLY_NEW

    def run(self, claim: Claim) -> None:
        """Check the files of a claim, if a check is due. The caller holds the claim's lock.

        Raises:
            OSError: if a file cannot be read or written; it stays as it is, and the check stays due.
            CassetteError: if a secret cannot be removed; likewise.
        """
        if self._is_running:  # rewriting revealed another secret; the loop below runs again
            return
        self._is_running = True
        try:
            while self.is_due:
                self.is_due = False
                try:
                    for file in tuple(claim.prepared):
                        self._check(file, claim)
                except BaseException:
                    self.is_due = True
                    raise
        finally:
            self._is_running = False

    def _check(self, file: Path, claim: Claim) -> None:
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return
        if repair.holds_secret(data, self._scrubber.known):
            write_atomically(file, repair.repaired(data, self._scrubber, source=str(file)), durable=True)
            claim.prepared[file] = appending.stamp_of(file)
