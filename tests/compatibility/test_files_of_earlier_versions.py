"""Files that an earlier version wrote stay readable: cassettes, saved profiles, the cache of shared tokens.

`make_files.py` made them, and says how; `expected.json` holds what that version read in them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import socket
import warnings
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import jwt
import keyring
import platformdirs
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import null
from replays import answer, open_cassette, open_client, replayed, shortened

import toolkit as tk

FILES = Path(__file__).with_name("files")
EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
APPLICATION = "service-access-toolkit"
LOOPBACK = ("127.0.0.1", "::1", "localhost")

# A cassette, a plan of calls, and the arguments of `tk.Cassette` that they are replayed with.
REPLAYS = [
    pytest.param(name, plan, arguments, id=f"{name}-{plan_number}-{number}")
    for name, plans in EXPECTED["cassettes"].items()
    for plan_number, plan in enumerate(plans)
    for number, arguments in enumerate(plan["cassettes"])
]
MUST_REPLAY = [case for case in REPLAYS if "is_with_real_values" not in case.values[1]]
WITH_REAL_VALUES = [case for case in REPLAYS if "is_with_real_values" in case.values[1]]
PROFILES = [
    pytest.param(place, profile, id=f"{place}-{profile['name']}")
    for place, saved in EXPECTED["profiles"].items()
    for profile in saved["profiles"]
]


@pytest.fixture(autouse=True)
def _folders_of_its_own(tmp_path, monkeypatch):
    """Give the test folders of its own in place of the user's, no keyring, and no variable of the toolkit."""
    for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for kind in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    before = keyring.get_keyring()
    keyring.set_keyring(null.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Fail a test that connects to anything but this machine."""
    connect = socket.socket.connect

    def checked_connect(self, address):
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            pytest.fail(f"A test connects to {address}.")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", checked_connect)


def restore(source: Path, folder: str, tmp_path: Path) -> None:
    """Put files to where the earlier version kept them, with the rights that it gave them.

    Args:
        source: the stored files.
        folder: the user's folder of the application that they belong in.
        tmp_path: what that folder must be in.
    """
    target = Path(folder) / source.name
    if not target.is_relative_to(tmp_path):
        pytest.skip("The folders of this system's users cannot be moved.")
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in (target.parent, target, *target.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)


# Cassettes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    """Return a function that copies a stored cassette, since to open one may change it."""
    return lambda name: Path(shutil.copyfile(FILES / "cassettes" / f"{name}.yaml", tmp_path / f"{name}.yaml"))


def check_replay(path, plan, arguments, **options):
    """Check that the calls of a plan come to what the earlier version made of them."""
    outcome = asyncio.run(replayed(path, {**plan, "cassette": arguments}, **options))
    expected = dict(plan["outcome"])
    if not options.get("strict", True):  # something was added to it
        expected.pop("recordings")
        outcome.pop("recordings")
    assert shortened(outcome) == expected, f"In full: {json.dumps(outcome, indent=1)}"


@pytest.mark.filterwarnings("ignore:.*torn.yaml")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("name", "plan", "arguments"), MUST_REPLAY)
def test_a_cassette_replays(name, plan, arguments, is_async, copy):
    """Answers, errors and tables are those that the earlier version gave, each recording is played, and no other."""
    check_replay(copy(name), plan, arguments, is_async=is_async)


@pytest.mark.filterwarnings("ignore:.*torn.yaml")
@pytest.mark.parametrize(("name", "plan", "arguments"), MUST_REPLAY)
def test_a_cassette_can_be_added_to(name, plan, arguments, copy):
    """What is recorded now stands beside what was recorded then, and both replay."""
    path = copy(name)
    with (
        tk.Cassette(path, "new_episodes") as cassette,
        open_client(cassette, inner=httpx.MockTransport(lambda _: httpx.Response(200, text="added"))) as client,
    ):
        client.get("https://added.example/")
    with tk.Cassette(path, "none") as cassette, open_client(cassette) as client:
        assert client.get("https://added.example/").text == "added"
    check_replay(path, plan, arguments, strict=False)


@pytest.mark.filterwarnings("ignore:.*torn.yaml")
@pytest.mark.parametrize("name", EXPECTED["cassettes"])
def test_what_was_not_recorded_is_missed(name, copy):
    """No recording answers a request of another address."""
    with open_client(tk.Cassette(copy(name), "none")) as client, pytest.raises(tk.CassetteMiss):
        client.get("https://never.example/")


@pytest.mark.parametrize("name", ["live", "broker-live"])
def test_a_session_opens_a_cassette_by_its_path(name, copy):
    """The path is all that a replay needs; the recorded token is shown as the document's placeholder."""
    (plan,) = EXPECTED["cassettes"][name]
    (part,), (expected,) = plan["parts"], plan["outcome"]["parts"]
    with tk.Session(cassette=copy(name), mode="none") as session:
        told = asyncio.run(answer(session, part["calls"][0]))
        assert shortened(told) == expected["answers"][0], told
        assert str(session.environment) == expected["environment"]
        assert session.credentials is None
        assert session.token is None or session.token.access_token.reveal() == "<ACCESS_TOKEN>"


@pytest.mark.parametrize(("name", "plan", "arguments"), WITH_REAL_VALUES)
def test_a_real_value_gets_its_own_recording_or_none(name, plan, arguments, copy):
    """A request with a real value in it needs the key and the way in which stand-ins were made then.

    A version that makes them in another way misses the recording, but must not take another one for it.
    """
    (part,), (expected,) = plan["parts"], plan["outcome"]["parts"]
    cassette = open_cassette(copy(name), arguments)
    for call, right in zip(part["calls"], expected["answers"], strict=True):
        with open_client(cassette) as client:
            try:
                told = shortened(asyncio.run(answer(client, call)))
            except tk.CassetteMiss:
                continue
            assert told == right


def test_a_torn_cassette_is_repaired_and_says_so(copy):
    """The interaction that was not written to its end is gone, with a warning; the others are all there."""
    path = copy("torn")
    with pytest.warns(UserWarning, match=r"torn\.yaml"):
        cassette = tk.Cassette(path, "none")
    assert len(cassette) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tk.Cassette(path, "none")) == 2


def test_a_part_that_was_left_is_named_and_can_be_used(copy):
    """After a kill, opening the old cassette names the part; renamed, it replays."""
    path, part = copy("interrupted"), copy("interrupted-part")
    part = part.rename(path.with_name("interrupted.part.yaml"))
    with pytest.warns(UserWarning, match=r"interrupted\.part\.yaml"):
        check_replay(path, EXPECTED["cassettes"]["interrupted"][0], {})
    part.replace(path)
    check_replay(path, EXPECTED["cassettes"]["interrupted-part"][0], {})


@pytest.mark.filterwarnings("ignore:.*interrupted.part.yaml")
def test_a_part_that_was_left_is_replaced_by_the_next_recording(copy):
    """Mode "all" begins a new part, and in the end puts that in place of the cassette."""
    path = copy("interrupted")
    part = copy("interrupted-part").rename(path.with_name("interrupted.part.yaml"))
    inner = httpx.MockTransport(lambda _: httpx.Response(200, text="anew"))
    with tk.Cassette(path, "all") as cassette, open_client(cassette, inner=inner) as client:
        client.get("https://a.example/count")
    assert not part.exists()
    with tk.Cassette(path, "none") as cassette, open_client(cassette) as client:
        assert len(cassette) == 1
        assert client.get("https://a.example/count").text == "anew"


# Saved profiles -------------------------------------------------------------------------------------------------------


class StoredKeyring(KeyringBackend):
    """A keyring that holds what the earlier version put into one."""

    priority = 5

    def __init__(self):
        super().__init__()
        entries = json.loads((FILES / "profiles" / "keyring.json").read_text("utf-8"))
        self.entries = {(service, user): text for service, user, text in entries}

    def get_password(self, service, username):
        return self.entries.get((service, username))

    def set_password(self, service, username, password):
        self.entries[service, username] = password

    def delete_password(self, service, username):
        del self.entries[service, username]


class Service:
    """A service within this process, which gives a token to whoever asks; `requests` are those that reached it."""

    def __init__(self):
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        token = {"access_token": "made-up-new-access-token", "expires_in": 890, "token_type": "Bearer"}
        return httpx.Response(200, json=token if request.url.path.endswith("/token") else {})

    @property
    def token_requests(self):
        return [request for request in self.requests if request.url.path.endswith("/token")]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Return a function that puts the saved profiles of a place to where the earlier version kept them."""

    def put(place):
        source = shutil.copytree(FILES / "profiles" / place, tmp_path / "copied" / "profiles")
        restore(Path(source), platformdirs.user_config_dir(APPLICATION, appauthor=False), tmp_path)
        if place == "in-keyring":
            keyring.set_keyring(StoredKeyring())

    return put


def open_saved(profile, *, addresses=None, **options):
    """Open a session with a saved profile; None when it is refused, and the refusal names the way out."""
    environment, name = profile["environment"], profile["name"]
    settings = tk.Settings({**EXPECTED["addresses"], **(addresses or {})})
    try:
        return tk.Session(environment, name, settings=settings, **options)
    except tk.ConfigurationError as error:
        refusal = str(error)
    command = re.search(r"toolkit credentials add[^`\n]*", refusal)
    assert command is not None, refusal
    assert {name, environment} <= set(command[0].split()), refusal
    return None


@pytest.mark.parametrize(("place", "profile"), PROFILES)
def test_a_saved_profile_is_read_or_refused(place, profile, saved):
    """It has the attributes that it was saved with, or the error names the command that saves it anew."""
    saved(place)
    listed = [(str(each.environment), each.name) for each in tk.saved_credentials()]
    session = open_saved(profile)
    if session is not None:
        assert (profile["environment"], profile["name"]) in listed
        credentials = session.credentials
        values = {name: getattr(credentials, name) for name in profile}
        assert {
            name: value.reveal() if isinstance(value, tk.Secret) else value for name, value in values.items()
        } == profile


@pytest.mark.parametrize(("place", "profile"), PROFILES)
def test_a_saved_profile_authorizes_calls(place, profile, saved):
    """What goes out with a call holds the credentials that were saved, in the way that was saved with them."""
    saved(place)
    service = Service()
    # The shared store is the test's own, while a token in memory may be that of another test.
    session = open_saved(profile, transport=httpx.MockTransport(service), token_store="shared")
    if session is None:
        return
    session.market_data.get("/v2/quotes")
    *token_requests, call = service.requests
    if "secret_key" in profile:
        pair = base64.b64encode(f"{profile['key_id']}:{profile['secret_key']}".encode()).decode()
        assert call.headers["Authorization"] == f"Basic {pair}"
        assert token_requests == []
        return
    assert call.headers["Authorization"] == "Bearer made-up-new-access-token"
    (token_request,) = token_requests
    form = dict(parse_qsl(token_request.content.decode()))
    assert form["client_id"] == profile["client_id"]
    if "client_secret" in profile:
        assert form["client_secret"] == profile["client_secret"]
        assert profile["form_fields"].items() <= form.items()
        return
    public_key, address = EXPECTED["profiles"][place]["public_key"], EXPECTED["addresses"]["auth_sandbox"]
    assertion = jwt.decode_complete(
        form["client_assertion"], public_key, algorithms=[profile["algorithm"]], audience=address
    )
    assert assertion["header"]["kid"] == profile["key_id"]
    assert assertion["header"]["typ"] == profile["assertion_typ"]
    assert assertion["payload"]["sub"] == profile["client_id"]
    assert assertion["payload"]["exp"] - assertion["payload"]["iat"] == profile["assertion_lifetime"]


@pytest.mark.parametrize(("place", "profile"), PROFILES)
def test_a_saved_profile_goes_nowhere_else(place, profile, saved):
    """It is bound to the addresses that it was saved for: nothing is sent to another."""
    saved(place)
    service = Service()
    elsewhere = {"market_data": "https://elsewhere.example", "market_data_sandbox": "https://elsewhere.example"}
    with suppress(tk.UnsafeAddress):
        session = open_saved(profile, addresses=elsewhere, transport=httpx.MockTransport(service), token_store="shared")
        if session is not None:
            session.market_data.get("/v2/quotes")
    assert service.requests == []


@pytest.mark.filterwarnings("ignore::UserWarning")  # without a keyring, a file is not encrypted
@pytest.mark.parametrize(("place", "profile"), PROFILES)
def test_a_saved_profile_can_be_saved_anew(place, profile, saved):
    """Whether it can be read or not, it does not stand in the way of another one of its name, and can be removed."""
    saved(place)
    environment, name = profile["environment"], profile["name"]
    kind, attribute = (tk.KeyPair, "key_id") if environment == "paper" else (tk.ClientSecret, "client_id")
    credentials = kind("made-up-other", "made-up-secret-0002", environment=environment, name=name)
    settings = tk.Settings(EXPECTED["addresses"])
    tk.save_credentials(credentials, name, settings=settings)
    again = tk.Session(environment, name, settings=settings).credentials
    assert getattr(again, attribute) == getattr(credentials, attribute)
    tk.remove_credentials(name, environment)
    with pytest.raises(tk.ConfigurationError):
        tk.Session(environment, name, settings=settings)


# The cache of shared tokens -------------------------------------------------------------------------------------------


class StoppedClock:
    """A clock that stands still."""

    def __init__(self, instant):
        self._instant = instant

    def now(self):
        return self._instant

    def monotonic(self):
        return 0.0


@pytest.mark.parametrize("is_good", [False, True], ids=["expired", "still good"])
def test_a_shared_token_is_read_or_asked_for_again(is_good, tmp_path):
    """A token of the earlier version's cache authorizes calls while it is good; else one is asked for, once."""
    restore(FILES / "tokens", platformdirs.user_cache_dir(APPLICATION, appauthor=False), tmp_path)
    expected, service = EXPECTED["shared_token"], Service()
    session = tk.Session(
        credentials=tk.ClientSecret(**expected["credentials"]),
        settings=tk.Settings(EXPECTED["addresses"]),
        token_store="shared",
        transport=httpx.MockTransport(service),
        clock=StoppedClock(datetime.fromisoformat(expected["issued_at"])) if is_good else None,
    )
    for _ in range(2):
        session.market_data.get("/v2/quotes")
    asked = len(service.token_requests)
    assert asked == 1 or (is_good and asked == 0)
    token = "made-up-new-access-token" if asked else expected["access_token"]
    assert [call.headers["Authorization"] for call in service.requests[asked:]] == [f"Bearer {token}"] * 2
