"""The result of a sweep: its table, its failures and another try for these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd

from toolkit.core.text import REAL_ACCOUNT, as_html, badge, card, code, count_text, printable
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.parts import KEY, Key, failures_table, key_column
from toolkit.tables.columns import frame_of
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
        self.answered = folder.answered
        self.failed = len(folder.failures)
        self.rows = sum(part.rows for part in folder.parts.values())
        self.earlier = earlier
        self._order = order
        self._job = job
        self._environment = job.plan.definition["environment"]
        self._reasons = Counter(failure.status for failure in folder.failures.values())

    def table(self) -> pd.DataFrame:
        """Return all rows of the folder, in the order of the keys in this sweep; rows of other keys come last.

        A folder that does not fit into memory is better read by Polars, DuckDB or Dask.
        """
        table = self._loaded().table(self._order)
        table.attrs["source"] = " · ".join(filter(None, (self._environment, self._job.account, self._job.source)))
        return table

    def failures(self) -> pd.DataFrame:
        """Return a row for each key that failed: key, status (missing if no answer came), reason, and tries.

        `tries` counts the requests of the run in which it failed last. A notebook shows reasons and keys whole, however
        long they are.
        """
        folder = self._loaded()
        failures = [folder.failures.pop(key) for key in self._order if key in folder.failures]
        failures += folder.failures.values()
        table = failures_table(failures, folder.kind).drop_columns(["is_final"])
        columns = dict(zip(table.column_names, table.columns, strict=True))
        columns[KEY] = key_column(table[KEY])
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

    def _loaded(self) -> Folder:
        folder = Folder(self._job.place, self._job.plan.definition)  # not kept: many keys take much memory
        folder.load()
        return folder

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
