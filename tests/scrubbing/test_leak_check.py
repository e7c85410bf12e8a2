"""The leak check refuses bytes that hold a secret, also compressed; it decompresses data only up to limits."""

from __future__ import annotations

import base64
import gzip
import json
import textwrap
import zlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.leak_check import check, check_compressed, check_utf_16, compressed_contents, may_hold_compressed

TOKEN = "obviously-fake-token-1"


def wrapped(data):
    """Return base64 in lines, as in mail and keys."""
    return "\n".join(textwrap.wrap(base64.b64encode(data).decode(), 16))


@pytest.mark.parametrize(
    "data",
    [
        TOKEN.encode(),
        yaml.safe_dump({"a": b"\xff" + TOKEN.encode() + bytes(60)}).encode(),
        wrapped(b"ab" + TOKEN.encode() + b"cd").encode(),
        json.dumps(wrapped(b"ab" + TOKEN.encode() + b"cd")).encode(),
        yaml.safe_dump(json.dumps(wrapped(b"a" + TOKEN.encode())), default_style='"').encode(),
        base64.encodebytes(b"x" * 50 + TOKEN.encode()).replace(b"\n", b"%0A"),
        TOKEN.encode().hex(" ").encode(),
    ],
    ids="plain binary lines lines-in-JSON lines-in-YAML lines-in-URL hex".split(),
)
def test_check(data):
    """Bytes with a secret are refused, also in base64 with line breaks; the message has its kind and form only."""
    known = KnownSecrets([("ACCESS_TOKEN", Secret(TOKEN))])
    with pytest.raises(SecretLeak, match="nothing was written") as caught:
        check(b"a: 1\n" + data, known, where="The recording of GET in x.yaml")
    assert "<ACCESS_TOKEN>" in caught.value.what
    assert TOKEN not in str(caught.value)
    check(b"a: <ACCESS_TOKEN>\n", known, where="")


@pytest.mark.parametrize(
    "refuse",
    [
        lambda known: check(TOKEN.encode(), known, where=""),
        lambda known: check_compressed(gzip.compress(TOKEN.encode()), known),
        lambda known: check_utf_16(TOKEN.encode("utf-16"), known),
        lambda known: list(compressed_contents(b"PK\x03\x04" + bytes([0, 0, 1, 0, 0, 0]) + bytes(40))),
    ],
    ids="plain packed wide zip".split(),
)
def test_advice(refuse):
    """No message says to repeat the call, which was made and may have been an order."""
    with pytest.raises(SecretLeak) as caught:
        refuse(KnownSecrets([("ACCESS_TOKEN", Secret(TOKEN))]))
    assert "The call was made; the answer, if one came, is this error's `response`." in caught.value.next_step
    assert "this call" not in caught.value.next_step


MAGICS = st.sampled_from([b"", b"\x1f\x8b\x08", b"PK\x03\x04" + bytes(9), b"BZh9", b"\xfd7zXZ\x00", b"x\x9c"])
TEXT = b"a text of a report, " * 20


def gzipped(data):
    """Compress without the present time, so that the names of tests do not change."""
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
