"""Open documents that compress their contents in ways of their own: PNG, PDF, Parquet, ORC, Avro and Arrow."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from toolkit.scrubbing.gate.budget import ATTEMPT, Budget, TooMuchError
from toolkit.scrubbing.gate.compression import inflate, zlib_opened

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_LARGEST_PICTURE: Final = 16 << 20  # bytes of pixels; a larger picture is opaque
_STREAM: Final = re.compile(rb"stream\r?\n")
# Four bytes that mark a message, the size of the schema, and where it begins.
_ARROW: Final = re.compile(rb"\xff\xff\xff\xff[\x00-\xff]{2}[\x00-\x0f]\x00[\x04-\xff]\x00\x00\x00")
_ORC_END: Final = b"\x82\xf4\x03\x03ORC"  # the last field of the postscript, whose size is the last byte
_AVRO_DEFLATE: Final = b"avro.codec\x0edeflate"
_SYNC: Final = 16  # bytes that separate the blocks of an Avro file
_NOT_ASCII85: Final = bytes(byte for byte in range(256) if not 33 <= byte <= 117 and byte != 122)


def pictures_opened(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the pixels and the compressed texts of PNG pictures (RFC 2083)."""
    at = data.find(_PNG)
    while at >= 0:
        at += len(_PNG)
        pixels = []
        size = 0
        while at + 12 <= len(data):
            length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
            if kind == b"IEND" or not kind.isalpha() or at + 8 + length > len(data):
                break
            content = data[at + 8 : at + 8 + length]
            budget.spend(64 + length)
            if kind == b"IHDR":
                width, height = (int.from_bytes(content[k : k + 4], "big") for k in (0, 4))
                size = width * height * 8
            elif kind == b"IDAT":
                pixels.append(content)
            elif kind in (b"zTXt", b"iTXt", b"iCCP"):
                yield from _text_of_picture(kind, content, budget)
            at += 12 + length
        if pixels and size <= 2 * _LARGEST_PICTURE:
            yield "PNG", zlib_opened(b"".join(pixels), 0, budget)[0]
        at = data.find(_PNG, at)


def _text_of_picture(kind: bytes, content: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    _, _, rest = content.partition(b"\0")
    if kind == b"iTXt":
        if rest[:1] != b"\1":  # not compressed
            return
        rest = rest[1:].split(b"\0", 2)[-1]
    else:
        rest = rest[1:]
    yield "PNG", zlib_opened(rest, 0, budget)[0]


def streams_opened(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the contents of the streams of a PDF that are compressed with Flate or written in ASCII85."""
    if b"%PDF-" not in data:
        return
    has_ascii85 = b"ASCII85" in data or b"/A85" in data
    outputs = []
    end = -1
    for match in _STREAM.finditer(data):
        if data.endswith(b"end", 0, match.start()):
            continue
        output, _ = zlib_opened(data, match.end(), budget)
        if not output and has_ascii85:
            if end < match.end():
                end = data.find(b"~>", match.end())
                has_ascii85 = end >= 0
            if has_ascii85:
                budget.spend((end - match.end()) * 8)
                content = _ascii85(data[match.end() : end])
                outputs.append(content)
                output = zlib_opened(content, 0, budget)[0]
        outputs.append(output)
    if any(outputs):
        yield "PDF", b"\n".join(outputs)


def _ascii85(text: bytes) -> bytes:
    digits = text.removeprefix(b"<~").translate(None, _NOT_ASCII85)
    try:
        return base64.a85decode(digits)
    except ValueError:
        return b""


def tables_opened(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the contents of the columns of Parquet and ORC files, and of Arrow's streams, which its files contain.

    Raises:
        TooMuchError: if a Parquet or ORC file cannot be read, for example because something in it was replaced.
    """
    end = -1
    start = data.find(b"PAR1")
    while start >= 0:
        budget.spend(ATTEMPT)
        end = data.find(b"PAR1", start + 4)
        # The size of the footer stands before the last four bytes, and a page begins with its type.
        if end - start > 12 and int.from_bytes(data[end - 4 : end], "little") <= end - start - 8:
            file = memoryview(data)[start : end + 4]
            yield from _columns("Parquet", _parquet, file, budget, is_certain=data[start + 4] == 0x15)
        start = end
    if _ORC_END in data:
        file = memoryview(data)[data.find(b"ORC") : data.rfind(_ORC_END) + len(_ORC_END) + 1]
        yield from _columns("ORC", _orc, file, budget, is_certain=True)
    for match in _ARROW.finditer(data):
        budget.spend(ATTEMPT)
        yield from _columns("Arrow", _arrow, memoryview(data)[match.start() :], budget)


def records_opened(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the blocks of Avro files that are compressed with deflate."""
    at = data.find(_AVRO_DEFLATE)
    outputs = []
    while at >= 0:
        # The header ends with the mark that stands after each block; a block begins with its count and size.
        header_end = data.find(b"\0", at + len(_AVRO_DEFLATE))
        if header_end < 0:
            break
        mark = data[header_end + 1 : header_end + 1 + _SYNC]
        start = header_end + 1 + _SYNC
        while len(mark) == _SYNC and start < len(data):
            budget.spend(ATTEMPT)
            outputs.append(inflate(data, _after_numbers(data, start, 2), budget)[0])
            end = data.find(mark, start)
            start = end + _SYNC if end >= 0 else len(data)
        at = data.find(_AVRO_DEFLATE, max(at + 1, start - _SYNC))
    if any(outputs):
        yield "Avro", b"\n".join(outputs)


def _after_numbers(data: bytes, at: int, count: int) -> int:
    """Return the position after numbers of a variable length, whose last byte has no highest bit."""
    while count and at < len(data):
        count -= data[at] < 0x80
        at += 1
    return at


def _columns(
    name: str, read: Any, data: memoryview, budget: Budget, *, is_certain: bool = False
) -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa

    try:
        for column in read(pa, data, budget):
            parts = [bytes(buffer) for buffer in _buffers(column)]
            yield name, b"\n".join(parts)
    except (pa.ArrowException, ValueError, KeyError, OSError):
        if is_certain:
            raise TooMuchError from None


def _parquet(pa: Any, data: memoryview, budget: Budget) -> Iterator[Any]:
    from pyarrow import parquet

    plain = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
    names = [plain.schema.column(number).path for number in range(len(plain.schema))]
    # Repeated text stays one text in memory.
    file = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(data)), read_dictionary=names)
    for group in range(file.metadata.num_row_groups):
        metadata = file.metadata.row_group(group)
        budget.spend(max(0, metadata.total_byte_size) + 64 * max(0, metadata.num_rows))
        for batch in file.iter_batches(row_groups=[group], batch_size=1 << 14):
            budget.spend(batch.nbytes)
            yield from batch.columns


def _orc(pa: Any, data: memoryview, budget: Budget) -> Iterator[Any]:
    from pyarrow import orc

    file = orc.ORCFile(pa.BufferReader(pa.py_buffer(data)))
    for number in range(file.nstripes):
        batch = file.read_stripe(number)
        budget.spend(batch.nbytes)
        yield from batch.columns


def _arrow(pa: Any, data: memoryview, budget: Budget) -> Iterator[Any]:
    for batch in pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(data))):
        budget.spend(batch.nbytes)
        yield from batch.columns


def _buffers(column: Any) -> Iterator[Any]:
    yield from (buffer for buffer in column.buffers() if buffer is not None)
    dictionary = getattr(column, "dictionary", None)
    if dictionary is not None:
        yield from _buffers(dictionary)
