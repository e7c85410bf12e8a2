"""Bodies with their content encodings undone, since what cannot be opened cannot be checked for secrets."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

import httpx

from toolkit.errors import SecretLeak

_ADVICE: Final = "Send the header Accept-Encoding: identity, so that the answer comes as plain bytes."
_GZIP: Final = zlib.MAX_WBITS | 16


def open_body(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """A body with its content encodings undone; the very same object without any.

    Raises:
        SecretLeak: it cannot be opened, or not to its end.
    """
    values = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    for coding in reversed(values.lower().split(",")):
        if coding.strip() not in ("", "identity"):
            body = _opened(coding.strip(), body)
    return body


def _opened(coding: str, body: bytes) -> bytes:
    try:
        if coding == "gzip":
            return _inflated(body, _GZIP)
        if coding == "deflate":
            return _deflated(body)
        if coding in ("br", "zstd"):
            opened = httpx.Response(200, headers=[("Content-Encoding", coding)], content=body).content
            if opened != body:  # httpx hands on what it has no decoder for
                return opened
    except (zlib.error, httpx.DecodingError):
        raise SecretLeak(
            "A body cannot be decompressed to check it for secrets; nothing was written.", _ADVICE
        ) from None
    raise SecretLeak(
        "A body in an unknown content encoding cannot be checked for secrets; nothing was written.", _ADVICE
    )


def _deflated(body: bytes) -> bytes:
    try:
        return _inflated(body, zlib.MAX_WBITS)
    except zlib.error:
        return _inflated(body, -zlib.MAX_WBITS)  # many servers leave out what RFC 9110 section 8.4.1.2 asks for


def _inflated(body: bytes, window_bits: int) -> bytes:
    inflater = zlib.decompressobj(window_bits)
    opened = inflater.decompress(body) + inflater.flush()
    if inflater.unused_data:  # clients pass over what follows the end; the disk would hold it
        raise zlib.error
    return opened
