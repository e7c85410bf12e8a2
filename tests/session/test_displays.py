"""What objects show of themselves: the same each time, masked, escaped, and readable without any style."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st
from pages import Page, shown

from toolkit.auth.tokens.token import Token
from toolkit.cassettes.cassette import Cassette
from toolkit.core import words
from toolkit.core.clock import ManualClock
from toolkit.core.secret import MASK, Secret
from toolkit.scrubbing.findings import Finding, FindingList, scan
from toolkit.session.session import AsyncSession, Session

START = datetime(2026, 5, 12, 9, 30, 7, 250_000, tzinfo=UTC)
FOREIGN = """version: 1
interactions:
- request: {method: GET, uri: "https://a.example/", body: null, headers: {}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: ""}}
"""
HOSTILE = st.text(min_size=1) | st.sampled_from(["<img src=x onerror=alert(1)>", '" onmouseover="x', "\x1b[2J\u202e"])


@pytest.fixture
def recorded(settings, service, make_credentials):
    """A recording of one call, made on 12 May 2026."""
    credentials = make_credentials("broker-sandbox", name="desk")
    clock = ManualClock(START)
    with Session(
        credentials=credentials, cassette="tour", settings=settings, transport=service, clock=clock
    ) as session:
        session.accounts()
    return session


def test_a_replay_says_of_when_and_shows_the_same_each_time(recorded, settings):
    """Before and after a call; neither depends on the day on which it is looked at."""
    pages = []
    for _ in range(2):
        replay = Session(cassette="tour", mode="none", settings=settings)
        before = shown(replay)
        replay.accounts()
        pages.append((before, shown(replay), shown(replay.token), shown(replay.cassette)))
    assert pages[0] == pages[1]
    (before, after, token, cassette), _ = pages
    for _, page in (before, after, cassette):
        assert "replayed, recorded 12 May 2026" in Page(page).words
    assert "sandbox broker partner, as recorded" in before[1]
    assert "none at hand" in before[1]
    assert "14:50 of 14:50 minutes left at the end of the last call, expires 12 May 2026, 09:44:57 UTC" in after[1]
    assert ("replayed, issued 12 May 2026" in token[1], token[0].endswith(", replayed>")) == (True, True)
    assert "2 times; 0 not played yet" in cassette[1]
    assert "tour.yaml · 2 interactions" in after[1]


def test_a_live_session_says_as_of_when_and_that_it_is_a_real_account(settings, service, make_credentials):
    """As of its last call: what is saved holds no present time."""
    clock = ManualClock(START)
    credentials = make_credentials("live", name="mine")
    session = Session(credentials=credentials, settings=settings, transport=service, clock=clock)
    assert "live calls, no call yet" in Page(shown(session)[1]).words
    session.accounts()
    first = shown(session)
    clock.advance(1000)
    assert shown(session) == first
    page = Page(first[1]).words
    for said in (
        "live calls, as of 12 May 2026, 09:30:07 UTC",
        "real account",
        "mine · key pair · live account",
        "session.trading",
        "key pair goes with every call",
    ):
        assert said in page
    for _, secret in credentials.secrets():
        assert secret.reveal() not in "".join(first)


def test_sessions_of_both_kinds_while_recording(settings, service, make_credentials):
    """An async session shows itself without being awaited; a paper account is no real one."""
    session = AsyncSession(credentials=make_credentials("paper"), cassette="new", settings=settings, transport=service)
    page = Page(shown(session)[1]).words
    assert "AsyncSession paper" in page
    assert "live calls, recorded, no call yet" in page
    assert "real account" not in page
    assert "recording" in Page(shown(session.cassette)[1]).words


def test_a_live_token():
    """Masked, with its lifetime, and said to be live."""
    text = "QXZ-token-text-of-a-service"
    plain, page = shown(Token(Secret(text), START, START + timedelta(seconds=890)))
    assert plain.endswith("expires 2026-05-12 09:44:57 UTC, live>")
    assert "live, issued 12 May 2026" in page
    assert "14:50 minutes" in page
    assert MASK in page
    assert text not in plain + page


def test_findings(tmp_path):
    """A list as before, shown as what to do and a table, also when there are none."""
    (tmp_path / "a.txt").write_text("Authorization: Bearer 0123456789abcdef\n", encoding="utf-8")
    findings = scan(tmp_path)
    assert findings == [Finding(tmp_path / "a.txt", 1, "bearer token")]
    assert isinstance(findings, list)
    plain, page = shown(findings)
    table = f"{'file':<{len(str(tmp_path / 'a.txt'))}}  line  what\n{tmp_path / 'a.txt'}  1     bearer token"
    told, _, rest = plain.partition("\n\n")
    assert (str(findings), rest) == (plain, table)
    assert told.startswith("1 finding in 1 file: look at each place; ")
    assert Page(page).words.startswith("1 finding in 1 file")
    assert Page(page).tags.count("td") == 3
    assert shown(FindingList()) == (repr(FindingList()), f"<p>{FindingList()!r}</p>")
    assert repr(FindingList()).startswith("No findings")


def test_it_reads_without_any_style(recorded):
    """A code-hosting site strips styles and classes: what is left is a table, and no element depends on either."""
    page = shown(recorded)[1]
    assert "<style" not in page
    assert Page(page).attributes <= {"style", "scope"}
    bare = re.sub(r' style="[^"]*"', "", page)
    assert set(Page(bare).tags) <= {"div", "strong", "span", "table", "tbody", "tr", "th", "td", "code"}
    colours = re.findall(r"(?:^|[;\"])(?:color|background|border[a-z-]*):([^;\"]+)", page)
    assert all("#" not in colour or "var(" in colour for colour in colours)


def test_sources(tmp_path, recorded, settings):
    """Live, recorded, replayed, both, and of a day that a foreign recording does not tell."""
    assert words.source_text(None, None) == "live calls, no call yet"
    adding = Cassette("tour", "new_episodes", settings=settings)
    assert words.source_text(adding, START) == "replayed and added to, recorded 12 May 2026"
    fresh = Cassette(tmp_path / "fresh.yaml")
    assert words.source_text(fresh, START) == "live calls, recorded, as of 12 May 2026, 09:30:07 UTC"
    foreign = tmp_path / "foreign.yaml"
    foreign.write_text(FOREIGN, encoding="utf-8")
    assert words.source_text(Cassette(foreign, "none"), None) == "replayed, recorded on an unknown day"
