"""Do what a killed process had still to do for a recording, when somebody opens it.

Nothing is done while another process records to it: that one will do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolkit.cassettes.format import layout
from toolkit.cassettes.recording import appending, repair
from toolkit.cassettes.recording.journal import Journal, PendingSecret
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.cassettes.recording.writer_lock import Claim
from toolkit.core.errors import CassetteBusy, CassetteError
from toolkit.core.user_code import warn
from toolkit.local.files import partials, read_file, remove_partials
from toolkit.scrubbing.scrubber import Scrubber


def remove_late_secrets(path: Path, scrubber: Scrubber) -> None:
    """Remove the secrets in the journals of a cassette and its part, and the temporary files of killed writes.

    A warning says whether there were such secrets, and if they could not be removed, why.
    """
    recorder = Recorder(path, scrubber)
    files = (recorder.path, recorder.part)
    journals = [journal for journal in map(Journal, files) if journal.file.exists()]
    if not journals and not any(map(partials, files)):
        return
    try:
        with _claimed(recorder) as claim:
            if claim is None or claim.prepared or not claim.is_locked:  # a recorder of this process is using the file
                return
            for file in files:
                remove_partials(file)
            _learn((entry for journal in journals for entry in journal.read()), scrubber)
            changed = [file for file in files if journals and file.exists() and _is_changed_by_repair(file, scrubber)]
            for journal in journals:
                journal.clear()
    except (OSError, CassetteError) as error:
        why = error.what if isinstance(error, CassetteError) else f"{error.strerror or error}."
        warn(f"An interrupted recording may have left a secret in {path}, which could not be cleaned up: {why}")
    else:
        for file in changed:
            warn(f"An interrupted recording left a secret in {file}; it was removed.")


def _learn(entries: Iterable[PendingSecret], scrubber: Scrubber) -> None:
    for entry in entries:
        if entry.kind:
            scrubber.known.add(entry.kind, entry.secret)
        elif entry.stand_in:
            scrubber.known.add_stand_ins([(entry.secret, entry.stand_in)])


def _is_changed_by_repair(file: Path, scrubber: Scrubber) -> bool:
    before = read_file(file)
    after = repair.repaired(before, scrubber, source=str(file))
    appending.change_to(after, before, file)
    return after != before


def cut_torn_tail(path: Path, scrubber: Scrubber) -> bool:
    """Cut off an incomplete last interaction, and remove the file if there is no other.

    Returns:
        False if the file is not torn after all: another process is recording to it, or has just ended a write.
    """
    recorder = Recorder(path, scrubber)
    try:
        with _claimed(recorder) as claim:
            return claim is not None and _is_torn(recorder.path, cuts=claim.is_locked)
    except OSError:  # the next append will report it
        return True


def _is_torn(file: Path, *, cuts: bool) -> bool:
    data = read_file(file)
    file_layout = layout.lay_out(data)
    if file_layout is None or not file_layout.is_torn:
        return False
    if cuts:
        appending.change_to(layout.appendable(file_layout), data, file)
        if not file_layout.items:
            file.unlink()
    return True


@contextmanager
def _claimed(recorder: Recorder) -> Iterator[Claim | None]:
    """Claim the file of a recorder for a while; None if another process records to it."""
    try:
        claim = recorder.claim()
    except CassetteBusy:
        yield None
        return
    try:
        with claim.lock:
            yield claim
    finally:
        recorder.release()
