"""The result of a sweep: its table, its failures and another try for these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.text import REAL_ACCOUNT, as_html, badge, card, code, count_text, printable
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.parts import KEY, Key, failures_table, key_array
from toolkit.tables.columns import frame_of, is_key
from toolkit.tables.display import readable

if TYPE_CHECKING:
    from toolkit.sweeps.sweeping import Job


class SweepResult:
    """The contents of the folder of a sweep.

    Attributes:
        into: the folder, as it was named.
        answered: number of keys that were answered, with rows or without.
        failed: number of keys that failed.
        rows: number of rows.
        earlier: number of keys that earlier runs had finished, for which nothing was requested.
    """

    def __init__(self, job: Job, folder: Folder, order: Collection[Key], earlier: int) -> None:
        self.into = job.into
        self.answered = len(folder.finished)
        self.failed = len(folder.failures)
        self.rows = sum(part.rows for part in folder.parts.values())
        self.earlier = earlier
        self._folder = folder
        self._order = order
        self._job = job
        self._environment = job.plan.definition["environment"]
        self._reasons = Counter(failure.status for failure in folder.failures.values())

    def table(self, names: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return all rows of the folder, in the order of the keys in this sweep; rows of other keys come last.

        A folder that does not fit into memory is better read by Polars, DuckDB or Dask.

        Args:
            names: a table with a column of the keys, such as `session.accounts()` if they are ids. Its columns with
                other names for the same things, such as account numbers, are put beside the keys.
        """
        self._folder.load()
        table = self._folder.table(self._order)
        if names is not None:
            table = _with_names(table, names)
        table.attrs["source"] = " · ".join(filter(None, (self._environment, self._job.account, self._job.source)))
        return table

    def failures(self) -> pd.DataFrame:
        """Return a row for each key that failed: key, status (missing if no answer came), reason, and tries.

        `tries` counts requests over all runs. A notebook shows reasons and keys whole, however long they are.
        """
        (folder := self._folder).load()
        failures = [folder.failures.pop(key) for key in self._order if key in folder.failures]
        failures += folder.failures.values()
        table = failures_table(failures, folder.kind).drop_columns(["is_final"])
        table = table.set_column(0, KEY, key_array([failure.key for failure in failures], folder.kind))
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return readable(frame_of(columns, len(failures)), cuts_text=False)

    def retry(self) -> SweepResult | Coroutine[Any, Any, SweepResult]:
        """Ask again for all keys that failed, and return the new result; with an asynchronous client, `await` it."""
        is_async = isinstance(self._job.plan.client, httpx.AsyncClient)
        return (self._job.run_async if is_async else self._job.run)(None, order=self._order)

    def __repr__(self) -> str:
        failed = f", {self._failed_text('failed')}" if self.failed else ""
        earlier = f"; {count_text(self.earlier, 'key')} finished by earlier runs" if self.earlier else ""
        counts = f"{count_text(self.answered, 'key')} answered with {count_text(self.rows, 'row')}{failed}{earlier}"
        environment = ", ".join(filter(None, (self._environment, self._job.account)))
        return f"<Sweep of {environment} into {printable(_shown(self.into))}: {counts}; {self._job.source}>"

    def _repr_html_(self) -> str:
        badges = [badge(f"{self._environment} · {self._job.source}")]
        if account := self._job.account:
            badges.append(badge(account, alarming=account == REAL_ACCOUNT))
        lines = [
            ("answered", as_html(count_text(self.answered, "key"))),
            ("rows", as_html(f"{self.rows:,}")),
            ("failed", as_html(self._failed_text()) if self.failed else "none"),
        ]
        if self.earlier:
            lines.append(("earlier", f"{as_html(count_text(self.earlier, 'key'))}, not requested again"))
        retry = f" · {code('.failures()')} · {code('.retry()')}" if self.failed else ""
        lines += [("folder", code(_shown(self.into))), ("next", code(".table()") + retry)]
        return card("Sweep", badges, lines)

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
    keys = table.iloc[:, 0]
    columns = [name for name in names.columns if isinstance(name, str) and is_key(name)]
    own = next((name for name in columns if names[name].is_unique and keys.isin(names[name]).all()), None)
    if own is None:
        raise TabulationError("No column of names= has all keys of this sweep, each in one row.", about="names")
    indexed = names.set_index(own)
    for place, name in enumerate((name for name in columns if name != own and name not in table.columns), 1):
        table.insert(place, name, keys.map(indexed[name]))
    return table
