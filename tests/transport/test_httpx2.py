"""Requests, answers and errors of httpx as those of httpx2, and the other way round."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import secrets
from types import SimpleNamespace

import httpx
import httpx2
import pytest
from bodies import body_class
from frames import with_locals
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

import toolkit as tk
from toolkit.cassettes.format.interactions import FAILURES
from toolkit.core.errors import SecretLeak, Unreachable
from toolkit.transport.httpx2 import as_httpx_transport, converted

EITHER = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
BOTH_WAYS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
URL = "https://h.example/a"


def service_of(library, answer=None):
    """Return a transport of a library that answers what it was asked; `seen` holds the requests."""
    seen = []

    def echo(request):
        seen.append(request)
        if answer is not None:
            return answer(request)
        content = json.dumps({"method": request.method, "url": str(request.url), "body": request.content.decode()})
        return library.Response(200, headers={"X-Twice": "1"}, stream=body_class(library)([content.encode()]))

    transport = library.MockTransport(echo)
    transport.seen = seen
    return transport


def send(library, transport, method="GET", url=URL, *, is_async=False, **options):
    """Send a request with a client of a library; return the response with its body read."""
    if not is_async:
        with library.Client(transport=transport) as client:
            return client.request(method, url, **options)

    async def sending():
        async with library.AsyncClient(transport=transport) as client:
            return await client.request(method, url, **options)

    return asyncio.run(sending())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "either.yaml"


@BOTH_WAYS
@EITHER
@pytest.mark.parametrize("below", [httpx, httpx2], ids=["httpx-below", "httpx2-below"])
def test_each_client_gets_its_own_types(path, library, below, is_async):
    """A client and the transport below the cassette each see their own library, while recording and in replay."""
    service = service_of(below)
    options = {"params": {"q": "a b&c"}, "json": {"size": 1}, "is_async": is_async, "timeout": 7}
    with tk.Cassette(path) as cassette:
        recorded = send(library, cassette.transport(service), "POST", **options)
    with tk.Cassette(path, "none", strict=True) as cassette:
        replayed = send(library, cassette.transport(), "POST", **options)
    for response in (recorded, replayed):
        assert type(response) is library.Response
        assert type(response.request) is library.Request
        assert response.headers["x-twice"] == "1"
        assert response.json() == {"method": "POST", "url": f"{URL}?q=a+b%26c", "body": '{"size":1}'}
        assert response.elapsed.total_seconds() >= 0
    (request,) = service.seen
    assert type(request) is below.Request
    assert request.extensions["timeout"]["read"] == 7


def test_it_is_neither_librarys_class(path):
    """An SDK that brings httpx2 may refuse whatever is made of a class of httpx, and the other way round."""
    modules = {kind.__module__.partition(".")[0] for kind in type(tk.Cassette(path).transport()).__mro__}
    assert not modules & {"httpx", "httpx2"}


def test_the_recording_does_not_tell_the_library(tmp_path):
    """A cassette is the same, whichever library recorded it and whichever sent the request."""
    texts = []
    for number, (library, below) in enumerate([(a, b) for a in (httpx, httpx2) for b in (httpx, httpx2)]):
        cassette = tk.Cassette(tmp_path / f"{number}.yaml")
        send(library, cassette.transport(service_of(below)), headers={"User-Agent": "x", "Accept-Encoding": "gzip"})
        lines = cassette.path.read_text().splitlines()
        texts.append([line for line in lines if not line.lstrip().startswith(("recorded_at:", "elapsed:"))])
    assert all(text == texts[0] for text in texts)


TOKENS = st.text("abcXYZ019-", min_size=1, max_size=8)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)
HEADERS = st.lists(st.tuples(TOKENS, VALUES).map(lambda pair: (pair[0].encode(), pair[1].encode())), max_size=5)
BODIES = st.lists(st.binary(max_size=20), max_size=4)


def parts(message):
    """Return what a message consists of, in values that both libraries share."""
    if hasattr(message, "status_code"):
        return message.status_code, message.headers.raw, b"".join(message.stream), message.extensions
    return message.method, str(message.url), message.headers.raw, b"".join(message.stream), message.extensions


@given(
    method=TOKENS,
    target=st.text("abZ09/%2Ff?&=+'\"~ .;:@|[]{}<>^`\\é€😀", max_size=16),
    headers=HEADERS,
    body=BODIES,
    is_whole=st.booleans(),
)
def test_there_and_back(method, target, headers, body, is_whole):
    """A request and a response have the same parts in httpx2, and again on the way back."""

    def content():
        return httpx.ByteStream(b"".join(body)) if is_whole else body_class(httpx)(body)

    url = httpx.URL(f"https://user:pa%20ss@h.example:8443/{target}")
    extensions = {"timeout": {"read": 3.0}}
    for make in (
        lambda: httpx.Request(method, url, headers=headers, stream=content(), extensions=extensions),
        lambda: httpx.Response(200, headers=headers, stream=content(), extensions=extensions),
    ):
        there, again = converted(httpx2, make()), converted(httpx, converted(httpx2, make()))
        assert isinstance(there, httpx2.Request | httpx2.Response)
        assert parts(there) == parts(again) == parts(make())
        assert isinstance(again.stream, httpx.ByteStream) is is_whole  # such a request can be sent again
        assert converted(httpx, again) is again


@BOTH_WAYS
@pytest.mark.parametrize("name", sorted(FAILURES))
def test_failures_of_the_network(path, name, is_async):
    """A failure below is recorded and replayed, and each client gets it as an error, or the one, of its own."""
    kind, raised = getattr(httpx2, name), []

    def fail(request):
        raised.append(kind("it broke", request=request))
        raise raised[-1]

    for library, mode in ((httpx, "all"), (httpx2, "all"), (httpx, "none"), (httpx2, "none")):
        below = None if mode == "none" else service_of(httpx2, fail)
        with tk.Cassette(path, mode) as cassette, pytest.raises(getattr(library, name), match="it broke") as caught:
            send(library, cassette.transport(below), is_async=is_async)
        assert type(caught.value.request) is library.Request
        assert (caught.value is raised[-1]) == (library is httpx2 and mode == "all")


@EITHER
def test_a_status_error_carries_its_response(path, library):
    """A transport that raises for a status gives an error with request and response of the client's own."""

    def refuse(request):
        return httpx2.Response(503, json={"why": "busy"}, request=request).raise_for_status()

    with pytest.raises(library.HTTPStatusError, match="503") as caught:
        send(library, tk.Cassette(path).transport(service_of(httpx2, refuse)))
    assert type(caught.value.response) is library.Response
    assert caught.value.response.json() == {"why": "busy"}
    if library is httpx2:
        assert caught.value.response.request is caught.value.request
        assert caught.value.__cause__ is not None  # the transport's own error, whose request may have credentials


@BOTH_WAYS
def test_a_leak_shows_the_response(path, is_async):
    """The response that could not be recorded is of the client's library."""
    packed = gzip.compress(b"x" * 100)[:-9]

    def answer(_request):
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return httpx.Response(200, headers=headers, stream=body_class(httpx)([packed]))

    with pytest.raises(SecretLeak) as caught:
        send(httpx2, tk.Cassette(path).transport(service_of(httpx, answer)), is_async=is_async)
    assert type(caught.value.response) is httpx2.Response
    assert str(caught.value.response.request.url) == URL


@BOTH_WAYS
@EITHER
def test_bodies_are_streams(path, library, is_async):
    """Parts pass as they come; a stream is closed once, cannot be read twice, and its errors are the client's."""
    body = body_class(httpx2)([b"one", b"two"], httpx2.ReadError("it broke off"))
    service = service_of(httpx2, lambda _request: httpx2.Response(200, stream=body))
    transport, got = tk.Cassette(path).transport(service), []

    def reading():
        with library.Client(transport=transport) as client, client.stream("GET", URL) as response:
            got.extend(response.iter_raw())

    async def reading_async():
        async with library.AsyncClient(transport=transport) as client, client.stream("GET", URL) as response:
            async for part in response.aiter_raw():
                got.append(part)  # noqa: PERF401 - those before the error count

    with pytest.warns(UserWarning, match="not recorded"), pytest.raises(library.ReadError, match="it broke off"):
        asyncio.run(reading_async()) if is_async else reading()
    assert got == [b"one", b"two"]
    assert body.closed == 1
    with (
        library.Client(transport=tk.Cassette(path).transport(service_of(httpx))) as client,
        client.stream("GET", URL) as response,
    ):
        list(response.iter_raw())
        with pytest.raises(library.StreamConsumed):
            list(response.iter_raw())


@EITHER
@pytest.mark.parametrize("below", [httpx, httpx2], ids=["httpx-below", "httpx2-below"])
def test_bodies_are_left_at_once(path, library, below):
    """When a reader leaves an asynchronous body, all generators below end then, not when the loop collects them."""
    ended = []

    class Endless(below.AsyncByteStream):
        async def __aiter__(self):
            try:
                while True:
                    yield b"{}"
            finally:
                await asyncio.sleep(0)
                ended.append(True)

    transport = tk.Cassette(path).transport(service_of(below, lambda _request: below.Response(200, stream=Endless())))

    async def leave():
        response = await transport.handle_async_request(library.Request("GET", URL))
        async with contextlib.aclosing(aiter(response.stream)) as chunks:
            assert await anext(chunks) == b"{}"
        assert ended == [True]
        await response.aclose()

    with pytest.warns(UserWarning, match="not recorded"):
        asyncio.run(leave())


@BOTH_WAYS
def test_a_request_that_comes_in_parts(path, is_async):
    """The body of a generator is sent whole, and again after a redirect, as without a cassette."""

    def answer(request):
        where = "/b" if request.url.path == "/a" else None
        return httpx.Response(307 if where else 200, headers={"Location": where or ""}, content=request.content)

    def numbers():
        yield b"12"
        yield b"34"

    async def numbers_async():
        yield b"12"
        yield b"34"

    content = numbers_async() if is_async else numbers()
    transport = tk.Cassette(path).transport(service_of(httpx, answer))
    response = send(httpx2, transport, "POST", is_async=is_async, content=content, follow_redirects=True)
    assert response.content == b"1234"
    assert [type(earlier) for earlier in response.history] == [httpx2.Response]


def test_a_response_that_its_transport_read(path):
    """A compressed response that a transport has read already, perhaps to log it, arrives decoded."""

    class Reading(httpx2.BaseTransport):
        def handle_request(self, _request):
            packed = body_class(httpx2)([gzip.compress(b"[1, 2]")])
            response = httpx2.Response(200, headers={"Content-Encoding": "gzip", "X-A": "1"}, stream=packed)
            response.read()
            return response

    for mode in ("once", "none"):
        with tk.Cassette(path, mode) as cassette:
            response = send(httpx, cassette.transport(Reading() if mode == "once" else None))
        assert response.json() == [1, 2]
        assert response.headers["x-a"] == "1"
        assert "content-encoding" not in response.headers


@EITHER
def test_extensions(path, library):
    """The version and the reason of a response arrive, live and replayed; a trace function is called."""
    extensions = {"http_version": b"HTTP/2", "reason_phrase": b"Fine"}
    traced = []

    def answer(request):
        request.extensions["trace"]("sent", {})
        return httpx2.Response(200, stream=body_class(httpx2)([b"{}"]), extensions=extensions)

    for mode in ("once", "none"):
        with tk.Cassette(path, mode) as cassette:
            transport = cassette.transport(service_of(httpx2, answer))
            response = send(library, transport, extensions={"trace": lambda event, _info: traced.append(event)})
        assert (response.http_version, response.reason_phrase) == ("HTTP/2", "Fine")
    assert traced == ["sent"]


def test_a_transport_that_reads_the_request(path):
    """A transport of httpx2 finds the body of a request read, as its own clients leave it."""

    class Reading(httpx2.BaseTransport):
        def handle_request(self, request):
            return httpx2.Response(200, content=request.content)

    with tk.Cassette(path) as cassette:
        assert send(httpx, cassette.transport(Reading()), "POST", content=b"body").content == b"body"


@BOTH_WAYS
@EITHER
def test_the_transport_below_is_entered_and_closed(path, library, is_async):
    """A client enters, leaves and closes the transport below a cassette; one of neither library is left as it is."""
    seen = []

    class Below(library.MockTransport):
        def __enter__(self):
            seen.append("enter")
            return self

        def __exit__(self, *error):
            seen.append(error)

        def close(self):
            seen.append("close")

        async def __aenter__(self):
            return self.__enter__()

        async def __aexit__(self, *error):
            self.__exit__(*error)

        async def aclose(self):
            self.close()

    below = Below(lambda _: library.Response(200))
    send(httpx, tk.Cassette(path).transport(below), is_async=is_async)
    assert seen == ["enter", (None, None, None)]
    transport = as_httpx_transport(below)
    asyncio.run(transport.aclose()) if is_async else transport.close()
    assert seen[-1] == "close"
    for other in (SimpleNamespace(handle_request=print), httpx.MockTransport(print)):
        assert as_httpx_transport(other) is other


@BOTH_WAYS
def test_a_transport_for_the_other_kind_of_calls(is_async):
    """It is refused, and the error names the session that takes it."""
    method, session = ("handle_request", "Session") if is_async else ("handle_async_request", "AsyncSession")
    with pytest.raises(tk.ConfigurationError, match=rf"Pass this transport to tk\.{session}"):
        as_httpx_transport(SimpleNamespace(**{method: print}), is_async=is_async)


@BOTH_WAYS
def test_a_session_above_the_other_library(settings, make_credentials, is_async):
    """A session's calls, tokens and retries work through a transport of httpx2; errors show no secret."""
    asked, token = [], secrets.token_urlsafe(24)

    def answer(request):
        asked.append((request.url.path, request.headers.get("authorization")))
        if request.url.path.endswith("/token"):
            return httpx2.Response(200, json={"access_token": token, "expires_in": 800, "token_type": "Bearer"})
        if len(asked) < 4:
            raise httpx2.ConnectError("no way", request=request)
        if len(asked) == 5:
            return httpx2.Response(200, stream=body_class(httpx2)([b"["], httpx2.ReadError("cut off", request=request)))
        return httpx2.Response(200, json=[{"id": "1"}])

    kind = tk.AsyncSession if is_async else tk.Session
    session = kind(
        credentials=make_credentials("broker-sandbox"),
        settings=settings,
        transport=service_of(httpx2, answer),
        retry=tk.Retry(tries=2, within=60),
        clock=ManualClock(),
    )

    def get():
        return asyncio.run(session.broker.get("/v1/accounts")) if is_async else session.broker.get("/v1/accounts")

    with pytest.raises(httpx.ConnectError) as caught:
        get()
    assert [authorization for _, authorization in asked] == [None, f"Bearer {token}", f"Bearer {token}"]
    assert "authorization" not in caught.value.request.headers
    assert caught.value.__cause__._request is None  # it had the credentials
    frames = caught.value.__traceback__.tb_next  # without the frame of this test
    assert token not in with_locals(caught.value.with_traceback(frames))
    response = get()
    assert type(response) is httpx.Response
    assert "authorization" not in response.request.headers
    with pytest.raises(httpx.ReadError, match="cut off") as caught:
        get()
    errors = caught.value, caught.value.__cause__
    assert all("authorization" not in error._request.headers for error in errors if error._request is not None)


def test_tables_and_pages_of_either():
    """tabulate and pages take responses and clients of httpx2, for `for` and for `async for`."""

    def answer(request):
        if request.url.path == "/gone":
            raise httpx2.ConnectError("no", request=request)
        number = int(request.url.params.get("page", 1))
        headers = {"Link": f'<{URL}?page={number + 1}>; rel="next"'} if number < 3 else {}
        return httpx2.Response(200, headers=headers, json=[{"id": number}])

    service = service_of(httpx2, answer)
    client, client_async = httpx2.Client(transport=service), httpx2.AsyncClient(transport=service)

    async def all_pages():
        return [page async for page in tk.pages(client_async, URL)]

    assert list(tk.tabulate(tk.pages(client, URL))["id"]) == [1, 2, 3]
    pages = asyncio.run(all_pages())
    assert {type(page) for page in pages} == {httpx2.Response}
    assert list(tk.tabulate(pages)["id"]) == [1, 2, 3]
    assert list(tk.tabulate(pages[0])["id"]) == [1]
    with pytest.raises(Unreachable, match=r"h\.example cannot be reached"):
        list(tk.pages(client, "https://h.example/gone"))
