from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import os
import pickle
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.clock import ManualClock
from toolkit.errors import TokenError, TokenRefused, TokenResponseInvalid
from toolkit.escaping import printable
from toolkit.flow import Wait
from toolkit.secret import Secret
from toolkit.tokens import MemoryTokenStore, Token, TokenSlot, read_token_response

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
# Text that no message holds by chance.
CANARIES = st.text("QXZ0123456789", min_size=12, max_size=40)
GOOD = {"access_token": "QXZ-token-QXZ-token", "expires_in": 890, "token_type": "Bearer"}


def read(fields=None, *, status=200, headers=None, body=None, **more):
    body = json.dumps(fields).encode() if body is None else body
    return read_token_response(
        status, httpx.Headers(headers or {}), body, asked_at=START, asked_monotonic=100.0, **more
    )


def lifetime_of(expires_in):
    return read({**GOOD, "expires_in": expires_in}).lifetime


def test_read():
    """A token response of section 2 gives a token that lasts `expires_in` from the instant before it was asked for."""
    token = read(GOOD)
    assert token.access_token.reveal() == GOOD["access_token"]
    assert (token.issued_at, token.expires_at) == (START, START + timedelta(seconds=890))
    assert token.expires_monotonic == 990.0


@given(st.integers(1, 10**6))
def test_lifetime(expires_in):
    """`expires_in` rules, and not the 900 seconds of section 8; more than a day counts as a day."""
    assert lifetime_of(expires_in) == timedelta(seconds=min(expires_in, 86400))
    assert lifetime_of(str(expires_in)) == lifetime_of(expires_in)


@pytest.mark.parametrize("expires_in", [pytest.param(10**400, id="10**400"), 1e308, math.inf, "1e999", "999999999999"])
def test_absurd_lifetime(expires_in):
    """A lifetime beyond reason is taken as a day, however it is written."""
    assert lifetime_of(expires_in) == timedelta(days=1)


def test_lifetime_not_given():
    """Without `expires_in`, or with null, the validity of section 8 applies."""
    assert lifetime_of(None) == timedelta(minutes=15)
    assert read({"access_token": "QXZ-token", "token_type": "Bearer"}).lifetime == timedelta(minutes=15)


@pytest.mark.parametrize(
    "expires_in",
    [
        0,
        -1,
        0.999,
        pytest.param(-(10**400), id="-10**400"),
        "0",
        "-5",
        "",
        "soon",
        "15 min",
        math.nan,
        "nan",
        True,
        False,
        [],
        [900],
        {},
    ],
)
def test_lifetime_refused(expires_in):
    """A lifetime of nothing, or what is no number, is refused rather than guessed at."""
    with pytest.raises(TokenResponseInvalid, match="expires_in"):
        lifetime_of(expires_in)


def test_fraction_of_a_second():
    """A fractional lifetime counts in whole seconds, rounded down."""
    assert lifetime_of(59.9) == timedelta(seconds=59)


@pytest.mark.parametrize("token_type", ["Bearer", "bearer", "BEARER"])
def test_token_type(token_type):
    """The token type is compared without regard to case (RFC 6749 section 5.1)."""
    assert read({**GOOD, "token_type": token_type}).access_token


@pytest.mark.parametrize("token_type", [None, "mac", "", 1, "Bearer "])
def test_token_type_refused(token_type):
    """A token of another type cannot be sent as a bearer token."""
    with pytest.raises(TokenResponseInvalid, match="token_type is not Bearer"):
        read({**GOOD, "token_type": token_type})


@pytest.mark.parametrize(
    "access_token", [None, "", 7, [], "two words", "line\nbreak", "nul\0", "Schlüssel", "t\t", "\x7f"]
)
def test_access_token_refused(access_token):
    """An access token that no header can carry is refused here, and not quoted by httpx later."""
    with pytest.raises(TokenResponseInvalid, match="access_token is missing or no text") as caught:
        read({**GOOD, "access_token": access_token})
    assert not isinstance(access_token, str) or access_token == "" or access_token not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"<html>QXZ</html>", b'{"access_token": "QXZ', b"\xff\xfe", b"[" * 10**5]
)
def test_not_json(body):
    """A reply that is no JSON object is refused; what is told of it is its size and media type."""
    with pytest.raises(TokenResponseInvalid, match=f"text/html.*, {len(body)} bytes") as caught:
        read(body=body, headers={"Content-Type": "text/html"})
    assert "QXZ" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | CANARIES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*GOOD, "error", "error_description", "scope"), JSON)))
def test_values_are_not_quoted(fields):
    """Whatever a reply says, it is a token or a refusal that names fields and types and quotes no value."""
    told = message(lambda: read(fields))
    assert not any(text in told for text in texts_in(fields))


def message(call):
    """What the TokenError of a call says, if there is one."""
    try:
        call()
    except TokenError as error:
        return f"{error} {error!r}"
    return ""


def texts_in(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(inner)


@given(status=st.integers(100, 599), body=st.binary(max_size=60), date=st.text(max_size=40), kind=st.text(max_size=80))
@example(status=401, body=b"{}", date="Mon, 01 Jan 2024 00:00:00 +99999999999999999999", kind="")
@example(status=401, body=b"{}", date="Mon, 01 Jan 99999999999999999999 00:00:00 GMT", kind="")
def test_any_reply(status, body, date, kind):
    """Any reply at all gives a token or a TokenError whose text is printable."""
    headers = {"date": date, "content-type": kind}
    told = message(lambda: read_token_response(status, headers, body, asked_at=START, asked_monotonic=0.0))
    assert told == printable(told)


@given(st.text("ABCabc019+/=%&\"'\\ ", min_size=8, max_size=80))
def test_scrubbed(secret):
    """A secret that a reply gives back stands in no message: not as code, field name or media type."""

    def scrub(text):
        return text.replace(secret, "<CLIENT_SECRET>")

    replies = [
        {"status": 401, "fields": {"error": secret}},
        {"fields": {secret: 1}},
        {"body": b"no JSON", "headers": {"Content-Type": secret.replace("\\", "")}},
    ]
    for reply in replies:
        with pytest.raises(TokenError) as caught:
            read(reply.pop("fields", None), scrub=scrub, **reply)
        assert secret[:60] not in str(caught.value)


@pytest.mark.parametrize("status", [100, 301, 400, 401, 403, 404, 429, 500, 503])
def test_refused(status):
    """Every status but success is a TokenRefused that has it, even when the body looks like a token."""
    with pytest.raises(TokenRefused, match=f"status {status}") as caught:
        read(GOOD, status=status)
    assert (caught.value.status, caught.value.error, caught.value.clock_offset) == (status, None, None)


def test_error_code():
    """The error code of RFC 6749 is kept and shown; its description, which may hold anything, is not."""
    with pytest.raises(TokenRefused, match=r"invalid_client") as caught:
        read({"error": "invalid_client", "error_description": "QXZ is wrong"}, status=401)
    assert caught.value.error == "invalid_client"
    assert "QXZ" not in str(caught.value)


@pytest.mark.parametrize(
    "code", ["", None, 7, ["a"], "line\nbreak", 'quo"te', "back\\slash", "\x1b[31m", "ünsafe", "\u202e"]
)
def test_error_code_unsafe(code):
    """An error code with characters that RFC 6749 section 5.2 does not allow counts as none."""
    with pytest.raises(TokenRefused) as caught:
        read({"error": code}, status=400)
    assert caught.value.error is None


def test_error_code_is_cut():
    """A long error code is cut."""
    with pytest.raises(TokenRefused) as caught:
        read({"error": "x" * 10**5}, status=400)
    assert len(caught.value.error) <= 60


@pytest.mark.parametrize(
    ("offset", "status", "words"),
    [
        (0, 401, "Check client ID"),
        (29, 401, "Check client ID"),
        (90, 401, "90 s ahead of"),
        (-90, 401, "90 s behind"),
        (90, 503, "a problem of its own"),
        (90, 429, "fewer requests"),
    ],
)
def test_advice(offset, status, words):
    """A refusal says what to do next: a clock that is off shows when it can be the reason."""
    date = format_datetime(START - timedelta(seconds=offset), usegmt=True)
    with pytest.raises(TokenRefused) as caught:
        read({}, status=status, headers={"Date": date})
    assert words in caught.value.next_step
    assert caught.value.clock_offset == timedelta(seconds=offset)


@pytest.mark.parametrize("date", ["", "soon", "Tue, 12 May 2026 09:30:00 +99999999999999999999", "\0"])
def test_date_unreadable(date):
    """Without a readable Date there is no clock offset."""
    with pytest.raises(TokenRefused) as caught:
        read({}, status=401, headers={"Date": date})
    assert caught.value.clock_offset is None


def test_date_without_zone():
    """A Date without a zone is UTC (RFC 9110 section 5.6.7)."""
    with pytest.raises(TokenRefused) as caught:
        read({}, status=401, headers={"Date": "Tue, 12 May 2026 09:30:00 -0000"})
    assert caught.value.clock_offset == timedelta(0)


# Token


class TwoClocks:
    """A clock whose readings are moved apart from each other."""

    def __init__(self, wall=0.0, monotonic=0.0):
        self.wall, self.seconds = wall, monotonic

    def now(self):
        return START + timedelta(seconds=self.wall)

    def monotonic(self):
        return 100.0 + self.seconds


@given(lifetime=st.integers(1, 86400), after=st.floats(0, 90000))
def test_usable(lifetime, after):
    """A token is usable until 10 seconds or 10 % of its lifetime before its end, whichever is less."""
    token = read({**GOOD, "expires_in": lifetime})
    early = min(10.0, lifetime / 10)
    usable = token.is_usable(TwoClocks(after, after))
    if after < lifetime - early - 0.001:
        assert usable
    if after > lifetime - early + 0.001:
        assert not usable


@pytest.mark.parametrize(("wall", "monotonic"), [(895, 0), (0, 895), (895, -50), (-5000, 895)])
def test_both_clocks(wall, monotonic):
    """A token that either clock says has ended is not used: after a sleep, and after the wall clock was set back."""
    assert read(GOOD).is_usable(TwoClocks())
    assert not read(GOOD).is_usable(TwoClocks(wall, monotonic))


@given(st.floats(-1000, 2000))
def test_remaining(after):
    """The remaining lifetime counts down to zero and no further."""
    remaining = read(GOOD).remaining(START + timedelta(seconds=after))
    assert remaining == max(timedelta(seconds=890) - timedelta(seconds=after), timedelta(0))


def test_token_hides_its_text():
    """A token shows its instants and not its text, is not pickled, and is copied as it is."""
    token = read(GOOD)
    for shown in (repr(token), str(token), f"{token}"):
        assert GOOD["access_token"] not in shown
        assert "2026" in shown
    with pytest.raises(TypeError):
        pickle.dumps(token)
    assert copy.deepcopy(token) == token


def test_tokens_equal():
    """Tokens are equal by text and instants, and tell nothing of this process's monotonic clock."""
    assert read(GOOD) == Token(Secret(GOOD["access_token"]), START, START + timedelta(seconds=890))
    assert len({read(GOOD), read(GOOD)}) == 1


# One token: the slot, its flow driven by hand


class Slot:
    """A slot with a clock of the test's own, and fetches that end when the test says so."""

    def __init__(self):
        self.clock = ManualClock(START)
        self.slot = TokenSlot()
        self.fetches = 0
        self.numbers = itertools.count()

    def fetch(self):
        self.fetches += 1
        yield "fetching"
        seconds = timedelta(seconds=890)
        number = next(self.numbers)
        return Token(Secret(f"token-{number}"), self.clock.now(), self.clock.now() + seconds)

    def obtain(self):
        return self.slot.obtain(self.clock, self.fetch)

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
    broken = slot.slot.obtain(slot.clock, lambda: (_ for _ in ()).throw(ValueError("no key")))
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
