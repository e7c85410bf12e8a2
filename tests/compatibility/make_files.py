"""Make the files of an earlier version that `test_files_of_earlier_versions.py` reads.

The stored cassettes and the token were made by commit b7594ad, and the profiles by a0334b8. To make those of a later
version that must stay readable:

    git worktree add ../earlier a0334b8
    PYTHONPATH=../earlier python tests/compatibility/make_files.py

The files are cassettes, saved profiles, a shared token, and `expected.json` with what that version reads in them. The
script calls nothing but this machine, and all credentials are invented.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import keyring
import platformdirs
import vcr
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from keyring.backends import null
from replays import MemoryKeyring, answer, open_cassette, open_client, replayed, shortened

import toolkit as tk

FILES = Path(__file__).resolve().with_name("files")
APPLICATION = "service-access-toolkit"
START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
ADDRESSES = {
    "trading_live": "https://trading.example.com",
    "trading_paper": "https://paper.example.com",
    "market_data": "https://data.example.com/stocks",
    "market_data_sandbox": "https://data.sandbox.example.com",
    "broker": "https://broker.example.com",
    "broker_sandbox": "https://broker.sandbox.example.com",
    "auth": "https://auth.example.com",
    "auth_sandbox": "https://auth.sandbox.example.com",
}
KEY_PAIR = {
    "key_id": "MADE-UP-KEY-ID-0001",
    "secret_key": "made-up-secret-key-0001",
    "scheme": "basic",
    "environment": "paper",
    "name": "research",
}
CLIENT_SECRET = {
    "client_id": "made-up-client",
    "client_secret": "made-up-client-secret-0001",
    "form_fields": {"scope": "accounts.read", "resource": "orders & more"},
    "environment": "broker-live",
    "name": "default",
}
CLIENT_KEY = {
    "client_id": "made-up-client",
    "key_id": "desk-2026",
    "audience": "issuer",
    "assertion_typ": "client-authentication+jwt",
    "assertion_lifetime": 45,
    "environment": "broker-sandbox",
    "name": "desk",
}
ACCESS_TOKEN = "made-up-access-token-0001"


class SetClock:
    """A clock that starts at 09:30, follows the time, and can be moved ahead."""

    def __init__(self):
        self._start = time.monotonic()

    def move(self, minutes):
        self._start -= minutes * 60

    def now(self):
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self):
        return time.monotonic() - self._start


# A plan describes replays as data: each of its parts lists the calls of one session or client. All parts are replayed
# once for each item of `cassettes`, the arguments of `tk.Cassette`. The steps of a recording are calls and functions.


def accounts(**params):
    return {"accounts": params}


def get(url, interface=None, **arguments):
    """Return a GET request of an interface of a session, or of a client; `arguments` are those of httpx."""
    return {**({"interface": interface} if interface else {}), "method": "GET", "url": url, **arguments}


def post(url, interface=None, **arguments):
    return {**get(url, interface, **arguments), "method": "POST"}


def quotes(symbols):
    return get("/v2/practice/quotes", "market_data", params={"symbols": symbols})


def by_session(steps, environment=None, profile=None):
    """Return the calls of a session that replays without credentials, and if need be with an environment and name."""
    return {"who": [environment, profile], "calls": [step for step in steps if isinstance(step, dict)]}


def by_client(calls):
    """Return the calls of an httpx client without a session."""
    return {"who": None, "calls": calls}


def plan(*parts, cassettes=({},)):
    return {"cassettes": [*cassettes], "parts": [*parts]}


def take_steps(caller, steps):
    """Make the calls, and call the functions between them."""

    async def take_all():
        for step in steps:
            if callable(step):
                step()
            else:
                await answer(caller, step)
        if isinstance(caller, tk.AsyncSession):
            await caller.close()

    asyncio.run(take_all())


def without_headers(session):
    """Return a session whose clients send no headers of their own accord, which keeps its cassette small."""
    for interface in ("trading", "market_data", "broker"):
        if hasattr(session, interface):
            getattr(session, interface).headers.clear()
    return session


# Cassettes: each function records one with the practice service or a service within this process, and returns plans.


@contextmanager
def practice():
    """Run a practice service, and yield it with a function that records steps of one of its profiles."""
    clock = SetClock()

    def record(cassette, profile, steps, session_type=tk.Session, **changes):
        credentials = service.credentials[profile]
        if changes:
            changes["environment"] = credentials.environment
            credentials = tk.KeyPair(credentials.key_id, credentials.secret_key, **changes)
        session = session_type(credentials=credentials, settings=service.settings, cassette=cassette, clock=clock)
        take_steps(without_headers(session), steps)

    with tk.practice(clock=clock) as service:
        yield service, clock, record


def live(path):
    """Record a live account with key headers, under the profile name "default": answers, errors, a JSON body."""
    order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
    steps = [
        accounts(),
        post("/v2/practice/orders", "trading", json=order),
        post("/v2/practice/orders", "trading", json={**order, "side": "hold"}),
    ]
    with practice() as (_, _, record):
        record(path, "live", steps, name="default")
    return [plan(by_session(steps))]


def paper(path):
    """Record a paper account with HTTP Basic, asynchronously; the connection breaks once."""
    with practice() as (service, _, record):
        break_connection = partial(service.faults.inject, "interfaces", dropped=True)
        steps = [quotes("ALFA"), break_connection, quotes("CHRL"), quotes("CHRL")]
        record(path, "paper", steps, tk.AsyncSession, scheme="basic", name="research")
    return [plan(by_session(steps, "paper", "research"))]


def broker_live(path):
    """Record a live broker partner with a client key, asynchronously; a token expires."""
    with practice() as (_, clock, record):
        steps = [accounts(limit=1, status="closed"), partial(clock.move, 20), quotes("DLTA")]
        record(path, "broker-key", steps, tk.AsyncSession)
    return [plan(by_session(steps))]


def broker_sandbox(path):
    """Record a sandbox broker partner with a client secret: retries, and a different answer to the same request."""
    with practice() as (service, _, record):
        steps = [
            partial(service.faults.inject, "token", 503),
            partial(service.faults.inject, "interfaces", 503, retry_after=1),
            quotes("ECHO"),
            quotes("ECHO"),
            service.revoke_tokens,
            quotes("ECHO,FXTR"),
        ]
        record(path, "sandbox-secret", steps)
    return [plan(by_session(steps))]


def two_profiles(path):
    """Record two profiles of one environment, whose same request gets different answers."""
    order = post("/v1/practice/orders", "broker", json={"symbol": "GOLF", "side": "sell", "quantity": 2})
    with practice() as (_, clock, record), tk.Cassette(path) as cassette:
        for profile in ("sandbox-secret", "sandbox-2"):
            record(cassette, profile, [order])
            clock.move(1)
    return [plan(*(by_session([order], "broker-sandbox", profile) for profile in ("sandbox-2", "sandbox-secret")))]


def appended(path):
    """Record with stock vcrpy, real addresses and keys included, and then add to it."""
    steps = [quotes("HOTL"), quotes("ALFA")]
    with practice() as (service, clock, _):
        credentials, settings = service.credentials["paper"], service.settings
        keys = {"SVC-API-KEY-ID": credentials.key_id.reveal(), "SVC-API-SECRET-KEY": credentials.secret_key.reveal()}
        with vcr.use_cassette(str(path)), httpx.Client(headers=keys) as client:
            client.get(f"{service.url('market_data')}/v2/practice/quotes", params={"symbols": "HOTL"})
        with tk.Session(
            credentials=credentials, settings=settings, cassette=path, mode="new_episodes", clock=clock
        ) as session:
            take_steps(session, steps)
    return [plan(by_session(steps))]


ODD_TEXT = "a\x00b\x85c\r\n- request:\n  complete: true\n\ttab \u2028 \U0001f600 <ACCESS_TOKEN> #: '\"\n"
STEPS = [["X-Step", "1"], ["X-Other", "2"], ["X-Step", "3"]]  # one header twice, and another in between
BODIES = [
    post("/v2/gzip", "trading", json={"text": "añb", "amount": 1.5, "rows": [1, {"b": None, "a": True}]}),
    post("/v2/binary", "trading", data={"side": "buy", "note": "a b & c", "symbol": ["ALFA", "BRVO"]}),
    post("/v2/text", "trading", data={"kind": "report"}, files={"file": ["a.csv", "a,b\n1,2\n", "text/csv"]}),
    post("/v2/headers", "trading", content="\x00\xff\x80 no text", headers={"Content-Type": "application/x-own"}),
    get("/v2/links", "market_data", params={"page": "2", "q": "ä+ b"}, headers=STEPS),
]


class Service:
    """A service within this process, which answers by the last step of the path; for `httpx.MockTransport`."""

    def __init__(self):
        self._count = 0

    def __call__(self, request):
        self._count += 1
        name = request.url.path.rpartition("/")[2]
        if name == "timeout":
            raise httpx.ReadTimeout("The read operation timed out", request=request)
        if name == "refused":
            raise httpx.ConnectError("Connection refused", request=request)
        content, headers, extensions = json.dumps({"count": self._count}).encode(), [], {}
        if name == "token":
            token = {"access_token": ACCESS_TOKEN, "expires_in": 890, "token_type": "Bearer"}
            content = json.dumps(token).encode()
        elif name == "people":
            content = json.dumps(PEOPLE).encode()
        elif name == "gzip":
            content = gzip.compress(content, mtime=0)
            headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
        elif name == "binary":
            content, headers = bytes(range(0, 256, 3)), [("Content-Type", "application/octet-stream")]
        elif name == "text":
            content, headers = ODD_TEXT.encode(), [("Content-Type", "text/plain; charset=utf-8")]
            extensions = {"http_version": b"HTTP/1.1", "reason_phrase": b"Very Well"}
        elif name == "headers":
            headers = [("Set-Cookie", "a=first-cookie; Path=/"), ("X-Place", "Montréal"), ("Set-Cookie", "b=second")]
            extensions = {"http_version": b"HTTP/2"}
        elif name == "links":
            address = str(request.url).partition("?")[0]
            content = json.dumps({"next": f"{address}?page=3", "broker": ADDRESSES["broker"]}).encode()
            headers = [("Content-Type", "application/json"), ("Link", f'<{address}?page=3>; rel="next"')]
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        return httpx.Response(200, headers=raw, stream=httpx.ByteStream(content), extensions=extensions)


def bodies(path):
    """Record bodies, headers and addresses of every kind; the service has another header prefix than the document."""
    with tk.Session(
        credentials=tk.KeyPair(**{**KEY_PAIR, "scheme": "headers"}),
        settings=tk.Settings(ADDRESSES, header_prefix="OWN"),
        cassette=path,
        transport=httpx.MockTransport(Service()),
        clock=SetClock(),
    ) as session:
        take_steps(without_headers(session), BODIES)
    return [plan(by_session(BODIES))]


URL = "https://a.example"
AUTHORIZATION = {"Authorization": "Bearer made-up-access-token-4"}


def record_by_client(path, calls, arguments=None):
    """Record the calls of an httpx client without a session; `arguments` are those of the cassette."""
    with open_cassette(path, arguments or {}, mode="once") as cassette:
        take_steps(open_client(cassette, inner=httpx.MockTransport(Service())), calls)


def plain(path):
    """Record a client without a session: equal requests, failures, and secrets in requests."""
    calls = [
        get(f"{URL}/count"),
        get(f"{URL}/count"),
        get(f"{URL}/timeout"),
        get(f"{URL}/refused"),
        # Secrets by their place: a replay must put the same placeholders there as the recording.
        post(f"{URL}/login", json={"user": "somebody", "password": "made-up-password-1"}),
        post(f"{URL}/login", json={"user": "somebody", "password": "made-up-password-2"}),
        get(f"{URL}/report", params=[["page", "2"], ["api_key", "made-up-3"], ["page", "1"]], headers=AUTHORIZATION),
        post(f"{URL}/upload", data={"pin": "8675"}, files={"file": ["a.txt", "some text", "text/plain"]}),
        # These were not taken for secrets; a later version may decide otherwise.
        post(
            f"{URL}/settings", json={"primaryKey": "kJ8mQ2xR7vT4nB9w", "seed": "f3A9c1E7d5B2", "refresh": "made-up-5"}
        ),
        # The cassette is told that the phrase is secret.
        post(f"{URL}/form", data={"client_secret": "made-up-6", "note": "here is an invented phrase, as announced"}),
    ]
    arguments = {"secrets": "an invented phrase"}
    record_by_client(path, calls, arguments)
    return [plan(by_client(calls), cassettes=[arguments])]


def matched_on(path):
    """Record requests that differ in a header only; match on headers, and then on neither host nor query."""

    def report(language, host=URL, page="1"):
        return get(f"{host}/report", headers={"Accept-Language": language}, params={"page": page})

    by_headers = {"match_on": ["method", "uri", "headers"]}
    record_by_client(path, [report("de"), report("en")], by_headers)
    elsewhere = [report("it", "https://b.example", page) for page in "78"]
    return [
        plan(by_client([report("en"), report("de")]), cassettes=[by_headers]),
        plan(by_client(elsewhere), cassettes=[{"match_on": ["method", "path"]}]),
    ]


PEOPLE = [
    {
        "id": "6f1c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b",
        "account_number": "019000123",
        "customer": 471147114,
        "email": "somebody@example.com",
        "nickname": "Mouse",
        "owner": {"tax_id": "invented-1"},
    },
    {
        "id": "7a2d3b45-6c7e-4f80-9bac-1d2e3f4a5b6c",
        "account_number": "528000456",
        "customer": 815081508,
        "email": "nobody@example.com",
        "nickname": "a long nickname",
        "owner": {"tax_id": "invented-2"},
    },
]


def rules(path):
    """Record with rules: names, JSON paths and patterns, in requests and answers."""
    calls = [
        post(f"{URL}/orders", json={"nickname": "Mouse", "owner": {"tax_id": "123"}, "for": "AB-123456"}),
        post(f"{URL}/orders", json={"nickname": "Bear", "owner": {"tax_id": "123"}, "for": "AB-654321"}),
        post(f"{URL}/orders", data={"nickname": "a long nickname", "side": "buy"}),
        get(f"{URL}/notes", params={"nickname": "Mouse", "text": "ref=blue"}),
        get(f"{URL}/notes/AB-123456/people", headers={"X-Nickname": "Mouse"}),
    ]
    arguments = {
        "rules": {
            "names": ["nickname"],
            "json_paths": ["$..owner.tax_id"],
            "patterns": ["AB-[0-9]{6}", "ref=(?P<ref>[a-z]+)"],
        }
    }
    record_by_client(path, calls, arguments)
    return [plan(by_client(calls), cassettes=[arguments])]


def calls_about(people):
    """Return requests that name people: in the path, the query, JSON, a form and a multipart body."""
    first, second = people
    return [
        get(f"{URL}/people"),
        get(f"{URL}/accounts/{first['id']}"),
        get(f"{URL}/accounts/{second['id']}/orders", params={"account_number": first["account_number"]}),
        post(f"{URL}/orders", json={"account_number": first["account_number"], "side": "buy"}),
        post(f"{URL}/orders", json={"account_number": second["account_number"], "side": "buy"}),
        post(f"{URL}/contact", json={"customer": first["customer"], "email": first["email"]}),
        post(f"{URL}/upload", data={"email": second["email"]}, files={"file": ["a.txt", "some text"]}),
    ]


def pseudonyms(path):
    """Record with pseudonyms for personal data.

    The first plan names people by their pseudonyms: with the key, with another key, without a key, and without rules.
    The second uses the real names, which needs the key and the way in which this version makes pseudonyms. Both make
    the calls in another order than the recording, so that each request must find its own interaction.
    """
    names = ["id", "account_number", "$..customer", "email"]
    with_key = {"rules": {"pseudonyms": names, "key": "the key of an example"}}
    other_key = {"rules": {"pseudonyms": names, "key": "the key of somebody else"}}
    record_by_client(path, calls_about(PEOPLE), with_key)
    shown = open_client(open_cassette(path, {})).get(f"{URL}/people").json()
    without_key = {"rules": {"pseudonyms": names}}
    return [
        plan(by_client(calls_about(shown)[::-1]), cassettes=[with_key, other_key, without_key, {}]),
        {**plan(by_client(calls_about(PEOPLE)[::-1]), cassettes=[with_key]), "is_with_real_values": True},
    ]


def torn(path):
    """Record with a process that ended in the middle of a write."""
    calls = [get(f"{URL}/count"), get(f"{URL}/text"), get(f"{URL}/last")]
    record_by_client(path, calls)
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"    status:")])
    return [plan(by_client(calls[:2]))]


def interrupted(path):
    """Record with mode "all", but not to the end: the old file stays, and the part that was recorded beside it."""
    call = get(f"{URL}/count")
    record_by_client(path, [call])
    with suppress(KeyboardInterrupt), tk.Cassette(path, "all") as cassette:
        take_steps(open_client(cassette, inner=httpx.MockTransport(Service())), [call, call])
        raise KeyboardInterrupt
    part = path.with_name(f"{path.stem}.part.yaml")
    part.rename(path.with_name(f"{path.stem}-part.yaml"))  # Git ignores the name that it had
    return [plan(by_client([call]))]


def interrupted_part(path):
    """Replay the part that `interrupted` left, which is an ordinary cassette."""
    assert path.exists()
    return [plan(by_client([get(f"{URL}/count")] * 2))]


RECORDERS = (
    *(live, paper, broker_live, broker_sandbox, two_profiles, bodies, plain, matched_on, rules, pseudonyms, torn),
    *(interrupted, interrupted_part, appended),
)


def make_cassettes(folder):
    """Record every cassette, and return the calls to replay and their outcome for each."""
    folder.mkdir(parents=True)
    expected = {}
    for record in RECORDERS:
        name = record.__name__.replace("_", "-")
        path = folder / f"{name}.yaml"
        expected[name] = record(path)
        for calls in expected[name]:
            with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the torn cassette is repaired with a warning
                copy = shutil.copy(path, temporary)
                first, *others = [
                    asyncio.run(replayed(copy, {**calls, "cassette": arguments})) for arguments in calls["cassettes"]
                ]
            assert all(other == first for other in others), name
            calls["outcome"] = shortened(first)
    return expected


BY_HAND = f"""\
client_id = "{CLIENT_SECRET["client_id"]}"
client_secret_file = "secret.txt"

[destinations]
broker = "https://broker.example.com"
market_data = "https://data.example.com/stocks"
auth = "https://auth.example.com"
"""


def make_profiles(folder):
    """Save a profile of each kind in files and with a keyring, and write one by hand; return what is in them."""
    saved = Path(platformdirs.user_config_dir(APPLICATION, appauthor=False)) / "profiles"
    memory, expected = MemoryKeyring(), {}
    for place, backend, algorithm, key in (
        ("in-files", null.Keyring(), "ES256", ec.generate_private_key(ec.SECP256R1())),
        ("in-keyring", memory, "PS256", rsa.generate_private_key(65537, 2048)),
    ):
        profiles = [KEY_PAIR, CLIENT_SECRET, {**CLIENT_KEY, "algorithm": algorithm}]
        types = (tk.KeyPair, tk.ClientSecret, partial(tk.ClientKey, private_key=key))
        keyring.set_keyring(backend)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # files are not encrypted, which is a warning
            for credentials_type, fields in zip(types, profiles, strict=True):
                tk.save_credentials(credentials_type(**fields), fields["name"], settings=tk.Settings(ADDRESSES))
        shutil.copytree(saved, folder / place)
        shutil.rmtree(saved)
        public_key = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        expected[place] = {"profiles": profiles, "public_key": public_key}
    entries = [[service, user, text] for (service, user), text in memory.entries.items()]
    (folder / "keyring.json").write_text(json.dumps(entries, indent=1) + "\n")
    (folder / "by-hand").mkdir()
    (folder / "by-hand" / "broker-live.by-hand.toml").write_text(BY_HAND)
    (folder / "by-hand" / "secret.txt").write_text(f"{CLIENT_SECRET['client_secret']}\n")
    by_hand = {**CLIENT_SECRET, "name": "by-hand", "form_fields": {}}
    return {**expected, "by-hand": {"profiles": [by_hand]}}


def make_shared_token(folder):
    """Request a token that processes share, and keep its file from the user's cache folder."""
    with tk.Session(
        credentials=tk.ClientSecret(**CLIENT_SECRET),
        settings=tk.Settings(ADDRESSES),
        token_store="shared",
        transport=httpx.MockTransport(Service()),
        clock=SetClock(),
    ) as session:
        session.broker.get("/v1/accounts")
    shutil.copytree(Path(platformdirs.user_cache_dir(APPLICATION, appauthor=False)) / "tokens", folder)
    return {"credentials": CLIENT_SECRET, "access_token": ACCESS_TOKEN, "issued_at": START.isoformat()}


@contextmanager
def empty_user_folders():
    """Work in a new home folder, with empty folders of the user and no variables of the toolkit."""
    folder = Path.cwd()
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
            del os.environ[name]
        os.environ.update(dict.fromkeys(("HOME", "USERPROFILE"), home))
        os.environ.update({f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "CACHE", "DATA")})
        os.chdir(home)
        yield
        os.chdir(folder)


def main():
    """Make all files anew."""
    shutil.rmtree(FILES, ignore_errors=True)
    with empty_user_folders():
        expected = {
            "addresses": ADDRESSES,
            "cassettes": make_cassettes(FILES / "cassettes"),
            "profiles": make_profiles(FILES / "profiles"),
            "shared_token": make_shared_token(FILES / "tokens"),
        }
    (FILES / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"Made with toolkit {tk.__version__} in {Path(tk.__file__).parent}.")


if __name__ == "__main__":
    main()
