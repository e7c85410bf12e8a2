"""Bodies are decompressed to their end, or refused."""

from __future__ import annotations

import gzip
import zlib
from functools import partial

import brotli
import httpx
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber


def raw_deflate(data):
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def gzipped(data):
    """Compress without the present time, so that the names of tests do not change."""
    return gzip.compress(data, mtime=0)


CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": partial(brotli.compress, quality=1),  # the best quality takes half a minute
    "zstd": zstandard.ZstdCompressor().compress,
    "identity": bytes,
    "": bytes,
}
OPENED = sorted({*CODINGS} - {"zstd"})  # of which httpx does not open an empty body


@given(st.binary(max_size=50), st.lists(st.sampled_from(OPENED), max_size=3))
def test_open(body, codings):
    """Every content encoding is undone, in one header or several, as a client does."""
    encoded = body
    for coding in codings:
        encoded = CODINGS[coding](encoded)
    several = [("content-encoding", coding) for coding in codings]
    joined = [("X", "gzip"), ("Content-Encoding", " , ".join(codings))]
    assert decompress_body(several, encoded) == decompress_body(joined, encoded) == body
    if codings and encoded:
        assert httpx.Response(200, headers=joined, content=encoded).content == body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"plain"),
        ("deflate", b"plain"),
        ("gzip, deflate", gzipped(b"x")),
        ("gzip", gzipped(b"x") + gzipped(b"y")),
        ("gzip", gzipped(b"x") + b"y"),
        ("deflate", zlib.compress(b"x") + b"y"),
        ("br", b"\xff\xff\xff"),
        *((coding, CODINGS[coding](b"a text of a report")[:-3]) for coding in ("br", "zstd")),
        *((coding, CODINGS[coding](b"a text of a report") + b"more") for coding in ("br", "zstd")),
        ("zstd", b"plain"),
        ("gzip", gzipped(b"x" * 100)[:-3]),
        ("compress", b"\x1f\x9d\x90x"),
        ("aws-chunked", b"\x00plain"),
        ("secret-sauce", b"\xff"),
        ("gzip, secret-sauce", gzipped(b"x")),
    ],
)
def test_broken_bodies(coding, body):
    """An unknown encoding, malformed data, and bytes beyond the end of a compressed body are refused."""
    with pytest.raises(SecretLeak, match="nothing was written") as caught:
        decompress_body([("Content-Encoding", coding)], body)
    assert "Accept-Encoding: identity" in caught.value.next_step
    assert "The call was made" in caught.value.next_step
    request = RecordedRequest("POST", "https://h.example/a", (("Content-Encoding", coding),), body)
    assert Scrubber(KnownSecrets()).lookup_request(request) == request


@pytest.mark.parametrize("coding", ["utf-8", "aws-chunked", "none", "secret-sauce", "compress"])
def test_text_in_an_unknown_encoding(coding):
    """Text that is evidently not encoded is taken as it is, as clients do."""
    for body in (b'{"a": 1}', "añb\n\t".encode()):
        assert decompress_body([("Content-Encoding", coding)], body) is body


@pytest.mark.parametrize("coding", ["gzip", "deflate", "Deflate", "br", "zstd"])
def test_bombs(coding):
    """A body that grows out of proportion is refused; a large body, and one that shrinks well, are not."""
    compress = CODINGS[coding]
    assert len(decompress_body([("Content-Encoding", coding)], compress(bytes(3 << 20)))) == 3 << 20
    with pytest.raises(SecretLeak, match="when decompressed"):
        decompress_body([("Content-Encoding", coding)], compress(bytes(100 << 20)))
