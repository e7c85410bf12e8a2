"""The members of archives: zip and tar, read one after the other in bounded memory."""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, cast

from toolkit.scrubbing.scanning.decompression import Readable

_TAR: Final = b"ustar"
_TAR_AT: Final = 257
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError, ValueError, KeyError, IndexError),
    *(OSError, EOFError, zlib.error, lzma.LZMAError, struct.error),
)


class Member(NamedTuple):
    """A member of an archive.

    Attributes:
        name: its path in the archive.
        stream: its content, to be read before the next member.
    """

    name: str
    stream: Readable


def is_zip(head: bytes) -> bool:
    """Check whether a file that begins like this is a zip archive."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_whole_zip(stream: BinaryIO) -> bool:
    """Check whether a zip archive has its list of members at its end, and go back to its beginning."""
    is_whole = zipfile.is_zipfile(stream)
    stream.seek(0)
    return is_whole


def is_tar(head: bytes) -> bool:
    """Check whether a file that begins like this is a tar archive."""
    return head.startswith(_TAR, _TAR_AT)


def zip_members(stream: BinaryIO) -> Iterator[Member | str]:
    """Yield the members of a zip archive, and say what cannot be read."""
    try:
        archive = zipfile.ZipFile(stream)
    except _BROKEN:
        yield "it is a zip archive that is broken"
        return
    for info in archive.infolist():
        if info.is_dir():
            continue
        if info.flag_bits & 1:
            yield "a member of it is encrypted"
            continue
        try:
            with archive.open(info) as content:
                yield Member(info.filename, content)
        except _BROKEN:
            yield "a member of it is broken, or compressed in an unknown way"


def tar_members(stream: Readable) -> Iterator[Member | str]:
    """Yield the files in a tar archive, and say what cannot be read."""
    try:
        with tarfile.open(fileobj=cast("BinaryIO", stream), mode="r|") as archive:
            while (info := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # it would keep them all
                content = archive.extractfile(info) if info.isreg() else None
                if content is not None:
                    yield Member(info.name, content)
    except _BROKEN:
        yield "it is a tar archive that is broken or ends early"


def as_file(head: bytes, stream: Readable, limit: int) -> BinaryIO | None:
    """Return a stream as a file in which one can seek; None if it has more bytes than the limit.

    Args:
        head: what was read of it already.
        stream: the rest.
        limit: bytes.
    """
    if isinstance(stream, io.BufferedIOBase) and stream.seekable():
        stream.seek(0)
        return cast("BinaryIO", stream)
    data = head + stream.read(max(0, limit + 1 - len(head)))
    return io.BytesIO(data) if len(data) <= limit else None
