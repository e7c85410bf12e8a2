"""One token for everyone in a process: the slot, its flow driven by hand."""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import threading
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.single_flight import MemoryTokenStore, TokenSlot
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import ManualClock
from toolkit.core.errors import TokenRefused, Unreachable
from toolkit.core.secret import Secret
from toolkit.transport.flow import Shielded, Wait, WhichLoop

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


class Slot:
    """A slot with a clock of the test's own, and fetches that end when the test says so."""

    def __init__(self):
        self.clock = ManualClock(START)
        self.slot = TokenSlot()
        self.fetches = 0
        self.numbers = itertools.count()

    def fetch(self, *, patiently):
        self.fetches += 1
        self.patiently = patiently
        yield "fetching"
        seconds = timedelta(seconds=890)
        number = next(self.numbers)
        return Token(Secret(f"token-{number}"), self.clock.now(), self.clock.now() + seconds)

    def obtain(self):
        """The flow of one more caller, on a thread of its own."""
        flow = self.slot.obtain(self.clock, self.fetch)
        assert isinstance(next(flow), WhichLoop)
        return flow

    def obtained(self):
        """The token of a caller who meets nobody."""
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


def test_one_fetch():
    """The first caller fetches; who comes meanwhile waits for that flight; all get the one token."""
    slot = Slot()
    first, others = slot.obtain(), [slot.obtain() for _ in range(5)]
    assert next(first) == "fetching"
    flights = {id(wait.flight): wait.flight for wait in map(next, others)}
    assert len(flights) == 1
    (flight,) = flights.values()
    assert not flight.landed.done()
    token = ended(first)
    assert flight.landed.done()
    assert [ended(other, outcome=True) for other in others] == [token] * 5
    assert slot.obtained() is token
    assert slot.fetches == 1


def test_no_lock_across_a_fetch():
    """While a fetch is out anyone can look at the slot: the lock is not held."""
    slot = Slot()
    first = slot.obtain()
    next(first)
    thread = threading.Thread(target=lambda: next(slot.obtain()), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert slot.slot.current(slot.clock) is None


@pytest.mark.parametrize("failure", [httpx.ConnectError("down"), TokenRefused("no"), KeyboardInterrupt()])
def test_failed_leader(failure):
    """A failed fetch is its own caller's failure; the next one who waited fetches anew, the others wait for that."""
    slot = Slot()
    first, second, third = (slot.obtain() for _ in range(3))
    next(first)
    flight = next(second).flight
    assert next(third).flight is flight
    with pytest.raises(type(failure)):
        first.throw(failure)
    assert flight.landed.result(0)
    assert second.send(True) == "fetching"
    assert isinstance(third.send(True), Wait)
    token = ended(second)
    assert ended(third, outcome=True) is token
    assert slot.fetches == 2


def test_abandoned_leader():
    """A leader that is dropped without a word, as a task of a closed loop is, still lets the next one go on."""
    slot = Slot()
    first, second = slot.obtain(), slot.obtain()
    next(first)
    flight = next(second).flight
    first.close()
    assert flight.landed.result(0)
    assert second.send(True) == "fetching"


def test_fetch_that_does_not_start():
    """A fetch that fails before its first effect lands as well."""
    slot = Slot()
    broken = slot.slot.obtain(slot.clock, lambda **_: (_ for _ in ()).throw(ValueError("no key")))
    next(broken)
    with pytest.raises(ValueError, match="no key"):
        next(broken)
    assert slot.obtained()


def test_one_who_must_not_wait():
    """Who cannot wait asks for itself, once, and does not disturb the flight that is under way."""
    slot = Slot()
    leader, alone, other = slot.obtain(), slot.obtain(), slot.obtain()
    next(leader)
    flight = next(alone).flight
    assert alone.send(False) == "fetching"
    assert next(other).flight is flight
    own = ended(alone)
    assert not flight.landed.done()
    assert ended(other, outcome=True) is own
    ended(leader)
    assert flight.landed.done()
    assert slot.fetches == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_while_fetching():
    """A process that was forked while a fetch was out does not wait for what only lands in its parent."""
    slot = Slot()
    leader = slot.obtain()
    next(leader)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if next(slot.obtain()) == "fetching" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert isinstance(next(slot.obtain()), Wait)


def test_renewed_once():
    """One token serves until shortly before it expires; then one new one is fetched."""
    slot = Slot()
    token = slot.obtained()
    slot.clock.advance(879)
    assert slot.obtained() is token
    slot.clock.advance(1)
    renewed = slot.obtained()
    assert renewed is not token
    assert slot.obtained() is renewed
    assert slot.fetches == 2


def test_expired_on_its_way():
    """A waiter whose token expired before it woke fetches another."""
    slot = Slot()
    first, second = slot.obtain(), slot.obtain()
    next(first), next(second)
    ended(first)
    slot.clock.advance(900)
    assert second.send(True) == "fetching"


@given(st.integers(2, 7), st.randoms(use_true_random=False))
def test_any_order(callers, choose):
    """However callers interleave, fail and are cancelled: one fetch at a time, and one after each that failed."""
    slot = Slot()
    flows = {number: slot.obtain() for number in range(callers)}
    waits, fetching, tokens, failures = {}, set(), [], 0
    while flows:
        ready = [n for n in flows if n not in waits or waits[n].landed.done()]
        assert ready, "everybody waits for nobody"
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
                waits[number] = effect.flight
            else:
                fetching.add(number)
                assert len(fetching & flows.keys()) == 1
            continue
        del flows[number]
        fetching.discard(number)
    assert len(tokens) + failures == callers
    assert len(set(tokens)) <= 1
    assert slot.fetches == failures + bool(tokens)


def test_rejected_token():
    """A token that the service answered with 401 is renewed, once."""
    slot = Slot()
    token = slot.obtained()
    assert slot.slot.reject(token)
    assert slot.slot.current(slot.clock) is None
    renewed = slot.obtained()
    assert renewed is not token
    assert not slot.slot.reject(renewed)
    assert slot.slot.current(slot.clock) is renewed


def test_rejected_after_it_was_taken():
    """A renewed token that the service took for a while is worth renewing again."""
    slot = Slot()
    slot.slot.reject(slot.obtained())
    renewed = slot.obtained()
    slot.slot.accept(renewed)
    assert slot.slot.reject(renewed)
    assert slot.obtained() is not renewed


def test_rejected_by_many():
    """When many calls in parallel are answered with 401, the token is renewed once for all of them."""
    slot = Slot()
    token = slot.obtained()
    assert all(slot.slot.reject(token) for _ in range(5))
    renewed = slot.obtained()
    assert slot.slot.reject(token), "a late one tries the new token"
    assert slot.obtained() is renewed
    assert slot.fetches == 2


def test_doubt_ends_with_the_token():
    """After expiry the doubt about a token is gone: the next one is renewed after a 401 again."""
    slot = Slot()
    slot.slot.reject(slot.obtained())
    slot.obtained()
    slot.clock.advance(900)
    assert slot.slot.reject(slot.obtained())


def test_store():
    """A store gives the same slot for the same key, to all threads, and different ones for different keys."""
    store = MemoryTokenStore()
    slots = []
    threads = [threading.Thread(target=lambda: slots.append(store.slot("one"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, slots))) == 1
    assert store.slot("two") is not store.slot("one")


# Refusals


LASTING = [
    TokenRefused("no", status=401, error="invalid_client"),
    TokenRefused("no", status=400, error="invalid_scope"),
]


def refused(slot, error):
    """The flow of a caller whose token request is refused."""
    flow = slot.obtain()
    assert next(flow) == "fetching"
    with pytest.raises(type(error)) as caught:
        flow.throw(error)
    return caught.value


@pytest.mark.parametrize("error", LASTING, ids=lambda error: error.error)
def test_lasting_refusal(error):
    """A refusal that cannot get better is told to everybody for half a minute, and asked about again after that."""
    slot = Slot()
    refused(slot, error)
    for seconds in (0, 12, 17.9):
        slot.clock.advance(seconds)
        with pytest.raises(TokenRefused) as caught:
            next(slot.obtain())
        told = caught.value
        assert (told.what, told.status, told.error) == (error.what, error.status, error.error)
        assert told is not error
    assert "30 s ago; it is asked again in 1 s" in told.next_step
    slot.clock.advance(0.2)
    assert slot.obtained()
    assert slot.fetches == 2


def test_hundred_callers():
    """A hundred callers who waited for a request that was refused are told so without a request of their own."""
    slot = Slot()
    leader, others = slot.obtain(), [slot.obtain() for _ in range(99)]
    next(leader)
    for other in others:
        assert isinstance(next(other), Wait)
    with pytest.raises(TokenRefused):
        leader.throw(LASTING[0])
    for other in others:
        with pytest.raises(TokenRefused):
            other.send(True)
    assert slot.fetches == 1


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
    """After the last try, those who waited share the failure; soon, or when the service said, it is asked again."""
    slot = Slot()
    refused(slot, error)
    slot.clock.advance(seconds - 0.1)
    with pytest.raises(type(error)):
        next(slot.obtain())
    slot.clock.advance(0.2)
    assert slot.obtained()
    assert slot.fetches == 2


@pytest.mark.parametrize("error", [Unreachable("untrusted", is_passing=False), TokenRefused("bad", status=400)])
def test_other_refusals(error):
    """Any other refusal is its own caller's: the next one asks at once."""
    slot = Slot()
    refused(slot, error)
    assert slot.obtained()


def test_a_token_in_hand_outlives_a_refusal():
    """One who asked alone and was refused gets the token that another got meanwhile."""
    slot = Slot()
    leader, alone = slot.obtain(), slot.obtain()
    next(leader)
    next(alone)
    assert alone.send(False) == "fetching"
    token = ended(leader)
    with pytest.raises(StopIteration) as end:
        alone.throw(LASTING[0])
    assert end.value.value is slot.obtained() is token


def test_leader_on_a_loop():
    """A flight tells which event loop fetches, so that others can see whether it still runs."""
    slot = Slot()
    leader = slot.slot.obtain(slot.clock, slot.fetch)
    next(leader)
    loop = asyncio.new_event_loop()
    shielded = leader.send(loop)
    assert isinstance(shielded, Shielded)
    flight = next(slot.obtain()).flight
    assert flight.loop is loop
    # Whoever drives it sees to its end, also when the leader is cancelled.
    assert next(shielded.flow) == "fetching"
    shielded.is_under_way = True
    leader.close()
    assert not flight.landed.done()
    assert ended(shielded.flow) is slot.obtained()
    assert flight.landed.done()
    loop.close()


def test_leader_that_is_not_taken_over():
    """A leader that ends before anybody drives its fetch leaves no flight behind."""
    slot = Slot()
    leader = slot.slot.obtain(slot.clock, slot.fetch)
    next(leader)
    loop = asyncio.new_event_loop()
    leader.send(loop)
    flight = next(slot.obtain()).flight
    leader.close()
    assert flight.landed.done()
    loop.close()
    assert slot.obtained()


def test_leader_of_a_closed_loop():
    """A flight of a loop that is closed is lost: the next one asks, and those after wait for that one."""
    slot = Slot()
    leader = slot.slot.obtain(slot.clock, slot.fetch)
    next(leader)
    loop = asyncio.new_event_loop()
    shielded = leader.send(loop)
    shielded.is_under_way = True
    loop.close()
    second, third = slot.obtain(), slot.obtain()
    assert next(second) == "fetching"
    assert isinstance(next(third), Wait)


@pytest.mark.parametrize("error", [*LASTING, Unreachable("no connection"), TokenRefused("bad", status=400)])
def test_failed_renewal_keeps_a_good_token(error):
    """A token that is due for renewal but has not ended serves on while no new one is to be had."""
    slot = Slot()
    token = slot.obtained()
    assert slot.patiently
    slot.clock.advance(885)
    flow = slot.obtain()
    assert next(flow) == "fetching"
    with pytest.raises(StopIteration) as end:
        flow.throw(error)
    assert end.value.value is token
    assert slot.obtained() is token
    assert slot.fetches == 2, "nobody is asked for every call"
    assert not slot.patiently, "nobody waits for what is not needed yet"
    slot.clock.advance(35)
    last = slot.obtain()
    with pytest.raises(type(error)):
        last.throw(error) if next(last) == "fetching" else None


def test_failed_renewal_after_a_401():
    """When a rejected token cannot be replaced, the caller is told so, and the next call tries it again."""
    slot = Slot()
    token = slot.obtained()
    slot.slot.reject(token)
    assert refused(slot, Unreachable("no connection"))
    assert slot.obtained() is token
    slot.clock.advance(1)
    slot.slot.reject(token)
    assert slot.obtained() is not token


def test_failed_renewal_after_the_end():
    """A token that has ended by then does not come back."""
    slot = Slot()
    slot.slot.reject(slot.obtained())
    slot.clock.advance(890)
    refused(slot, Unreachable("no connection"))
    assert slot.slot.token is None
