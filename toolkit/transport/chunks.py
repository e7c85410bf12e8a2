"""The bodies of responses, chunk by chunk: read with their generator closed in time, or discarded.

A generator that is left before its end is closed later, when the event loop collects it. Until then it may hold a
connection, and under trio it cannot wait for anything any more. So each reader closes the one below it, as httpx2 does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from threading import Thread
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
    with suppress(httpx.TransportError):  # the connection broke, and is closed
        _beginning(response, _SHORT_BODY)


async def discard_async(response: httpx.Response) -> None:
    """Close a response that nobody reads; a short body is read first, so that the connection stays open."""
    with suppress(httpx.TransportError):  # the connection broke, and is closed
        await _beginning_async(response, _SHORT_BODY)


def send_and_read(transport: Any, request: httpx.Request, seconds: float, most: int) -> tuple[httpx.Response, bytes]:
    """Send a request and read the answer, within a limit in all: httpx's timeouts begin again with each byte.

    It happens on a thread of its own, because nothing else ends the wait for a header that comes in drips. After the
    limit that thread goes on until something comes, and then closes the connection.

    Returns:
        The answer, closed; and its body, undecoded. A body of more than `most` bytes is read a little further than that
        only.

    Raises:
        httpx.ReadTimeout: if the answer is not complete after so many seconds.
    """
    answer: Future[tuple[httpx.Response, bytes]] = Future()

    def work() -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            try:
                response = transport.handle_request(request)
                outcome = response, _beginning(response, most, answer.cancelled)
            except BaseException as error:  # noqa: BLE001 - for the thread that waits
                answer.set_exception(error)
            else:
                answer.set_result(outcome)

    Thread(target=copy_context().run, args=[work], name="toolkit-token-request", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        raise _too_late(seconds) from None
    finally:
        answer.cancel()


async def send_and_read_async(
    transport: Any, request: httpx.Request, seconds: float, most: int
) -> tuple[httpx.Response, bytes]:
    """Send a request and read the answer, within a limit in all; otherwise as `send_and_read`."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            response = await transport.handle_async_request(request)
            return response, await _beginning_async(response, most)
    except TimeoutError:
        raise _too_late(seconds) from None


def _beginning(response: httpx.Response, most: int, is_over: Callable[[], bool] = lambda: False) -> bytes:
    """Read an undecoded body until it ends, exceeds so many bytes or nobody waits any more; close the response."""
    stream: Any = () if response.is_stream_consumed else response.stream
    body = bytearray()
    try:
        for chunk in stream:
            body += chunk
            if len(body) > most or is_over():
                break
    finally:
        response.close()
    return bytes(body)


async def _beginning_async(response: httpx.Response, most: int) -> bytes:
    """Read an undecoded body until it ends or exceeds so many bytes; close the response."""
    body = bytearray()
    try:
        if not response.is_stream_consumed:
            async with chunks_of(response.stream) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) > most:
                        break
    finally:
        await response.aclose()
    return bytes(body)


def _too_late(seconds: float) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"The answer was not complete after {seconds:.3g} seconds.")
