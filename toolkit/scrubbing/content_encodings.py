"""Decompress bodies to search them for secrets; a body that cannot be decompressed is not recorded.

The size is capped: a body that grows out of proportion is refused, whatever its content encoding.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.normal_form import is_text

_LARGEST_BODY: Final = 64 << 20  # bytes
_LARGEST_RATIO: Final = 250  # of decompressed to compressed size; text has 5 to 50
_ALWAYS_ALLOWED: Final = 4 << 20  # bytes, whatever the ratio
_STEP: Final = 1 << 20
# The call was made and may have been an order, so no message advises to repeat it.
AFTER_THE_CALL: Final = "The call was made; its answer, if any, is this error's `response`. For the next call:"
_ADVICE: Final = f"{AFTER_THE_CALL} send the header Accept-Encoding: identity, so that it comes as plain bytes."
_GZIP: Final = zlib.MAX_WBITS | 16


class NotInstalled(Exception):
    """The package that decompresses this content encoding is not installed."""


class Broken(Exception):
    """The data is malformed or cut short."""


def decompress_body(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """Return a body with its content encodings undone, or the same object if it has none.

    An unknown content encoding on a body that is evidently text is ignored, as clients do: some servers name a
    charset or an upload protocol there.

    Raises:
        SecretLeak: if the body cannot be decompressed to its end, or is too large when decompressed.
    """
    values = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    if not values or not body:
        return body
    for coding in reversed(values.lower().split(",")):
        if coding.strip() not in ("", "identity"):
            body = _decompressed(coding.strip(), body)
    return body


def _decompressed(coding: str, body: bytes) -> bytes:
    decompress = DECOMPRESSORS.get(coding)
    if decompress is None and is_text(body):
        return body
    if decompress is not None:
        try:
            return capped(decompress(body), len(body))
        except NotInstalled:
            pass
        except (Broken, zlib.error):
            raise SecretLeak(
                "A body cannot be decompressed to check it for secrets; nothing was written.", _ADVICE
            ) from None
    raise SecretLeak(
        "A body in an unknown content encoding cannot be checked for secrets; nothing was written.", _ADVICE
    )


def capped(chunks: Iterable[bytes], packed: int) -> bytes:
    """Join the chunks, up to a limit.

    Args:
        chunks: the decompressed data.
        packed: size of the compressed data in bytes, which decides the limit.

    Raises:
        SecretLeak: if they exceed the limit.
    """
    limit = min(_LARGEST_BODY, max(_ALWAYS_ALLOWED, packed * _LARGEST_RATIO))
    parts, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise SecretLeak(
                f"A compressed body has more than {limit >> 20} MiB when decompressed, too much to check for secrets; "
                "nothing was written.",
                f"{AFTER_THE_CALL} ask for less at a time, or make it without a cassette.",
            )
        parts.append(chunk)
    return b"".join(parts)


def inflated(body: bytes | memoryview, window_bits: int, *, is_whole: bool = True) -> Iterator[bytes]:
    """Decompress a body with zlib, in steps.

    Args:
        body: the compressed data.
        window_bits: as `zlib.decompressobj` takes it.
        is_whole: True if data after the end is an error; clients ignore it, but it would be written to disk.

    Raises:
        zlib.error: if the body is malformed or cut short.
    """
    inflater = zlib.decompressobj(window_bits)
    data: bytes | memoryview = body
    while not inflater.eof:
        chunk = inflater.decompress(data, _STEP)
        data = inflater.unconsumed_tail
        if not chunk and not inflater.eof:
            raise zlib.error
        yield chunk
    if is_whole and inflater.unused_data:
        raise zlib.error


def _deflated(body: bytes) -> Iterator[bytes]:
    try:
        zlib.decompressobj(zlib.MAX_WBITS).decompress(body, 1)
    except zlib.error:  # many servers leave out the zlib header that RFC 9110 section 8.4.1.2 demands
        return inflated(body, -zlib.MAX_WBITS)
    return inflated(body, zlib.MAX_WBITS)


def _brotli(body: bytes) -> Iterator[bytes]:
    try:
        import brotli  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        try:
            import brotlicffi as brotli  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            raise NotInstalled from None
    decoder = brotli.Decompressor()
    try:
        yield from _brotli_steps(decoder, body)
    except brotli.error:
        raise Broken from None
    if not decoder.is_finished():
        raise Broken


def _brotli_steps(decoder: Any, body: bytes) -> Iterator[bytes]:
    if not hasattr(decoder, "can_accept_more_data"):  # before 2025: small steps grow the least
        for start in range(0, len(body), 64):
            yield decoder.process(body[start : start + 64])
        return
    yield decoder.process(body, output_buffer_limit=_STEP)
    while not decoder.is_finished():
        chunk = decoder.process(b"", output_buffer_limit=_STEP)
        if not chunk:
            return
        yield chunk


def zstd_decompressed(body: bytes | memoryview) -> Iterator[bytes]:
    """Decompress a body of one or more Zstandard frames, in steps."""
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise NotInstalled from None
    while body:
        decoder = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj(write_size=_STEP)
        try:
            for start in range(0, len(body), 1024):
                yield decoder.decompress(body[start : start + 1024])
                if decoder.eof:
                    body = decoder.unused_data + bytes(body[start + 1024 :])
                    break
            else:
                raise Broken
        except zstandard.ZstdError:
            raise Broken from None


DECOMPRESSORS: Final[dict[str, Callable[[bytes], Iterator[bytes]]]] = {
    "gzip": lambda body: inflated(body, _GZIP),
    "x-gzip": lambda body: inflated(body, _GZIP),
    "deflate": _deflated,
    "br": _brotli,
    "zstd": zstd_decompressed,
}
