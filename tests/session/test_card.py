"""Sessions, and tokens of sessions, in words and as cards of a notebook."""

from __future__ import annotations

from datetime import UTC, datetime

from manual_clock import ManualClock
from pages import Page, shown

START = datetime(2026, 5, 12, 9, 30, 7, 250_000, tzinfo=UTC)


def test_a_replay_shows_the_same_each_time(open_session, replayed):
    """A replay tells when it was recorded; its cards do not depend on the day on which they are shown."""
    with open_session(clock=ManualClock(START), cassette="tour") as session:
        session.accounts()
    pages = []
    for _ in range(2):
        replay = replayed("tour")
        before = shown(replay)
        replay.accounts()
        pages.append((before, shown(replay), shown(replay.token), shown(replay.cassette)))
    assert pages[0] == pages[1]
    (before, after, token, cassette), _ = pages
    for _, page in (before, after, cassette):
        assert "replayed, recorded 12 May 2026" in Page(page).words
    assert "sandbox broker partner, as recorded" in before[1]
    assert ">none now<" in before[1]
    assert "token 1 · 14:50 of 14:50 left at the end of the last call, expires 12 May 2026, 09:44:57 UTC" in after[1]
    assert ("replayed, issued 12 May 2026" in token[1], token[0].endswith(", replayed>")) == (True, True)
    assert "2 times; 0 interactions not played yet" in cassette[1]
    assert "tour.yaml · 2 interactions" in after[1]


def test_a_live_session_is_shown_as_of_its_last_call(open_session, make_credentials):
    """A live session says that it is live, as of when, and that it is a real account; its card holds no secret."""
    clock = ManualClock(START)
    credentials = make_credentials("live", name="mine")
    session = open_session(credentials=credentials, clock=clock)
    assert "live calls, no call yet" in Page(shown(session)[1]).words
    session.accounts()
    first = shown(session)
    clock.advance(1000)
    assert shown(session) == first
    page = Page(first[1]).words
    for words in (
        "live calls, as of 12 May 2026, 09:30:07 UTC",
        "real account",
        "mine · key pair · live account",
        "trading",
        "key pair is sent with every call",
        "Calls so far 1 ",
    ):
        assert words in page
    assert "closed" not in page
    session.close()
    page = Page(shown(session)[1]).words
    assert ("closed" in page, "You may call" in page) == (True, False)
    for _, secret in credentials.secrets():
        assert secret.reveal() not in "".join(first)
