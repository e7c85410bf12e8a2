"""What the catalog says, as DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.cassettes.catalog.comparing import compare_recordings
from toolkit.cassettes.catalog.reading import read_cassette
from toolkit.local.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


def compare_cassettes(old: str | Path, new: str | Path, *, settings: Settings | None = None) -> pd.DataFrame:
    """Return what changed from one recording of a story to another.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. Values in the
    answers are not compared: they differ on any day.

    Args:
        old, new: names or paths of the cassettes.
        settings: by default those of the project.

    Returns:
        One row per change, in the order of the old recording:
            kind (str): "added" or "removed" for a call, a member of JSON or a header; "type" for a member of another
                type or a body of another media type; "status"; "timing" for an answer that took at least twice as
                long, or half as long, by at least 0.1 s.
            method, uri (str): the call.
            place (str): where in the answer, such as `$.accounts[].cash`; missing for the whole call.
            before, after (str): what was there and what is there; missing if there was or is nothing.
            old, new (Int64): number of the call in each recording, from 1; missing if it is only in the other.

    Raises:
        CassetteMiss, CassetteCorrupt: if one of them does not exist or is not a cassette.
    """
    import pandas as pd

    changes = compare_recordings(read_cassette(old, settings).contents, read_cassette(new, settings).contents)
    texts = {
        "kind": [change.kind for change in changes],
        "method": [change.method for change in changes],
        "uri": [change.uri for change in changes],
        "place": [change.place or None for change in changes],
        "before": [change.before for change in changes],
        "after": [change.after for change in changes],
    }
    numbers = {"old": [change.old for change in changes], "new": [change.new for change in changes]}
    return pd.DataFrame(
        {name: pd.Series(values, dtype="str") for name, values in texts.items()}
        | {name: pd.Series(values, dtype="Int64") for name, values in numbers.items()}
    )
