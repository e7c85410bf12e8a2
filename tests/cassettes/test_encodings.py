"""Bodies are opened to be checked, to their very end or not at all."""

from __future__ import annotations

import gzip
import zlib

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.cassettes.encodings import open_body
from toolkit.errors import SecretLeak


def raw_deflate(data):
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


CODINGS = {"gzip": gzip.compress, "deflate": zlib.compress, "Deflate": raw_deflate, "identity": bytes, "": bytes}


@given(st.binary(max_size=50), st.lists(st.sampled_from(sorted(CODINGS)), max_size=3))
def test_open(body, codings):
    """Every coding is undone, in one header or several, as a client undoes it."""
    encoded = body
    for coding in codings:
        encoded = CODINGS[coding](encoded)
    several = [("content-encoding", coding) for coding in codings]
    joined = [("X", "gzip"), ("Content-Encoding", " , ".join(codings))]
    assert open_body(several, encoded) == open_body(joined, encoded) == body
    if codings and encoded:
        assert httpx.Response(200, headers=joined, content=encoded).content == body


def test_without_coding_it_is_the_same_object():
    """A body without a coding is not copied."""
    body = b"x" * 100
    assert open_body([("Content-Type", "gzip")], body) is body
    assert open_body([("Content-Encoding", "identity")], body) is body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"plain"),
        ("deflate", b"plain"),
        ("gzip, deflate", gzip.compress(b"x")),
        ("gzip", gzip.compress(b"x") + gzip.compress(b"y")),
        ("gzip", gzip.compress(b"x") + b"y"),
        ("deflate", zlib.compress(b"x") + b"y"),
        ("br", b"\xff\xff\xff"),
        ("zstd", b"plain"),
        ("compress", b"plain"),
        ("aws-chunked", b"plain"),
        ("gzip, secret-sauce", gzip.compress(b"x")),
    ],
)
def test_what_cannot_be_opened_is_refused(coding, body):
    """An unknown coding, a broken one, and bytes beyond the end of a compressed body are refused."""
    with pytest.raises(SecretLeak, match="nothing was written") as caught:
        open_body([("Content-Encoding", coding)], body)
    assert "Accept-Encoding: identity" in caught.value.next_step
