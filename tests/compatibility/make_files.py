"""Make the files of an earlier version that `test_files_of_earlier_versions.py` reads.

The stored files were made by commit b7594ad. Only a version whose files must stay readable makes them:

    git worktree add ../earlier b7594ad
    PYTHONPATH=../earlier python tests/compatibility/make_files.py

The files are cassettes, saved profiles, a shared token, and `expected.json` with what that version reads in them.
Nothing but this machine is called, and all credentials are made up here.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import keyring
import platformdirs
import vcr
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from keyring.backend import KeyringBackend
from keyring.backends import null
from replays import answer, open_cassette, open_client, replayed, shortened

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

Call = dict[str, Any]
Step = Call | Callable[[], object]  # a call, or what else happens between calls
Plan = dict[str, Any]


class SetClock:
    """The machine's clock, set to another instant and moved ahead on demand."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def leap(self, minutes: float) -> None:
        """Move ahead."""
        self._since -= minutes * 60

    def now(self) -> datetime:
        """Return the instant of this clock."""
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Return the seconds since this clock was made."""
        return time.monotonic() - self._since


# Calls, as data -------------------------------------------------------------------------------------------------------


def accounts(**params: Any) -> Call:
    """Return a call of `session.accounts()`."""
    return {"accounts": params}


def get(url: str, interface: str | None = None, **arguments: Any) -> Call:
    """Return a GET request; `arguments` are those of httpx, and without an interface it is one of a plain client."""
    return {**({"interface": interface} if interface else {}), "method": "GET", "url": url, **arguments}


def post(url: str, interface: str | None = None, **arguments: Any) -> Call:
    """Return a POST request."""
    return {**get(url, interface, **arguments), "method": "POST"}


def quotes(symbols: str) -> Call:
    """Return a request of market data."""
    return get("/v2/practice/quotes", "market_data", params={"symbols": symbols})


def by_session(steps: list[Step], environment: str | None = None, profile: str | None = None) -> dict[str, Any]:
    """Return the calls of one session, which replays without credentials; None for what the cassette says."""
    return {"who": [environment, profile], "calls": [step for step in steps if not callable(step)]}


def by_client(calls: list[Call]) -> dict[str, Any]:
    """Return the calls of an httpx client without a session."""
    return {"who": None, "calls": calls}


def plan(*parts: dict[str, Any], cassettes: list[dict[str, Any]] | None = None) -> Plan:
    """Return calls to be made in replay, once with each of these arguments of `tk.Cassette`."""
    return {"cassettes": cassettes or [{}], "parts": [*parts]}


# Cassettes ------------------------------------------------------------------------------------------------------------


def make(caller: Any, steps: list[Step]) -> None:
    """Make the calls, and what else happens between them."""

    async def all_of_them() -> None:
        for step in steps:
            if callable(step):
                step()
            else:
                await answer(caller, step)
        if isinstance(caller, tk.AsyncSession):
            await caller.close()

    asyncio.run(all_of_them())


def small(session: Any) -> Any:
    """Return a session whose clients send no headers of their own accord, which keeps its cassette small."""
    for interface in ("trading", "market_data", "broker"):
        if hasattr(session, interface):
            getattr(session, interface).headers.clear()
    return session


def live(path: Path) -> list[Plan]:
    """Record a live account with key headers, under the profile name "default": answers, errors, a JSON body."""
    order = {"symbol": "ALFA", "side": "buy", "quantity": "1.5"}
    steps: list[Step] = [
        accounts(),
        post("/v2/practice/orders", "trading", json=order),
        post("/v2/practice/orders", "trading", json={**order, "side": "hold"}),
    ]
    with tk.practice(clock=(clock := SetClock())) as service:
        given = service.credentials["live"]
        credentials = tk.KeyPair(given.key_id, given.secret_key, environment="live")
        with tk.Session(credentials=credentials, settings=service.settings, cassette=path, clock=clock) as session:
            make(small(session), steps)
    return [plan(by_session(steps))]


def paper(path: Path) -> list[Plan]:
    """Record a paper account with HTTP Basic, asynchronously; the connection breaks once."""
    with tk.practice(clock=(clock := SetClock())) as service:
        given = service.credentials["paper"]
        credentials = tk.KeyPair(given.key_id, given.secret_key, environment="paper", scheme="basic", name="research")
        steps: list[Step] = [
            quotes("ALFA"),
            lambda: service.faults.inject("interfaces", dropped=True),
            quotes("CHRL"),
            quotes("CHRL"),
        ]
        session = tk.AsyncSession(credentials=credentials, settings=service.settings, cassette=path, clock=clock)
        make(small(session), steps)
    return [plan(by_session(steps, "paper", "research"))]


def broker_live(path: Path) -> list[Plan]:
    """Record a live broker partner with a client key, asynchronously; a token expires."""
    with tk.practice(clock=(clock := SetClock())) as service:
        steps: list[Step] = [accounts(limit=1, status="closed"), lambda: clock.leap(20), quotes("DLTA")]
        credentials, settings = service.credentials["broker-key"], service.settings
        session = tk.AsyncSession(credentials=credentials, settings=settings, cassette=path, clock=clock)
        make(small(session), steps)
    return [plan(by_session(steps))]


def broker_sandbox(path: Path) -> list[Plan]:
    """Record a sandbox broker partner with a client secret: retries, and a different answer to the same request."""
    with tk.practice(clock=(clock := SetClock())) as service:
        faults = service.faults
        steps: list[Step] = [
            lambda: faults.inject("token", 503),
            lambda: faults.inject("interfaces", 503, retry_after=1),
            quotes("ECHO"),
            quotes("ECHO"),
            service.revoke_tokens,
            quotes("ECHO,FXTR"),
        ]
        credentials, settings = service.credentials["sandbox-secret"], service.settings
        with tk.Session(credentials=credentials, settings=settings, cassette=path, clock=clock) as session:
            make(small(session), steps)
    return [plan(by_session(steps))]


def two_profiles(path: Path) -> list[Plan]:
    """Record two profiles of one environment, whose same request gets different answers."""
    order = post("/v1/practice/orders", "broker", json={"symbol": "GOLF", "side": "sell", "quantity": 2})
    parts = [by_session([order], "broker-sandbox", profile) for profile in ("sandbox-2", "sandbox-secret")]
    with tk.practice(clock=(clock := SetClock())) as service, tk.Cassette(path) as cassette:
        for profile in ("sandbox-secret", "sandbox-2"):
            credentials, settings = service.credentials[profile], service.settings
            session = tk.Session(credentials=credentials, settings=settings, cassette=cassette, clock=clock)
            make(small(session), [order])
            clock.leap(1)
    return [plan(*parts)]


ODD_TEXT = "a\x00b\x85c\r\n- request:\n  complete: true\n\ttab \u2028 \U0001f600 <ACCESS_TOKEN> #: '\"\n"
STEPS = [["X-Step", "1"], ["X-Other", "2"], ["X-Step", "3"]]  # one header twice, and another in between
BODIES: list[Call] = [
    post("/v2/gzip", "trading", json={"text": "añb", "amount": 1.5, "rows": [1, {"b": None, "a": True}]}),
    post("/v2/binary", "trading", data={"side": "buy", "note": "a b & c", "symbol": ["ALFA", "BRVO"]}),
    post("/v2/text", "trading", data={"kind": "report"}, files={"file": ["a.csv", "a,b\n1,2\n", "text/csv"]}),
    post("/v2/headers", "trading", content="\x00\xff\x80 no text", headers={"Content-Type": "application/x-own"}),
    get("/v2/links", "market_data", params={"page": "2", "q": "ä+ b"}, headers=STEPS),
]


class Answers:
    """A service within this process, which answers by the last step of the path; for `httpx.MockTransport`."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to a request."""
        self._count += 1
        what = request.url.path.rpartition("/")[2]
        if what == "timeout":
            raise httpx.ReadTimeout("The read operation timed out", request=request)
        if what == "refused":
            raise httpx.ConnectError("Connection refused", request=request)
        content = json.dumps({"count": self._count}).encode()
        headers: list[tuple[str, str]] = []
        extensions = {}
        if what == "token":
            reply = {"access_token": ACCESS_TOKEN, "expires_in": 890, "token_type": "Bearer"}
            content = json.dumps(reply).encode()
        elif what == "people":
            content = json.dumps(PEOPLE).encode()
        elif what == "gzip":
            content = gzip.compress(content, mtime=0)
            headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
        elif what == "binary":
            content, headers = bytes(range(0, 256, 3)), [("Content-Type", "application/octet-stream")]
        elif what == "text":
            content, headers = ODD_TEXT.encode(), [("Content-Type", "text/plain; charset=utf-8")]
            extensions = {"http_version": b"HTTP/1.1", "reason_phrase": b"Very Well"}
        elif what == "headers":
            headers = [("Set-Cookie", "a=first-cookie; Path=/"), ("X-Place", "Montréal"), ("Set-Cookie", "b=second")]
            extensions = {"http_version": b"HTTP/2"}
        elif what == "links":
            here = str(request.url).partition("?")[0]
            content = json.dumps({"next": f"{here}?page=3", "broker": ADDRESSES["broker"]}).encode()
            headers = [("Content-Type", "application/json"), ("Link", f'<{here}?page=3>; rel="next"')]
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        return httpx.Response(200, headers=raw, stream=httpx.ByteStream(content), extensions=extensions)


def bodies(path: Path) -> list[Plan]:
    """Record bodies, headers and addresses of every kind; the service has another header prefix than the document."""
    with tk.Session(
        credentials=tk.KeyPair(**{**KEY_PAIR, "scheme": "headers"}),
        settings=tk.Settings(ADDRESSES, header_prefix="OWN"),
        cassette=path,
        transport=httpx.MockTransport(Answers()),
        clock=SetClock(),
    ) as session:
        make(small(session), BODIES)
    return [plan(by_session(BODIES))]


URL = "https://a.example"
AUTHORIZATION = {"Authorization": "Bearer made-up-access-token-4"}


def record_by_client(path: Path, calls: list[Call], arguments: dict[str, Any] | None = None) -> None:
    """Record the calls of an httpx client without a session; `arguments` are those of the cassette."""
    with open_cassette(path, arguments or {}, mode="once") as cassette:
        make(open_client(cassette, inner=httpx.MockTransport(Answers())), calls)


def plain(path: Path) -> list[Plan]:
    """Record a client without a session: equal requests, failures, and secrets in requests."""
    calls = [
        get(f"{URL}/count"),
        get(f"{URL}/count"),
        get(f"{URL}/timeout"),
        get(f"{URL}/refused"),
        # The place tells that these are secrets: a replay must come to the placeholders that were recorded.
        post(f"{URL}/login", json={"user": "somebody", "password": "made-up-password-1"}),
        post(f"{URL}/login", json={"user": "somebody", "password": "made-up-password-2"}),
        get(f"{URL}/report", params=[["page", "2"], ["api_key", "made-up-3"], ["page", "1"]], headers=AUTHORIZATION),
        post(f"{URL}/upload", data={"pin": "8675"}, files={"file": ["a.txt", "some text", "text/plain"]}),
        # These were not taken for secrets, whatever a later version takes them for.
        post(
            f"{URL}/settings", json={"primaryKey": "kJ8mQ2xR7vT4nB9w", "seed": "f3A9c1E7d5B2", "refresh": "made-up-5"}
        ),
        # The phrase is told to the cassette.
        post(f"{URL}/form", data={"client_secret": "made-up-6", "note": "here is an invented phrase, as announced"}),
    ]
    arguments = {"secrets": "an invented phrase"}
    record_by_client(path, calls, arguments)
    return [plan(by_client(calls), cassettes=[arguments])]


def matched_on(path: Path) -> list[Plan]:
    """Record requests that differ in a header only; replay them by it, and then with no regard to host and query."""

    def report(language: str, host: str = URL, page: str = "1") -> Call:
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


def rules(path: Path) -> list[Plan]:
    """Record under rules of one's own: names, JSON paths and patterns, in requests and answers."""
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


def calls_about(people: list[dict[str, Any]]) -> list[Call]:
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


def pseudonyms(path: Path) -> list[Plan]:
    """Record with stand-ins for personal data.

    The first plan names people by the stand-ins that a replay shows: with the key, with another one, with none, and
    without rules. The second names them as they are, which takes the key and this version's way to make stand-ins.
    Both ask in another order than was recorded in, so that each request must find its own recording.
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


def torn(path: Path) -> list[Plan]:
    """Record with a process that ended in the middle of a write."""
    calls = [get(f"{URL}/count"), get(f"{URL}/text"), get(f"{URL}/last")]
    record_by_client(path, calls)
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"    status:")])
    return [plan(by_client(calls[:2]))]


def interrupted(path: Path) -> list[Plan]:
    """Record with mode "all", but not to the end: the old file stays, and the part that was recorded beside it."""
    call = get(f"{URL}/count")
    record_by_client(path, [call])
    with suppress(KeyboardInterrupt), tk.Cassette(path, "all") as cassette:
        make(open_client(cassette, inner=httpx.MockTransport(Answers())), [call, call])
        raise KeyboardInterrupt
    part = path.with_name(f"{path.stem}.part.yaml")
    part.rename(path.with_name(f"{path.stem}-part.yaml"))  # Git ignores the name that it had
    return [plan(by_client([call]))]


def interrupted_part(path: Path) -> list[Plan]:
    """Replay the part that `interrupted` left: it is a cassette like any other."""
    assert path.exists()
    return [plan(by_client([get(f"{URL}/count")] * 2))]


def appended(path: Path) -> list[Plan]:
    """Record with stock vcrpy, real addresses and keys included, and then add to it."""
    steps: list[Step] = [quotes("HOTL"), quotes("ALFA")]
    with tk.practice(clock=(clock := SetClock())) as service:
        credentials, settings = service.credentials["paper"], service.settings
        keys = {"SVC-API-KEY-ID": credentials.key_id.reveal(), "SVC-API-SECRET-KEY": credentials.secret_key.reveal()}
        with vcr.use_cassette(str(path)), httpx.Client(headers=keys) as client:
            client.get(f"{service.url('market_data')}/v2/practice/quotes", params={"symbols": "HOTL"})
        with tk.Session(
            credentials=credentials, settings=settings, cassette=path, mode="new_episodes", clock=clock
        ) as session:
            make(session, steps)
    return [plan(by_session(steps))]


CASSETTES: dict[str, Callable[[Path], list[Plan]]] = {
    "live": live,
    "paper": paper,
    "broker-live": broker_live,
    "broker-sandbox": broker_sandbox,
    "two-profiles": two_profiles,
    "bodies": bodies,
    "plain": plain,
    "matched-on": matched_on,
    "rules": rules,
    "pseudonyms": pseudonyms,
    "torn": torn,
    "interrupted": interrupted,
    "interrupted-part": interrupted_part,
    "appended": appended,
}


def make_cassettes(folder: Path) -> dict[str, Any]:
    """Record every cassette, and return for each which calls to replay and what comes of it."""
    folder.mkdir(parents=True)
    expected = {}
    for name, record in CASSETTES.items():
        path = folder / f"{name}.yaml"
        plans = record(path)
        for one in plans:
            with tempfile.TemporaryDirectory() as elsewhere, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the torn one is repaired, and says so
                copy = shutil.copy(path, elsewhere)
                first, *others = [
                    asyncio.run(replayed(copy, {**one, "cassette": arguments})) for arguments in one["cassettes"]
                ]
            assert all(other == first for other in others), name
            one["outcome"] = shortened(first)
        expected[name] = plans
    return expected


# Saved profiles and the shared token ----------------------------------------------------------------------------------


class MemoryKeyring(KeyringBackend):
    """A keyring whose entries are in a dictionary."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        """Return an entry."""
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Put an entry there."""
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Remove an entry."""
        del self.entries[service, username]


BY_HAND = f"""\
client_id = "{CLIENT_SECRET["client_id"]}"
client_secret_file = "secret.txt"

[origins]
broker = "https://broker.example.com"
market_data = "https://data.example.com"
auth = "https://auth.example.com"
"""


def make_profiles(folder: Path) -> dict[str, Any]:
    """Save a profile of each kind in files and in a keyring, and write one by hand; return what is in them.

    The key in the keyring is a long one, which lies there in pieces.
    """
    saved = Path(platformdirs.user_config_dir(APPLICATION, appauthor=False)) / "profiles"
    backend, expected = MemoryKeyring(), {}
    for place, chosen, algorithm, key in (
        ("in-files", null.Keyring(), "ES256", ec.generate_private_key(ec.SECP256R1())),
        ("in-keyring", backend, "PS256", rsa.generate_private_key(65537, 2048)),
    ):
        fields = [KEY_PAIR, CLIENT_SECRET, {**CLIENT_KEY, "algorithm": algorithm}]
        keyring.set_keyring(chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a file is not encrypted, and that is said
            for kind, given in zip(
                (tk.KeyPair, tk.ClientSecret, partial(tk.ClientKey, private_key=key)), fields, strict=True
            ):
                tk.save_credentials(kind(**given), given["name"], settings=tk.Settings(ADDRESSES))
        shutil.copytree(saved, folder / place)
        shutil.rmtree(saved)
        public_key = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        expected[place] = {"profiles": fields, "public_key": public_key}
    entries = [[service, user, text] for (service, user), text in backend.entries.items()]
    (folder / "keyring.json").write_text(json.dumps(entries, indent=1) + "\n")
    (folder / "by-hand").mkdir()
    (folder / "by-hand" / "broker-live.by-hand.toml").write_text(BY_HAND)
    (folder / "by-hand" / "secret.txt").write_text(f"{CLIENT_SECRET['client_secret']}\n")
    by_hand = {**CLIENT_SECRET, "name": "by-hand", "form_fields": {}}
    return {**expected, "by-hand": {"profiles": [by_hand]}}


def make_shared_token(folder: Path) -> dict[str, Any]:
    """Ask for a token that processes share, and keep its entry as it lies in the user's cache folder."""
    with tk.Session(
        credentials=tk.ClientSecret(**CLIENT_SECRET),
        settings=tk.Settings(ADDRESSES),
        token_store="shared",
        transport=httpx.MockTransport(Answers()),
        clock=SetClock(),
    ) as session:
        session.broker.get("/v1/accounts")
    shutil.copytree(Path(platformdirs.user_cache_dir(APPLICATION, appauthor=False)) / "tokens", folder)
    return {"credentials": CLIENT_SECRET, "access_token": ACCESS_TOKEN, "issued_at": START.isoformat()}


@contextmanager
def folders_of_our_own() -> Iterator[None]:
    """Have empty folders in place of the user's, and no variable of the toolkit."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
            del os.environ[name]
        os.environ.update(dict.fromkeys(("HOME", "USERPROFILE"), home))
        os.environ.update({f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "CACHE", "DATA")})
        os.chdir(home)
        yield
        os.chdir(here)


def write_expected(file: Path, expected: dict[str, Any]) -> None:
    """Write JSON in a compact form, with one line for each cassette and each of the other things."""
    compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    cassettes = ",\n".join(f"{compact(name)}:{compact(plans)}" for name, plans in expected["cassettes"].items())
    others = ",\n".join(f"{compact(name)}:{compact(value)}" for name, value in expected.items() if name != "cassettes")
    file.write_text(f'{{"cassettes":{{\n{cassettes}}},\n{others}}}\n', "utf-8")


def main() -> None:
    """Make all files anew."""
    shutil.rmtree(FILES, ignore_errors=True)
    with folders_of_our_own():
        expected = {
            "addresses": ADDRESSES,
            "cassettes": make_cassettes(FILES / "cassettes"),
            "profiles": make_profiles(FILES / "profiles"),
            "shared_token": make_shared_token(FILES / "tokens"),
        }
    write_expected(FILES / "expected.json", expected)
    size = sum(file.stat().st_size for file in FILES.rglob("*") if file.is_file())
    print(f"Made with toolkit {tk.__version__} in {Path(tk.__file__).parent}: {size:,} bytes.")


if __name__ == "__main__":
    main()
