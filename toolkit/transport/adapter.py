"""Requests, answers and errors of httpx as those of httpx2, and the other way round.

The process has one family of its own (see `family`). A client of the other family that is given a transport of ours
gets answers in its own types, and a transport of the other family below ours gets requests in its types.

- `answering` wraps a flow, so that its answers and errors are of the same family as the request.
- `as_own_transport` wraps a transport of the other family.
- `in_family` converts a single request or response.

Bodies stay streams: each part is passed on as it comes, and an error on the way is converted as well.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Self

from toolkit.core.arguments import has_methods, wrong_type
from toolkit.core.errors import CassetteError
from toolkit.transport.chunks import chunks_of
from toolkit.transport.family import FAMILIES, httpx, of_either, other_family
from toolkit.transport.flow import Flow, Read, Send, run, run_async

_BODY_HEADERS: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


def family_of(value: object, *names: str) -> Any | None:
    """Return the library whose class of one of these names a value is an instance of; None if it is neither's."""
    for family in (httpx, other_family()):
        if family is not None and isinstance(value, tuple([getattr(family, name) for name in names])):
            return family
    return None


def answering(request: Any, flow: Callable[[Any], Flow[Any]]) -> Flow[Any]:
    """Return the flow of a call whose request is of either family; its answer and its errors are of the same one.

    Args:
        request: the request of a client.
        flow: answers a request of either family, with a response of either. The request's body has been read if it is
            of the other family, so that its client can send it again after a redirect.
    """
    theirs = None if isinstance(request, httpx.Request) else family_of(request, "Request")
    return flow(request) if theirs is None else _answering(request, flow, theirs)


def _answering(request: Any, flow: Callable[[Any], Flow[Any]], theirs: Any) -> Flow[Any]:
    yield Read(request)
    with _errors_of(theirs, request):
        response = yield from flow(request)
    return in_family(theirs, response, request)


class UpperTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport over another one, which a client enters and closes with it.

    Args:
        below: the transport for synchronous calls, of either family.
        below_async: the transport for asynchronous calls; by default the same.
    """

    def __init__(self, below: Any, below_async: Any = None) -> None:
        below_async = below if below_async is None else below_async
        # One for the other kind of calls is neither entered nor closed.
        self._held = below if isinstance(below, of_either("BaseTransport")) else httpx.BaseTransport()
        is_async = isinstance(below_async, of_either("AsyncBaseTransport"))
        self._held_async = below_async if is_async else httpx.AsyncBaseTransport()

    def __enter__(self) -> Self:
        self._held.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.__exit__(*error)  # type: ignore[arg-type]

    def close(self) -> None:
        self._held.close()

    async def __aenter__(self) -> Self:
        await self._held_async.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._held_async.__aexit__(*error)  # type: ignore[arg-type]

    async def aclose(self) -> None:
        await self._held_async.aclose()


class AdaptedTransport(UpperTransport):
    """A transport of the other family, for requests of the process's own.

    Args:
        transport: the transport.
        theirs: its family.
    """

    def __init__(self, transport: Any, theirs: Any) -> None:
        super().__init__(transport)
        self._transport = transport
        self._theirs = theirs

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return run(self._send(request), self._transport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await run_async(self._send(request), self._transport)

    def _send(self, request: httpx.Request) -> Flow[httpx.Response]:
        with _errors_of(httpx):  # without the request, which may hold credentials
            response = yield Send(in_family(self._theirs, request))
        converted: httpx.Response = in_family(httpx, response)
        return converted


def as_own_transport(transport: Any, *, is_async: bool | None = None) -> Any:
    """Return a transport that takes requests of the process's family, for a transport of either.

    Args:
        transport: the transport.
        is_async: the calls that it has to take, True for asynchronous ones; None if a client decides that later.

    Raises:
        ConfigurationError: if it is not a transport, or not one for such calls.
    """
    takes = {False: has_methods(transport, "handle_request"), True: has_methods(transport, "handle_async_request")}
    if is_async is not None and takes[not is_async] and not takes[is_async]:
        kind, session = ("an asynchronous", "Session") if is_async else ("a synchronous", "AsyncSession")
        raise wrong_type("transport", f"{kind} transport", transport, f"tk.{session} takes this one.")
    if isinstance(transport, httpx.BaseTransport | httpx.AsyncBaseTransport):
        return transport
    theirs = family_of(transport, "BaseTransport", "AsyncBaseTransport")
    if theirs is not None:
        return AdaptedTransport(transport, theirs)
    if any(takes.values()):
        return transport
    raise wrong_type("transport", "a transport of httpx or httpx2", transport, "Leave it out for the network.")


def in_family(family: Any, message: Any, request: Any = None) -> Any:
    """Return a request or response as one of a family; as it is if it belongs to that family already.

    Extensions are shared with the original, so that a note on either is a note on both.

    Args:
        family: the library, httpx or httpx2.
        message: the request or response.
        request: of a response, the request that it answers, for errors while its body is read.
    """
    if isinstance(message, (family.Request, family.Response)):
        return message
    if hasattr(message, "status_code"):
        headers, stream = _body_of(family, message, request)
        converted = family.Response(message.status_code, headers=headers, stream=stream)
    else:
        _, stream = _body_of(family, message, None)
        url = _url_of(family, message.url)
        converted = family.Request(message.method, url, headers=message.headers.raw, stream=stream)
        if isinstance(stream, family.ByteStream):
            converted.read()  # as for a client's own request
    converted.extensions = message.extensions
    return converted


def _url_of(family: Any, url: Any) -> Any:
    """Return a URL as one of a family.

    Both keep the parts of a URL in a tuple of the same fields. Parsing it again takes half as long as a replayed call
    (50 microseconds against 2, measured).
    """
    kind, parts = _url_parts(family), getattr(url, "_uri_reference", None)
    if kind is None or getattr(parts, "_fields", None) != kind._fields:
        return family.URL(str(url))
    converted = family.URL.__new__(family.URL)
    converted._uri_reference = kind._make(parts)  # noqa: SLF001
    return converted


@cache
def _url_parts(family: Any) -> Any | None:
    """Return the class of the tuple in which a family keeps the parts of a URL, or None if it keeps them otherwise."""
    kind = type(getattr(family.URL(), "_uri_reference", None))
    return kind if hasattr(kind, "_make") else None


def _body_of(family: Any, message: Any, request: Any) -> tuple[list[tuple[bytes, bytes]], Any]:
    """Return the headers and the body of a message for a family, the body as it is sent: encoded, and unread."""
    headers = message.headers.raw
    if isinstance(message.stream, of_either("ByteStream")):
        return headers, family.ByteStream(b"".join(message.stream))
    content = getattr(message, "_content", None)
    if content is None or not getattr(message, "is_stream_consumed", False):
        return headers, _stream_class(family)(message.stream, request)
    # A transport read the body, so only the decoded form is left.
    kept = [(name, value) for name, value in headers if name.lower() not in _BODY_HEADERS]
    return [*kept, (b"Content-Length", b"%d" % len(content))], family.ByteStream(content)


class _Body:
    """The body of a message of one family, as the other reads it.

    Args:
        stream: the body.
        request: the request that it answers, for errors; None for the body of a request.
    """

    family: Any

    def __init__(self, stream: Any, request: Any) -> None:
        self._stream = stream
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of(self.family, self._request):
            yield from self._stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of(self.family, self._request):
            async with chunks_of(self._stream) as chunks:
                async for chunk in chunks:
                    yield chunk

    def close(self) -> None:
        with _errors_of(self.family, self._request):
            self._stream.close()

    async def aclose(self) -> None:
        with _errors_of(self.family, self._request):
            await self._stream.aclose()


@cache
def _stream_class(family: Any) -> Any:
    """Return the class of bodies that a family takes for its own, in sync and in async clients."""
    return type("AdaptedStream", (_Body, family.SyncByteStream, family.AsyncByteStream), {"family": family})


@contextmanager
def _errors_of(family: Any, request: Any = None) -> Iterator[None]:
    """Raise errors of the other family as those of this one; the original is the cause.

    An error that was converted below from one of this family is raised as that one again.

    Args:
        family: the library whose errors the caller knows.
        request: the request of that family which they are about; without it they have none, and a client sets its own.
    """
    try:
        yield
    except CassetteError as error:
        if error.response is not None:
            error.response = _answer_of(family, error.response, request)
        raise
    except Exception as error:
        name = _name_in_family(family, error)
        if name is None:
            raise
        kind, original = getattr(family, name), error.__cause__
        if isinstance(original, kind) and original.args == error.args and not hasattr(original, "response"):
            vars(original)["_request"] = request
            raise original from original.__cause__
        raise _converted(kind, error, request) from error


def _converted(kind: type[Any], error: Any, request: Any) -> Any:
    """Return an error of a kind, with the message, notes and other attributes of an error of the other family."""
    converted = kind.__new__(kind, *error.args)  # constructors differ, and set nothing but `args` and these attributes
    converted.__dict__.update(vars(error), _request=request)
    if "_request" in vars(error):
        error._request = request  # noqa: SLF001 - its own may have been sent with credentials
    if getattr(error, "response", None) is not None:
        converted.response = _answer_of(sys.modules[kind.__module__], error.response, request)
    return converted


def _answer_of(family: Any, response: Any, request: Any) -> Any:
    """Return the response that an error carries, with its body read if it was read."""
    converted = in_family(family, response, request)
    if converted is not response:
        if request is not None:
            converted.request = request
        if getattr(response, "_content", None) is not None:
            converted.read()
    return converted


def _name_in_family(family: Any, error: object) -> str | None:
    """Return the class that an error of the other family has in this one; None for errors of this one and any other."""
    for kind in type(error).__mro__:
        library = kind.__module__.partition(".")[0]
        if library == family.__name__:
            return None
        if library in FAMILIES and hasattr(family, kind.__name__):
            return kind.__name__
    return None
