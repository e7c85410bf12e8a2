"""What is compressed without saying so is opened, as deep as it goes, and never without end."""

from __future__ import annotations

import base64
import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.archives import contents_of, may_be_packed

MAGICS = st.sampled_from([b"", b"\x1f\x8b\x08", b"PK\x03\x04" + bytes(9), b"BZh9", b"\xfd7zXZ\x00", b"x\x9c"])
TEXT = b"a text of a report, " * 20


def gzipped(data):
    """Without the present time, so that names of tests stay."""
    return gzip.compress(data, mtime=0)


def opened(data):
    return list(contents_of(data)) if may_be_packed(data) else []


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
def test_opened(data):
    """Found at the start, in the middle, several, in each other, and in base64."""
    assert TEXT in opened(data)


@given(st.binary(max_size=200), MAGICS)
def test_what_is_none(data, magic):
    """What only begins like something compressed is passed over."""
    opened(magic + data)


def test_not_without_end():
    """A bomb, archives in archives and archives without number are refused."""
    with pytest.raises(SecretLeak, match="when decompressed"):
        opened(gzip.compress(bytes(80 << 20)))
    data = TEXT
    for _ in range(8):
        data = gzip.compress(data)
    with pytest.raises(SecretLeak, match="archives within archives"):
        opened(data)
    with pytest.raises(SecretLeak, match="archives within archives"):
        opened(gzip.compress(b"") * 3_000)


@pytest.mark.parametrize("head", [b"\x14\x00\x00\x00\x63\x00", b"\x14\x00\x01\x00\x08\x00"])
def test_a_zip_that_cannot_be_opened(head):
    """An entry that is encrypted, or packed in a way that few know, is refused."""
    with pytest.raises(SecretLeak, match="zip archive"):
        opened(b"PK\x03\x04" + head + bytes(40))
