"""One token for several processes: sealed entries, and the flow, driven by hand, with a store in memory."""

from __future__ import annotations

import itertools
import json
import warnings
from datetime import UTC, datetime, timedelta

import canaries
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

from toolkit.auth.sealing import Seal
from toolkit.auth.tokens.token import LONGEST_LIFETIME, SharedToken, Token, open_token
from toolkit.core.errors import TokenRefused
from toolkit.core.ledger import instant_text
from toolkit.core.secret import Secret

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
IDENTITY = canaries.new().encode()
TOKEN = canaries.new()
URL = "https://auth.example.com/v1/oauth2/token"
SEAL = Seal(IDENTITY, f"token\0{URL}")


class HeldLock:
    def __init__(self, store, name):
        self.store, self.name = store, name

    def release(self):
        self.store.locked.discard(self.name)


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
        return HeldLock(self, name)


class Processes:
    """Imitated processes with equal credentials and equal clocks."""

    def __init__(self, store=None):
        self.store = store or Store()
        self.clock = ManualClock(START)
        self.fetches = 0
        self.numbers = itertools.count(1)

    def shared_token(self, identity=IDENTITY):
        """Return the shared token as another process sees it."""
        return SharedToken(self.store, identity, URL)

    def fetch(self, lifetime=890):
        self.fetches += 1
        yield "fetching"
        now = self.clock.now()
        end = self.clock.monotonic() + lifetime
        text = Secret(f"{TOKEN}-{next(self.numbers)}")
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


def token(lifetime=890.0, issued_at=START, text="QXZ-token"):
    return Token(Secret(text), issued_at, issued_at + timedelta(seconds=lifetime))


def seal_token(token):
    fields = {"access_token": token.access_token.reveal()}
    fields |= {name: instant_text(getattr(token, name)) for name in ("issued_at", "expires_at")}
    return SEAL.seal(json.dumps(fields).encode())


def opened(fields, clock=None):
    """Return the token of an entry with these fields, or with this text."""
    data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return open_token(SEAL.seal(data), SEAL, clock=clock or ManualClock(START))


@given(st.floats(1, LONGEST_LIFETIME.total_seconds()), st.floats(0, 1), st.text("!~azAZ09-._+/=", min_size=1))
def test_round_trip(lifetime, share, text):
    """A token comes back equal, and expires on the monotonic clock when its remaining lifetime is over."""
    sealed = token(lifetime, text=text)
    clock = ManualClock(START)
    clock.advance(share * lifetime)
    result = open_token(seal_token(sealed), SEAL, clock=clock)
    left = (sealed.expires_at - clock.now()).total_seconds()
    if left <= 0:
        assert result is None
        return
    assert result == sealed
    assert result.access_token.reveal() == text
    assert result.expires_monotonic == pytest.approx(clock.monotonic() + left)


SECRET = canaries.new()
SEAL = Seal(SECRET.encode(), "tests")
secrets = st.binary(min_size=1, max_size=64)
purposes = st.text(max_size=20)


@given(secrets, purposes, st.binary(max_size=2000))
def test_sealing(secret, purpose, data):
    """Data opens with an equal seal, derived again; it is sealed differently each time."""
    seal = Seal(secret, purpose)
    sealed = seal.seal(data)
    assert Seal(secret, purpose).open(sealed) == data
    assert seal.seal(data) != sealed


@given(st.tuples(secrets, purposes), st.tuples(secrets, purposes))
def test_other_secret_or_purpose(first, second):
    """A seal with another secret or purpose has another name and does not open the data."""
    if first != second:
        assert Seal(*first).name != Seal(*second).name
        assert Seal(*second).open(Seal(*first).seal(b"data")) is None
