# ruff: noqa: DTZ901 - naive instants are refused, and hypothesis takes its limits as naive instants

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

from toolkit.core.errors import ConfigurationError
from toolkit.core.ledger import Authorization, Call, Ledger, SystemClock, as_clock, instant_text, parse_instant

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
# A day inside the limits of datetime, so that every zone can express the instant.
INSTANTS = st.datetimes(datetime.min + timedelta(days=1), datetime.max - timedelta(days=1), timezones=st.timezones())


@given(INSTANTS)
def test_instants_round_trip(instant):
    """An instant of any year and zone comes back from its text in UTC, exact to the microsecond."""
    back = parse_instant(instant_text(instant))
    # In UTC, because times that a zone skips or repeats compare unequal between zones (PEP 495).
    assert back == instant.astimezone(UTC)
    assert back.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-05-12", "2026-05-12T09:30:00", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00"],
)
def test_parse_instant_refuses(text):
    """Text that is not an instant, or has no offset, is refused."""
    with pytest.raises(ValueError):
        parse_instant(text)


GOOD = {"kind": "client key", "environment": "broker-sandbox", "profile": "default", "token": 2}


@pytest.mark.parametrize(
    "fields",
    [
        *(None, "client key", ["kind"], {}),
        *({**GOOD, "kind": "password"}, {**GOOD, "token": True}, {**GOOD, "token": 0}),
        *({**GOOD, "issued_at": "soon"}, {**GOOD, "expires_at": 1778578200}),
    ],
)
def test_authorization_refuses(fields):
    """Fields that do not describe an authorization are refused with an error that callers expect."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        Authorization.from_fields(fields)
    assert Authorization.from_fields(GOOD).to_fields() == GOOD


@pytest.mark.parametrize("clock", [SystemClock, datetime, 5])
def test_a_clock_has_two_methods(clock):
    """A class in place of its object, and what does not tell the time, is an error that names the argument."""
    assert isinstance(as_clock(own := as_clock(None)), SystemClock)
    assert as_clock(own) is own
    with pytest.raises(ConfigurationError) as caught:
        as_clock(clock)
    assert caught.value.about == "clock"


def test_a_call_ends_once():
    """The time of a call does not grow when its response is closed after it was read."""
    clock, call = ManualClock(START), Call(START, "broker", "GET", "/")
    call.start(clock)
    for _ in range(2):
        clock.advance(2)
        call.end(clock)
    assert (call.elapsed, call.ended_at) == (timedelta(seconds=2), START + timedelta(seconds=2))


@given(st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(0, 100))))
def test_ledger(entries):
    """A ledger returns its calls in the order of sending, and when the last call ended."""
    ledger = Ledger()
    calls = []
    for number, (sent, took) in enumerate(entries):
        elapsed = None if took is None else timedelta(seconds=took)
        calls.append(Call(START + timedelta(seconds=sent), "broker", "GET", f"/{number}", elapsed=elapsed))
        ledger.add(calls[-1])
    assert [(entry.sent_at, int(entry.path[1:])) for entry in ledger.calls()] == sorted(
        (entry.sent_at, number) for number, entry in enumerate(calls)
    )
    expected = max((START + timedelta(seconds=sent + (took or 0)) for sent, took in entries), default=None)
    assert ledger.last_ended_at() == expected
