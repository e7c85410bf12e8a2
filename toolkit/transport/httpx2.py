"""Conversions for clients and transports of httpx2, which large SDKs use; no other module converts them.

Internally, the toolkit uses only httpx. Objects from outside are converted by one of these:

- `answer` and `answer_async`: an httpx2 client calls one of our transports.
- `as_httpx_transport`: one of our transports uses an httpx2 transport.
- `as_httpx_error` and `classes`: our code sends requests with a client of either library.

Bodies stay streams: each chunk is passed on as it arrives. An error that an httpx2 transport raises reaches an httpx2
client as the same object; an httpx client gets the error of the same name, with the original as its cause.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Self

import httpx

from toolkit.core.errors import CassetteError, wrong_type
from toolkit.transport.flow import chunks_of

_BODY_HEADERS: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


def classes(*names: str) -> tuple[type[Any], ...]:
    """Return the classes of these names in httpx, and in httpx2 if anything has imported it."""
    httpx2 = _httpx2()
    return tuple(getattr(library, name) for library in (httpx, httpx2) if library for name in names)


def answer(request: Any, handle: Callable[[httpx.Request], httpx.Response]) -> Any:
    """Answer an httpx2 client's request with a function that answers httpx requests."""
    request.read()  # so that the client can send it again after a redirect
    with _errors_of(_httpx2(), request):
        return converted(_httpx2(), handle(converted(httpx, request)), request)


async def answer_async(request: Any, handle: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> Any:
    """Answer a request of an asynchronous httpx2 client, like `answer`."""
    await request.aread()
    with _errors_of(_httpx2(), request):
        return converted(_httpx2(), await handle(converted(httpx, request)), request)


def as_httpx_transport(transport: Any, *, is_async: bool | None = None) -> Any:
    """Return a transport for httpx requests: the one passed, or an adapter if it is an httpx2 transport.

    Args:
        transport: the transport.
        is_async: True if it has to take asynchronous calls, False for synchronous ones; None if a client decides later.

    Raises:
        ConfigurationError: if it is not a transport, or does not take such calls.
    """
    takes = {False: _has_methods(transport, "handle_request"), True: _has_methods(transport, "handle_async_request")}
    if is_async is not None and takes[not is_async] and not takes[is_async]:
        kind, session = ("an asynchronous", "Session") if is_async else ("a synchronous", "AsyncSession")
        raise wrong_type("transport", f"{kind} transport", transport, f"Pass this transport to tk.{session}.")
    if not any(takes.values()):
        raise wrong_type("transport", "a transport of httpx or httpx2", transport, "Leave it out to use the network.")
    is_httpx2 = isinstance(transport, classes("BaseTransport", "AsyncBaseTransport")) and not isinstance(
        transport, httpx.BaseTransport | httpx.AsyncBaseTransport
    )
    return _Httpx2Transport(transport) if is_httpx2 else transport


class UpperTransport:
    """A transport on top of another one, of either library; the two are entered and closed together.

    It is not derived from either library, because SDKs that use an httpx2 client refuse httpx transports.

    Args:
        below: the transport for synchronous calls.
        below_async: the transport for asynchronous calls.
    """

    def __init__(self, below: Any, below_async: Any) -> None:
        # A transport for the other kind of calls (sync or async) is neither entered nor closed.
        self._held: Any = below if _has_methods(below, "__enter__") else httpx.BaseTransport()
        self._held_async: Any = below_async if _has_methods(below_async, "__aenter__") else httpx.AsyncBaseTransport()

    def __enter__(self) -> Self:
        self._held.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.__exit__(*error)

    def close(self) -> None:
        self._held.close()

    async def __aenter__(self) -> Self:
        await self._held_async.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._held_async.__aexit__(*error)

    async def aclose(self) -> None:
        await self._held_async.aclose()


class _Httpx2Transport(UpperTransport):
    """An httpx2 transport that takes httpx requests."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport, transport)
        self._transport = transport
        self._library = _httpx2()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with _errors_of(httpx):  # without the request, which may contain credentials
            response = self._transport.handle_request(converted(self._library, request))
        return converted(httpx, response)  # type: ignore[no-any-return]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _errors_of(httpx):
            response = await self._transport.handle_async_request(converted(self._library, request))
        return converted(httpx, response)  # type: ignore[no-any-return]


def as_httpx_error(error: Any) -> Any:
    """Return the httpx error with the name and message of an httpx2 error; an httpx error is returned unchanged."""
    name = _name_in(httpx, error)
    return error if name is None else _converted_error(httpx, name, error, None)


def converted(library: Any, message: Any, request: Any = None) -> Any:
    """Return a request or response as an object of the given library, converted if necessary.

    Extensions are shared with the original, so that notes added to one are visible on the other. Errors that are raised
    while a response body is read carry `request`.
    """
    if isinstance(message, library.Request | library.Response):
        return message
    headers, stream = _body_of(library, message, request)
    if hasattr(message, "status_code"):
        result = library.Response(message.status_code, headers=headers, stream=stream)
    else:
        result = library.Request(message.method, str(message.url), headers=headers, stream=stream)
    result.extensions = message.extensions
    if isinstance(stream, library.ByteStream) and getattr(message, "is_stream_consumed", True):
        result.read()  # like the original; a transport may look at the content of a request
    return result


def _httpx2() -> Any | None:
    """Return httpx2, or None if nothing has imported it yet."""
    module = sys.modules.get("httpx2")
    return None if module is httpx else module  # both are the same module after httpx2.alias_httpx()


def _body_of(library: Any, message: Any, request: Any) -> tuple[list[tuple[bytes, bytes]], Any]:
    """Return a message's headers, and its body as a stream of `library`: still encoded and unread where possible."""
    headers = message.headers.raw
    if isinstance(message.stream, classes("ByteStream")):
        return headers, library.ByteStream(b"".join(message.stream))
    content = getattr(message, "_content", None)
    if content is None or not getattr(message, "is_stream_consumed", False):
        return headers, _stream_class(library)(message.stream, request)
    # A transport read the body, so only the decoded form is left.
    kept = [(name, value) for name, value in headers if name.lower() not in _BODY_HEADERS]
    return [*kept, (b"Content-Length", b"%d" % len(content))], library.ByteStream(content)


class _Body:
    """The body of one library's message, in a form that the other library can read; `request` is set on its errors."""

    library: Any

    def __init__(self, stream: Any, request: Any) -> None:
        self._stream = stream
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of(self.library, self._request):
            yield from self._stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of(self.library, self._request):
            async with chunks_of(self._stream) as chunks:
                async for chunk in chunks:
                    yield chunk

    def close(self) -> None:
        with _errors_of(self.library, self._request):
            self._stream.close()

    async def aclose(self) -> None:
        with _errors_of(self.library, self._request):
            await self._stream.aclose()


@cache
def _stream_class(library: Any) -> Any:
    return type("ConvertedStream", (_Body, library.SyncByteStream, library.AsyncByteStream), {"library": library})


@contextmanager
def _errors_of(library: Any, request: Any = None) -> Iterator[None]:
    """Convert errors to those of the caller's library. Without a `request`, the client sets its own on the error."""
    try:
        yield
    except CassetteError as error:
        if error.response is not None:
            error.response = _response_for(library, error.response, request)
        raise
    except Exception as error:
        name = _name_in(library, error)
        if name is None:
            raise
        original: Any = error.__cause__  # if the error was converted on its way here
        is_same = isinstance(original, getattr(library, name)) and original.args == error.args
        if is_same and not hasattr(original, "response"):
            original._request = request  # noqa: SLF001 - its own may have been sent with credentials
            raise original from original.__cause__
        raise _converted_error(library, name, error, request) from error


def _converted_error(library: Any, name: str, error: Any, request: Any) -> Any:
    """Convert an error from the other library, keeping its message, notes and other attributes."""
    kind = getattr(library, name)
    result = kind.__new__(kind, *error.args)  # constructors differ, and set nothing but `args` and these attributes
    result.__dict__.update(vars(error), _request=request)
    if "_request" in vars(error):
        error._request = request  # noqa: SLF001 - as above
    if getattr(error, "response", None) is not None:
        result.response = _response_for(library, error.response, request)
    return result


def _response_for(library: Any, response: Any, request: Any) -> Any:
    result = converted(library, response, request)
    if result is not response and request is not None:
        result.request = request
    return result


def _name_in(library: Any, error: object) -> str | None:
    """Return the name of this library's class for an error of the other library; None for any other error."""
    for kind in type(error).__mro__:
        origin = kind.__module__.partition(".")[0]
        if origin == library.__name__:
            return None
        if origin in ("httpx", "httpx2") and hasattr(library, kind.__name__):
            return kind.__name__
    return None


def _has_methods(value: object, *names: str) -> bool:
    """Check whether an object, not a class, has these methods."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)
