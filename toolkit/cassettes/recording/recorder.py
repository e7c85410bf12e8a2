"""The single way to the disk: complete interactions, checked for secrets, appended one by one.

A recording is append-only. What is written was leak-checked as the very bytes it is written in; when a secret
becomes known later, what was written before is looked through for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolkit.cassettes.format import layout
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.cassettes.recording import appending, repair, writer_lock
from toolkit.cassettes.recording.writer_lock import Claim
from toolkit.core.errors import CassetteBusy, CassetteError, SecretLeak
from toolkit.core.warn import warn
from toolkit.scrubbing import leak_check
from toolkit.scrubbing.content_encodings import AFTER_THE_CALL
from toolkit.scrubbing.scrubber import Scrubber

# A service may set a new cookie with each answer, and each may hold new personal data: they are taken out where they
# stand, and looked for elsewhere once, at the end, or the cost of an interaction would grow with the file.
_OFTEN_NEW: Final = frozenset({"COOKIE", ""})


def part_of(path: Path) -> Path:
    """Where a recording that is to replace a file is kept until it ends well: beside the file, links followed."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.stem}.part{real.suffix}")


class Recorder:
    """Appends interactions to one file, together with every other recorder of that file in this process.

    Args:
        path: the file; made with its folder when the first interaction is complete. A link is followed.
        scrubber: takes out the secrets that must not be in what is written.
        anew: whether to record beside the file, to `part`, until `finish` replaces it. Otherwise what it holds
            stays: a torn tail is cut off before the first append, and a file that is not laid out as we write
            it, or holds a secret, is rewritten once, atomically.

    Attributes:
        count: how many interactions were appended to the file as it is now.
    """

    def __init__(self, path: Path, scrubber: Scrubber, *, anew: bool = False) -> None:
        self.path = Path(os.path.realpath(path))
        self.part = part_of(path)
        self.count = 0
        self._scrubber = scrubber
        self._anew = anew
        self._claim: Claim | None = None
        self._made: list[Path] = []  # folders, as long as nothing is in them
        self._is_unchecked = False  # whether a secret became known that what was written may hold
        self._is_owed = False  # whether one did that is looked for when the recording ends
        self._looked_for = 0  # how many secrets were known when this was last asked
        self._is_checking = False
        scrubber.known.subscribe(self._look_again)

    @property
    def needs_finishing(self) -> bool:
        """Whether `finish` is to look for a secret in what was written before it was known."""
        return self._is_owed

    def get_ready(self) -> None:
        """Make sure, before a request is sent, that its answer can be recorded as far as can be told.

        Raises:
            CassetteBusy: another process records to the file.
            CassetteError: it cannot be written.
        """
        if self._claim is None or not self._claim.is_held:
            with self._in_words():
                self._check_writable()
            self.claim()

    def claim(self) -> Claim:
        """Have the file to record to until it is given up.

        Raises:
            CassetteBusy: another process records to it.
        """
        claim = self._claim
        if claim is None or not claim.is_held:
            claim = self._claim = writer_lock.acquire(self.path, self)
            self._is_unchecked = True  # others may have written what holds secrets that only this one knows
        return claim

    def _check_writable(self) -> None:
        folder = next((one for one in self.path.parents if one.exists()), self.path.parent)
        for place in (folder,) if self._anew else (folder, self.path):
            if place.exists() and not (os.access(place, os.W_OK) and place.is_dir() == (place is folder)):
                raise CassetteError(
                    f"Cannot record to {self.path}: {place} cannot be written; nothing was sent.",
                    'Mend its permissions, choose another cassette, or replay what is there with mode="none".',
                )

    def release(self) -> None:
        """Let another process record to it. Appending claims it again."""
        claim, self._claim = self._claim, None
        self._is_unchecked = False
        if claim is not None:
            with claim.lock:  # not in the midst of what another thread writes
                writer_lock.release(claim, self)

    def append(self, interaction: Interaction) -> None:
        """Scrub an interaction and write it.

        Raises:
            CassetteBusy: another process records to the file.
            SecretLeak: it cannot be checked, or would hold a known secret; nothing was written.
            CassetteCorrupt: what the file holds by now is no cassette; it is left as it is.
            CassetteError: the disk is full, or the folder cannot be written; what was recorded is intact.
        """
        while not self._append(*self._checked(interaction)):
            pass  # a secret became known in between

    def cut_torn_tail(self) -> bool:
        """Cut off an interaction whose writing was interrupted, and leave no file in which there is no other.

        Returns:
            False when the file is not torn after all: another process is recording to it, or just ended a write.
        """
        try:
            claim = self.claim()
        except CassetteBusy:
            return False
        try:
            with claim.lock:
                return self._cut_torn_tail(claim)
        except OSError:  # the next append will tell
            return True
        finally:
            self.release()

    def _cut_torn_tail(self, claim: Claim) -> bool:
        data = self.path.read_bytes()
        found = layout.lay_out(data)
        if found is None or not found.is_torn:
            return False
        if claim.is_locked:
            appending.bring_to(layout.appendable(found), data, self.path)
            if not found.items:
                self.path.unlink()
        return True

    def finish(self) -> None:
        """Put what was recorded anew in place of the file, which stays this recorder's until it is given up.

        Raises:
            CassetteBusy: given up before, it is by now recorded to by another process.
            CassetteError: it cannot be put there; it stays where it was recorded.
        """
        if self._is_owed and self._claim is not None:
            self._is_unchecked, self._is_owed = True, False
        if self._is_unchecked or (self._anew and self.count):
            with self.claim().lock, self._in_words():
                self._check_written()
                if self._anew and self.count:
                    self._put_in_place()

    def _put_in_place(self) -> None:
        try:
            self.part.replace(self.path)
        except OSError as error:
            what = f"Cannot put {self.part} in place of {self.path}: {error.strerror}."
            next_step = "Rename it by hand." if self.part.exists() else "It is gone: record it again."
            raise CassetteError(what, next_step) from None
        claim = self.claim()
        claim.is_anew = False
        claim.prepared.clear()
        for one in claim.users:
            if one.count:  # what it recorded was in there, too
                one._anew = False  # noqa: SLF001 - of this class

    def _checked(self, interaction: Interaction) -> tuple[bytes, int]:
        """An interaction as the bytes to write, and how many secrets it was checked for."""
        known = self._scrubber.known
        where = f"The recording of {interaction.request.method} in {self.path.name}"
        while True:
            count = len(known)
            try:
                item = repair.encoded(interaction, self._scrubber)
                leak_check.check(item, known, where=where)
            except SecretLeak:
                if len(known) == count:
                    raise
            else:
                if len(known) == count:
                    return item, count

    def _append(self, item: bytes, known: int) -> bool:
        try:
            claim = self.claim()
        except CassetteBusy as error:  # since the call was sent
            what = f"Another process is recording to {self.path} by now; the call was made, and is not recorded."
            raise error.reworded(what, f"{AFTER_THE_CALL} {error.next_step}") from None
        with claim.lock, self._in_words():
            if not claim.is_held:  # given up in between
                return False
            file = self._prepare(claim)
            if len(self._scrubber.known) != known:
                return False
            self._write(claim, file, item)
            self.count += 1
            return True

    def _prepare(self, claim: Claim) -> Path:
        """The file to append to; once, it is brought into a shape that can be, as it is at this moment."""
        claim.is_anew = claim.is_anew or self._anew
        file = self.part if claim.is_anew else self.path
        if file in claim.prepared and claim.prepared[file] == appending.stamp_of(file):
            self._check_written()
            return file
        if file not in claim.prepared:  # a folder that vanishes later is not made again, but told
            self._made = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
            file.parent.mkdir(parents=True, exist_ok=True)
            appending.clear_away(file)
        data = b"" if appending.stamp_of(file) is None else file.read_bytes()
        stays = file == self.path or file in claim.prepared or self.count > 0  # an abandoned recording may go on
        whole = repair.mended(data, self._scrubber, source=str(file)) if stays else b""
        appending.bring_to(whole, data, file)
        self._is_unchecked = False
        claim.prepared[file] = appending.stamp_of(file)
        return file

    def _write(self, claim: Claim, file: Path, item: bytes) -> None:
        is_new = claim.prepared[file] is None
        try:
            appending.append(file, item, header=HEADER)
        except BaseException:
            if is_new:
                self._leave_nothing(claim, file)
            raise
        finally:
            if file in claim.prepared:
                claim.prepared[file] = appending.stamp_of(file)
        self._made.clear()
        if is_new and self.count:
            were = "interaction that was" if self.count == 1 else f"{self.count} interactions that were"
            self.count = 0
            warn(f"{file} vanished while it was recorded; it begins anew without the {were} in it.")

    def _leave_nothing(self, claim: Claim, file: Path) -> None:
        """Remove the empty file, and the folders made for it."""
        with suppress(OSError):
            file.unlink(missing_ok=True)
            for folder in self._made:
                folder.rmdir()
        if self._made:
            del claim.prepared[file]  # the folders are to be made again

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or str(error)
            raise CassetteError(f"Cannot record to {self.path}: {why}.", self._after(error)) from None

    def _after(self, error: OSError) -> str:
        """What to do next: not the call again, which was made and may have been an order."""
        answer = "The answer, if one came, is this error's `response`."
        if isinstance(error, FileNotFoundError) and not self.path.parent.exists():
            return f"The folder is gone, and what was recorded in it: make it again. {answer}"
        return f"What was recorded before is intact. Free space or mend the folder. {answer}"

    def _look_again(self) -> None:
        """A secret became known: take it out of what was written before."""
        claim, known = self._claim, self._scrubber.known
        kinds, self._looked_for = {kind for _, kind in known.since(self._looked_for)}, len(known)
        if claim is None or not claim.is_held or not claim.prepared:
            return  # nothing was written yet, and _prepare looks through what is there
        if kinds <= _OFTEN_NEW:
            self._is_owed = True
            return
        with claim.lock:
            self._is_unchecked = True
            if self._is_checking:
                return
            try:
                self._check_written()
            except (OSError, CassetteError) as error:
                why = error.what if isinstance(error, CassetteError) else f"{error.strerror or error}."
                warn(
                    f"{self.path} holds a secret that became known only now, and could not be rewritten: {why} "
                    "It is tried again before anything is added to it, and when the recording ends."
                )

    def _check_written(self) -> None:
        self._is_checking = True
        try:
            while self._is_unchecked:  # once more if others become known by their place in what is rewritten
                self._is_unchecked = False
                try:
                    for file in tuple(self.claim().prepared):
                        self._check_file(file)
                except BaseException:
                    self._is_unchecked = True
                    raise
        finally:
            self._is_checking = False

    def _check_file(self, file: Path) -> None:
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return
        if repair.holds_secret(data, self._scrubber.known):
            appending.replace_atomically(file, repair.mended(data, self._scrubber, source=str(file)))
            self.claim().prepared[file] = appending.stamp_of(file)
