"""Public objects and errors show no secret.

Secrets are planted, and the output of whatever prints, copies or saves an object is searched for them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import dataclasses
import functools
import gc
import gzip
import importlib
import io
import itertools
import json
import logging
import pickle
import pprint
import traceback
import warnings
from pathlib import Path
from secrets import token_hex, token_urlsafe
from urllib.parse import parse_qs, quote

import canaries
import httpx
import pytest
import rich.console
import rich.pretty
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from key_forms import MAKERS, pem
from manual_clock import ManualClock
from session_calls import finished

import toolkit as tk
from toolkit.core.addresses import Address
from toolkit.transport.network import Network

TESTS = Path(__file__).parent
REMOTE = httpx.Request("GET", "https://broker.example/")
KINDS = {
    "headers": ("paper", "headers"),
    "basic": ("live", "basic"),
    "secret": ("broker-sandbox", "secret"),
    "key": ("broker-live", "key"),
}


def secrets_in(text, secrets):
    """Return where any of the secrets is in a text, in any usual form."""
    return canaries.found_in(text, secrets, layers=0)


def views(value):
    """Yield each way of printing, copying or saving an object, with its name."""
    yield "repr", lambda: repr(value)
    yield "str", lambda: str(value)
    yield "f-string", lambda: f"{value} {value!r} {value!s:>20} {value!a}"
    yield "format", lambda: f"{value:>20}"
    yield "percent", lambda: "%s %r" % (value, value)  # noqa: UP031
    yield "in containers", lambda: str(([value], {"a": value}, {value: 1}))
    for default in (str, repr, vars, lambda value: value.__dict__):
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
    """Return True if a name is an attribute rather than a method or a name of Python's own."""
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


@functools.cache
def display_formatter():
    from IPython.core.formatters import DisplayFormatter

    return DisplayFormatter()


def ipython_text(value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(display_formatter().format(value))


def exposed(value, secrets):
    """Return the names of the views of an object that show a secret; if a view is refused, its error is searched."""
    texts = []
    for name, view in views(value):
        try:
            texts.append((name, view()))
        except Exception as error:  # noqa: BLE001 - refused, in whatever way
            texts.append((name, f"{error!r} {error}"))
    if not secrets_in("\n".join(text for _, text in texts), secrets):
        return set()
    return {name for name, text in texts if secrets_in(text, secrets)}


def as_ipython_shows(error):
    """Return the traceback of %xmode Verbose, without the frames of these tests, which hold the secrets themselves."""
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
    """Return an error with all its causes and contexts."""
    seen, pending = [], [error]
    while pending:
        link = pending.pop()
        if link is not None and link not in seen:
            seen.append(link)
            pending += (link.__cause__, link.__context__)
    return seen


def with_locals(error):
    """Return the local variables of all frames of an error and its chain, except those of these tests."""
    lines = []
    for link in chain(error):
        for frame, _ in traceback.walk_tb(beyond_tests(link.__traceback__)):
            if TESTS not in Path(frame.f_code.co_filename).parents:
                for name, value in frame.f_locals.items():
                    with contextlib.suppress(Exception):
                        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {name} = {value!r}")
    return "\n".join(lines)


def exposed_error(error, secrets):
    """Return the ways in which an error shows a secret: its chain, and tracebacks with local variables."""
    leaks = set().union(*(exposed(link, secrets) for link in chain(error)))
    if secrets_in("".join(traceback.format_exception(error)), secrets):
        leaks.add("traceback")
    if hasattr(error, "_render_traceback_") and secrets_in("\n".join(error._render_traceback_()), secrets):
        leaks.add("IPython's traceback")
    variables = with_locals(error)
    if secrets_in(variables, secrets):
        leaks |= {line.partition(" = ")[0] for line in variables.splitlines() if secrets_in(line, secrets)}
    if secrets_in(as_ipython_shows(error), secrets):
        leaks.add("IPython's verbose traceback")
    return leaks


def plant(kind, text=None):
    """Return credentials of a kind, and the secrets in them."""
    environment, how = KINDS[kind]
    options = {"environment": environment}
    if how in ("secret", "key"):
        options["form_fields"] = {"scope": "accounts.read", "resource_key": token_urlsafe(30)}
    if how == "key":
        key = MAKERS["P-256"]()
        number = key.private_numbers().private_value
        member = base64.urlsafe_b64encode(number.to_bytes(32)).decode()[:42]  # of a JWK
        planted = [*canaries.pieces(pem(key)), str(number), f"{number:x}", member]
        return tk.ClientKey("client-1", pem(key), **options), [*planted, options["form_fields"]["resource_key"]]
    text = text or token_urlsafe(30)
    if how == "secret":
        return tk.ClientSecret("client-1", text, **options), [text, options["form_fields"]["resource_key"]]
    key_id = f"KEYID{token_hex(8)}"
    return tk.KeyPair(key_id, text, scheme=how, **options), [key_id, text]


def with_tokens(service, planted):
    """Return the planted secrets with those that were made on the way: tokens and assertions."""
    bodies = [parse_qs(body.decode("latin-1")) for body in service.bodies]
    return [*planted, *service.issued, *(text for body in bodies for text in body.get("client_assertion", []))]


def make_calls(session):
    """Return a client, the accounts and the response to another call."""
    client = session.trading if session.environment in ("live", "paper") else session.broker

    async def both():
        return await session.accounts(), await client.get("/v1/anything", params={"a": "b"})

    if isinstance(session, tk.AsyncSession):
        return (client, *asyncio.run(both()))
    return client, session.accounts(), client.get("/v1/anything", params={"a": "b"})


def objects_of(session, client, accounts, response):
    """Return all public objects of a session that made calls, by name."""
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
    if isinstance(session.credentials, tk.ClientKey):
        objects["signer"] = session.credentials.private_key
    return objects


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize(
    ("kind", "mode", "is_async"),
    [
        (kind, mode, (row + column) % 2 == 1)
        for row, mode in enumerate(["live", "recording", "replaying"])
        for column, kind in enumerate(KINDS)
    ],
)
def test_sessions(kind, mode, is_async, service, open_session):
    """A session that made calls, and all that it returns, show no secret, whatever shows them."""
    credentials, planted = plant(kind)
    with warnings.catch_warnings(record=True, action="always") as warned:
        if mode == "replaying":
            make_calls(open_session(credentials=credentials, cassette="c", mode="all"))
            gc.collect()
        options = {
            "live": {"credentials": credentials},
            "recording": {"credentials": credentials, "cassette": "c", "mode": "all"},
            "replaying": {"credentials": None, "cassette": "c"},
        }
        session = open_session(is_async=is_async, **options[mode])
        objects = objects_of(session, *make_calls(session))
        secrets = with_tokens(service, planted)
        assert len(secrets) >= 2
        leaks = {name: exposed(value, secrets) for name, value in objects.items()}
    assert {name: views for name, views in leaks.items() if views} == {}
    assert not secrets_in(" ".join(str(warning.message) for warning in warned), secrets)


printable_text = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8).map("QZ7{}".format)


def test_these_tests_can_fail():
    """Each way of showing an object finds a secret, in several forms, in an object that hides nothing."""

    @dataclasses.dataclass
    class Careless:
        text: str

        def _repr_html_(self):
            return self.text

    secret = canaries.new()
    for name in ("as it is", "percent-encoded", "JSON", "base64 at an offset", "hex"):
        leaks = exposed(Careless(canaries.FORMS[name](secret)), [secret])
        assert leaks >= {"repr", "f-string", "JSON", "vars", "IPython", "rich", "asdict", "attributes"}
    with pytest.raises(ValueError) as caught:
        json.loads("{" + secret)
    assert exposed_error(caught.value, [secret]) > {"vars", "attributes", "IPython's verbose traceback"}


def unread(response):
    """Return a response as it comes from a network, its body unread."""
    if not response.is_stream_consumed:
        return response
    headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-length"]
    return httpx.Response(response.status_code, headers=headers, stream=httpx.ByteStream(response.content))


ECHOED_FORMS = ("as it is", "percent-encoded", "base64 at an offset", "hex", "JSON")
TOKEN_REPLIES = [
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


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(printable_text, st.sampled_from(TOKEN_REPLIES), st.sampled_from(ECHOED_FORMS), st.booleans())
def test_a_token_endpoint_that_echoes(service, open_session, text, reply, form, is_async):
    """If a token endpoint repeats the credentials in its reply, the error does not."""
    credentials, planted = plant("secret", text)
    service.answer_token = lambda request: unread(reply(canaries.FORMS[form](text)))
    with warnings.catch_warnings(record=True, action="always") as warned:
        session = open_session(credentials=credentials, clock=ManualClock(), is_async=is_async)
        with pytest.raises((tk.TokenError, tk.Unreachable)) as caught:
            finished(session.accounts())
    assert exposed_error(caught.value, planted) == set()
    assert not secrets_in(" ".join(str(warning.message) for warning in warned), planted)


ECHOES = {
    "refusal": lambda text: httpx.Response(401, json={"error": text}),
    "failure": lambda text: httpx.Response(500, html=f"<p>{text}</p>"),
    "redirect": lambda text: httpx.Response(302, headers={"Location": f"https://elsewhere.invalid/?t={quote(text)}"}),
    "page": lambda text: httpx.Response(200, html=f"<p>{text}</p>"),
    "page, cut within": lambda text: httpx.Response(200, html=f"<p>{'x' * 60}{text}</p>"),
    "content type": lambda text: httpx.Response(200, content=b"1 2", headers={"Content-Type": text}),
    "broken JSON": lambda text: httpx.Response(200, content=json.dumps({text: 1})[:-1].encode()),
}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("name", "kind"), list(zip(ECHOES, itertools.cycle(KINDS), strict=False)))
def test_a_service_that_echoes(kind, name, is_async, service, open_session):
    """If an answer that cannot be a table repeats credentials or token, the error does not."""
    credentials, planted = plant(kind)

    def echo(request):
        sent = request.headers.get("authorization", "").partition(" ")[2] or planted[-1]
        return unread(ECHOES[name](sent))

    service.answer = echo
    session = open_session(credentials=credentials, is_async=is_async)
    with pytest.raises((tk.ServiceError, tk.TabulationError)) as caught:
        finished(session.accounts())
    assert exposed_error(caught.value, with_tokens(service, planted)) == set()


FAILURES = [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.WriteError, httpx.DecodingError]
FAILING = [("headers", "answer"), ("secret", "answer"), ("secret", "answer_token"), ("key", "answer_token")]


@pytest.mark.parametrize(
    ("kind", "place", "failure", "is_async"),
    [
        (*place, FAILURES[number % len(FAILURES)], is_async)
        for number, (place, is_async) in enumerate(itertools.product(FAILING, [False, True]))
    ],
)
def test_a_network_that_fails(kind, place, failure, is_async, service, open_session):
    """An error from below auth comes without the authorized request and without the frames that hold it."""
    credentials, planted = plant(kind)
    setattr(service, place, breaks(failure))
    session = open_session(credentials=credentials, clock=ManualClock(), is_async=is_async)
    client = session.trading if kind == "headers" else session.broker

    async def call_async():
        return await client.get("/v1/anything")

    for call in (
        lambda: finished(session.accounts()),
        lambda: finished(call_async() if is_async else client.get("/v1/x")),
    ):
        with pytest.raises((tk.ToolkitError, httpx.HTTPError)) as caught:
            call()
        error, secrets = caught.value, with_tokens(service, planted)
        assert exposed_error(error, secrets) == set()
        for link in chain(error):
            if getattr(link, "_request", None) is not None:
                assert not secrets_in(f"{link.request.headers.raw} {link.request.content}", secrets)


def breaks(failure):
    """Return a function that fails as a library does: with request, cause, and headers in a local variable."""

    def fail(request):
        sent = dict(request.headers), b"".join(request.stream)
        raise failure("broken", request=request) from OSError(len(sent))

    # The frames of these tests are not searched, so this one pretends to be a library's.
    code = fail.__code__.replace(co_filename="library.py")
    return type(fail)(code, globals(), "fail", None, (fail.__closure__[0],))


def test_a_leak_that_is_stopped(service, open_session, settings):
    """The error that keeps a secret off the disk does not show it; it carries the response for the caller."""
    credentials, planted = plant("secret")
    service.answer = lambda request: service.reply(gzip.compress(planted[0].encode()))
    broker = open_session(credentials=credentials, cassette="c").broker
    with pytest.raises(tk.SecretLeak) as caught:
        broker.get("/v1/x")
    error = caught.value
    assert exposed(error, with_tokens(service, planted)) == set()
    assert gzip.decompress(error.response.content) == planted[0].encode()
    canaries.assert_absent(settings.cassettes, planted)


def test_files_that_are_broken(tmp_path):
    """The error for a file that is not a cassette quotes nothing from it, nor does a scan quote what it found."""
    text = canaries.new()
    file = tmp_path / "broken.yaml"
    for content in (f"version: 1\ninteractions: {text}\n", f"{text}: [\n", f'{{"{text}": "'):
        file.write_text(content)
        with pytest.raises(tk.CassetteError) as caught:
            tk.Cassette(file, "none")
        assert not secrets_in(f"{caught.value} {caught.value!r}", [text])
    findings = tk.scan(file, secrets=[text])
    assert len(list(findings)) >= 1
    assert exposed(findings, [text]) == set()


def test_panel(settings):
    """A panel, and the widget state that a notebook saves, hold no secret of the session."""
    import ipywidgets

    credentials, planted = plant("secret")
    panel = tk.panel(credentials=credentials, settings=settings)
    assert not secrets_in(repr(ipywidgets.Widget.get_manager_state()), planted)
    assert not {view for view in exposed(panel, planted) if view != "attributes"}


@pytest.mark.parametrize("name_below", ["httpx", "httpx2"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_logs(is_async, name_below, caplog, open_session):
    """With all loggers at DEBUG, calls over a connection of httpx or of httpx2 log neither credentials nor tokens."""
    below, planted = importlib.import_module(name_below), []
    caplog.set_level(logging.DEBUG)
    with tk.practice(accounts=2) as service:
        for name in ("paper", "sandbox-secret", "sandbox-key"):
            transport = below.AsyncHTTPTransport() if is_async else below.HTTPTransport()
            options = {"credentials": service.credentials[name], "settings": service.settings, "transport": transport}
            session = open_session(is_async=is_async, **options)
            planted += canaries.secrets_of(session.credentials)
            client = session.trading if name == "paper" else session.broker
            answered = client.get("/v1/nothing", params={"q": canaries.pieces(planted[-1])[-1]})

            async def both(answered=answered, session=session):
                await answered
                await session.close()

            asyncio.run(both()) if is_async else session.close()
            if session.token:
                planted.append(session.token.access_token.reveal())
    assert f"{name_below.replace('httpx', 'httpcore')}.http11" in {record.name for record in caplog.records}
    assert "receive_response_headers.complete" in caplog.text
    assert secrets_in(caplog.text, planted) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda text: tk.scan("missing", secrets=[text, None]),
        lambda text: tk.Cassette("c", "sideways", secrets=text),
        lambda text: tk.Session("paper", proxy=f"http://me:{text}@proxy.example:3128"),
        lambda text: tk.Settings.load(environ={"TOOLKIT_PAPER_SECRET_KEY": text, "TOOLKIT_BROKER_URL": "nonsense"}),
        lambda text: Path("toolkit.toml").write_text(f'secret = "{text}"') and tk.Settings.load(),
        lambda text: Network(is_async=False, proxy=f"me:{text}@proxy.example:3128").handle_request(REMOTE),
        lambda text: Address.parse(f"https://me:{text}/x@broker.example", setting="The address"),
    ],
)
def test_arguments_that_are_refused(call, project, monkeypatch):
    """Functions that take a secret, or find one in a setting, are not in the traceback of their errors."""
    monkeypatch.chdir(project)
    text = token_urlsafe(30)
    monkeypatch.setenv("TOOLKIT_LIVE_SECRET_KEY", text)
    with pytest.raises(tk.ToolkitError) as caught:
        call(text)
    assert exposed_error(caught.value, [text]) == set()
