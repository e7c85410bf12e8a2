from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization, Call
from toolkit.tables.display import calls_table, tokens_table

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
PATH = "/v1/accounts"


def make_token(number, *, at=0, lasts=900, profile="default", environment=Environment.BROKER_SANDBOX):
    issued = START + timedelta(seconds=at)
    expires = issued + timedelta(seconds=lasts)
    return Authorization(CredentialKind.CLIENT_SECRET, environment, profile, number, issued, expires)


def make_call(at, token=None, *, status=200, elapsed=0.25, method="GET", path=PATH, tries=1):
    duration = None if elapsed is None else timedelta(seconds=elapsed)
    return Call(START + timedelta(seconds=at), "broker", method, path, status, duration, token, tries)


KEY_PAIR = Authorization(CredentialKind.KEY_PAIR, Environment.PAPER, "default")


def test_calls():
    """Each call is a row, numbered from 1 in the order of sending, with its duration, its tries and its token."""
    first = make_token(1)
    table = calls_table(
        [
            make_call(2, first, elapsed=0.0, tries=3),
            make_call(1, first, status=None, elapsed=None),
            make_call(0, KEY_PAIR, method="POST", path="/v1/oauth2/token"),
        ]
    )
    types = "datetime64[us, UTC] str str str Int64 float64 Int64 Int64"
    assert " ".join(map(str, table.dtypes)) == " ".join(map(str, calls_table([]).dtypes)) == types
    assert (table.index.tolist(), table.index.name) == ([1, 2, 3], "call")
    assert table["when"].tolist() == [START + timedelta(seconds=at) for at in range(3)]
    shown = table[["method", "status", "elapsed", "tries", "token"]].astype(object)
    assert shown.where(shown.notna(), None).to_numpy().tolist() == [
        ["POST", 200, 0.25, 1, None],
        ["GET", None, None, 1, 1],
        ["GET", 200, 0.0, 3, 1],
    ]


def test_tokens():
    """Each token is a row with its lifetime, its remaining seconds and the number of its calls."""
    token = make_token(1, lasts=898)
    calls = [make_call(0), make_call(1, token), make_call(2, token), make_call(3, KEY_PAIR)]
    table = tokens_table(calls, START + timedelta(seconds=98))
    types = "str str datetime64[us, UTC] datetime64[us, UTC] float64 float64 str int64"
    assert " ".join(map(str, table.dtypes)) == " ".join(map(str, tokens_table([], START).dtypes)) == types
    assert table.loc[1].to_dict() == {
        "profile": "default",
        "environment": "broker-sandbox",
        "issued": START,
        "expires": START + timedelta(seconds=898),
        "lifetime": 898.0,
        "remaining": 800.0,
        "state": "valid",
        "calls": 2,
    }


@pytest.mark.parametrize(
    ("now", "states", "remaining"),
    [
        (950, ["replaced", "expired", "valid"], [0, 0, 850]),
        (1799, ["replaced", "expired", "valid"], [0, 0, 1]),
        (1800, ["replaced", "expired", "expired"], [0, 0, 0]),
    ],
)
def test_states(now, states, remaining):
    """A token is replaced by a later one of the same credentials, or else valid until it expires."""
    tokens = [make_token(1), make_token(2, at=100, lasts=800), make_token(3, at=900)]
    table = tokens_table([make_call(0, token) for token in tokens], START + timedelta(seconds=now))
    assert table["state"].tolist() == states
    assert table["remaining"].tolist() == remaining


def test_text_from_a_recording_is_safe_to_print():
    """Control and bidirectional characters in methods, paths and names do not reach a terminal."""
    odd = "\x1b[2J\u202e\ud800\0"
    call = make_call(0, make_token(1, profile=f"a{odd}"), method=f"GET{odd}", path=f"/a{odd}")
    calls, tokens = calls_table([call]), tokens_table([call], call.sent_at)
    assert (calls["method"].iloc[0], calls["path"].iloc[0], tokens["profile"].iloc[0]) == ("GET[2J", "/a[2J", "a[2J")
