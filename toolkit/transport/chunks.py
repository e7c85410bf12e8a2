"""The bodies of responses, chunk by chunk: read with their generator closed in time, or discarded.

A generator that is left before its end is closed later, when the event loop collects it. Until then it may hold a
connection, and under trio it cannot wait for anything any more. So each reader closes the one below it, as httpx2 does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from toolkit.transport.family import httpx

_SHORT_BODY: Final = 1 << 16  # bytes; a connection is cheaper than reading more than that for nothing


@asynccontextmanager
async def chunks_of(stream: Any) -> AsyncIterator[AsyncIterator[bytes]]:
    """Give the chunks of an asynchronous body; they end with the `async with`."""
    chunks = aiter(stream)
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def discard(response: httpx.Response) -> None:
    """Close a response that nobody reads; a short body is read first, so that the connection stays open."""
    stream: Any = response.stream
    try:
        size = 0
        for chunk in stream:
            size += len(chunk)
            if size > _SHORT_BODY:
                break
    except httpx.TransportError:
        pass  # the connection broke, and is closed
    finally:
        response.close()


async def discard_async(response: httpx.Response) -> None:
    """Close a response that nobody reads; a short body is read first, so that the connection stays open."""
    try:
        size = 0
        async with chunks_of(response.stream) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > _SHORT_BODY:
                    break
    except httpx.TransportError:
        pass  # the connection broke, and is closed
    finally:
        await response.aclose()
