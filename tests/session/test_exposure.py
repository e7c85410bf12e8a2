"""Canaries: secrets are planted wherever there are any, and searched for in whatever a public object shows."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import dataclasses
import gc
import gzip
import io
import json
import logging
import pickle
import pprint
import secrets
import traceback
import warnings
from pathlib import Path
from urllib.parse import parse_qs, quote, quote_plus

import httpx
import pytest
import rich.console
import rich.pretty
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import toolkit as tk
from toolkit.core.clock import ManualClock

TESTS = Path(__file__).parent
KINDS = {
    "headers": ("paper", "headers"),
    "basic": ("live", "basic"),
    "secret": ("broker-sandbox", "secret"),
    "key": ("broker-live", "key"),
}


def forms(canary):
    """A canary in every form, by other means than the toolkit's own search."""
    data = canary.encode("utf-8", "surrogatepass")
    yield from (canary, repr(canary)[1:-1], json.dumps(canary)[1:-1], repr(data)[2:-1])
    yield from (quote(canary, safe=""), quote_plus(canary), data.hex(), data.hex().upper())
    for offset, first in enumerate((0, 2, 3)):
        encoded = base64.b64encode(b"\0" * offset + data).decode()
        core = encoded[first : (offset + len(data)) * 8 // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def pieces(secret):
    """What may not be seen of a secret: all of it, and of a PEM no line of it."""
    lines = [line for line in secret.replace("\\n", "\n").splitlines() if not line.startswith("-----")]
    return [line for line in lines if len(line) >= 8]


def found(text, canaries):
    """Those canaries that are in a text in any form."""
    return [canary for canary in canaries if any(form in text for form in forms(canary))]


def views(value):
    """Everything that ways of printing, copying and saving make of an object, by name."""
    yield "repr", lambda: repr(value)
    yield "str", lambda: str(value)
    yield "f-string", lambda: f"{value} {value!r} {value!s:>20} {value!a}"
    yield "format", lambda: f"{value:>20}"
    yield "percent", lambda: "%s %r" % (value, value)  # noqa: UP031
    yield "in containers", lambda: str(([value], {"a": value}, {value: 1}))
    for default in (str, repr, vars, lambda one: one.__dict__):
        yield "JSON", lambda default=default: json.dumps(value, default=default)
        yield "JSON of a member", lambda default=default: json.dumps({"a": [value]}, default=default)
    yield "vars", lambda: repr(vars(value))
    yield "slots", lambda: repr([getattr(value, name) for name in public_slots(value)])
    yield "attributes", lambda: repr([getattr(value, name) for name in dir(value) if is_plain(value, name)])
    yield "pprint", lambda: pprint.pformat(value)
    yield "rich", lambda: rich.pretty.pretty_repr(value)
    yield "rich with colours", lambda: rich_text(value)
    yield "IPython", lambda: ipython_text(value)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield "pickle", lambda protocol=protocol: pickle.dumps(value, protocol).decode("latin-1")
    yield "state", lambda: repr(value.__getstate__())
    yield "copy", lambda: f"{copy.copy(value)!r} {vars(copy.copy(value))}"
    yield "deepcopy", lambda: repr(copy.deepcopy(value))
    yield "asdict", lambda: repr(dataclasses.asdict(value))
    yield "astuple", lambda: repr(dataclasses.astuple(value))


def public_slots(value):
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return [name for name in names if not name.startswith("__") and hasattr(value, name)]


def is_plain(value, name):
    """Whether a name is an attribute rather than a method or something of Python's own."""
    if name.startswith("_"):
        return False
    try:
        return not callable(getattr(value, name))
    except Exception:  # noqa: BLE001 - a property that does not apply
        return False


def rich_text(value):
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(value)
    return console.file.getvalue()


def ipython_text(value):
    from IPython.core.formatters import DisplayFormatter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(DisplayFormatter().format(value))


def exposed(value, canaries):
    """Names of the views of an object that hold a canary; a view that is refused is searched for in its error."""
    leaks = set()
    for name, view in views(value):
        try:
            text = view()
        except Exception as error:  # noqa: BLE001 - refused, in whatever way
            text = f"{error!r} {error}"
        if found(text, canaries):
            leaks.add(name)
    return leaks


def as_ipython_shows(error):
    """The traceback of %xmode Verbose, without the frames of these tests, which hold the canaries themselves."""
    from IPython.core.ultratb import VerboseTB

    try:
        raise error.with_traceback(beyond_tests(error.__traceback__))  # noqa: TRY301
    except Exception as raised:  # noqa: BLE001
        inner = raised.__traceback__.tb_next
        return VerboseTB(theme_name="nocolor").text(type(raised), raised, inner) if inner else ""


def beyond_tests(frames):
    while frames is not None and TESTS in Path(frames.tb_frame.f_code.co_filename).parents:
        frames = frames.tb_next
    return frames


def chain(error):
    """An error and all that it hangs together with."""
    seen, pending = [], [error]
    while pending:
        one = pending.pop()
        if one is not None and one not in seen:
            seen.append(one)
            pending += (one.__cause__, one.__context__)
    return seen


def with_locals(error):
    """The local variables of all frames of an error and its chain, but those of these tests."""
    lines = []
    for one in chain(error):
        for frame, _ in traceback.walk_tb(beyond_tests(one.__traceback__)):
            if TESTS not in Path(frame.f_code.co_filename).parents:
                for name, value in frame.f_locals.items():
                    with contextlib.suppress(Exception):
                        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {name} = {value!r}")
    return "\n".join(lines)


def exposed_error(error, canaries):
    """The same for an error: its chain, and tracebacks that show local variables."""
    leaks = set().union(*(exposed(one, canaries) for one in chain(error)))
    if found("".join(traceback.format_exception(error)), canaries):
        leaks.add("traceback")
    if hasattr(error, "_render_traceback_") and found("\n".join(error._render_traceback_()), canaries):
        leaks.add("IPython's traceback")
    leaks |= {line.partition(" = ")[0] for line in with_locals(error).splitlines() if found(line, canaries)}
    if found(as_ipython_shows(error), canaries):
        leaks.add("IPython's verbose traceback")
    return leaks


def pem():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    number = key.private_numbers().private_value
    member = base64.urlsafe_b64encode(number.to_bytes(32)).decode()[:42]  # of a JWK
    return text, [*pieces(text), str(number), f"{number:x}", member]


def plant(kind, text=None):
    """Credentials of a kind, and the canaries in them."""
    environment, how = KINDS[kind]
    if how == "key":
        given, canaries = pem()
        return tk.ClientKey("client-1", given, environment=environment), canaries
    text = text or secrets.token_urlsafe(30)
    if how == "secret":
        return tk.ClientSecret("client-1", text, environment=environment), [text]
    key_id = f"KEYID{secrets.token_hex(8)}"
    return tk.KeyPair(key_id, text, environment=environment, scheme=how), [key_id, text]


def assertions(service):
    return [one for body in service.bodies for one in parse_qs(body.decode("latin-1")).get("client_assertion", [])]


def all_canaries(service, canaries):
    return [*canaries, *service.issued, *assertions(service)]


@pytest.fixture
def quiet():
    """Warnings of what is done, which are searched as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def open_session(is_async, **options):
    return (tk.AsyncSession if is_async else tk.Session)(**options)


def finish(value):
    """What a call gives, awaited where it must be."""
    return asyncio.run(value) if asyncio.iscoroutine(value) else value


def make_calls(session):
    """The accounts and a call of one's own, in one event loop when asynchronous."""
    client = session.trading if session.environment in ("live", "paper") else session.broker

    async def both():
        return await session.accounts(), await client.get("/v1/anything", params={"a": "b"})

    if isinstance(session, tk.AsyncSession):
        return (client, *asyncio.run(both()))
    return client, session.accounts(), client.get("/v1/anything", params={"a": "b"})


MODES = ["live", "recording", "replaying"]


def everything_of(kind, mode, is_async, service, settings):
    """All public objects of a session that made calls, by name; and the canaries."""
    credentials, canaries = plant(kind)
    if mode == "replaying":
        make_calls(tk.Session(credentials=credentials, settings=settings, transport=service, cassette="c", mode="all"))
        gc.collect()
    cassette = {"live": {}, "recording": {"cassette": "c", "mode": "all"}, "replaying": {"cassette": "c"}}[mode]
    given = {} if mode == "replaying" else {"credentials": credentials, "transport": service}
    session = open_session(is_async, settings=settings, **given, **cassette)
    client, accounts, response = make_calls(session)
    objects = {
        "session": session,
        "credentials": session.credentials,
        "settings": session.settings,
        "environment": session.environment,
        "cassette": session.cassette,
        "token": session.token,
        "client": client,
        "client.headers": client.headers,
        "client.auth": client.auth,
        "client.cookies": client.cookies,
        "transport": client._transport,
        "accounts": accounts,
        "calls": session.calls(),
        "tokens": session.tokens(),
        "response": response,
        "request": response.request,
        "request.headers": dict(response.request.headers),
        "request.extensions": response.request.extensions,
        "response.extensions": response.extensions,
        "bound method": session.accounts,
    }
    if session.cassette is not None:
        objects |= {"cassette.table": session.cassette.table(), "cassette.transport": session.cassette.transport()}
        objects["scrubber"] = session.cassette.scrubber
    if isinstance(credentials, tk.ClientKey):
        objects["signer"] = credentials.private_key
    return objects, all_canaries(service, canaries)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_sessions(kind, mode, is_async, service, settings, quiet):
    """A session that made calls, and what it gives out, show no secret in any way of showing things."""
    objects, canaries = everything_of(kind, mode, is_async, service, settings)
    assert len(canaries) >= 2
    leaks = {name: exposed(value, canaries) for name, value in objects.items()}
    assert {name: views for name, views in leaks.items() if views} == {}
    assert not found(" ".join(str(one.message) for one in quiet), canaries)


printable_text = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8).map("QZ7{}".format)


@hypothesis_settings(max_examples=40)
@given(printable_text, st.sampled_from(["headers", "basic", "secret"]))
def test_any_credentials(text, kind):
    """Whatever the text of a secret, neither it nor the credentials and tokens that hold it show it."""
    credentials, canaries = plant(kind, text)
    secret = tk.Secret(text)
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 5, 12, tzinfo=UTC)
    for value in (credentials, secret, tk.Token(secret, now, now + timedelta(minutes=15))):
        assert exposed(value, canaries) == set()


def test_these_tests_can_fail():
    """Each way of showing an object finds a secret in one that takes no care, in whatever form."""

    @dataclasses.dataclass
    class Careless:
        text: str

        def _repr_html_(self):
            return self.text

    canary = secrets.token_urlsafe(30)
    for form in forms(canary):
        leaks = exposed(Careless(form), [canary])
        assert leaks >= {"repr", "f-string", "JSON", "vars", "IPython", "rich", "asdict", "attributes"}
    with pytest.raises(ValueError) as caught:
        json.loads("{" + canary)
    assert exposed_error(caught.value, [canary]) > {"vars", "attributes", "IPython's verbose traceback"}


CANARY = "QZ7-" + "canary/+%\\'\"" * 3


def bad_credentials():
    """Constructions that are refused, with a secret in what is given, also where it does not belong."""
    text, multi = CANARY, CANARY + "\n"
    key, _ = pem()
    broken = key.replace("\n", "\n" + CANARY, 1)
    yield from (
        lambda: tk.KeyPair(text, multi, environment="paper"),
        lambda: tk.KeyPair(multi, text, environment="paper"),
        lambda: tk.KeyPair("id", CANARY + "ü", environment="paper"),
        lambda: tk.KeyPair("id", text.encode(), environment="paper"),
        lambda: tk.KeyPair("id", text, environment="broker-live"),
        lambda: tk.KeyPair("id", text, environment="paper", scheme="other"),
        lambda: tk.KeyPair("id", text, environment="paper", name=text),
        lambda: tk.KeyPair(text + ":", text, environment="paper", scheme="basic"),
        lambda: tk.ClientSecret("id", multi, environment="broker-live"),
        lambda: tk.ClientSecret("id", [text], environment="broker-live"),
        lambda: tk.ClientSecret("", text, environment="broker-live"),
        lambda: tk.ClientSecret("id", text, environment="paper"),
        lambda: tk.ClientKey("id", text, environment="broker-live"),
        lambda: tk.ClientKey("id", broken, environment="broker-live"),
        lambda: tk.ClientKey("id", Path(broken), environment="broker-live"),
        lambda: tk.ClientKey("id", json.dumps({"kty": "EC", "crv": "P-256", "d": text}), environment="broker-live"),
        lambda: tk.ClientKey("id", "{" + text, environment="broker-live"),
        lambda: tk.ClientKey("id", json.dumps({"kty": "oct", "k": text}), environment="broker-live"),
        lambda: tk.ClientKey("id", text.encode(), environment="broker-live"),
        lambda: pickle.dumps(tk.Secret(text)),
        lambda: json.dumps(tk.Secret(text)),
        lambda: tk.Secret([text]),
    )


@pytest.mark.parametrize("number", range(len(list(bad_credentials()))))
def test_credentials_that_are_refused(number):
    """An error about credentials quotes none, in its message, chain, attributes or frames."""
    with pytest.raises((tk.ToolkitError, TypeError)) as caught:
        list(bad_credentials())[number]()
    assert exposed_error(caught.value, [CANARY, *pieces(CANARY)]) == set()


FORMS = {
    "as it is": str,
    "percent": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(b"x" + text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "JSON": lambda text: json.dumps(text)[1:-1],
}
REFUSALS = [
    lambda text: httpx.Response(400, json={"error": text}),
    lambda text: httpx.Response(401, json={"error": "invalid_client", "error_description": f"bad {text}"}),
    lambda text: httpx.Response(401, json={"error": f"x{text}x", "error_uri": text}),
    lambda text: httpx.Response(403, html=f"<p>{text}</p>"),
    lambda text: httpx.Response(400, text=text, headers={"WWW-Authenticate": f'Bearer error="{text}"'}),
    lambda text: httpx.Response(200, text=text, headers={"Content-Type": text}),
    lambda text: httpx.Response(200, json={text: 1, "access_token": ["x"]}),
    lambda text: httpx.Response(200, json={"access_token": f"{text} x", "token_type": "Bearer"}),
    lambda text: httpx.Response(200, json={"access_token": text, "token_type": text, "expires_in": 100}),
    lambda text: httpx.Response(200, json={"access_token": text, "token_type": "Bearer", "expires_in": text}),
    lambda text: httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(text.encode())),
]


ECHOES = {
    "refusal": lambda text: httpx.Response(401, json={"error": text}),
    "failure": lambda text: httpx.Response(500, html=f"<p>{text}</p>"),
    "redirect": lambda text: httpx.Response(302, headers={"Location": f"https://elsewhere.invalid/?t={quote(text)}"}),
    "page": lambda text: httpx.Response(200, html=f"<p>{text}</p>"),
    "page, cut within": lambda text: httpx.Response(200, html=f"<p>{'x' * 60}{text}</p>"),
    "content type": lambda text: httpx.Response(200, content=b"1 2", headers={"Content-Type": text}),
    "broken JSON": lambda text: httpx.Response(200, content=json.dumps({text: 1})[:-1].encode()),
    "a name twice": lambda text: httpx.Response(200, content=b"{%b:1,%b:2}" % ((json.dumps(text).encode(),) * 2)),
}


def unread(response):
    """A response as it comes from a network."""
    if not response.is_stream_consumed:
        return response
    kept = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-length"]
    return httpx.Response(response.status_code, headers=kept, stream=httpx.ByteStream(response.content))


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(printable_text, st.sampled_from(REFUSALS), st.sampled_from(list(FORMS)), st.booleans())
def test_a_token_endpoint_that_echoes(service, settings, text, refusal, form, is_async):
    """The error for a refusal, or a reply that is none, does not repeat the credentials that the server repeats."""
    credentials, canaries = plant("secret", text)
    service.answer_token = lambda request: unread(refusal(FORMS[form](text)))
    options = {"credentials": credentials, "settings": settings, "transport": service, "clock": ManualClock()}
    with warnings.catch_warnings(record=True, action="always") as warned:
        session = open_session(is_async, **options)
        with pytest.raises((tk.TokenError, tk.Unreachable)) as caught:
            finish(session.accounts())
    assert exposed_error(caught.value, canaries) == set()
    assert not found(" ".join(str(one.message) for one in warned), canaries)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_service_that_echoes(kind, name, is_async, service, settings):
    """The error for an answer of which no table can be made does not repeat credentials or token."""
    credentials, canaries = plant(kind)

    def echo(request):
        sent = request.headers.get("authorization", "").partition(" ")[2] or canaries[-1]
        return unread(ECHOES[name](sent))

    service.answer = echo
    session = open_session(is_async, credentials=credentials, settings=settings, transport=service)
    with pytest.raises((tk.ServiceError, tk.TabulationError)) as caught:
        finish(session.accounts())
    assert exposed_error(caught.value, all_canaries(service, canaries)) == set()


FAILURES = [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.WriteError, httpx.DecodingError]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("kind", "place"),
    [("headers", "answer"), ("secret", "answer"), ("secret", "answer_token"), ("key", "answer_token")],
)
def test_a_network_that_fails(kind, place, failure, is_async, service, settings):
    """An error from below auth, which knows the authorized request and holds it in frames, comes without both."""
    credentials, canaries = plant(kind)
    setattr(service, place, breaks(failure))
    options = {"credentials": credentials, "settings": settings, "transport": service, "clock": ManualClock()}
    session = open_session(is_async, **options)
    client = session.trading if kind == "headers" else session.broker

    async def call_async():
        return await client.get("/v1/anything")

    for call in (lambda: finish(session.accounts()), lambda: finish(call_async() if is_async else client.get("/v1/x"))):
        with pytest.raises((tk.ToolkitError, httpx.HTTPError)) as caught:
            call()
        error, hidden = caught.value, all_canaries(service, canaries)
        assert exposed_error(error, hidden) == set()
        for one in chain(error):
            if getattr(one, "_request", None) is not None:
                assert not found(f"{one.request.headers.raw} {one.request.content}", hidden)


def breaks(failure):
    """Fails as a library does: with the request on the error, a cause, and its headers in a local variable."""

    def fail(request):
        sent = dict(request.headers), b"".join(request.stream)
        raise failure("broken", request=request) from OSError(len(sent))

    # As if from a library: the frames of these tests are not searched.
    code = fail.__code__.replace(co_filename="library.py")
    return type(fail)(code, globals(), "fail", None, (fail.__closure__[0],))


UNSAFE = {
    "elsewhere": lambda client, text: client.get(f"https://elsewhere.invalid/?token={quote(text)}"),
    "path": lambda client, text: client.get(f"https://elsewhere.invalid/{quote(text)}#{quote(text)}"),
    "userinfo": lambda client, text: client.get(f"https://user:{quote(text, safe='')}@broker-sandbox.example.com/"),
    "header": lambda client, text: client.get("/", headers={"Authorization": f"Bearer {text}"}),
    "key header": lambda client, text: client.get("/", headers={"SVC-API-SECRET-KEY": text}),
    "auth": lambda client, text: client.get("/", auth=("user", text)),
    "redirect": lambda client, text: client.get("/redirect", follow_redirects=True),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_requests_that_are_refused(name, service, settings):
    """The error for a request that may not be sent does not repeat the secret in its URL or headers."""
    credentials, canaries = plant("secret")
    text = canaries[0]
    location = f"https://elsewhere.invalid/?token={quote(text)}"
    service.answer = lambda request: service.reply({}, 302, {"Location": location})
    session = tk.Session(credentials=credentials, settings=settings, transport=service)
    with pytest.raises(tk.AccessError) as caught:
        UNSAFE[name](session.broker, text)
    # Not its frames: those above ours hold the request as the caller made it.
    assert set().union(*(exposed(one, all_canaries(service, canaries)) for one in chain(caught.value))) == set()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_miss(kind, is_async, service, settings):
    """What a cassette says of a request that it cannot answer holds none of the secrets in URL or body."""
    credentials, canaries = plant(kind)
    tk.Session(credentials=credentials, settings=settings, transport=service, cassette="c").accounts()
    session = open_session(is_async, credentials=credentials, settings=settings, cassette="c", mode="none")
    session._sender.known.add_texts(canaries)
    client = session.trading if session.environment in ("live", "paper") else session.broker
    text = canaries[0]
    request = client.build_request("POST", f"/v1/{quote(text, safe='')}", params={"q": text}, json={"a": text})

    async def send():
        await client.send(request)

    with pytest.raises(tk.CassetteMiss) as caught:
        asyncio.run(send()) if is_async else client.send(request)
    error = caught.value
    assert not any(found(view, canaries) for view in (str(error), repr(error), repr(vars(error)), repr(error.args)))
    assert error.nearest


def test_calls_with_secrets_in_their_url(service, settings):
    """The table of calls, and a cassette's, show a path without the secrets in it."""
    credentials, canaries = plant("secret")
    session = tk.Session(credentials=credentials, settings=settings, transport=service, cassette="c")
    session.broker.get(f"/v1/{canaries[0]}", params={"q": canaries[0]})
    session.broker.get(f"/v1/{service.issued[0]}")
    for value in (session.calls(), session.cassette.table(), session.cassette, session):
        assert exposed(value, all_canaries(service, canaries)) == set()


def test_a_leak_that_is_stopped(service, settings):
    """The error that keeps a secret off the disk does not show it; what came is there for who wants it."""
    credentials, canaries = plant("secret")
    service.answer = lambda request: service.reply(gzip.compress(canaries[0].encode()))
    session = tk.Session(credentials=credentials, settings=settings, transport=service, cassette="c")
    with pytest.raises(tk.SecretLeak) as caught:
        session.broker.get("/v1/x")
    error = caught.value
    assert exposed(error, all_canaries(service, canaries)) == set()
    assert gzip.decompress(error.response.content) == canaries[0].encode()


def test_files_that_are_broken(tmp_path, settings):
    """What is said of a cassette that is none quotes nothing of it, nor does a scan what it found."""
    text = secrets.token_urlsafe(30)
    file = tmp_path / "broken.yaml"
    for content in (f"version: 1\ninteractions: {text}\n", f"{text}: [\n", f'{{"{text}": "'):
        file.write_text(content)
        with pytest.raises(tk.CassetteError) as caught:
            tk.Cassette(file, "none")
        assert not found(f"{caught.value} {caught.value!r}", [text])
    findings = tk.scan(file, secrets=[text])
    assert len(list(findings)) >= 1
    assert exposed(findings, [text]) == set()


def test_settings_that_are_refused(tmp_path):
    """An address with a secret in it is refused without repeating it."""
    text = secrets.token_urlsafe(30)
    for address in (f"https://user:{text}@broker.example.com", f"https://broker.example.com/?token={text}"):
        with pytest.raises(tk.ToolkitError) as caught:
            tk.Settings(addresses={"broker": address})
        assert not found(f"{caught.value} {caught.value!r} {vars(caught.value)}", [text])


def test_saved_profiles(settings, monkeypatch, tmp_path):
    """The list of saved credentials shows names and places, and no value."""
    text = secrets.token_urlsafe(30)
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_ID", "client-1")
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_SECRET", text)
    saved = tk.saved_credentials()
    assert exposed(saved, [text]) == set()
    assert all(exposed(one, [text]) == set() for one in saved)


def test_panel(settings, service):
    """A panel, and the state of its widgets that a notebook saves, hold no secret of the session it shows."""
    credentials, canaries = plant("secret")
    panel = tk.panel(credentials=credentials, settings=settings)
    import ipywidgets

    state = repr(ipywidgets.Widget.get_manager_state() if hasattr(ipywidgets.Widget, "get_manager_state") else {})
    assert not found(state, canaries)
    assert not {view for view in exposed(panel, canaries) if view != "attributes"}


def test_practice():
    """A practice service shows none of the credentials that it hands out."""
    with tk.practice(accounts=2) as service:
        canaries = [secret.reveal() for one in service.credentials.values() for _, secret in one.secrets()]
        canaries = [piece for canary in canaries for piece in pieces(canary)]
        session = tk.Session(credentials=service.credentials["sandbox-secret"], settings=service.settings)
        session.accounts()
        session.close()
        canaries.append(session.token.access_token.reveal())
        for value in (service, service.stats, service.settings, service.credentials, session):
            assert exposed(value, canaries) == set()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_logs(is_async, monkeypatch):
    """With all loggers at DEBUG, calls over a real connection log neither credentials nor tokens."""
    written, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(written), root.level
    with tk.practice(accounts=2) as service:
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            canaries = []
            for name in ("paper", "sandbox-secret", "sandbox-key"):
                credentials = service.credentials[name]
                session = open_session(is_async, credentials=credentials, settings=service.settings)
                client = session.trading if name == "paper" else session.broker
                canaries += [piece for _, secret in credentials.secrets() for piece in pieces(secret.reveal())]
                text = canaries[-1]

                async def call(session=session, client=client, text=text):
                    await client.get("/v1/nothing", params={"q": text})
                    await session.close()

                if is_async:
                    asyncio.run(call())
                else:
                    client.get("/v1/nothing", params={"q": text})
                    session.close()
                if session.token:
                    canaries.append(session.token.access_token.reveal())
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
    assert "receive_response_headers.complete" in written.getvalue()
    assert found(written.getvalue(), canaries) == []


def test_flows(service, settings):
    """A flow under way, and the awaitable of a call, are refused by pickle and print as their kind."""
    credentials, canaries = plant("secret")
    session = tk.AsyncSession(credentials=credentials, settings=settings, transport=service)
    call = session.accounts()
    flow = session._sender.send(session.broker._transport._scope, session.broker.build_request("GET", "/v1/accounts"))
    try:
        request = next(flow)
        assert request is not None
        for value in (call, flow):
            assert {view for view in exposed(value, canaries) if view != "attributes"} == set()
    finally:
        flow.close()
        call.close()


COVERED = {
    "AsyncSession": test_sessions,
    "Cassette": test_sessions,
    "CassetteBusy": "its message is the path of the file",
    "CassetteCorrupt": test_files_that_are_broken,
    "CassetteMiss": test_a_miss,
    "ClientKey": test_sessions,
    "ClientSecret": test_any_credentials,
    "ConfigurationError": test_credentials_that_are_refused,
    "CredentialsMismatch": test_requests_that_are_refused,
    "Environment": test_sessions,
    "Interface": "an enumeration, made of no input",
    "InterfaceNotAllowed": "its message is made of names of interfaces",
    "KeyPair": test_any_credentials,
    "Rules": "its key is a Secret; the rest are names, paths and patterns of its user's",
    "Secret": test_any_credentials,
    "SecretLeak": test_a_leak_that_is_stopped,
    "ServiceError": test_a_service_that_echoes,
    "Session": test_sessions,
    "Settings": test_settings_that_are_refused,
    "Signer": test_sessions,
    "TabulationError": test_a_service_that_echoes,
    "Token": test_any_credentials,
    "TokenRefused": test_a_token_endpoint_that_echoes,
    "TokenResponseInvalid": test_a_token_endpoint_that_echoes,
    "Unreachable": test_a_network_that_fails,
    "UnsafeAddress": test_requests_that_are_refused,
    "balances": "a picture of numbers and of names in a table of its caller's",
    "call_latencies": "a picture of a session's calls, whose paths are scrubbed",
    "compare": "gives a table of what its caller has in two tables",
    "load_ipython_extension": "registers magics, which show the tables of a session",
    "offline": "sets one variable",
    "panel": test_panel,
    "practice": test_practice,
    "progress": "shows counts, and what its caller calls them",
    "remove_credentials": "returns nothing; its errors name the profile and where it is",
    "save_credentials": "tests/auth/profiles plants canaries in what it writes",
    "saved_credentials": test_saved_profiles,
    "scan": test_files_that_are_broken,
    "tabulate": test_sessions,
    "token_timeline": "a picture of the tables of a session",
    "unload_ipython_extension": "takes magics away",
}
ABSTRACT = {"AccessError", "CassetteError", "TokenError", "ToolkitError"}


def test_every_public_name():
    """Each public name is covered here, or stands with the reason why it can show no secret."""
    assert set(COVERED) | ABSTRACT == set(tk.__all__)
    assert all(getattr(tk, name).__subclasses__() for name in ABSTRACT)
