"""Write interactions to a cassette: scrubbed, checked for secrets, and appended one by one.

This is the only way to the disk, and recording is append-only: interaction 10,000 costs what interaction 1 did.
Recordings that nobody closes end after a notebook cell that succeeded, and at interpreter exit.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import Interaction, encode
from toolkit.cassettes.recording import appending, writer_lock
from toolkit.cassettes.recording.writer_lock import Claim
from toolkit.core.errors import CassetteBusy, CassetteError
from toolkit.core.tracebacks import shell, warn
from toolkit.local.files import read_file, remove_partials, replace_file
from toolkit.local.private_files import LinkInTheWay, refuse_link
from toolkit.scrubbing.compression import AFTER_THE_CALL
from toolkit.scrubbing.scrubber import Scrubber

_parts_by_finish: dict[Callable[..., None], Path] = {}
_shells: list[Any] = []


def part_of(path: Path) -> Path:
    """Return the file beside a cassette to which its replacement is recorded, links to its folder resolved."""
    return Path(os.path.realpath(path.parent)) / f"{path.stem}.part{path.suffix}"


class Recorder:
    """Appends interactions to a file, together with all other recorders of that file in this process.

    Args:
        path: the cassette. The file and its folder are made with the first interaction. Its folder may be a link, but
            nothing is written through a link in place of the file.
        scrubber: removes secrets from what is written.
        anew: record to `part`, beside the file, until `finish` replaces the file with it. Otherwise interactions are
            added to the file. Before the first append, an incomplete last interaction is cut off, and a file that has
            another layout or contains a secret is rewritten once, atomically.

    Attributes:
        count: number of interactions that this recorder added to the current file.
    """

    def __init__(self, path: Path, scrubber: Scrubber, *, anew: bool = False) -> None:
        self.part = part_of(path)
        self.path = self.part.with_name(path.name)
        self.count = 0
        self._scrubber = scrubber
        self._anew = anew
        self._is_abandoned = False
        self._claim: Claim | None = None

    @property
    def file(self) -> Path:
        """The file that the interactions are in: the cassette, or the part beside it until it is finished."""
        is_anew = self._anew if self._claim is None else self._claim.is_anew
        return self.part if is_anew else self.path

    def get_ready(self) -> None:
        """Check, before a request is sent, that its response can probably be recorded.

        Raises:
            CassetteBusy: if another process records to the file.
            CassetteError: if the file cannot be written.
        """
        if self._claim is None or not self._claim.is_held:
            with self._as_cassette_errors():
                self._check_writable()
            self.claim()

    def claim(self) -> Claim:
        """Claim the file for this process until `release`.

        Raises:
            CassetteBusy: if another process records to it.
        """
        claim = self._claim
        if claim is None or not claim.is_held:
            claim = self._claim = writer_lock.acquire(self.path, self)
        return claim

    def _check_writable(self) -> None:
        refuse_link(self.path)
        folder = next((parent for parent in self.path.parents if parent.exists()), self.path.parent)
        for place in (folder,) if self._anew else (folder, self.path):
            if place.exists() and not (os.access(place, os.W_OK) and place.is_dir() == (place is folder)):
                replay = '; or replay this one with mode="none"' if self.path.exists() else ""
                raise CassetteError(
                    f"Cannot record to {self.path}: {place} cannot be written; nothing was sent.",
                    f"Change its permissions or choose another cassette{replay}.",
                    about="cassette",
                )

    def release(self) -> None:
        """Let other processes record to the file. The next append claims it again."""
        cancel(self.finish)
        claim, self._claim = self._claim, None
        if claim is not None:
            with claim.lock:  # wait until other threads have finished writing
                writer_lock.release(claim, self)

    def cut_torn_tail(self) -> bool:
        """Cut off an incomplete last interaction, and remove the file if there is no other.

        Returns:
            False if the file is not torn after all: another process is recording to it, or has just ended a write.
        """
        try:
            claim = self.claim()
        except CassetteBusy:
            return False
        try:
            with claim.lock:
                data = read_file(self.path)
                layout = contents.lay_out(data)
                if layout is None or not layout.is_torn:
                    return False
                if claim.is_locked:
                    appending.change_to(layout.appendable(), data, self.path)
                    if not layout.items:
                        self.path.unlink()
        except OSError:  # the next append will report it
            pass
        finally:
            self.release()
        return True

    def abandon(self) -> None:
        """Release the file after a failure: a new recording of it stays beside it."""
        self._is_abandoned = True
        finish_or_warn(self.finish)
        self.release()

    def append(self, interaction: Interaction) -> None:
        """Scrub an interaction and write it. It is finished at the end of the cell or at interpreter exit if need be.

        Raises:
            CassetteBusy: if another process records to the file.
            SecretLeak: if it cannot be checked, or would contain a known secret; nothing was written.
            CassetteCorrupt: if the file is not a cassette any more; it is left as it is.
            CassetteError: if the disk is full or the folder not writable; earlier recordings are intact.
        """
        item = encode(appending.scrub(interaction, self._scrubber))
        self._scrubber.known.check(item, where=f"The recording of {interaction.request.method} in {self.path.name}")
        self._append(item)
        if self._anew and not self._is_abandoned:
            finish_later(self.part, self.finish)

    def finish(self, *, replaces: bool = True) -> None:
        """Replace the file if a new recording of it was made.

        The file stays claimed until `release`.

        Args:
            replaces: False after a failure: then the file is not replaced.

        Raises:
            CassetteBusy: if it was released, and another process now records to it.
            CassetteError: if the recording cannot be moved; it stays where it was recorded.
        """
        if replaces and self._anew and self.count > 0 and not self._is_abandoned:
            claim = self.claim()
            with claim.lock, self._as_cassette_errors():
                if self.part not in claim.prepared:  # it was released before it could be finished
                    self._prepare(claim)
                self._move_into_place(claim)
        cancel(self.finish)

    def _move_into_place(self, claim: Claim) -> None:
        try:
            replace_file(self.part, self.path)
        except OSError as error:
            what = f"Cannot move {self.part} to {self.path}: {error.strerror}."
            next_step = "Rename it by hand." if self.part.exists() else "It is gone: record it again."
            raise CassetteError(what, next_step, about="cassette") from None
        claim.is_anew = False
        claim.prepared = {self.path: appending.stamp_of(self.path)}
        for recorder in claim.recorders:
            if recorder.count:  # its interactions were in the part too
                recorder._anew = False  # noqa: SLF001 - of this class

    def _append(self, item: bytes) -> None:
        while True:
            try:
                claim = self.claim()
            except CassetteBusy as error:
                what = f"Another process is now recording to {self.path}, so the call is not recorded."
                raise error.reworded(what, f"{AFTER_THE_CALL} {error.next_step}") from None
            with claim.lock, self._as_cassette_errors():
                if claim.is_held:  # otherwise another thread released it in the meantime
                    self._write(claim, self._prepare(claim), item)
                    self.count += 1
                    return

    def _prepare(self, claim: Claim) -> Path:
        """Return the file to append to, after repairing it if it is new to us or somebody else has changed it."""
        claim.is_anew = claim.is_anew or self._anew
        file = self.part if claim.is_anew else self.path
        if file in claim.prepared and claim.prepared[file] == appending.stamp_of(file):
            return file
        if file not in claim.prepared:  # once; a folder that vanishes later is reported, not made again
            file.parent.mkdir(parents=True, exist_ok=True)
            remove_partials(file)
        # What we recorded ourselves is kept; a part that an interrupted recording left, or a link there, is removed.
        if file == self.path or file in claim.prepared or self.count > 0:
            refuse_link(file)
            data = b"" if appending.stamp_of(file) is None else read_file(file)
            appending.change_to(appending.repaired(data, self._scrubber, source=str(file)), data, file)
        else:
            file.unlink(missing_ok=True)
        claim.prepared[file] = appending.stamp_of(file)
        return file

    def _write(self, claim: Claim, file: Path, item: bytes) -> None:
        stamp = claim.prepared[file]
        claim.prepared[file] = appending.append(file, item, stamp=stamp, like=self.path)
        if stamp is None and self.count:
            lost = "interaction that was" if self.count == 1 else f"{self.count} interactions that were"
            self.count = 0
            warn(f"{file} vanished during the recording; it starts again without the {lost} in it.")

    @contextmanager
    def _as_cassette_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or str(error)
            what = f"Cannot record to {error.filename if isinstance(error, LinkInTheWay) else self.path}: {why}."
            raise CassetteError(what, self._next_step(error), about="cassette") from None

    def _next_step(self, error: OSError) -> str:
        """Return the advice for a failed write. It never suggests repeating the call, which may have been an order."""
        answer = "The response, if there was one, is this error's `response`."
        if isinstance(error, FileNotFoundError) and not self.path.parent.exists():
            return f"The folder is gone with all recordings in it; create it. {answer}"
        if isinstance(error, LinkInTheWay):
            return f"Remove the link, or give the path of the file that it leads to. {answer}"
        return f"Everything recorded earlier is intact. Free some disk space or fix the folder. {answer}"


def finish_later(part: Path, finish: Callable[..., None]) -> None:
    """Call `finish` after each cell that succeeds, and at interpreter exit, until `cancel`.

    `part` is the file that is recorded. After a script that failed, it is not moved into place.
    """
    if finish in _parts_by_finish:
        return
    running = shell()
    if running is not None and not any(running is known for known in _shells):
        running.events.register("post_run_cell", _after_cell)
        _shells.append(running)
    if not _parts_by_finish:
        atexit.register(_at_exit)
    _parts_by_finish[finish] = part


def finish_now(part: Path) -> None:
    """Finish what this process still records to a file, because the cell that opened it is running again."""
    for finish, other in tuple(_parts_by_finish.items()):
        if other == part:
            finish_or_warn(finish)
            cancel(finish)


def cancel(finish: Callable[..., None]) -> None:
    """Undo `finish_later`."""
    _parts_by_finish.pop(finish, None)


def _after_cell(result: Any) -> None:
    if result is not None and result.success:  # IPython may pass None for an interrupted cell
        _finish_all()


def _at_exit() -> None:
    # `last_value` is set if a script ended in an exception; in a notebook any failed cell sets it.
    _finish_all(replaces=bool(_shells) or getattr(sys, "last_value", None) is None)


def _finish_all(*, replaces: bool = True) -> None:
    for finish in tuple(_parts_by_finish):
        finish_or_warn(finish, replaces=replaces)


def finish_or_warn(finish: Callable[..., None], *, replaces: bool = True) -> None:
    """Call `finish` where nobody could catch its error, and where others must be finished too."""
    try:
        finish(replaces=replaces)
    except CassetteError as error:
        warn(str(error))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_parts_by_finish.clear)  # only the parent finishes its recordings
