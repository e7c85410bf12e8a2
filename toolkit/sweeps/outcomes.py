"""The outcome of a key: answers that may become rows, or a failure; and the file of failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolkit.sweeps.keys import Key, KeyKind, key_array

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Besides 5xx, statuses after which asking again may help: a timeout (RFC 9110 section 15.5.9) and too many requests
# (RFC 6585 section 4).
_PASSING: Final = (408, 429)
LONGEST_REASON: Final = 200  # characters


@dataclass(frozen=True, slots=True)
class Answered:
    """A key that has its answers.

    Attributes:
        key: the key.
        answers: responses, or their JSON; none if the service answered without a body.
        size: bytes of all answers.
    """

    key: Key
    answers: Sequence[Any]
    size: int = 0


@dataclass(frozen=True, slots=True)
class KeyFailure:
    """A key without rows.

    Attributes:
        key: the key.
        status: HTTP status code, or None if no answer came.
        reason: why it has no rows, safe to print.
        tries: number of requests for it, over all runs.
        is_final: True if the service answered, so that only `.retry()` asks again.
    """

    key: Key
    status: int | None
    reason: str
    tries: int = 1
    is_final: bool = False


def is_passing(status: int) -> bool:
    """Check whether asking again may give another status."""
    return status in _PASSING or status >= 500


def failures_table(failures: Iterable[KeyFailure], kind: KeyKind | None) -> pa.Table:
    """Return failures as a table: key, status, reason, tries and final."""
    import pyarrow as pa

    rows = list(failures)
    return pa.table(
        {
            "key": key_array([failure.key for failure in rows], kind or "text"),
            "status": pa.array([failure.status for failure in rows], pa.int64()),
            "reason": pa.array([failure.reason for failure in rows], pa.string()),
            "tries": pa.array([failure.tries for failure in rows], pa.int64()),
            "final": pa.array([failure.is_final for failure in rows], pa.bool_()),
        }
    )


def failures_of(table: pa.Table, keys: Sequence[Key]) -> list[KeyFailure]:
    """Return the failures of a table that `failures_table` made, given its keys."""
    columns = (table[name].to_pylist() for name in ("status", "reason", "tries", "final"))
    return [KeyFailure(*values) for values in zip(keys, *columns, strict=True)]


def failures_frame(failures: Iterable[KeyFailure], kind: KeyKind | None) -> pd.DataFrame:
    """Return failures as pandas shows them, without the column `final`."""
    from toolkit.tables.columns import frame_of

    table = failures_table(failures, kind).drop_columns(["final"])
    return frame_of(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)
