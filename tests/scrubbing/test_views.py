"""What is searched of a text: it leads back to the text, is bounded by bytes, and leaves ordinary data alone."""

from __future__ import annotations

import base64
import gzip
import json
import random
import struct
import warnings
import zlib
from urllib.parse import quote

import pytest
from bombs import bomb

from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets

CANARY = "fake-Canary4f9aQ7xKd8"


def known(*texts):
    return KnownSecrets([("API_KEY", Secret(text)) for text in texts])


def test_whole_runs():
    """Of a secret that is escaped or compressed within a code, the whole code is replaced, and nothing beside it."""
    inner = gzip.compress(b'{"note": "%s"}' % CANARY.encode(), mtime=0)
    for run in (
        base64.b64encode(inner),
        inner.hex().encode(),
        base64.b64encode(quote(CANARY * 2).encode().hex().encode()),
    ):
        data = b'{"path": "/v1/notes", "data": "' + run + b'"}'
        assert json.loads(known(CANARY).scrub(data)) == {"path": "/v1/notes", "data": "<API_KEY>"}


def test_what_grows_out_of_proportion():
    """Compressed data that grows out of all proportion is refused, whatever it holds."""
    with pytest.raises(SecretLeak, match="nothing was written"):
        known(CANARY).check(bomb(512), where="The recording of GET")
    assert known(CANARY).is_in(bomb(512))


def test_what_is_too_much(monkeypatch):
    """Past the budget the text is still searched, also where it is decompressed, and a warning says so."""
    monkeypatch.setattr("toolkit.scrubbing.compression._ALLOWANCE", 1_000)
    monkeypatch.setattr("toolkit.scrubbing.compression._MULTIPLE", 0)
    data = gzip.compress(json.dumps([f"%3C{number}%3E" for number in range(10_000)]).encode())
    with pytest.warns(UserWarning, match="too much .* to search all of it"):
        known(CANARY).check(data, where="The recording of GET")
    for hidden in (data + CANARY.encode(), gzip.compress(gzip.decompress(data) + CANARY.encode())):
        with pytest.raises(SecretLeak):
            known(CANARY).check(hidden, where="The recording of GET")


def test_pictures_and_other_binary_data_pass():
    """The pixels of a picture are not opened, and bytes that look compressed by chance cost nothing."""
    pixels = zlib.compress(bytes(80 << 20))
    chunk = b"IDAT" + pixels
    picture = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(pixels)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    rng = random.Random(4)  # noqa: S311
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (picture, base64.b64encode(picture), rng.randbytes(1 << 20)):
            known(CANARY).check(data, where="The recording of GET")
