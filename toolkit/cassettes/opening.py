"""Open the file of a cassette: finish and repair what earlier recordings left, read what is there, and tell its age."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.paths import same_name_in_project
from toolkit.cassettes.recording.recorder import Recorder, finish_now, part_of
from toolkit.cassettes.replay import differences
from toolkit.core.ledger import EPOCH
from toolkit.core.text import count_text, date_text
from toolkit.core.tracebacks import warn
from toolkit.local.files import read_file
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules.model import Rules, project_rules
from toolkit.scrubbing.scrubber import Scrubber


def todays_scrubber(settings: Settings, rules: Rules | None = None) -> Scrubber:
    """Return a scrubber with the addresses, the header prefix and the rules of a project, and with further rules."""
    both = project_rules(settings)
    both = both | rules if rules else both
    return Scrubber(KnownSecrets(), addresses=settings.addresses, header_prefix=settings.header_prefix, rules=both)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; none if the file does not exist.

    Raises:
        CassetteError: if it cannot be read.
    """
    try:
        return read_file(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise differences.unreadable(path, error) from None


def read_cassette(path: Path, mode: str, scrubber: Scrubber, settings: Settings | None) -> Contents:
    """Return the interactions of a file, without any if it does not exist; the scrubber learns what is recorded.

    A recording that was under way in this process is finished first, and an incomplete last interaction is cut off with
    a warning.

    Raises:
        CassetteMiss: if the mode is `none` and there is no such file.
        CassetteCorrupt: if the file is not a cassette; it is left as it is.
        CassetteError: if the file cannot be read.
    """
    finish_now(part_of(Path(os.path.realpath(path))))
    data = read_bytes(path)
    if not data.strip() and mode == "none":
        raise differences.missing(path, elsewhere=same_name_in_project(path, settings), is_offline=is_offline())
    scrubber.recall(data)
    opened = contents.read(data, source=str(path))
    if opened.is_torn and Recorder(path, scrubber).cut_torn_tail():
        warn(f"{path} ends in an incomplete interaction; the {len(opened)} before it are complete.")
    return opened


def is_stale(recorded_at: datetime | None, stale_after: int | None, now: datetime) -> bool:
    """Check whether a recording has reached the age, in days, from which it counts as stale; None for never."""
    if recorded_at in (None, EPOCH) or stale_after is None:
        return False
    return now - recorded_at >= timedelta(days=stale_after)


def staleness_text(path: Path, recorded_at: datetime | None, stale_after: int | None, now: datetime) -> str | None:
    """Return a sentence about a stale recording, or None if it is not stale."""
    if recorded_at is None or stale_after is None or not is_stale(recorded_at, stale_after, now):
        return None
    return (
        f"{path.name} was recorded on {date_text(recorded_at)}, {count_text((now - recorded_at).days, 'day')} ago, "
        f"and counts as stale after {count_text(stale_after, 'day')} (stale_after in toolkit.toml)."
    )
