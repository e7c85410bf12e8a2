"""The report of an import: counts, reasons and kinds, and never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.escaping import as_html
from toolkit.core.html import badge, card
from toolkit.core.words import count_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that was not imported.

    Attributes:
        number: its number in the file, from 1.
        method: HTTP method, safe to print.
        host: the host that was called, safe to print.
        reason: why it was left out; completes the sentence `it was left out, because ...`.
    """

    number: int
    method: str
    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import. Its texts are safe to print and hold no secret.

    Attributes:
        source: the file that was imported; it is unchanged and still holds its secrets.
        program: what wrote it, such as "Ruby's VCR".
        path: the new cassette; None if nothing could be imported, and then no file was written.
        imported: number of interactions in the new cassette.
        left_out: what could not be imported, in the order of the file.
        not_chosen: number of exchanges that `only` did not choose.
        replaced: number of places where a secret was replaced, by its kind, such as ACCESS_TOKEN.
        environment: the environment that was called, or None if the addresses do not tell.
        hosts: hosts that are not among the addresses of the settings, and stay as they are.
    """

    source: Path
    program: str
    path: Path | None
    imported: int
    left_out: tuple[LeftOut, ...] = ()
    not_chosen: int = 0
    replaced: Mapping[str, int] = field(default_factory=dict)
    environment: str | None = None
    hosts: tuple[str, ...] = ()

    @property
    def reasons(self) -> dict[str, int]:
        """Number of exchanges that were left out, by reason, the most frequent first."""
        return dict(Counter(each.reason for each in self.left_out).most_common())

    def table(self) -> pd.DataFrame:
        """Return one row for each exchange that was left out, with `number`, `method`, `host` and `reason`."""
        import pandas as pd

        columns = ("number", "method", "host", "reason")
        rows = {name: [getattr(each, name) for each in self.left_out] for name in columns}
        frame = pd.DataFrame(rows).astype({"number": "int64", "method": "str", "host": "str", "reason": "str"})
        return frame.set_index("number")

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        return {
            "source": str(self.source),
            "program": self.program,
            "path": None if self.path is None else str(self.path),
            "imported": self.imported,
            "not_chosen": self.not_chosen,
            "left_out": [
                {"number": each.number, "method": each.method, "host": each.host, "reason": each.reason}
                for each in self.left_out
            ],
            "replaced": dict(self.replaced),
            "environment": self.environment,
            "hosts": list(self.hosts),
        }

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        target = f" into {self.path}" if self.path is not None else "; no file was written"
        lines = [f"{count_text(self.imported, 'interaction')} imported{target} ({self.program})."]
        lines += [f"{count:,} left out: {reason}." for reason, count in self.reasons.items()]
        if self.not_chosen:
            lines.append(f"{self.not_chosen:,} not chosen.")
        kinds = ", ".join(f"{kind} in {count_text(count, 'place')}" for kind, count in self.replaced.items())
        lines.append(f"Secrets replaced: {kinds or 'none were found'}.")
        if self.environment:
            lines.append(f"The calls are those of {self.environment}.")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = [("Source", as_html(self.source.name)), ("Interactions", f"{self.imported:,}")]
        rows += [("Left out", as_html(f"{count:,}: {reason}")) for reason, count in self.reasons.items()]
        if self.not_chosen:
            rows.append(("Not chosen", f"{self.not_chosen:,}"))
        rows += [(f"Replaced {kind}", f"{count:,}") for kind, count in self.replaced.items()]
        name = self.path.name if self.path is not None else "nothing"
        return card(f"Imported {name}", [badge(self.program)], rows)
