"""Bring a cassette into a state that can be appended to: complete, in our layout, and without known secrets.

A secret may also become known after interactions were written. `PendingCheck` then checks the files again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from toolkit.cassettes.format import contents, interactions, layout
from toolkit.cassettes.format.contents import Unparsed
from toolkit.cassettes.format.interactions import HEADER, Interaction
from toolkit.cassettes.recording import appending
from toolkit.cassettes.recording.journal import PendingSecret
from toolkit.cassettes.recording.writer_lock import Claim
from toolkit.core.errors import SecretLeak
from toolkit.local.files import read_file, write_atomically
from toolkit.scrubbing import gate
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

# A service may set a new cookie, or send new personal data, with every response. Both are scrubbed where they
# occur as such. The rest of the file is checked for them once, at the end; otherwise each interaction would cost more
# than the one before it.
_FREQUENTLY_NEW: Final = frozenset({"COOKIE", ""})
_BATCH: Final = 1 << 20  # bytes
_LARGE: Final = 1 << 16  # bytes; a larger recording is checked at once only if it has doubled since the last check


def encode_scrubbed(interaction: Interaction, scrubber: Scrubber) -> tuple[bytes, int]:
    """Scrub an interaction; return it as a block item, and the number of known secrets that were looked for.

    Raises:
        SecretLeak: if it cannot be checked for secrets.
    """
    scrubbed, known_count = scrub(interaction, scrubber)
    return interactions.encode(scrubbed), known_count


def scrub(interaction: Interaction, scrubber: Scrubber) -> tuple[Interaction, int]:
    """Return an interaction in a form that is safe to record, and the number of known secrets that were looked for.

    Raises:
        SecretLeak: if it cannot be checked for secrets.
    """
    failure = interaction.failure
    replaced = interaction.pseudonyms
    interaction = interaction._replace(pseudonyms=tuple(dict.fromkeys((*replaced, *scrubber.pseudonyms))))
    if failure is None:
        request, response, known_count = scrubber.exchange(interaction.request, interaction.response, replaced=replaced)
        return interaction._replace(request=request, response=response), known_count
    # The message of an error may contain an address or a secret, so it is scrubbed like a body.
    as_body = interaction.response._replace(headers=(), body=failure.message.encode("utf-8", "replace"))
    request, scrubbed, known_count = scrubber.exchange(interaction.request, as_body, replaced=replaced)
    failure = replace(failure, message=scrubbed.body.decode("utf-8", "replace"))
    return interaction._replace(request=request, failure=failure), known_count


def repaired(data: bytes, scrubber: Scrubber, *, source: str) -> bytes:
    """Return the repaired bytes of a file, to which an item can be appended; empty without a complete interaction.

    Interactions keep their bytes unless the file has another layout or they contain a known secret.

    Raises:
        CassetteCorrupt: if the file is not a cassette.
        SecretLeak: if a secret cannot be removed.
    """
    opened = contents.read(data, source=source)
    while True:
        known_count = len(scrubber.known)
        if isinstance(opened, Unparsed):
            result = _repaired_items(opened, scrubber, source)
        else:
            result = _encoded_anew(opened, scrubber)
        if len(scrubber.known) == known_count:  # otherwise scrubbing an item revealed a secret that others may contain
            break
    if result is not data:  # what is not changed was checked
        gate.check(result, scrubber.known, where=f"{source}, as it is rewritten,")
    return result


def holds_secret(data: bytes, known: KnownSecrets) -> bool:
    """Return True if the bytes of a file contain a known secret, or cannot be checked for one."""
    file_layout = layout.lay_out(data)
    if file_layout is None or not file_layout.items:
        return gate.holds_secret(data, known)
    start = 0
    for item in file_layout.items:  # several at a time, which is quicker, but not all, which takes memory
        if item.end - start >= _BATCH:
            if gate.holds_secret(data[start : item.end], known):
                return True
            start = item.end
    return gate.holds_secret(data[start:], known)


def _encoded_anew(opened: contents.Contents, scrubber: Scrubber) -> bytes:
    items = [encode_scrubbed(opened.interaction(number), scrubber)[0] for number in range(len(opened))]
    return HEADER + b"".join(items) if items else b""


def _repaired_items(opened: Unparsed, scrubber: Scrubber, source: str) -> bytes:
    complete = layout.appendable(opened.layout)
    if not holds_secret(complete, scrubber.known):
        return complete
    items = opened.layout.items
    pieces = [HEADER]
    for number, item in enumerate(items):
        piece = complete[item.start : item.end if number + 1 < len(items) else len(complete)]
        if gate.holds_secret(piece, scrubber.known):
            piece, _ = encode_scrubbed(opened.interaction(number), scrubber)
            if gate.holds_secret(piece, scrubber.known):
                raise SecretLeak(
                    f"{source}, line {item.line}: the interaction there contains a secret that cannot be removed.",
                    "Remove that interaction or the file, and change the secret if you have passed the file on.",
                    about="cassette",
                )
        pieces.append(piece)
    return b"".join(pieces)


class PendingCheck:
    """The pending check of a recorder's files for secrets that became known after they were written.

    Attributes:
        is_due: check before anything else is appended.
        is_due_at_finish: check when the recording finishes, if not before.
        is_running: a check is being made.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self.is_due = False
        self.is_due_at_finish = False
        self._scrubber = scrubber
        self.is_running = False
        self._known_count = len(scrubber.known)
        self._checked_size = 0  # bytes

    def note_new_secrets(self, claim: Claim | None) -> None:
        """Note the new secrets in the journals of the files of a claim, for which a check becomes due.

        Args:
            claim: the claim, or None if nothing was written.
        """
        known, count = self._scrubber.known, self._known_count
        new = known.since(count)
        self._known_count = count + len(new)  # not +=, because another thread may do the same
        if claim is None or not claim.prepared:
            return
        entries = [
            PendingSecret(kind, secret, "" if kind else known.placeholder_of(secret) or "") for secret, kind in new
        ]
        with claim.journal_lock:
            self.is_due_at_finish = True
            for file in tuple(claim.prepared):
                claim.journal_of(file).note(entries)
        size = _size_of(claim)
        is_frequent = {entry.kind for entry in entries} <= _FREQUENTLY_NEW
        if not is_frequent and (size <= _LARGE or size >= 2 * self._checked_size):
            self.is_due = True

    def run(self, claim: Claim) -> None:
        """Check the files of a claim, if a check is due now or at the end. The caller holds the claim's lock.

        Raises:
            OSError: if a file cannot be read or written; it stays as it is, and the check stays due.
            CassetteError: if a secret cannot be removed; likewise.
        """
        if self.is_running:  # rewriting revealed another secret; the loop below runs again
            return
        self.is_running = True
        try:
            while self.is_due or self.is_due_at_finish:
                self.is_due = self.is_due_at_finish = False
                try:
                    for file in tuple(claim.prepared):
                        self._check(file, claim)
                except BaseException:
                    self.is_due = self.is_due_at_finish = True
                    raise
        finally:
            self.is_running = False
        self._checked_size = _size_of(claim)
        claim.clear_journals()

    def _check(self, file: Path, claim: Claim) -> None:
        try:
            data = read_file(file)
        except FileNotFoundError:
            return
        if holds_secret(data, self._scrubber.known):
            write_atomically(file, repaired(data, self._scrubber, source=str(file)), durable=True)
            claim.prepared[file] = appending.stamp_of(file)


def _size_of(claim: Claim) -> int:
    return sum(stamp[1] for stamp in claim.prepared.values() if stamp is not None)
