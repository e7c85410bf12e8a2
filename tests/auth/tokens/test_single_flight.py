"""One token for everyone in a process: the token source, its flow driven by hand."""

from __future__ import annotations

import functools
import itertools
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

from toolkit.auth.tokens.single_flight import TokenSource, as_token_store
from toolkit.auth.tokens.token import FileTokenStore, Token
from toolkit.core.errors import ConfigurationError, TokenRefused, Unreachable
from toolkit.core.secret import Secret
from toolkit.transport.flow import Wait, WhichLoop

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def threads_of_their_own(monkeypatch):
    """Every caller is on a thread of its own."""
    monkeypatch.setattr("toolkit.auth.tokens.single_flight.get_ident", itertools.count(1 << 40).__next__)


class Bench:
    """A token source with a clock of its own and fetches that end when the test says so."""

    def __init__(self):
        self.clock = ManualClock(START)
        self.source = TokenSource()
        self.fetches = 0

    def fetch(self, *, patiently):
        self.fetches += 1
        self.patiently = patiently
        yield "fetching"
        seconds = timedelta(seconds=890)
        return Token(Secret(f"token-{self.fetches}"), self.clock.now(), self.clock.now() + seconds)

    def obtain(self):
        """Start the flow of another caller, on a thread of its own."""
        flow = self.source.obtain(self.clock, self.fetch)
        assert isinstance(next(flow), WhichLoop)
        return flow

    def obtained(self):
        """Return the token of a caller while no other caller is waiting."""
        flow = self.obtain()
        try:
            next(flow)
            return ended(flow)
        except StopIteration as end:
            return end.value


def ended(flow, outcome=None):
    with pytest.raises(StopIteration) as caught:
        flow.send(outcome)
    return caught.value.value


@given(st.integers(2, 7), st.randoms(use_true_random=False))
def test_any_order(callers, choose):
    """However callers interleave, fail and are cancelled, there is one fetch at a time, and one more per failure."""
    bench = Bench()
    flows = {number: bench.obtain() for number in range(callers)}
    waits, fetching, tokens, failures = {}, set(), [], 0
    while flows:
        ready = [n for n in flows if n not in waits or waits[n].done()]
        assert ready, "all callers wait"
        number = choose.choice(ready)
        step = functools.partial(flows[number].send, True if waits.pop(number, None) else None)
        fails = number in fetching and choose.random() < 0.3
        if fails:
            step = functools.partial(flows[number].throw, choose.choice([httpx.ReadTimeout("slow"), GeneratorExit()]))
        try:
            effect = step()
        except StopIteration as end:
            tokens.append(end.value)
        except (httpx.ReadTimeout, GeneratorExit):
            failures += 1
        else:
            if isinstance(effect, Wait):
                waits[number] = effect.future
            else:
                fetching.add(number)
                assert len(fetching & flows.keys()) == 1
            continue
        del flows[number]
        fetching.discard(number)
    assert len(tokens) + failures == callers
    assert len(set(tokens)) <= 1
    assert bench.fetches == failures + bool(tokens)


LASTING = [
    TokenRefused("no", status=401, error="invalid_client"),
    TokenRefused("no", status=400, error="invalid_scope"),
]


def refused(bench, error):
    """Run the flow of a caller whose token request is refused, and return the error."""
    flow = bench.obtain()
    assert next(flow) == "fetching"
    with pytest.raises(type(error)) as caught:
        flow.throw(error)
    return caught.value


@pytest.mark.parametrize("error", LASTING, ids=lambda error: error.error)
def test_lasting_refusal(error):
    """A lasting refusal is repeated to all callers for 30 s; then the next caller sends a request again."""
    bench = Bench()
    refused(bench, error)
    for seconds in (0, 12, 17.9):
        bench.clock.advance(seconds)
        with pytest.raises(TokenRefused) as caught:
            next(bench.obtain())
        repeated = caught.value
        assert (repeated.status, repeated.error, repeated.next_step) == (error.status, error.error, error.next_step)
        assert repeated is not error
    assert repeated.what == f"{error.what} The next request can be sent in 1 s."
    bench.clock.advance(0.2)
    assert bench.obtained()
    assert bench.fetches == 2


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (Unreachable("no connection"), 1),
        (TokenRefused("down", status=503), 1),
        (TokenRefused("slow down", status=429, retry_after=20), 20),
        (TokenRefused("slow down", status=429, retry_after=9999), 60),
    ],
)
def test_passing_refusal(error, seconds):
    """After the last try, waiters share the error; a new request follows after 1 s or the service's Retry-After."""
    bench = Bench()
    refused(bench, error)
    bench.clock.advance(seconds - 0.1)
    with pytest.raises(type(error)):
        next(bench.obtain())
    bench.clock.advance(0.2)
    assert bench.obtained()
    assert bench.fetches == 2


@pytest.mark.parametrize("error", [*LASTING, Unreachable("no connection"), TokenRefused("bad", status=400)])
def test_failed_renewal_keeps_a_good_token(error):
    """A token that is due for renewal but has not expired is used while no new token is available."""
    bench = Bench()
    token = bench.obtained()
    assert bench.patiently
    bench.clock.advance(885)
    flow = bench.obtain()
    assert next(flow) == "fetching"
    with pytest.raises(StopIteration) as end:
        flow.throw(error)
    assert end.value.value is token
    assert bench.obtained() is token
    assert bench.fetches == 2, "there is no request for every call"
    assert not bench.patiently, "no caller waits for a token that is not needed yet"
    bench.clock.advance(35)
    last = bench.obtain()
    with pytest.raises(type(error)):
        last.throw(error) if next(last) == "fetching" else None


def test_stores():
    """Tokens are kept in this process by default, for a clock of its own apart; text other than "shared" is refused."""
    memory, clock = as_token_store(None, clock=None), ManualClock(START)
    assert as_token_store(None, clock=None) is as_token_store(memory, clock=clock) is memory
    assert as_token_store(None, clock=clock) not in (memory, as_token_store(None, clock=clock))
    assert isinstance(as_token_store("shared", clock=None), FileTokenStore)
    with pytest.raises(ConfigurationError, match="token_store is neither"):
        as_token_store("elsewhere", clock=None)
