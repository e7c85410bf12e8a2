"""Bodies in pieces, of either HTTP library, which note how far they were read and whether they were closed."""

from __future__ import annotations

import asyncio
import functools

import httpx


@functools.cache
def body_class(library):
    """Return the class of bodies of a library, for sync and async clients."""

    class Body(library.SyncByteStream, library.AsyncByteStream):
        """A body in pieces.

        Attributes:
            pieces: what it consists of.
            error: what is raised after the last piece, unless None.
            taken: the number of pieces that were read.
            closed: how often it was closed.
        """

        def __init__(self, pieces, error=None):
            self.pieces, self.error = pieces, error
            self.taken = self.closed = 0

        def __iter__(self):
            for piece in self.pieces:
                self.taken += 1
                yield piece
            if self.error is not None:
                raise self.error

        async def __aiter__(self):
            for piece in self:
                yield piece

        def close(self):
            self.closed += 1

        async def aclose(self):
            self.close()

    return Body


def first_pieces(transport, url, count, *, is_async, reading="lines"):
    """Return the first pieces of a streamed answer of httpx, which is then closed."""

    def read():
        with httpx.Client(transport=transport) as client, client.stream("GET", url) as response:
            pieces = getattr(response, f"iter_{reading}")()
            return [next(pieces) for _ in range(count)]

    async def read_async():
        async with httpx.AsyncClient(transport=transport) as client, client.stream("GET", url) as response:
            pieces = getattr(response, f"aiter_{reading}")()
            return [await anext(pieces) for _ in range(count)]

    return asyncio.run(read_async()) if is_async else read()
