# ruff: noqa: DTZ001, DTZ901 - naive instants are what is refused, and what hypothesis makes aware ones of

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization, Call, Ledger, instant_text, parse_instant

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
# A day inside what datetime can hold, so that every zone can tell the instant.
INSTANTS = st.datetimes(datetime.min + timedelta(days=1), datetime.max - timedelta(days=1), timezones=st.timezones())


def in_utc(instant):
    """For comparing: a time that a zone skips or repeats equals no other zone's (PEP 495)."""
    return instant.astimezone(UTC)


AUTHORIZATIONS = st.builds(
    Authorization,
    kind=st.sampled_from(CredentialKind),
    environment=st.sampled_from(Environment),
    profile=st.text(),
    token=st.none() | st.integers(1, 10**9 - 1),
    issued_at=st.none() | INSTANTS.map(in_utc),
    expires_at=st.none() | INSTANTS.map(in_utc),
)


def call(seconds, *, elapsed=None, path="/v1/accounts"):
    return Call(START + timedelta(seconds=seconds), "broker", "GET", path, elapsed=elapsed)


@given(INSTANTS)
def test_instants_round_trip(instant):
    """An instant of any year and zone comes back from its text, in UTC and to the microsecond."""
    back = parse_instant(instant_text(instant))
    assert back == in_utc(instant)
    assert back.tzinfo is UTC


@given(INSTANTS, INSTANTS)
def test_instant_texts_sort(one, other):
    """Texts of instants have one width and sort as the instants do."""
    assert len(instant_text(one)) == len("2026-05-12T09:30:00.000000Z")
    assert (instant_text(one) < instant_text(other)) == (in_utc(one) < in_utc(other))


def test_instant_text():
    """An instant is written in UTC with microseconds, whatever its zone and however round it is."""
    assert instant_text(datetime.fromisoformat("2026-05-12T11:30:00+02:00")) == "2026-05-12T09:30:00.000000Z"
    assert instant_text(datetime(33, 4, 3, tzinfo=UTC)) == "0033-04-03T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["2026-05-12T09:30:00Z", "2026-05-12T11:30:00+02:00", "2026-05-12 09:30:00.000Z"])
def test_parse_instant(text):
    """Any RFC 3339 text is read, with whatever offset and precision."""
    assert parse_instant(text) == START


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-05-12", "2026-05-12T09:30:00", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00"],
)
def test_parse_instant_refuses(text):
    """What is no instant, or does not say its offset, is refused."""
    with pytest.raises(ValueError):
        parse_instant(text)


def test_instant_text_refuses_naive():
    """An instant without an offset is refused rather than taken for local time."""
    with pytest.raises(ValueError, match="aware"):
        instant_text(datetime(2026, 5, 12))


@given(AUTHORIZATIONS)
def test_authorization_round_trip(authorization):
    """How a call was authorized comes back from its plain values."""
    assert Authorization.from_fields(authorization.to_fields()) == authorization


@given(AUTHORIZATIONS)
def test_authorization_fields_are_plain(authorization):
    """The values of a recording are exactly text and whole numbers, and none is empty."""
    assert {type(value) for value in authorization.to_fields().values()} <= {str, int}


def test_authorization_fields():
    """A recording names the fields in this order."""
    authorization = Authorization(
        CredentialKind.CLIENT_SECRET, Environment.BROKER_LIVE, "default", 1, START, START + timedelta(seconds=899)
    )
    assert list(authorization.to_fields().items()) == [
        ("kind", "client secret"),
        ("environment", "broker-live"),
        ("profile", "default"),
        ("token", 1),
        ("issued_at", "2026-05-12T09:30:00.000000Z"),
        ("expires_at", "2026-05-12T09:44:59.000000Z"),
    ]
    key_pair = Authorization(CredentialKind.KEY_PAIR, Environment.PAPER, "default")
    assert key_pair.to_fields() == {"kind": "key pair", "environment": "paper", "profile": "default"}


GOOD = {"kind": "client key", "environment": "broker-sandbox", "profile": "default", "token": 2}


@pytest.mark.parametrize(
    "fields",
    [
        None,
        "client key",
        ["kind"],
        {},
        {**GOOD, "kind": "password"},
        {**GOOD, "environment": "production"},
        {**GOOD, "token": "2"},
        {**GOOD, "token": True},
        {**GOOD, "token": 2.5},
        {**GOOD, "token": 0},
        {**GOOD, "issued_at": "soon"},
        {**GOOD, "issued_at": "2026-05-12T09:30:00"},
        {**GOOD, "expires_at": 1778578200},
        {**GOOD, "expires_at": date(2026, 5, 12)},
        {**GOOD, "expires_at": "9999-12-31T23:59:59-14:00"},
    ],
)
def test_authorization_refuses(fields):
    """Foreign values that tell no authorization are refused with one of the errors that callers expect."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        Authorization.from_fields(fields)


def test_authorization_ignores_the_unknown():
    """A field of a later version is left alone."""
    assert Authorization.from_fields({**GOOD, "note": "x"}) == Authorization.from_fields(GOOD)


def test_call_ends():
    """A call ends when its body did; while it is unfinished, its sending is the last that is known."""
    assert call(5, elapsed=timedelta(seconds=2)).ended_at == START + timedelta(seconds=7)
    assert call(5).ended_at == START + timedelta(seconds=5)
    assert call(5, elapsed=timedelta(0)).ended_at == START + timedelta(seconds=5)


@given(st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(0, 100))))
def test_ledger(entries):
    """A ledger gives all its calls, earliest first and equals as they came, and when the last one ended."""
    ledger = Ledger()
    calls = [
        call(sent, elapsed=None if took is None else timedelta(seconds=took), path=f"/{number}")
        for number, (sent, took) in enumerate(entries)
    ]
    for each in calls:
        ledger.add(each)
    assert [(each.sent_at, int(each.path[1:])) for each in ledger.calls()] == sorted(
        (each.sent_at, number) for number, each in enumerate(calls)
    )
    expected = max((START + timedelta(seconds=sent + (took or 0)) for sent, took in entries), default=None)
    assert ledger.last_ended_at() == expected


def test_ledger_follows_its_calls():
    """What becomes known of a call later shows in the ledger."""
    ledger, sent = Ledger(), call(0)
    ledger.add(sent)
    sent.status, sent.elapsed = 200, timedelta(seconds=3)
    assert ledger.calls()[0].status == 200
    assert ledger.last_ended_at() == START + timedelta(seconds=3)


def test_ledger_hands_out_copies_of_its_list():
    """Whoever changes the list of calls does not change the ledger."""
    ledger = Ledger()
    ledger.add(call(0))
    ledger.calls().clear()
    assert len(ledger.calls()) == 1


def test_ledger_is_shared_among_threads():
    """No call of many threads is lost, however reading and adding interleave."""
    ledger, together = Ledger(), threading.Barrier(8)

    def work():
        together.wait()
        for number in range(200):
            ledger.add(call(number))
            ledger.last_ended_at()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.calls()) == 1600
