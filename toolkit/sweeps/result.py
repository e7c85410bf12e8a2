"""The result of a sweep: its table, its failures, and another try for those; in words and as a card in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import as_html, printable
from toolkit.core.html import badge, card, code
from toolkit.core.words import REAL_ACCOUNT, count_text
from toolkit.sweeps.definition import InterfaceFacts
from toolkit.sweeps.folder import Folder
from toolkit.sweeps.keys import Key
from toolkit.sweeps.outcomes import failures_frame

if TYPE_CHECKING:
    import pandas as pd


class Repeatable(Protocol):
    """A sweep that can be run again; see `toolkit.sweeps.job.Job`."""

    @property
    def client(self) -> httpx.Client | httpx.AsyncClient: ...

    @property
    def into(self) -> str: ...

    @property
    def facts(self) -> InterfaceFacts: ...

    def folder(self) -> Folder: ...

    def run(self, keys: Iterable[Any] | None, *, order: Collection[Key] | None) -> SweepResult: ...

    def run_async(
        self, keys: Iterable[Any] | None, *, order: Collection[Key] | None
    ) -> Coroutine[Any, Any, SweepResult]: ...


class SweepResult:
    """The contents of the folder of a sweep.

    Attributes:
        into: the folder, as it was named.
        answered: number of keys that were answered, with rows or without.
        failed: number of keys that failed.
        rows: number of rows.
        earlier: number of keys that earlier runs had finished, for which nothing was requested.
    """

    def __init__(self, job: Repeatable, folder: Folder, order: Collection[Key], *, earlier: int = 0) -> None:
        self.into = job.into
        self.answered = folder.answered
        self.failed = len(folder.failures)
        self.rows = folder.rows
        self.earlier = earlier
        self._job = job
        self._order = order
        self._reasons = Counter(failure.status for failure in folder.failures.values())

    def table(self, names: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return all rows of the folder, in the order of the keys in this sweep; rows of other keys come last.

        A folder that does not fit into memory is better read by Polars, DuckDB or Dask.

        Args:
            names: a table with a column of the keys, such as `session.accounts()` if they are ids. Its columns with
                other names for the same things, such as account numbers, are put beside the keys.
        """
        table = self._job.folder().table(self._order)
        if names is not None:
            table = _with_names(table, names)
        table.attrs["source"] = f"{self._job.facts.environment}{self._real_text(' · ')} · {self._job.facts.source}"
        return table

    def failures(self) -> pd.DataFrame:
        """Return a row for each key that failed: key, status (missing if no answer came), reason, and tries.

        `tries` counts requests over all runs. A notebook shows reasons and keys whole, however long they are.
        """
        folder = self._job.folder()
        failures = [folder.failures.pop(key) for key in self._order if key in folder.failures]
        failures += folder.failures.values()
        from toolkit.tables.display import readable

        return readable(failures_frame(failures, folder.kind), cuts_text=False)

    def retry(self) -> SweepResult | Coroutine[Any, Any, SweepResult]:
        """Ask again for all keys that failed, and return the new result; with an asynchronous client, `await` it."""
        if isinstance(self._job.client, httpx.AsyncClient):
            return self._job.run_async(None, order=self._order)
        return self._job.run(None, order=self._order)

    def __repr__(self) -> str:
        failed = f", {self._failed_text('failed')}" if self.failed else ""
        earlier = f"; {count_text(self.earlier, 'key')} finished by earlier runs" if self.earlier else ""
        counts = f"{count_text(self.answered, 'key')} answered with {count_text(self.rows, 'row')}{failed}{earlier}"
        environment = f"{self._job.facts.environment}{self._real_text(', ')}"
        return f"<Sweep of {environment} into {printable(_shown(self.into))}: {counts}; {self._job.facts.source}>"

    def _repr_html_(self) -> str:
        environment = self._job.facts.environment
        badges = [badge(f"{environment} · {self._job.facts.source}")]
        if account := self._job.facts.account:
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
        return f"{before}{self._job.facts.account}" if self._job.facts.account else ""

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
    from toolkit.tables.records import is_key

    keys = table.iloc[:, 0]
    columns = [name for name in names.columns if isinstance(name, str) and is_key(name)]
    own = next((name for name in columns if names[name].is_unique and keys.isin(names[name]).all()), None)
    if own is None:
        raise TabulationError("No column of names= has all keys of this sweep, each in one row.", about="names")
    indexed = names.set_index(own)
    for place, name in enumerate((name for name in columns if name != own and name not in table.columns), 1):
        table.insert(place, name, keys.map(indexed[name]))
    return table
