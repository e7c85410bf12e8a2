"""Write interactions to a cassette: scrubbed, checked for secrets, and appended one by one.

Nothing else writes recordings, and recording is append-only: interaction 10,000 costs as much as interaction 1. A
recording that is not closed is finished after the next notebook cell that succeeds, or at interpreter exit.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.recording import writer_lock
from toolkit.cassettes.recording.writer_lock import Claim, Stamp
from toolkit.core.errors import CassetteBusy, CassetteError
from toolkit.core.tracebacks import shell, warn
from toolkit.local import files
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import AFTER_THE_CALL
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules.model import Rules, project_rules
from toolkit.scrubbing.scrubber import Scrubber

_unfinished: Final[dict[Recorder, None]] = {}  # in order
_shells: Final[list[Any]] = []


def part_of(path: Path) -> Path:
    """Return the path, next to a cassette, where its replacement is recorded. Links in the folder are resolved."""
    return Path(os.path.realpath(path.parent)) / f"{path.stem}.part{path.suffix}"


class Recorder:
    """Appends interactions to a file, together with all other recorders of that file in this process.

    Args:
        path: the cassette. The file and its folder are created with the first interaction. The folder may be a link,
            but the file must not be one.
        scrubber: removes secrets from what is written.
        anew: True to record to `part`, beside the file, until `finish` replaces the file with it. Otherwise
            interactions are added to the file. Before the first append, an incomplete last interaction is cut off, and
            a file that has another layout or contains a secret is rewritten once, atomically.

    Attributes:
        count: number of interactions that this recorder added to the current file.
    """

    def __init__(self, path: Path, scrubber: Scrubber, *, anew: bool = False) -> None:
        self.part = part_of(path)
        self.path = self.part.with_name(path.name)
        self.count = 0
        self._scrubber = scrubber
        self._anew = anew
        self._claim: Claim | None = None

    @property
    def file(self) -> Path:
        """The file with the interactions: the cassette, or the part beside it until the recording is finished."""
        prepared = self._claim.prepared if self._claim is not None else ()
        if self._anew and self.count and self.part not in prepared and not self.part.exists():
            self._anew = False  # another recorder of this process has finished the part
        return self.part if self._anew or self.part in prepared else self.path

    def get_ready(self) -> None:
        """Check, before a request is sent, that its response can probably be recorded."""
        if self._claim is not None and self._claim.is_held:
            return
        with self._as_cassette_errors():
            files.refuse_link(self.path)
        place = next(place for place in (self.path, *self.path.parents) if place.exists())
        if not os.access(place, os.W_OK):
            raise CassetteError(
                f"Cannot record to {self.path}: the file or its folder is not writable. Nothing was sent.",
                'Change its permissions, choose another cassette, or replay this one with mode="none".',
                about="cassette",
            )
        self.claim()

    def claim(self) -> Claim:
        """Claim the file for this process until `release` is called."""
        claim = self._claim
        if claim is None or not claim.is_held:
            claim = self._claim = writer_lock.acquire(self.path)
        return claim

    def release(self) -> None:
        """Let other processes record to the file. The next append claims it again."""
        _unfinished.pop(self, None)
        if self._claim is not None:
            with self._claim.lock:  # wait until other threads have finished writing
                pass
            with writer_lock.lock_of_claims:
                self._claim = None
            if writer_lock.is_held_here(self.path):
                # Unused recorders may be kept alive by reference cycles, for example after a cell was run again.
                gc.collect()

    def repair(self) -> bool:
        """Cut off an incomplete last interaction.

        Returns:
            False if nothing needs repair: another process is recording to the file, or has just finished a write.
        """
        before = _stamp_of(self.path)
        try:
            claim = self.claim()
            with claim.lock:
                self._prepare(claim)
        except CassetteBusy:
            return False
        except OSError:  # the next append will report it
            return True
        finally:
            self.release()
        return _stamp_of(self.path) != before

    def append(self, interaction: Interaction) -> None:
        """Scrub an interaction and write it. A replacement file is finished at the end of the cell or process."""
        item = encode(scrub(interaction, self._scrubber))
        self._scrubber.known.check(item, where=f"The recorded {interaction.request.method} call in {self.path.name}")
        while not self._wrote(item):
            pass  # another thread released the file in the meantime
        if self._anew and self not in _unfinished:
            _finish_later(self)

    def finish(self) -> None:
        """Replace the file if everything was recorded again. The file stays claimed until `release` is called."""
        if self.count and self._anew and self.file == self.part:
            claim = self.claim()
            with claim.lock, self._as_cassette_errors():
                if self.part not in claim.prepared:  # it was released before it could be finished
                    self._prepare(claim)
                try:
                    self.part.replace(self.path)
                except OSError as error:
                    what = f"Cannot move {self.part} to {self.path}: {error.strerror}."
                    next_step = "Rename it by hand, or record it again if it was deleted."
                    raise CassetteError(what, next_step, about="cassette") from None
                claim.prepared = {self.path: _stamp_of(self.path)}
                self._anew = False
        _unfinished.pop(self, None)  # after an error, the next cell tries again

    def _wrote(self, item: bytes) -> bool:
        try:
            claim = self.claim()
        except CassetteBusy as error:
            what = f"Another process is now recording to {self.path}, so the call was not recorded."
            raise error.reworded(what, f"{AFTER_THE_CALL} {error.next_step}") from None
        with claim.lock, self._as_cassette_errors():
            if not claim.is_held:
                return False
            file = self._prepare(claim)
            stamp = claim.prepared[file]
            is_new = stamp is None
            claim.prepared[file] = _append(file, item, stamp, like=self.path)
            if is_new and self.count:
                warn(f"{file} disappeared during the recording, and was created again without the earlier calls.")
                self.count = 0
            self.count += 1
            return True

    def _prepare(self, claim: Claim) -> Path:
        """Return the file to append to. Repair it first if it is new to this claim or changed by another program."""
        file = self.file
        if file in claim.prepared and claim.prepared[file] == _stamp_of(file):
            return file
        if file not in claim.prepared:  # only once; a folder that disappears later is reported, not created again
            file.parent.mkdir(parents=True, exist_ok=True)
        # What we recorded ourselves is kept; a part left by an interrupted recording is removed, and so is a link.
        if file == self.path or file in claim.prepared or self.count > 0:
            files.refuse_link(file)
            data = b"" if _stamp_of(file) is None else files.read_file(file)
            new = _repaired(data, self._scrubber, source=str(file))
            if new != data and data.startswith(new):
                os.truncate(file, len(new))  # truncating needs no disk space
            elif new != data:
                files.write_atomically(file, new)
        else:
            file.unlink(missing_ok=True)
        claim.prepared[file] = _stamp_of(file)
        return file

    @contextmanager
    def _as_cassette_errors(self) -> Iterator[None]:
        """Convert OSError to CassetteError. Never advise the user to repeat the call, because it may place an order."""
        try:
            yield
        except OSError as error:
            next_step = "Everything recorded earlier is intact. Free up disk space, or correct the path or permissions."
            raise CassetteError(
                f"Cannot record to {self.path}: {error.strerror or error}.",
                f"{next_step} The response, if there was one, is in this error's `response` attribute.",
                about="cassette",
            ) from None


def _finish_later(recorder: Recorder) -> None:
    """Arrange for a recorder to be finished after the next successful cell, or when a script exits without an error.

    Until then, the recorder is kept alive.
    """
    running = shell()
    if running is not None and not any(running is known for known in _shells):
        running.events.register("post_run_cell", _after_cell)
        _shells.append(running)
    if not _unfinished:
        atexit.register(_at_exit)
    _unfinished[recorder] = None


def finish_now(part: Path | None = None) -> None:
    """Finish this process's recordings to `part`, which is about to be opened again; if it is None, finish all of them.

    Errors become warnings, because nobody could catch them and the other recordings must be finished too.
    """
    for recorder in [each for each in tuple(_unfinished) if part in (None, each.part)]:
        try:
            recorder.finish()
        except CassetteError as error:
            warn(str(error))


def _after_cell(result: Any) -> None:
    if result is not None and result.success:  # IPython may pass None for an interrupted cell
        finish_now()


def _at_exit() -> None:
    # `last_value` is set if a script ended in an exception; in a notebook any failed cell sets it.
    if _shells or getattr(sys, "last_value", None) is None:
        finish_now()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unfinished.clear)  # only the parent finishes its recordings


def _stamp_of(file: Path) -> Stamp:
    """Return a stamp that changes if the file is changed or replaced by a link."""
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _append(file: Path, data: bytes, stamp: Stamp, *, like: Path) -> Stamp:
    """Append to a file in one write, without following a link, and return its stamp; undo a partial write.

    In an empty or new file, HEADER is written first. `stamp` is the stamp of the file that was checked; if it is None,
    the file is created, with the permissions of `like` if `like` exists.
    """
    is_new = stamp is None
    descriptor = files.open_new(file, like=like) if is_new else files.open_plain(file, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb" if is_new else "ab", buffering=0) as stream:
        status = os.fstat(descriptor)
        size = status.st_size
        if stamp is not None and (status.st_ino, size) != stamp[:2]:
            raise OSError(errno.EBUSY, "another program is changing the file")
        pending = data if size else HEADER + data
        written: int | None = None
        try:
            written = stream.write(pending)
        finally:
            if written != len(pending):
                stream.truncate(size)
                if is_new:
                    file.unlink()
    if written != len(pending):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    after = _stamp_of(file)  # the old stamp stays if another program has added to the file or replaced it since
    return after if after is not None and after[:2] == (status.st_ino, size + len(pending)) else stamp


def todays_scrubber(settings: Settings, rules: Rules | None = None) -> Scrubber:
    """Return a scrubber with a project's addresses, header prefix and rules, and with additional rules."""
    both = project_rules(settings)
    both = both | rules if rules else both
    return Scrubber(KnownSecrets(), addresses=settings.addresses, header_prefix=settings.header_prefix, rules=both)


def scrub(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction in a form that is safe to record."""
    failure, replaced = interaction.failure, interaction.pseudonyms
    interaction = interaction._replace(pseudonyms=tuple(dict.fromkeys((*replaced, *scrubber.pseudonyms))))
    if failure is None:
        request, response = scrubber.exchange(interaction.request, interaction.response, replaced=replaced)
        return interaction._replace(request=request, response=response)
    # The message of an error may contain an address or a secret, so it is scrubbed like a body.
    as_body = interaction.response._replace(headers=(), body=failure.message.encode("utf-8", "replace"))
    request, scrubbed = scrubber.exchange(interaction.request, as_body, replaced=replaced)
    failure = replace(failure, message=scrubbed.body.decode("utf-8", "replace"))
    return interaction._replace(request=request, failure=failure)


def _repaired(data: bytes, scrubber: Scrubber, *, source: str) -> bytes:
    """Return the repaired bytes of a file, to which an item can be appended; b"" if it has no complete interaction.

    Interactions keep their bytes unless the file has another layout or contains a known secret.
    """
    opened = contents.read(data, source=source)
    if opened.data is not None:
        complete = opened.appendable()
        if not scrubber.known.is_in(complete):
            return complete
    items = [encode(scrub(opened.interaction(number), scrubber)) for number in range(len(opened))]
    result = HEADER + b"".join(items) if items else b""
    scrubber.known.check(result, where=f"The rewritten content of {source}")
    return result
