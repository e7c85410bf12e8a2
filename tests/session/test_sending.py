"""The way of a request through a session: scope, cassette, credentials, retry; and what is remembered of it."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import pickle
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, quote

import httpx
import pytest

import toolkit
from toolkit.auth.authorizers import KeyPairAuthorizer, TokenAuthorizer
from toolkit.auth.credentials import KeyPair
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.replay.matching import Identity
from toolkit.core.addresses import Address
from toolkit.core.clock import ManualClock
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.errors import (
    AccessError,
    CredentialsMismatch,
    TokenError,
    TokenRefused,
    TokenResponseInvalid,
    Unreachable,
    UnsafeAddress,
)
from toolkit.core.ledger import TRAFFIC
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.session.scope import Scope
from toolkit.session.sending import InterfaceTransport, Sender
from toolkit.session.token_requests import TokenExchange
from toolkit.transport.flow import Read, WhichLoop

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
ADDRESS = "https://broker.example.com"
AUTH = Address.parse("https://auth.example.com", setting="auth")
URL = f"{ADDRESS}/v1/accounts"
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


class Way:
    """A sender with one set of credentials on a service within this process, and clients on it."""

    def __init__(self, credentials, service, *, cassette=None, store=None):
        self.credentials, self.service = credentials, service
        self.clock = ManualClock(START)
        self.known = cassette.scrubber.known if cassette else KnownSecrets()
        for kind, secret in credentials.secrets():
            self.known.add(kind, secret)
        self.store = store or MemoryTokenStore()
        self.scope = Scope(
            Interface.BROKER,
            own=Address.parse(ADDRESS, setting="broker"),
            symbolic=symbolic_address("broker_sandbox"),
            header_prefix="SVC",
        )
        self.sender = Sender(
            clock=self.clock,
            cassette=cassette,
            identity=Identity(credentials.environment, credentials.name),
            known=self.known,
            make_authorizer=self.authorizer,
            settings=Settings(),
        )

    def authorizer(self):
        if isinstance(self.credentials, KeyPair):
            return KeyPairAuthorizer(self.credentials, header_prefix="SVC")
        exchange = TokenExchange(self.sender, self.credentials, "auth_sandbox")
        return TokenAuthorizer(
            self.credentials,
            auth_address=AUTH,
            clock=self.clock,
            store=self.store,
            exchange=exchange,
            number=exchange.number,
        )

    def flow(self, request=None):
        return self.sender.send(self.scope, request or httpx.Request("GET", URL))

    def transport(self):
        return InterfaceTransport(self.scope, self.sender, self.service)

    def send(self, method="GET", url=URL, *, is_async=False, client=None, **request):
        """Return the response to a request of a client."""
        shape = {"transport": self.transport(), **(client or {})}
        if not is_async:
            with httpx.Client(**shape) as opened:
                return opened.request(method, url, **request)

        async def main():
            async with httpx.AsyncClient(**shape) as opened:
                return await opened.request(method, url, **request)

        return asyncio.run(main())


@pytest.fixture
def way(make_credentials, service):
    """A sandbox broker partner with a client secret."""
    return Way(make_credentials("broker-sandbox"), service)


def bearer(request):
    return request.headers["Authorization"].removeprefix("Bearer ")


def end_of(flow, outcome):
    with pytest.raises(StopIteration) as caught:
        flow.send(outcome)
    return caught.value.value


# The flow, driven by hand


@pytest.mark.parametrize("scheme", ["headers", "basic"])
def test_key_pair_by_hand(make_credentials, service, scheme):
    """With a key pair, a copy with the credentials is sent; the caller's own request stays without."""
    way = Way(make_credentials("paper", scheme), service)
    request = httpx.Request("GET", URL)
    flow = way.flow(request)
    sent = next(flow)
    assert sent is not request
    assert ("SVC-API-KEY-ID" in sent.headers, "Authorization" in sent.headers) == (
        scheme == "headers",
        scheme == "basic",
    )
    response = service.reply({})
    assert end_of(flow, response) is response
    assert request.headers == httpx.Request("GET", URL).headers


def test_token_by_hand(way, service):
    """Without a token the token request is sent first and its reply read; the reply to the call is not read."""
    flow = way.flow()
    assert isinstance(next(flow), WhichLoop)
    token_request = next(flow)
    assert str(token_request.url) == "https://auth.example.com/v1/oauth2/token"
    reply = service.token_reply()
    read = flow.send(reply)
    assert isinstance(read, Read)
    assert read.message is reply
    call = flow.send(reply.read())
    assert bearer(call) == service.issued[0]
    response = service.reply({"id": "1"})
    assert not end_of(flow, response).is_stream_consumed


def test_refused_by_hand(way):
    """A request that may not be sent is refused before the first effect, and before credentials are needed."""
    way.sender._make_authorizer = lambda: pytest.fail("credentials were asked for")
    requests = {
        "https://elsewhere.example.com/": {},
        "https://user:name@broker.example.com/": {},
        URL: {"headers": {"Authorization": "Bearer x"}},
    }
    for url, request in requests.items():
        with pytest.raises(AccessError):
            next(way.flow(httpx.Request("GET", url, **request)))
    assert way.sender.ledger.calls() == []


def test_retry_by_hand(way, service):
    """After a 401 the reply is read, a new token obtained, and the request sent once more."""
    flow = way.flow()
    assert isinstance(next(flow), WhichLoop)
    next(flow)
    flow.send(service.token_reply())
    call = flow.send(_last_token_reply(service))
    refused = service.reply({}, 401)
    read = flow.send(refused)
    assert isinstance(read, Read)
    assert read.message is refused
    assert isinstance(flow.send(refused.read()), WhichLoop)
    assert next(flow).method == "POST"
    flow.send(service.token_reply())
    again = flow.send(_last_token_reply(service))
    assert (again.url, again.method) == (call.url, call.method)
    assert bearer(again) == service.issued[1] != bearer(call)
    response = service.reply({})
    assert end_of(flow, response) is response


def _last_token_reply(service):
    return json.dumps({"access_token": service.issued[-1], "expires_in": 890, "token_type": "Bearer"}).encode()


# Tokens


@BOTH
def test_token_reuse(way, service, is_async):
    """Many calls make one token request."""
    for number in range(20):
        way.clock.advance(1)
        way.send(url=f"{URL}/{number}", is_async=is_async)
    assert len(service.token_requests) == 1
    assert {bearer(call) for call in service.calls} == set(service.issued)


def test_renewal(way, service):
    """A token is renewed shortly before it expires: at most 10 seconds, at most 10 % of its lifetime."""
    for expires_in, still_good, renewed in ((890, 879.9, 0.2), (50, 44.9, 0.2), (5, 4.4, 0.2)):
        service.expires_in = expires_in
        way.clock.advance(10**6)
        service.requests.clear()
        way.send()
        way.clock.advance(still_good)
        way.send()
        assert len(service.token_requests) == 1
        way.clock.advance(renewed)
        way.send()
        assert len(service.token_requests) == 2


def test_lifetime_counts_from_asking(way, service):
    """The lifetime of a token counts from before the token request was sent, however slow the reply."""

    def slow(request):
        way.clock.advance(60)
        return service.token_reply()

    service.answer_token = slow
    way.send()
    assert way.sender.token.issued_at == START
    assert way.sender.token.expires_at == START + timedelta(seconds=890)


@BOTH
def test_revoked_token(way, service, is_async):
    """If the service no longer knows the token, it is renewed once and the call sent once more, unnoticed."""
    way.send(is_async=is_async)
    revoked = service.issued[0]
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == revoked else 200)
    response = way.send("POST", json={"n": 1}, is_async=is_async)
    assert response.status_code == 200
    assert len(service.token_requests) == 2
    assert [json.loads(body) for body in service.bodies[-3:] if body.startswith(b"{")] == [{"n": 1}, {"n": 1}]


def test_always_401_after_expiry(way, service):
    """If the service always answers 401, two tokens are requested in a lifetime, however many calls are made."""
    service.answer = lambda request: service.reply({}, 401)
    for _ in range(3):
        for _ in range(4):
            way.send()
        way.clock.advance(900)
    assert len(service.token_requests) == 6


@BOTH
def test_consumed_body(way, service, is_async):
    """A body that can be read only once is not sent again; the next call has a new token."""
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)

    def pieces():
        yield b"one"
        yield b"two"

    async def awaited():
        for piece in pieces():
            yield piece

    response = way.send("POST", content=awaited() if is_async else pieces(), is_async=is_async)
    assert response.status_code == 401
    assert len(service.calls) == 1
    assert way.send(is_async=is_async).status_code == 200
    assert len(service.token_requests) == 2


def test_refused_reply_is_closed(way, service):
    """The reply that a retry replaces is read to its end and closed, which frees its connection."""
    replies = []

    def answer(request):
        replies.append(service.reply({}, 401 if bearer(request) == service.issued[0] else 200))
        return replies[-1]

    service.answer = answer
    way.send()
    first = replies[0]
    assert first.is_closed
    assert first.is_stream_consumed


# The caller's request holds no credentials


@BOTH
@pytest.mark.parametrize("kind", ["headers", "basic", "secret", "key"])
def test_request_is_clean(make_credentials, service, caplog, kind, is_async):
    """Request, response, event hooks and logs hold no credentials; the request that is sent does."""
    environment = "paper" if kind in ("headers", "basic") else "broker-sandbox"
    way = Way(make_credentials(environment, kind), service)
    hooked = []

    async def hook_async(message):
        hooked.append(message)

    hook = hook_async if is_async else hooked.append
    caplog.set_level(logging.DEBUG)
    response = way.send(is_async=is_async, client={"event_hooks": {"request": [hook], "response": [hook]}})
    assert hooked == [response.request, response]
    shown = [repr(way.sender), repr(way.transport()), caplog.text, *map(repr, way.sender.ledger.calls())]
    for message in (response.request, response):
        shown += [repr(message), repr(message.headers), str(message.headers.raw), repr(message.extensions)]
    shown.append(pickle.dumps(response).decode("latin-1"))
    assert secrets_in("".join(shown), way) == []
    assert secrets_in(str([request.headers.raw for request in service.calls]), way) != []


def secrets_in(text, way):
    """Return the kinds of the secrets in a text: as they are, percent-encoded, or as Basic credentials."""
    secrets = [*way.credentials.secrets(), *(("ACCESS_TOKEN", Secret(token)) for token in way.service.issued)]
    for body in way.service.bodies:
        secrets += [("ASSERTION", Secret(value)) for value in parse_qs(body.decode()).get("client_assertion", [])]
    pairs = [secret.reveal() for _, secret in way.credentials.secrets()]
    forms = [(kind, secret.reveal()) for kind, secret in secrets]
    forms += [("BASIC", base64.b64encode(":".join(pairs).encode()).decode())]
    return [kind for kind, form in forms if form[:24] in text or quote(form, safe="") in text]


@BOTH
def test_timeouts_survive(way, service, is_async):
    """A request's own timeout reaches the network, and does not hold for the token request."""
    way.send(is_async=is_async, timeout=httpx.Timeout(1.0, read=2.0))
    assert service.calls[0].extensions["timeout"] == {"connect": 1.0, "read": 2.0, "write": 1.0, "pool": 1.0}
    assert service.token_requests[0].extensions["timeout"]["read"] > 2.0


def test_extensions_and_cookies_survive(way, service):
    """Extensions, headers and cookies are sent with the copy."""
    way.send(extensions={"sni_hostname": "broker.example.com"}, headers={"X-One": "1"}, client={"cookies": {"a": "b"}})
    sent = service.calls[0]
    assert sent.extensions["sni_hostname"] == "broker.example.com"
    assert (sent.headers["X-One"], sent.headers["Cookie"]) == ("1", "a=b")


# Refused before sent


@BOTH
@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"url": "https://elsewhere.example.com/v1/accounts"}, UnsafeAddress),
        ({"url": "http://broker.example.com/v1/accounts"}, UnsafeAddress),
        ({"url": "https://auth.example.com/v1/oauth2/token"}, UnsafeAddress),
        ({"url": "https://user:QXZ@broker.example.com/v1/accounts"}, UnsafeAddress),
        ({"auth": ("user", "QXZ")}, CredentialsMismatch),
        ({"auth": httpx.DigestAuth("user", "QXZ"), "headers": {"Authorization": "Digest QXZ"}}, CredentialsMismatch),
        ({"headers": {"authorization": "Bearer QXZ"}}, CredentialsMismatch),
        ({"headers": {"SVC-API-SECRET-KEY": "QXZ"}}, CredentialsMismatch),
        ({"client": {"auth": ("user", "QXZ")}}, CredentialsMismatch),
        ({"client": {"headers": {"Authorization": "QXZ"}}}, CredentialsMismatch),
    ],
)
def test_nothing_is_sent(way, service, request_, error, is_async):
    """A request that may not be sent raises an AccessError without its credentials, and nothing is sent."""
    with pytest.raises(error) as caught:
        way.send(is_async=is_async, **request_)
    assert service.requests == []
    assert "QXZ" not in f"{caught.value} {caught.value!r}"


@BOTH
@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "https://elsewhere.example.com/?token={token}",
        "http://broker.example.com/v1/accounts",
        "//elsewhere.example.com",
    ],
)
def test_redirect_elsewhere(way, service, location, follow, is_async):
    """A redirect to another origin is not followed: it is refused, and nothing is sent there."""
    service.answer = lambda request: service.reply({}, 307, {"Location": location.format(token=bearer(request))})
    client = {"follow_redirects": follow}
    if follow:
        with pytest.raises(UnsafeAddress) as caught:
            way.send("POST", content=b"order", client=client, is_async=is_async)
        assert secrets_in(str(caught.value), way) == []
    else:
        assert way.send("POST", content=b"order", client=client, is_async=is_async).status_code == 307
    assert [request.url.host for request in service.requests] == ["auth.example.com", "broker.example.com"]


@BOTH
def test_redirect_within(way, service, is_async):
    """A redirect within the interface's own address is followed, with credentials on each request."""
    moved = {"Location": "/v2/accounts?page=2"}
    service.answer = lambda request: service.reply({}, *((302, moved) if request.url.path == "/v1/accounts" else ()))
    response = way.send(client={"follow_redirects": True}, is_async=is_async)
    assert str(response.url) == f"{ADDRESS}/v2/accounts?page=2"
    assert [bearer(call) for call in service.calls] == service.issued * 2
    assert "Authorization" not in response.request.headers


def test_redirected_token_request(way, service):
    """A redirect of the token request is not followed, since the form would go elsewhere."""
    service.answer_token = lambda request: service.reply({}, 307, {"Location": "https://elsewhere.example.com/"})
    with pytest.raises(TokenRefused, match="307"):
        way.send()
    assert len(service.requests) == 1


# Streaming


@BOTH
def test_streaming(way, service, is_async):
    """A streamed response is returned unread, and its pieces come as they are read."""
    body = type(service.reply({}).stream)([b"x" * 100] * 1000)
    service.answer = lambda request: httpx.Response(200, stream=body)

    def check(taken, read):
        assert body.taken == taken
        assert read == b"x" * 100

    def sync():
        with httpx.Client(transport=way.transport()) as client, client.stream("GET", URL) as response:
            assert body.taken == 0
            pieces = response.iter_raw()
            check(1, next(pieces))
            check(2, next(pieces))
            assert not body.closed

    async def awaited():
        async with httpx.AsyncClient(transport=way.transport()) as client, client.stream("GET", URL) as response:
            assert body.taken == 0
            pieces = response.aiter_raw()
            check(1, await anext(pieces))
            check(2, await anext(pieces))
            assert not body.closed

    asyncio.run(awaited()) if is_async else sync()
    assert body.closed
    assert body.taken == 2


def test_streaming_with_a_token_that_needs_renewal(way, service):
    """Renewing a token after a 401 does not read the response that the caller gets."""
    bodies = []

    def answer(request):
        bodies.append(type(service.reply({}).stream)([b"x"] * 100))
        return httpx.Response(401 if bearer(request) == service.issued[0] else 200, stream=bodies[-1])

    service.answer = answer
    with httpx.Client(transport=way.transport()) as client, client.stream("GET", URL) as response:
        assert [body.taken for body in bodies] == [100, 0]
        assert response.read() == b"x" * 100


@BOTH
def test_streamed_upload(way, service, is_async):
    """A streamed request body is not collected before it is sent."""
    taken = []

    def pieces():
        for number in range(3):
            taken.append(number)
            yield b"%d" % number

    async def awaited():
        for piece in pieces():
            yield piece

    request = httpx.Request("POST", URL, content=awaited() if is_async else pieces())
    flow = way.flow(request)
    assert isinstance(next(flow), WhichLoop)
    next(flow)
    flow.send(service.token_reply())
    sent = flow.send(_last_token_reply(service))
    assert taken == []
    assert sent.stream is request.stream


# Failures


def frames(error):
    """Yield what a traceback with local variables shows of the toolkit's own frames, causes included."""
    package = str(Path(toolkit.__file__).parent)
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename.startswith(package):
                yield from (f"{frame.f_code.co_name} {name}={value!r}" for name, value in frame.f_locals.items())
        error = error.__cause__ or error.__context__


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def assert_clean(error, way):
    """Check that neither an error nor its causes nor their frames in the toolkit hold a secret."""
    texts = [*frames(error), "".join(traceback.format_exception(error))]
    for one in chain(error):
        texts += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ()))]
        request = getattr(one, "_request", None)
        texts += [] if request is None else [str(request.headers.raw), str(request.stream.__dict__)]
    assert [text for text in texts if secrets_in(text, way)] == []


FAILURES = [
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadTimeout,
    httpx.WriteError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
    httpx.DecodingError,
]


@pytest.mark.parametrize(
    ("failure", "kind", "is_async"),
    [(failure, ("secret", "key")[number // 2 % 2], number % 2 == 1) for number, failure in enumerate(FAILURES)],
)
def test_token_endpoint_unreachable(make_credentials, service, failure, kind, is_async):
    """If the token endpoint cannot be reached, Unreachable is raised, without the token request attached."""
    way = Way(make_credentials("broker-sandbox", kind), service)

    def fail(request):
        raise failure(f"cannot send {service.bodies[-1].decode()}", request=request)

    service.answer_token = fail
    passes = issubclass(failure, httpx.TimeoutException | httpx.NetworkError | httpx.RemoteProtocolError)
    with pytest.raises(Unreachable, match=r"token endpoint at https:.* cannot be reached") as caught:
        way.send(is_async=is_async)
    assert list(chain(caught.value)) == [caught.value]
    assert_clean(caught.value, way)
    assert not any(isinstance(value, httpx.Request) for value in vars(caught.value).values())
    pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - pickled here
    assert len(service.requests) == (4 if passes else 1)


REPLIES = {
    "refused": (401, lambda sent: {"error": sent, "error_description": sent}),
    "echo": (400, lambda sent: {sent: sent}),
    "no token": (200, lambda sent: {"token_type": "Bearer", sent: sent}),
    "other type": (200, lambda sent: {"access_token": "QXZ-access-token", "token_type": "mac", "echo": sent}),
    "bad lifetime": (200, lambda sent: {"access_token": "QXZ-access-token", "token_type": "Bearer", "expires_in": -1}),
    "page": (200, lambda sent: f"<html>{sent}</html>".encode()),
    "down": (503, lambda sent: b"down " + sent.encode()),
}


@pytest.mark.parametrize(
    ("reply", "kind", "is_async"),
    [(reply, ("secret", "key")[number // 2 % 2], number % 2 == 1) for number, reply in enumerate(REPLIES)],
)
def test_token_refused(make_credentials, service, kind, reply, is_async):
    """A reply without a token raises a TokenError that shows nothing that was sent or received."""
    way = Way(make_credentials("broker-sandbox", kind), service)
    status, value = REPLIES[reply]

    def refuse(request):
        form = parse_qs(service.bodies[-1].decode())
        (sent,) = form.get("client_secret") or form["client_assertion"]
        return service.reply(value(sent), status, {"X-Echo": sent})

    service.answer_token = refuse
    with pytest.raises(TokenError) as caught:
        way.send(is_async=is_async)
    assert isinstance(caught.value, TokenResponseInvalid if status == 200 else TokenRefused)
    assert_clean(caught.value, way)
    assert "QXZ" not in "".join(frames(caught.value)) + str(caught.value)
    pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - pickled here
    assert way.sender.ledger.calls() == []
    assert way.sender.token is None


@BOTH
@pytest.mark.parametrize("kind", ["secret", "key"])
def test_trouble_that_passes(make_credentials, service, kind, is_async):
    """Trouble at the token endpoint that passes is not noticed; each try has a new assertion."""
    way = Way(make_credentials("broker-sandbox", kind), service)
    troubles = [lambda: service.reply({}, 503), lambda: service.reply({}, 429, {"Retry-After": "5"})]

    def answer(request):
        if not troubles:
            return service.token_reply()
        return troubles.pop()()

    service.answer_token = answer
    assert way.send(is_async=is_async).status_code == 200
    assert len(service.token_requests) == 3
    assert len({*service.bodies[:3]}) == (1 if kind == "secret" else 3)
    assert way.clock.monotonic() > 5


def test_broken_token_reply(way, service):
    """If a token reply breaks off, Unreachable is raised."""

    class Breaking(httpx.SyncByteStream):
        def __iter__(self):
            yield b'{"access_token": "QXZ'
            raise httpx.ReadError("connection lost")

    service.answer_token = lambda request: httpx.Response(200, stream=Breaking())
    with pytest.raises(Unreachable) as caught:
        way.send()
    assert "QXZ" not in "".join(frames(caught.value))


@pytest.mark.parametrize(
    ("failure", "kind", "is_async"),
    [(failure, ("headers", "basic", "secret")[number % 3], number % 2 == 1) for number, failure in enumerate(FAILURES)],
)
def test_service_unreachable(make_credentials, service, failure, kind, is_async):
    """A call that fails raises httpx's own error, with the caller's own request and no credentials."""
    way = Way(make_credentials("broker-sandbox" if kind == "secret" else "live", kind), service)

    def fail(request):
        raise failure("no answer", request=request)

    service.answer = fail
    with pytest.raises(failure) as caught:
        way.send(is_async=is_async)
    assert str(caught.value.request.url) == URL
    assert_clean(caught.value, way)
    ours = issubclass(failure, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.DecodingError)
    calls = [call for call in way.sender.ledger.calls() if call.interface == Interface.BROKER]
    assert [(call.path, call.status) for call in calls] == ([] if ours else [("/v1/accounts", 599)])


@BOTH
@pytest.mark.parametrize("kind", ["paper", "secret"])
@pytest.mark.parametrize("failure", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_failure_is_replayed(make_credentials, service, tmp_path, failure, kind, is_async):
    """A call without an answer is recorded and fails in the same way in replay; both ledgers are equal."""

    def fail(request):
        way.clock.advance(2)
        raise failure("no answer", request=request)

    credentials = make_credentials("paper") if kind == "paper" else make_credentials("broker-sandbox", kind)
    stories = []
    for mode in ("all", "none"):
        cassette = Cassette(tmp_path / "c.yaml", mode)
        way = Way(credentials, service, cassette=cassette)
        service.answer = fail
        with cassette, pytest.raises(failure) as caught:
            way.send(is_async=is_async)
        cassette.close()
        assert str(caught.value.request.url) == URL
        assert_clean(caught.value, way)
        stories.append(way.sender.ledger.calls())
        sent = len(service.requests)
    assert len(service.requests) == sent
    assert stories[0] == stories[1]
    assert stories[0][-1].elapsed == timedelta(seconds=2)
    assert secrets_in((tmp_path / "c.yaml").read_text(), way) == []


# The ledger


def test_traffic(make_credentials, service, tmp_path):
    """The process counts the calls that were sent and those that were replayed."""
    sent, played = TRAFFIC.sent, TRAFFIC.played
    for mode in ("once", "none"):
        taped(make_credentials, service, tmp_path / "c.yaml", mode).send()
    assert (TRAFFIC.sent - sent, TRAFFIC.played - played) == (1, 1)


def test_ledger(way, service):
    """The ledger notes each token request and each call, with its authorization and its time."""

    def answer(request):
        way.clock.advance(0.25)
        return service.reply({}, 404)

    service.answer = answer
    way.send("DELETE", f"{URL}/7?page=2")
    token_request, call = way.sender.ledger.calls()
    assert (token_request.interface, token_request.method, token_request.path) == ("auth", "POST", "/v1/oauth2/token")
    assert (token_request.status, token_request.authorized_by) == (200, None)
    assert (call.interface, call.method, call.path, call.status) == ("broker", "DELETE", "/v1/accounts/7", 404)
    assert call.elapsed == timedelta(seconds=0.25)
    by = call.authorized_by
    assert (by.profile, by.token, by.expires_at) == ("default", 1, START + timedelta(seconds=890))


def test_elapsed_of_a_stream(way, service):
    """A call ends with its body; until then it has no elapsed time."""
    service.answer = lambda request: httpx.Response(200, stream=type(service.reply({}).stream)([b"x"] * 3))
    with httpx.Client(transport=way.transport()) as client, client.stream("GET", URL) as response:
        call = way.sender.ledger.calls()[-1]
        assert call.elapsed is None
        way.clock.advance(7)
        response.read()
    assert call.elapsed == timedelta(seconds=7)


def test_shared_token_is_known(make_credentials, service):
    """A token that another session obtained becomes a known secret of this session at its first use."""
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    first, second = (Way(credentials, service, store=store) for _ in range(2))
    first.send()
    second.send()
    assert len(service.token_requests) == 1
    assert second.known.scrub_text(f"echo {service.issued[0]}") == "echo <ACCESS_TOKEN>"
    assert [call.authorized_by.token for call in second.sender.ledger.calls()] == [1]


# With a cassette


def taped(make_credentials, service, path, mode, *, store=None):
    addresses = {"broker_sandbox": ADDRESS, "auth_sandbox": str(AUTH)}
    cassette = Cassette(path, mode, scrubber=Scrubber(KnownSecrets(), addresses=addresses))
    return Way(make_credentials("broker-sandbox"), service, cassette=cassette, store=store)


def test_recording(make_credentials, service, tmp_path):
    """A recording shows placeholders where credentials were sent; the caller gets the answer as it came."""
    path = tmp_path / "one.yaml"
    way = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({"echo": bearer(request), "self": URL})
    response = way.send("POST", json={"n": 1})
    assert response.json() == {"echo": service.issued[0], "self": URL}
    text = path.read_text()
    assert secrets_in(text, way) == []
    assert "example.com" not in text
    for shown in ("Bearer <ACCESS_TOKEN>", "client_secret=<CLIENT_SECRET>", "client_id=<CLIENT_ID>"):
        assert shown in text
    assert text.index("/v1/oauth2/token") < text.index("/v1/accounts")


@BOTH
def test_replay(make_credentials, service, tmp_path, is_async):
    """A replay sends nothing, makes no authorizer, and has the same ledger."""
    path = tmp_path / "one.yaml"
    live = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({"page": request.url.params["page"]}, 201)
    for page in (1, 2):
        live.clock.advance(500)
        live.send(url=f"{URL}?page={page}")
    sent = len(service.requests)
    again = taped(make_credentials, service, path, "none")
    again.sender._make_authorizer = lambda: pytest.fail("a replay made an authorizer")
    for page in (2, 1):
        response = again.send(url=f"{URL}?page={page}", is_async=is_async)
        assert (response.status_code, response.json()) == (201, {"page": str(page)})
    assert again.sender.ledger.calls() == live.sender.ledger.calls()
    assert len(service.requests) == sent


def test_recorded_anew(make_credentials, service, tmp_path):
    """With mode all the first token has number 1, whatever the old file holds."""
    for _ in range(2):
        way = taped(make_credentials, service, tmp_path / "c.yaml", "all")
        way.send()
        way.sender.cassette.close()
        assert [call.authorized_by.token for call in way.sender.ledger.calls() if call.authorized_by] == [1]


def test_replay_is_unread(make_credentials, service, tmp_path):
    """A replayed response streams like a live response."""
    path = tmp_path / "one.yaml"
    taped(make_credentials, service, path, "once").send()
    again = taped(make_credentials, service, path, "none")
    with httpx.Client(transport=again.transport()) as client, client.stream("GET", URL) as response:
        assert not response.is_stream_consumed
        assert response.read() == b"{}"


def test_refused_in_replay(make_credentials, service, tmp_path):
    """A request that may not be sent is refused in a replay too."""
    path = tmp_path / "one.yaml"
    taped(make_credentials, service, path, "once").send()
    again = taped(make_credentials, service, path, "none")
    with pytest.raises(UnsafeAddress):
        again.send(url="https://elsewhere.example.com/v1/accounts")
    with pytest.raises(CredentialsMismatch):
        again.send(auth=("user", "QXZ"))


def test_shared_token_is_not_recorded(make_credentials, service, tmp_path):
    """A token that another session obtained is kept out of this session's recording."""
    credentials, store = make_credentials("broker-sandbox"), MemoryTokenStore()
    Way(credentials, service, store=store).send()
    service.answer = lambda request: service.reply(f"your token is {bearer(request)}".encode())
    way = taped(lambda environment: credentials, service, tmp_path / "one.yaml", "once", store=store)
    assert service.issued[0] in way.send().text
    assert service.issued[0] not in (tmp_path / "one.yaml").read_text()


def test_retry_is_recorded_once(make_credentials, service, tmp_path):
    """Of a call that was retried, recording and ledger have the answer that the caller got."""
    path = tmp_path / "one.yaml"
    way = taped(make_credentials, service, path, "once")
    service.answer = lambda request: service.reply({}, 401 if bearer(request) == service.issued[0] else 200)
    way.send()
    again = taped(make_credentials, service, path, "none")
    assert again.send().status_code == 200
    assert [call.status for call in way.sender.ledger.calls()] == [200, 200, 200]
    used = [call.authorized_by.token for call in way.sender.ledger.calls() if call.authorized_by]
    assert used == [2]


@BOTH
def test_answers_that_are_there_already(make_credentials, tmp_path, is_async):
    """httpx.MockTransport, whose responses are already read, works below a session and is recorded."""

    def answer(request):
        reply = {"access_token": "QXZ-access-token", "expires_in": 890, "token_type": "Bearer"}
        return httpx.Response(200, json=reply if request.method == "POST" else {"path": request.url.path})

    for mode in ("once", "none"):
        way = taped(make_credentials, httpx.MockTransport(answer), tmp_path / "one.yaml", mode)
        assert way.send(is_async=is_async).json() == {"path": "/v1/accounts"}
        assert [call.elapsed for call in way.sender.ledger.calls()] == [timedelta(0)] * 2
