"""The recorder of a sweep: collects the outcomes of keys, and writes them every few seconds.

The part that is being filled is kept in memory as a table and written again, longer each time, until it is full. So
few files hold many rows, and yet an interruption loses only what was answered in the last `SECONDS` and in the time of
one write.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import KeyKind
from toolkit.sweeps.outcomes import Answered, KeyFailure
from toolkit.sweeps.rows import Batch, KeyedRows, joined

SECONDS: Final = 3.0
# A batch is written when it has this much, and a part is full when it has this much.
_BATCH_ROWS: Final = 20_000
_BATCH_BYTES: Final = 16 << 20
_PART_ROWS: Final = 50_000
_PART_BYTES: Final = 16 << 20
_PART_KEYS: Final = 25_000
# Bytes from which the answers of a key are read when they are written.
_LARGE: Final = 1 << 18


class OutcomeRecorder:
    """Collects outcomes from any thread or task and writes them into a folder.

    Args:
        folder: the folder, loaded; this process may write to it.
        make_batch: makes an empty batch.
        writer: distinguishes the files of several processes that sweep together.
        is_replay: True to write by number of rows only, so that the same answers give the same files.
        seconds: a monotonic clock.

    Attributes:
        answered: number of keys that were answered with rows, or without any, since the sweep began.
        failed: number of keys that failed since then.
        hint: a hint about the rows of an answer, such as that it has two lists of records; or "".
    """

    def __init__(
        self,
        folder: Folder,
        make_batch: Callable[[], Batch],
        *,
        writer: str = "",
        is_replay: bool = False,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.answered = 0
        self.failed = 0
        self.hint = ""
        self._folder = folder
        self._make_batch = make_batch
        self._writer = writer
        self._is_replay = is_replay
        self._seconds = seconds
        self._adding = threading.Lock()
        self._writing = threading.Lock()
        self._part: KeyedRows | None = None
        self._since: float | None = None
        self._name = ""
        self._has_new_failures = False
        self._begin_batch()

    def add(self, outcome: Answered | KeyFailure, kind: KeyKind | None) -> KeyFailure | None:
        """Add the outcome of a key of this kind; return its failure, also if its answers cannot be rows.

        Large answers are read later, when they are written, so that an event loop goes on.
        """
        with self._adding:
            self._folder.kind = kind
            failure = outcome if isinstance(outcome, KeyFailure) else None
            if isinstance(outcome, Answered):
                self._bytes += outcome.size
                if outcome.size >= _LARGE:
                    self._large.append(outcome)
                else:
                    failure = self._batch.add(outcome)
            if failure is None:
                self.answered += 1
            else:
                self._fail(failure)
            if self._since is None:
                self._since = self._seconds()
        return failure

    def is_due(self) -> bool:
        """Check whether it is time to write."""
        since = self._since
        if since is None:
            return False
        is_late = not self._is_replay and self._seconds() - since >= SECONDS
        return is_late or self._batch.rows >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES

    def write_if_due(self) -> None:
        """Write what was collected if it is time for it, and nobody else is writing."""
        if self.is_due():
            with self._writing:
                if self.is_due():
                    self._write()

    def write(self) -> None:
        """Write all that was collected.

        Raises:
            SweepError: if it cannot be written.
        """
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._adding:
            batch, large = self._batch, self._large
            self._begin_batch()
        failures = [failure for outcome in large if (failure := batch.add(outcome)) is not None]
        rows, more_failures = batch.finish(self._folder.kind or "text")
        self.hint = self.hint or batch.hint
        with self._adding:
            for failure in (*failures, *more_failures):
                self.answered -= 1
                self._fail(failure)
        for more in rows:
            self._extend(more)
        with self._adding:
            has_new_failures, self._has_new_failures = self._has_new_failures, False
        if has_new_failures:
            self._folder.write_failures(self._writer)

    def _extend(self, rows: KeyedRows) -> None:
        """Write the part that is being filled with more rows, and begin another if it is full."""
        if self._part is None:
            self._take_up_part()
        self._part = rows if self._part is None else joined([self._part, rows])
        self._folder.write_part(self._name, self._part)
        with self._adding:
            if self._folder.forget_failures(rows.keys):
                self._has_new_failures = True
        table = self._part.table
        if table.num_rows >= _PART_ROWS or table.nbytes >= _PART_BYTES or len(self._part.keys) >= _PART_KEYS:
            self._part = None

    def _take_up_part(self) -> None:
        """Begin a part, or go on with the last part of an earlier run unless it is nearly full."""
        last = self._folder.last_part(self._writer)
        if last is not None and last.rows < _PART_ROWS // 2 and len(last.note.keys) < _PART_KEYS // 2:
            self._name, self._part = last.name, self._folder.rows_of(last)
        else:
            self._name = self._folder.next_name(self._writer)

    def _fail(self, failure: KeyFailure) -> None:
        self.failed += 1
        self._has_new_failures = True
        self._folder.note_failure(failure)

    def _begin_batch(self) -> None:
        self._batch = self._make_batch()
        self._large: list[Answered] = []
        self._bytes = 0
        self._since = None
