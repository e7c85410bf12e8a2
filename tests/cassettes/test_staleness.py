"""Old recordings are stale from the age that the project names; scripts are warned of them, and notebooks are not."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime

import pytest

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.local.settings import Settings


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
