"""Append to a file completely or not at all, after bringing it into a state that can be appended to.

Then it is complete, in our layout, and without the secrets that are known at that moment. Interactions that were
written before a secret became known are not searched for it: `toolkit cassettes scrub` does that.
"""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, Unparsed
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.local.files import open_new, write_atomically
from toolkit.local.private_files import open_plain
from toolkit.scrubbing.scrubber import Scrubber

_CHANGED: Final = "another program is changing the file"
# Inode, size and modification time of a file; None if there is no file.
Stamp = tuple[int, int, int] | None


def stamp_of(file: Path) -> Stamp:
    """Return a stamp that differs once somebody has changed the file, or has put a link in its place."""
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def append(file: Path, data: bytes, *, stamp: Stamp, like: Path) -> Stamp:
    """Append to a file in one write, and undo a partial write. A file that is empty or missing starts with HEADER.

    Args:
        file: the file; never a link.
        data: what is appended.
        stamp: the stamp of the file that was checked; None to create it, with the permissions of `like` if that exists.

    Returns:
        The stamp after the write.

    Raises:
        OSError: if the data cannot be written, for example because the disk is full, or the file is not the one that
            was checked; the file is as before.
    """
    is_new = stamp is None
    descriptor = open_new(file, like=like) if is_new else open_plain(file, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb" if is_new else "ab", buffering=0) as stream:
        status = os.fstat(descriptor)
        size = status.st_size
        if stamp is not None and (status.st_ino, size) != stamp[:2]:
            raise OSError(errno.EBUSY, _CHANGED)
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
    after = stamp_of(file)  # the old stamp stays if another file has taken the place of this one since
    return after if after is not None and after[:2] == (status.st_ino, size + len(pending)) else stamp


def change_to(new: bytes, old: bytes, file: Path) -> None:
    """Change the content of a file from `old` to `new`: by truncation if that suffices, which needs no disk space.

    Raises:
        OSError: if the file cannot be written; the old content stays.
    """
    if new != old and old.startswith(new):
        with os.fdopen(open_plain(file, os.O_RDWR), "r+b") as stream:
            if stream.read() != old:
                raise OSError(errno.EBUSY, _CHANGED)
            stream.truncate(len(new))
    elif new != old:
        write_atomically(file, new, durable=True)


def scrub(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction in a form that is safe to record.

    Raises:
        SecretLeak: if it cannot be checked for secrets.
    """
    failure = interaction.failure
    replaced = interaction.pseudonyms
    interaction = interaction._replace(pseudonyms=tuple(dict.fromkeys((*replaced, *scrubber.pseudonyms))))
    if failure is None:
        request, response = scrubber.exchange(interaction.request, interaction.response, replaced=replaced)
        return interaction._replace(request=request, response=response)
    # The message of an error may contain an address or a secret, so it is scrubbed like a body.
    as_body = interaction.response._replace(headers=(), body=failure.message.encode("utf-8", "replace"))
    request, scrubbed = scrubber.exchange(interaction.request, as_body, replaced=replaced)
    failure = replace(failure, message=scrubbed.body.decode("utf-8", "replace"))
    return interaction._replace(request=request, failure=failure)


def repaired(data: bytes, scrubber: Scrubber, *, source: str) -> bytes:
    """Return the repaired bytes of a file, to which an item can be appended; empty without a complete interaction.

    Interactions keep their bytes unless the file has another layout or contains a known secret.

    Raises:
        CassetteCorrupt: if the file is not a cassette, or an interaction that is written anew cannot be read.
        SecretLeak: if a secret cannot be removed.
    """
    opened = contents.read(data, source=source)
    if isinstance(opened, Unparsed):
        complete = opened.layout.appendable()
        if not scrubber.known.is_in(complete):
            return complete
    result = _encoded_anew(opened, scrubber)
    scrubber.known.check(result, where=f"{source}, as it is rewritten,")
    return result


def _encoded_anew(opened: Contents, scrubber: Scrubber) -> bytes:
    items = [encode(scrub(opened.interaction(number), scrubber)) for number in range(len(opened))]
    return HEADER + b"".join(items) if items else b""
