"""A list of findings that shows itself as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolkit.cassettes.leaks import Finding


class FindingList(list["Finding"]):
    """Findings, shown as a table in a notebook and a terminal."""

    def __repr__(self) -> str:
        from toolkit.rich_display.values import findings_text  # noqa: PLC0415 - built on this package

        return findings_text(self)

    def _repr_html_(self) -> str:
        from toolkit.rich_display.values import findings_html  # noqa: PLC0415 - built on this package

        return findings_html(self)
