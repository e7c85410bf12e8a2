from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from toolkit.core.text import count_text, date_text, instant_words, minutes_text, nearest


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (-5, "0:00"), (0.2, "0:01"), (59, "0:59"), (890, "14:50")])
def test_minutes_text(seconds, text):
    """A lifetime is rounded up, so that 0:00 means expired."""
    assert minutes_text(timedelta(seconds=seconds)) == text


def test_instants():
    """Instants are in UTC, with English names of months."""
    local = datetime(2026, 5, 12, 9, 30, 7, tzinfo=UTC).astimezone(timezone(timedelta(hours=-12)))
    assert instant_words(local) == "12 May 2026, 09:30:07 UTC"
    assert date_text(local) == "11 May 2026"


def test_count_text():
    """Counts have a separator for thousands and a noun in the right number."""
    assert [count_text(number, "account") for number in (0, 1, 1200)] == ["0 accounts", "1 account", "1,200 accounts"]


def test_nearest():
    """A misspelt name gives the most similar name, and any other text None."""
    assert nearest("papper", ["live", "paper"]) == "paper"
    assert nearest("papper", ["live", "paper"], cutoff=0.95) is None
    assert nearest("production", ["live", "paper"]) is None
