"""Compressed data and documents are opened wherever they begin, within a budget of bytes."""

from __future__ import annotations

import base64
import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib

import pyarrow as pa
import pytest
from bombs import bomb
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.scrubbing.gate.test_checking import BYTE_CODES, known_with, raw_deflate, refused, zipped

SECRET = f"fake-Canary{'4f9aQ7xKd8'}"
# Both halves of the secret occur earlier, so that compression breaks it up.
OTHER = b"f9aQ7xKd8 of a report, fake-Canary4 as text, " * 20
PLAIN = OTHER + SECRET.encode() + b" and more"


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks):
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in ((b"IHDR", header), *chunks, (b"IEND", b"")))


def pdf(content, filters):
    return b"%PDF-1.7\n1 0 obj\n<</Filter " + filters + b">>\nstream\r\n" + content + b"\nendstream\nendobj\n%%EOF"


def table(data):
    return pa.table({"name": ["x", data.decode(), "y"], "number": [1, 2, 3]})


def parquet_file(data, **options):
    file = io.BytesIO()
    parquet.write_table(table(data), file, write_statistics=False, **options)
    return file.getvalue()


def arrow(data, writer, compression):
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with writer(file, table(data).schema, options=options) as out:
        out.write_table(table(data))
    return file.getvalue()


def tarred(data):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def in_two(data):
    whole = zlib.compress(data)
    half = len(whole) // 2
    return ((b"IDAT", whole[:half]), (b"IDAT", whole[half:]))


def small_window(data):
    compressor = zlib.compressobj(wbits=12)
    return compressor.compress(data) + compressor.flush()


PACKERS = {
    **{name: pack for name, pack in BYTE_CODES.items() if not name.startswith("UTF")},
    "members": lambda data: gzip.compress(b"first", mtime=0) + gzip.compress(data, mtime=0),
    "members of one text": lambda data: b"".join(
        gzip.compress(data[at : at + 99], mtime=0) for at in range(0, 999, 99)
    ),
    "gzip with a name": lambda data: (
        b"\x1f\x8b\x08\x1c\0\0\0\0\0\xff\3\0abcname\0note\0" + raw_deflate(data) + bytes(8)
    ),
    "part": lambda data: b"--b\r\n\r\n" + gzip.compress(data, mtime=0) + b"\r\n--b--",
    "cut short": lambda data: gzip.compress(data, 0, mtime=0)[:-12],
    "tar": tarred,
    "PNG pixels": lambda data: png(*in_two(data)),
    "PNG zTXt": lambda data: png((b"zTXt", b"note\0\0" + zlib.compress(data))),
    "PNG iTXt": lambda data: png((b"iTXt", b"note\0\1\0en\0\0" + zlib.compress(data))),
    "PDF": lambda data: pdf(zlib.compress(data), b"/FlateDecode"),
    "PDF with a small window": lambda data: pdf(small_window(data), b"/FlateDecode"),
    "PDF in ASCII85": lambda data: pdf(base64.a85encode(data) + b"~>", b"/ASCII85Decode"),
    "PDF in both": lambda data: pdf(base64.a85encode(zlib.compress(data)) + b"~>", b"[/ASCII85Decode /FlateDecode]"),
    "PDF in hex": lambda data: pdf(data.hex().encode() + b">", b"/ASCIIHexDecode"),
    "Parquet": parquet_file,
    "Parquet with zstd": lambda data: parquet_file(data, compression="zstd", use_dictionary=False),
    "Arrow file": lambda data: arrow(data, pa.ipc.new_file, "zstd"),
    "Arrow stream": lambda data: arrow(data, pa.ipc.new_stream, "lz4"),
}


@pytest.mark.parametrize("pack", PACKERS)
def test_found(pack):
    """A secret is found in each format, as it is and in base64; other contents pass."""
    known = known_with(SECRET)
    assert pack == "cut short" or SECRET.encode() not in PACKERS[pack](PLAIN)
    assert refused(PACKERS[pack](PLAIN), known)
    assert refused(b"x=" + base64.b64encode(PACKERS[pack](PLAIN)) + b"&y", known)
    assert not refused(PACKERS[pack](OTHER), known)
    assert not refused(b"x=" + base64.b64encode(PACKERS[pack](OTHER)) + b"&y", known)


MAGICS = [
    *(b"\x1f\x8b\x08\x00", b"\x1f\x8b\x08\x1f", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"x\x9c", b"x^b"),
    *(b"\x28\xb5\x2f\xfd\x04", b"\x5d\x00\x00\x80\x00" + b"\xff" * 8, b"\x89PNG\r\n\x1a\n", b"%PDF-stream\n"),
    *(
        b"PAR1",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 8, *[0] * 5, 1, 0),
    ),
]


@given(st.sampled_from(MAGICS), st.binary(max_size=200), st.sampled_from([b"", b"PAR1", b"<code>PK\x03\x04</code>"]))
def test_what_only_begins_like_compressed_data(magic, data, end):
    """Data that only begins like compressed data passes."""
    assert not refused(magic + data + end, known_with(SECRET))


@pytest.mark.parametrize("magic", MAGICS)
def test_repeated_magic_numbers(magic):
    """Many beginnings of compressed data are checked, or refused as too much, in linear time."""
    what = refused(magic * (200_000 // len(magic)), known_with(SECRET))
    assert not what or "too large or too deep" in what


def test_limits():
    """A bomb, and compressed data in more layers than are undone, are refused."""
    known = known_with(SECRET)
    assert "too large or too deep" in refused(bomb(256), known)
    data = OTHER
    for _ in range(5):
        data = gzip.compress(data, mtime=0)
    assert not refused(data, known)
    assert "too large or too deep" in refused(gzip.compress(data, mtime=0), known)


def test_honest_archives():
    """Thousands of small members and the sources of a package in gzip pass."""
    known = known_with(SECRET)
    rng = random.Random(1)  # noqa: S311
    lines = [b"def function_%d(x, y): return x * %d + y" % (at, rng.getrandbits(40)) for at in range(160_000)]
    assert not refused(b"".join(gzip.compress(line, 1, mtime=0) for line in lines[:5_000]), known)
    source = b"\n".join(lines)
    packed = gzip.compress(source, 6, mtime=0)
    assert len(packed) > 1_500_000
    assert not refused(packed, known)


@pytest.mark.parametrize(("flags", "method"), [(1, 8), (1, 0), (1, 99), (0, 0)])
def test_opaque_entries(flags, method):
    """An encrypted entry of a zip archive is opaque and passes."""
    data = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 51, flags, method, 0, 0, 0, 40, 40, 5, 0) + b"a.txt" + bytes(40)
    assert not refused(data, known_with(SECRET))


def test_unknown_methods():
    """An entry in a method of compression that cannot be undone is refused; the same bytes in source text are not."""
    known = known_with(SECRET)
    head = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 21, 0, 9, 0, 0, 0, 40, 40, 5, 0)
    assert "too large or too deep" in refused(head + b"a.txt" + bytes(40), known)
    assert not refused(b'MAGIC = "PK\x03\x04"  # \x09\x00 of a zip file' * 40, known)
    assert zipfile.is_zipfile(io.BytesIO(zipped(b"x")))
