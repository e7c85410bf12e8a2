"""Files that an earlier version wrote can still be read: cassettes and saved profiles.

Commit a0334b8 wrote them, with invented credentials; `expected.json` holds what that version read in them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import jwt
import keyring
import platformdirs
import pytest
from keyring.backends import null
from memory_keyring import MemoryKeyring
from replays import answer, open_cassette, open_client, replayed, shortened

import toolkit as tk

FILES = Path(__file__).with_name("files")
EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
APPLICATION = "service-access-toolkit"

# A cassette, a plan of calls, and the arguments of `tk.Cassette` to replay them with.
REPLAYS = [
    pytest.param(name, plan, arguments, id=f"{name}-{plan_number}-{number}")
    for name, plans in EXPECTED["cassettes"].items()
    for plan_number, plan in enumerate(plans)
    for number, arguments in enumerate(plan["cassettes"])
]
MUST_REPLAY = [case for case in REPLAYS if "is_with_real_values" not in case.values[1]]
WITH_REAL_VALUES = [case for case in REPLAYS if "is_with_real_values" in case.values[1]]

each_replay = pytest.mark.parametrize(("name", "plan", "arguments"), MUST_REPLAY)
each_profile = pytest.mark.parametrize(
    ("place", "profile"),
    [
        pytest.param(place, profile, id=f"{place}-{profile['name']}")
        for place, saved in EXPECTED["profiles"].items()
        for profile in saved["profiles"]
    ],
)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    """Give the test empty folders in place of the user's, no keyring, and no variables of the toolkit."""
    for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for kind in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    backend = keyring.get_keyring()
    keyring.set_keyring(null.Keyring())
    yield
    keyring.set_keyring(backend)


def restore(source, folder, tmp_path):
    """Copy stored files to a folder of the user, with the rights that the earlier version gave them."""
    target = Path(folder) / source.name
    if not target.is_relative_to(tmp_path):
        pytest.skip("The folders of this system's users cannot be moved.")
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in (target.parent, target, *target.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.fixture
def copy(tmp_path):
    """Return a function that copies a stored cassette, since opening it may change it."""
    return lambda name: Path(shutil.copyfile(FILES / "cassettes" / f"{name}.yaml", tmp_path / f"{name}.yaml"))


def check_replay(path, plan, arguments, **options):
    """Check that the calls of a plan have the same outcome as in the earlier version."""
    outcome = asyncio.run(replayed(path, {**plan, "cassette": arguments}, **options))
    expected = dict(plan["outcome"])
    if not options.get("strict", True):  # interactions were added
        expected.pop("recordings")
        outcome.pop("recordings")
    assert shortened(outcome) == expected, f"In full: {json.dumps(outcome, indent=1)}"


@pytest.mark.filterwarnings("ignore:.*torn.yaml")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@each_replay
def test_cassette_replays(name, plan, arguments, is_async, copy):
    """Answers, errors and tables are those of the earlier version, and every interaction is played once."""
    check_replay(copy(name), plan, arguments, is_async=is_async)


@pytest.mark.filterwarnings("ignore:.*torn.yaml")
@each_replay
def test_cassette_can_be_added_to(name, plan, arguments, copy):
    """A new interaction is recorded beside the old ones, and all replay."""
    path = copy(name)
    inner = httpx.MockTransport(lambda _: httpx.Response(200, text="added"))
    with tk.Cassette(path, "new_episodes") as cassette, open_client(cassette, inner=inner) as client:
        client.get("https://added.example/")
    with tk.Cassette(path, "none") as cassette, open_client(cassette) as client:
        assert client.get("https://added.example/").text == "added"
    check_replay(path, plan, arguments, strict=False)


@pytest.mark.parametrize(("name", "plan", "arguments"), WITH_REAL_VALUES)
def test_real_value_finds_its_own_interaction_or_none(name, plan, arguments, copy):
    """A request with a real value finds its own interaction or, if pseudonyms have changed, no interaction."""
    (part,), (expected,) = plan["parts"], plan["outcome"]["parts"]
    cassette = open_cassette(copy(name), arguments)
    for call, expected_answer in zip(part["calls"], expected["answers"], strict=True):
        with open_client(cassette) as client, suppress(tk.CassetteMiss):
            assert shortened(asyncio.run(answer(client, call))) == expected_answer


@pytest.fixture
def restore_profiles(tmp_path):
    """Return a function that puts the saved profiles of a place where the earlier version kept them."""

    def restore_place(place):
        source = shutil.copytree(FILES / "profiles" / place, tmp_path / "copied" / "profiles")
        restore(Path(source), platformdirs.user_config_dir(APPLICATION, appauthor=False), tmp_path)
        if place == "in-keyring":
            keyring.set_keyring(MemoryKeyring())
            for entry in json.loads((FILES / "profiles" / "keyring.json").read_text("utf-8")):
                keyring.set_password(*entry)

    return restore_place


def open_profile(profile, *, addresses=None, **options):
    """Open a session with a saved profile."""
    settings = tk.Settings({**EXPECTED["addresses"], **(addresses or {})})
    return tk.Session(profile["environment"], profile["name"], settings=settings, **options)


@each_profile
def test_profile_is_read(place, profile, restore_profiles):
    """A profile has the attributes that it was saved with."""
    restore_profiles(place)
    listed = [(str(entry.environment), entry.name) for entry in tk.saved_credentials()]
    assert (profile["environment"], profile["name"]) in listed
    credentials = open_profile(profile).credentials
    values = {name: getattr(credentials, name) for name in profile}
    revealed = {name: value.reveal() if isinstance(value, tk.Secret) else value for name, value in values.items()}
    assert revealed == profile


@each_profile
def test_profile_authorizes_calls(place, profile, restore_profiles, service):
    """A call carries the saved credentials, in the way that was saved with them."""
    restore_profiles(place)
    # The shared store is new in each test, but tokens in memory outlive a test.
    session = open_profile(profile, transport=service, token_store="shared")
    session.market_data.get("/v2/quotes")
    *token_requests, call = service.requests
    if "secret_key" in profile:
        pair = base64.b64encode(f"{profile['key_id']}:{profile['secret_key']}".encode()).decode()
        assert call.headers["Authorization"] == f"Basic {pair}"
        assert token_requests == []
        return
    assert call.headers["Authorization"] == f"Bearer {service.issued[0]}"
    (token_request,) = token_requests
    form = dict(parse_qsl(token_request.content.decode()))
    assert form["client_id"] == profile["client_id"]
    if "client_secret" in profile:
        assert form["client_secret"] == profile["client_secret"]
        assert profile["form_fields"].items() <= form.items()
        return
    public_key, audience = EXPECTED["profiles"][place]["public_key"], EXPECTED["addresses"]["auth_sandbox"]
    algorithms = [profile["algorithm"]]
    assertion = jwt.decode_complete(form["client_assertion"], public_key, algorithms=algorithms, audience=audience)
    assert (assertion["header"]["kid"], assertion["payload"]["sub"]) == (profile["key_id"], profile["client_id"])


@each_profile
def test_profile_is_bound_to_its_addresses(place, profile, restore_profiles, service):
    """Nothing is sent to an address that the profile was not saved for."""
    restore_profiles(place)
    addresses = {"market_data": "https://elsewhere.example", "market_data_sandbox": "https://elsewhere.example"}
    with pytest.raises(tk.UnsafeAddress):
        open_profile(profile, addresses=addresses, transport=service, token_store="shared")
    assert service.requests == []
