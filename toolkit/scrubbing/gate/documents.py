"""Open documents that compress their contents in ways of their own: PNG, PDF, Parquet and Arrow."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from toolkit.scrubbing.gate.budget import ATTEMPT, Budget
from toolkit.scrubbing.gate.compression import zlib_opened

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_LARGEST_PICTURE: Final = 16 << 20  # bytes of pixels; a larger picture is opaque
_STREAM: Final = re.compile(rb"stream\r?\n")
# Four bytes that mark a message, the size of the schema, and where it begins.
_ARROW: Final = re.compile(rb"\xff\xff\xff\xff[\x00-\xff]{2}[\x00-\x0f]\x00[\x04-\xff]\x00\x00\x00")
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
    """Yield the contents of the columns of Parquet files, and of Arrow's streams, which its files contain."""
    end = -1
    start = data.find(b"PAR1")
    while start >= 0:
        budget.spend(ATTEMPT)
        end = data.find(b"PAR1", start + 4)
        # The size of the footer stands before the last four bytes.
        if end - start > 12 and int.from_bytes(data[end - 4 : end], "little") <= end - start - 8:
            yield from _columns("Parquet", _parquet, memoryview(data)[start : end + 4], budget)
        start = end
    for match in _ARROW.finditer(data):
        budget.spend(ATTEMPT)
        yield from _columns("Arrow", _arrow, memoryview(data)[match.start() :], budget)


def _columns(name: str, read: Any, data: memoryview, budget: Budget) -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa

    try:
        for column in read(pa, data, budget):
            parts = [bytes(buffer) for buffer in _buffers(column)]
            yield name, b"\n".join(parts)
    except (pa.ArrowException, ValueError, KeyError, OSError):
        return


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


def _arrow(pa: Any, data: memoryview, budget: Budget) -> Iterator[Any]:
    for batch in pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(data))):
        budget.spend(batch.nbytes)
        yield from batch.columns


def _buffers(column: Any) -> Iterator[Any]:
    yield from (buffer for buffer in column.buffers() if buffer is not None)
    dictionary = getattr(column, "dictionary", None)
    if dictionary is not None:
        yield from _buffers(dictionary)
