"""One token for several processes: sealed entries, the flow, driven by hand, with a store in memory, and real ones."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import warnings
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import canaries
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

import toolkit as tk
from toolkit.auth.sealing import Seal
from toolkit.auth.tokens.token import FileTokenStore, SharedToken, Token, open_token
from toolkit.core.errors import TokenRefused
from toolkit.core.ledger import instant_text
from toolkit.core.secret import Secret

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
IDENTITY = canaries.new().encode()
TOKEN = canaries.new()
URL = "https://auth.example.com/v1/oauth2/token"


class Store:
    """A store in a dictionary, shared by several imitated processes."""

    def __init__(self):
        self.entries, self.locked = {}, set()
        self.failing = set()

    def _check(self, what):
        if what in self.failing:
            raise OSError(5, f"cannot {what}")

    def read(self, name, /):
        self._check("read")
        return self.entries.get(name)

    def write(self, name, data, /):
        self._check("write")
        self.entries[name] = data

    def try_lock(self, name, /):
        self._check("lock")
        if name in self.locked:
            return None
        self.locked.add(name)
        return SimpleNamespace(release=lambda: self.locked.discard(name))


class Processes:
    """Imitated processes with equal credentials and equal clocks."""

    def __init__(self, store=None):
        self.store = store or Store()
        self.clock = ManualClock(START)
        self.fetches = 0

    def shared_token(self, identity=IDENTITY):
        """Return the shared token as another process sees it."""
        return SharedToken(self.store, identity, URL)

    def fetch(self, lifetime=890):
        self.fetches += 1
        yield "fetching"
        now = self.clock.now()
        end = self.clock.monotonic() + lifetime
        text = Secret(f"{TOKEN}-{self.fetches}")
        return Token(text, now, now + timedelta(seconds=lifetime), expires_monotonic=end)

    def obtain(self, shared=None, **more):
        return (shared or self.shared_token()).obtain(self.clock, self.fetch, **more)

    def obtained(self, shared=None, **more):
        """Return the token of a process while no other process is waiting."""
        flow = self.obtain(shared, **more)
        try:
            assert next(flow) == "fetching"
            flow.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("it waits for somebody")


def test_refused_token():
    """A token that the service refused is not used again; a newer token of another process is used."""
    processes = Processes()
    refused = processes.obtained()
    renewed = processes.obtained(other_than=refused)
    assert renewed != refused
    assert processes.obtained(other_than=refused) == renewed
    assert processes.fetches == 2


def test_what_is_left_of_a_lifetime():
    """The token of another process ends on the monotonic clock of this one when what was left of it is over."""
    processes = Processes()
    first = processes.obtained()
    processes.clock.advance(400)
    other = processes.obtained()
    assert (other, processes.fetches) == (first, 1)
    assert other.expires_monotonic == pytest.approx(processes.clock.monotonic() + 490)


@pytest.mark.parametrize("what", ["read", "write", "lock"])
def test_unavailable(what):
    """If the store fails, a process warns once and goes on in memory."""
    processes = Processes()
    processes.store.failing.add(what)
    shared = processes.shared_token()
    with pytest.warns(UserWarning, match="OSError.*in memory"):
        assert processes.obtained(shared)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        processes.clock.advance(900)
        assert processes.obtained(shared)
    processes.store.failing.clear()
    assert processes.obtained(shared) == processes.obtained()


@pytest.mark.parametrize(
    ("changes", "is_used"),
    [
        ({}, True),
        ({"issued_at": START + timedelta(seconds=4)}, True),
        ({"issued_at": START + timedelta(seconds=6)}, False),
        ({"expires_at": START}, False),
        ({"expires_at": START + timedelta(hours=25)}, False),
        ({"issued_at": START + timedelta(seconds=2), "expires_at": START + timedelta(seconds=1)}, False),
        ({"issued_at": "yesterday"}, False),
        ({"access_token": "of two words"}, False),
        ({"access_token": "x" * (1 << 16)}, False),
    ],
)
def test_entry_that_is_not_used(changes, is_used):
    """An entry counts as missing if it is too large, its token cannot be sent, or its times cannot be right."""
    fields = {"access_token": TOKEN, "issued_at": START, "expires_at": START + timedelta(hours=1), **changes}
    seal = Seal(IDENTITY, "a test")
    entry = seal.seal(json.dumps(fields, default=instant_text).encode())
    assert (open_token(entry, seal, clock=ManualClock(START)) is not None) is is_used
    assert open_token(entry, Seal(IDENTITY, "another"), clock=ManualClock(START)) is None


@given(st.integers(2, 6), st.randoms(use_true_random=False))
def test_any_order(count, choose):
    """However processes interleave and fail, they request one token at a time, share it, and do not wait forever."""
    processes = Processes()
    flows = {number: processes.obtain() for number in range(count)}
    asking, tokens, failures = set(), [], 0
    for step in range(200):
        if not flows:
            break
        number = choose.choice(sorted((step % 3 == 0 and asking) or flows))
        try:
            if number in asking and choose.random() < 0.3:
                flows[number].throw(choose.choice([TokenRefused("no"), GeneratorExit()]))
            elif next(flows[number]) == "fetching":
                asking.add(number)
                assert len(asking) == 1
            continue
        except StopIteration as end:
            tokens.append(end.value)
        except (TokenRefused, GeneratorExit):
            failures += 1
        del flows[number]
        asking.discard(number)
    assert not flows
    assert len({token.access_token for token in tokens}) <= 1
    assert processes.fetches == failures + bool(tokens)


CHILD = """
import sys
import toolkit as tk

address, auth, client_id, secret = sys.argv[1:]
settings = tk.Settings({"broker_sandbox": address, "auth_sandbox": auth})
credentials = tk.ClientSecret(client_id, secret, environment="broker-sandbox")
with tk.Session(credentials=credentials, settings=settings, token_store="shared") as session:
    print("ready", flush=True)
    sys.stdin.readline()
    print(session.broker.get("/v1/accounts").status_code, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is moved by XDG_CACHE_HOME")
def test_real_processes(caches):
    """A process that calls at the same time as this one, and one that calls later, use the same token."""
    with tk.practice(accounts=1) as service:
        credentials, addresses = service.credentials["sandbox-secret"], service.settings.addresses

        def call(store):
            with tk.Session(credentials=credentials, settings=service.settings, token_store=store) as session:
                session.broker.get("/v1/accounts").raise_for_status()
                return session.token.access_token

        arguments = [addresses["broker_sandbox"], addresses["auth_sandbox"], credentials.client_id]
        command = [sys.executable, "-c", CHILD, *arguments, credentials.client_secret.reveal()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("go\n")
            child.stdin.flush()
            token = call("shared")
            assert child.stdout.readline() == "200\n"
        assert call(FileTokenStore()) == token  # a store of its own, as another process has
        assert service.stats.token_requests == 1
    written = [file for file in (caches / "tokens").iterdir() if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in written} == {0o600}
    assert not any(token.reveal().encode() in file.read_bytes() for file in written)
    assert stat.S_IMODE((caches / "tokens").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["folder", "parent"])
def test_folder_is_a_link(tmp_path, place):
    """Neither the folder nor, in the user's cache, its parent may be a link; nothing is written through one."""
    store, elsewhere = FileTokenStore(), tmp_path / "elsewhere"
    linked = store.folder if place == "folder" else store.folder.parent
    linked.parent.mkdir(parents=True)
    elsewhere.mkdir(mode=0o755)
    linked.symlink_to(elsewhere, target_is_directory=True)
    name = "0123456789abcdef" * 4
    for call in (lambda: store.read(name), lambda: store.write(name, b"new"), lambda: store.try_lock(name)):
        with pytest.raises(OSError, match="it is a link, and links are not followed"):
            call()
    assert list(elsewhere.iterdir()) == []
    assert os.name != "posix" or stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
