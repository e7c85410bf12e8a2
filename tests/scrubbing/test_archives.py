"""Compressed data within other data is decompressed, level by level, but not without limits."""

from __future__ import annotations

import base64
import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.archives import compressed_contents, may_hold_compressed

MAGICS = st.sampled_from([b"", b"\x1f\x8b\x08", b"PK\x03\x04" + bytes(9), b"BZh9", b"\xfd7zXZ\x00", b"x\x9c"])
TEXT = b"a text of a report, " * 20


def gzipped(data):
    """Compress without the present time, so that the names of tests stay."""
    return gzip.compress(data, mtime=0)


def contents(data):
    return list(compressed_contents(data)) if may_hold_compressed(data) else []


@pytest.mark.parametrize(
    "data",
    [
        gzipped(TEXT),
        b"before" + gzipped(TEXT) + b"after",
        zlib.compress(TEXT),
        gzipped(b"first") + gzipped(TEXT),
        gzipped(gzipped(gzipped(TEXT))),
        b"x=" + base64.b64encode(gzipped(TEXT)) + b"&y",
        base64.urlsafe_b64encode(zlib.compress(TEXT)),
        base64.b64encode(gzipped(TEXT)).replace(b"/", b"\\/"),
    ],
)
def test_contents(data):
    """Compressed data is found at the start, in the middle, repeatedly, within other compressed data, and in base64."""
    assert TEXT in contents(data)


@given(st.binary(max_size=200), MAGICS)
def test_other_data(data, magic):
    """Data that only begins like compressed data is ignored."""
    contents(magic + data)


def test_limits():
    """A decompression bomb, too many levels and too many archives are refused."""
    with pytest.raises(SecretLeak, match="when decompressed"):
        contents(gzip.compress(bytes(66 << 20)))
    data = TEXT
    for _ in range(8):
        data = gzip.compress(data)
    with pytest.raises(SecretLeak, match="archives within archives"):
        contents(data)
    with pytest.raises(SecretLeak, match="archives within archives"):
        contents(gzip.compress(b"") * 3_000)


@pytest.mark.parametrize("head", [b"\x14\x00\x00\x00\x63\x00", b"\x14\x00\x01\x00\x08\x00"])
def test_a_zip_that_cannot_be_decompressed(head):
    """An entry that is encrypted, or compressed with a rare method, is refused."""
    with pytest.raises(SecretLeak, match="zip archive"):
        contents(b"PK\x03\x04" + head + bytes(40))
