"""What a sweep shows: where its answers come from, its progress, and its result with table and failures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.core.errors import TabulationError
from toolkit.core.ledger import TRAFFIC, Traffic
from toolkit.core.text import REAL_ACCOUNT, as_html, badge, card, code, count_text, printable
from toolkit.local.progress_lines import Line, LoopStatus, line_here
from toolkit.local.variables import is_offline
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.parts import KEY, Key, KeySource, failures_table, key_array

if TYPE_CHECKING:
    import pandas as pd

_QUIET: Final = 0.5  # seconds; a sweep that takes less shows nothing


@dataclass(frozen=True, slots=True)
class SweepStatus(LoopStatus):
    """The progress of a sweep: `positions: 3,700 of 10,000 in 4.1 s, 902 a second, about 7.0 s left; 3 failed`.

    Attributes:
        asked: number of keys that were asked for in this run.
        failed: number of those that failed.
    """

    asked: int = 0
    failed: int = 0

    @property
    def remaining(self) -> float | None:
        """Seconds left at the rate of this run, or None if that is unknown."""
        if self.total is None or not self.asked or self.done > self.total:
            return None
        return self.elapsed / self.asked * (self.total - self.done)

    @property
    def _rate(self) -> str:
        if not self.asked or not self.elapsed:
            return ""
        rate = self.asked / self.elapsed
        return f", {rate:,.0f} a second" if rate >= 9.95 else f", {rate:.1f} a second"

    @property
    def _failures(self) -> str:
        return f"; {self.failed:,} failed" if self.failed else ""


class SweepProgress:
    """Shows how far a sweep is, a few times a second.

    Args:
        label: what is swept.
        tally: counts of the run, `answered` and `failed`.
        source: the keys.
        is_silent: True to show nothing, as in a replay.
        traffic: counts of calls that were sent and that were replayed.
    """

    def __init__(
        self, label: str, tally: Any, source: KeySource, *, is_silent: bool = False, traffic: Traffic = TRAFFIC
    ) -> None:
        self._label = label
        self._tally = tally
        self._source = source
        self._is_silent = is_silent or is_offline()
        self._traffic = traffic
        self._line: Line | None = None
        self._started = time.monotonic()
        self._sent = traffic.sent

    def watch(self) -> None:
        """Show how far the sweep is."""
        is_early = time.monotonic() - self._started < _QUIET
        if self._is_silent or is_early or self._traffic.sent == self._sent:
            return
        self._line = self._line or line_here()
        if self._line is not None:
            with suppress(Exception):  # a closed terminal must not end the sweep
                self._line.show(self._status())

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Leave a line of text behind when the sweep ends, also early."""
        text = SweepStatus.stopped_text
        try:
            yield
            text = SweepStatus.finished_text
        finally:
            if self._line is not None:
                with suppress(Exception):
                    self._line.end(text(self._status()))

    def _status(self) -> SweepStatus:
        asked = self._tally.answered + self._tally.failed
        elapsed = time.monotonic() - self._started
        return SweepStatus(
            self._source.skipped + asked, self._source.total, elapsed, self._label, asked, self._tally.failed
        )


class About(NamedTuple):
    """The origin of the answers of a sweep.

    Attributes:
        environment: the environment that is called.
        source: where the answers come from, in words: `live calls`, or `replayed, recorded 12 May 2026`.
        account: "real account", "practice" in its place, or "".
        again: asks again for the keys that failed, given the order of keys.
    """

    environment: str
    source: str
    account: str
    again: Callable[[Collection[Key]], SweepResult | Coroutine[Any, Any, SweepResult]]


class SweepResult:
    """The contents of the folder of a sweep.

    Attributes:
        into: the folder, as it was named.
        answered: number of keys that were answered, with rows or without.
        failed: number of keys that failed.
        rows: number of rows.
        earlier: number of keys that earlier runs had finished, for which nothing was requested.
    """

    def __init__(self, into: str, folder: Folder, order: Collection[Key], about: About, earlier: int = 0) -> None:
        self.into = into
        self.answered = len(folder.finished)
        self.failed = len(folder.failures)
        self.rows = folder.rows
        self.earlier = earlier
        self._folder = folder
        self._order = order
        self._about = about
        self._reasons = Counter(failure.status for failure in folder.failures.values())

    def table(self, names: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return all rows of the folder, in the order of the keys in this sweep; rows of other keys come last.

        A folder that does not fit into memory is better read by Polars, DuckDB or Dask.

        Args:
            names: a table with a column of the keys, such as `session.accounts()` if they are ids. Its columns with
                other names for the same things, such as account numbers, are put beside the keys.
        """
        table = self._folder.now().table(self._order)
        if names is not None:
            table = _with_names(table, names)
        table.attrs["source"] = f"{self._about.environment}{self._real_text(' · ')} · {self._about.source}"
        return table

    def failures(self) -> pd.DataFrame:
        """Return a row for each key that failed: key, status (missing if no answer came), reason, and tries.

        `tries` counts requests over all runs. A notebook shows reasons and keys whole, however long they are.
        """
        folder = self._folder.now()
        from toolkit.tables.columns import frame_of
        from toolkit.tables.display import readable

        failures = [folder.failures.pop(key) for key in self._order if key in folder.failures]
        failures += folder.failures.values()
        table = failures_table(failures, folder.kind).drop_columns(["is_final"])
        table = table.set_column(0, KEY, key_array([failure.key for failure in failures], folder.kind))
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return readable(frame_of(columns, len(failures)), cuts_text=False)

    def retry(self) -> SweepResult | Coroutine[Any, Any, SweepResult]:
        """Ask again for all keys that failed, and return the new result; with an asynchronous client, `await` it."""
        return self._about.again(self._order)

    def __repr__(self) -> str:
        failed = f", {self._failed_text('failed')}" if self.failed else ""
        earlier = f"; {count_text(self.earlier, 'key')} finished by earlier runs" if self.earlier else ""
        counts = f"{count_text(self.answered, 'key')} answered with {count_text(self.rows, 'row')}{failed}{earlier}"
        environment = f"{self._about.environment}{self._real_text(', ')}"
        return f"<Sweep of {environment} into {printable(_shown(self.into))}: {counts}; {self._about.source}>"

    def _repr_html_(self) -> str:
        environment = self._about.environment
        badges = [badge(f"{environment} · {self._about.source}")]
        if account := self._about.account:
            badges.append(badge(account, alarming=account == REAL_ACCOUNT))
        lines = [
            ("answered", as_html(count_text(self.answered, "key"))),
            ("rows", as_html(f"{self.rows:,}")),
            ("failed", as_html(self._failed_text()) if self.failed else "none"),
            *(
                [("earlier", f"{as_html(count_text(self.earlier, 'key'))}, not requested again")]
                if self.earlier
                else []
            ),
            ("folder", code(_shown(self.into))),
            ("next", code(".table()") + (f" · {code('.failures()')} · {code('.retry()')}" if self.failed else "")),
        ]
        return card("Sweep", badges, lines)

    def _real_text(self, before: str) -> str:
        return f"{before}{self._about.account}" if self._about.account else ""

    def _failed_text(self, word: str = "") -> str:
        """Return the number of failures with their statuses: `3 failed (404: 2, no answer: 1)`."""
        ordered = sorted(self._reasons.items(), key=lambda item: (-item[1], item[0] or 0))
        reasons = ", ".join(f"{status or 'no answer'}: {count:,}" for status, count in ordered[:5])
        counted = f"{self.failed:,} {word}".rstrip()
        return f"{counted} ({reasons}{', …' if len(ordered) > 5 else ''})"


def _shown(into: str) -> str:
    """Return the folder as displays show it: an absolute path is that of one machine, so its last name is enough."""
    path = Path(into)
    return path.name if path.is_absolute() else into


def _with_names(table: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a sweep with other names of their keys beside these.

    Raises:
        TabulationError: if no column has all keys, each in one row.
    """
    from toolkit.tables.field_names import is_key

    keys = table.iloc[:, 0]
    columns = [name for name in names.columns if isinstance(name, str) and is_key(name)]
    own = next((name for name in columns if names[name].is_unique and keys.isin(names[name]).all()), None)
    if own is None:
        raise TabulationError("No column of names= has all keys of this sweep, each in one row.", about="names")
    indexed = names.set_index(own)
    for place, name in enumerate((name for name in columns if name != own and name not in table.columns), 1):
        table.insert(place, name, keys.map(indexed[name]))
    return table
