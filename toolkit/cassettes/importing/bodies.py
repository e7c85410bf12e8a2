"""Bodies as other programs write them, as the bytes that were sent; and headers that fit them."""

from __future__ import annotations

import base64
import codecs
import re
import zlib
from typing import Any, Final

from toolkit.cassettes.format.decompression import MOST_BYTES, NotEncoded, TooLarge, check_decompression
from toolkit.cassettes.importing.entries import Unimportable
from toolkit.scrubbing.messages import HeaderList

_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Codecs of Python that are not character sets, or take time quadratic in the text.
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
)
_FRAMING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_MAY_LACK_CONTENT: Final = frozenset({204, 205, 304})  # RFC 9110 section 15


def may_be_empty(method: str, status: int) -> bool:
    """Check whether a response may lack a body: to HEAD, to a redirect, or by its status."""
    return method == "HEAD" or status in _MAY_LACK_CONTENT or status // 100 in (1, 3)


def text_bytes(text: str, content_type: str) -> bytes:
    """Return decoded text in the character set that the content type names, or else in UTF-8."""
    match = _CHARSET.search(content_type)
    if match is not None:
        try:
            name = codecs.lookup(match[1]).name
            if name not in _NO_CHARSETS:
                return text.encode(name)
        except (LookupError, ValueError):  # no such character set, or the text has characters that it lacks
            pass
    return text.encode("utf-8", "replace")


def base64_bytes(text: str) -> bytes:
    """Return the bytes of base64, with or without line breaks and padding.

    Raises:
        Unimportable: if it is not base64.
    """
    try:
        plain = "".join(text.split()).rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise Unimportable("its body is not valid base64") from None


def gzip_bytes(data: bytes) -> bytes:
    """Return the decompressed bytes of data in the gzip or zlib format.

    Raises:
        Unimportable: if it is malformed, or too large.
    """
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        result = decoder.decompress(data, MOST_BYTES)
    except zlib.error:
        raise Unimportable("its body is not valid gzip") from None
    if decoder.unconsumed_tail or not decoder.eof:
        raise Unimportable("its body is cut short, or too large when decompressed")
    return result


def plain_bytes(value: Any) -> bytes:
    """Return text in UTF-8, or bytes as they are.

    Raises:
        Unimportable: if it is neither.
    """
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return value
    raise Unimportable("its body is neither text nor bytes")


def fitting(headers: HeaderList, body: bytes, *, is_decoded: bool = False) -> HeaderList:
    """Return the headers of a response that fit its body.

    Content-Encoding is left out if the body is decoded, as most programs store it; Content-Length is that of the body.

    Args:
        headers: as received.
        body: as stored.
        is_decoded: whether the body is known to be decoded; otherwise that is found out.

    Raises:
        Unimportable: if the body is too large when decompressed.
    """
    try:
        check_decompression(() if is_decoded else headers, body)
    except TooLarge:
        raise Unimportable("its body is too large when decompressed") from None
    except NotEncoded:
        is_decoded = True
    dropped = _FRAMING if is_decoded else _FRAMING - {"content-encoding"}
    if not any(name.lower() in _FRAMING for name, _ in headers):
        return headers
    kept = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    return (*kept, ("Content-Length", str(len(body))))
