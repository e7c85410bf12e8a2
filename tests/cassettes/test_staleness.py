"""Old recordings are stale from the age that the project names; scripts are warned of them, and notebooks are not."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.opening import is_stale, staleness_text
from toolkit.core.ledger import EPOCH
from toolkit.local.settings import Settings

RECORDED = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


def test_age_decides():
    """A recording is stale from the day on; one without a time never is."""
    day = timedelta(days=1)
    assert not is_stale(RECORDED, 180, RECORDED + 180 * day - timedelta.resolution)
    assert is_stale(RECORDED, 180, RECORDED + 180 * day)
    assert not is_stale(RECORDED, None, RECORDED + 9_999 * day)
    for unknown in (None, EPOCH):
        assert not is_stale(unknown, 1, RECORDED)
        assert staleness_text(Path("a.yaml"), unknown, 1, RECORDED) is None
    text = staleness_text(Path("x/a.yaml"), RECORDED, 30, RECORDED + 31 * day)
    assert text == (
        "a.yaml was recorded on 12 May 2026, 31 days ago, "
        "and counts as stale after 30 days (stale_after in toolkit.toml)."
    )


@pytest.fixture
def warnings_at_opening(tmp_path, interaction):
    """Return a function that opens an old recording and returns the warnings."""
    file = tmp_path / "a.yaml"
    file.write_bytes(HEADER + encode(interaction()._replace(recorded_at=datetime(2001, 1, 2, tzinfo=UTC))))

    def opened(mode="none", stale_after="1d"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Cassette(file, mode, settings=Settings(project=tmp_path, stale_after=stale_after)).close()
        return [str(warning.message) for warning in caught]

    return opened


def test_a_script_is_warned(warnings_at_opening):
    """Whoever replays a stale recording is told, unless it is being recorded again."""
    [text] = warnings_at_opening()
    assert text.startswith("a.yaml was recorded on 2 January 2001")
    assert 'mode="all"' in text
    assert warnings_at_opening("all") == []
    assert warnings_at_opening(stale_after=None) == []
    assert warnings_at_opening(stale_after="99999d") == []
