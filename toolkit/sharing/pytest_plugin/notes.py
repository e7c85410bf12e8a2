"""The notes of the processes of a test run for the one that prints: files, as texts that pytest-xdist can send."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Notes:
    """Notes of one process, or of all.

    Attributes:
        recorded: cassettes that were recorded.
        kept: recordings of failed tests, which lie beside the cassettes.
        opened: cassettes that were opened, by their real paths.
        deselected: number of tests that did not run because of a selection.
    """

    recorded: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    deselected: int = 0

    def as_plain(self) -> dict[str, Any]:
        """Return the notes in types that can be sent to another process."""
        return asdict(self)

    def add(self, plain: dict[str, Any]) -> None:
        """Add the notes of another process. Each process collects all tests, so the deselected ones count once."""
        self.recorded += plain["recorded"]
        self.kept += plain["kept"]
        self.opened += plain["opened"]
        self.deselected = max(self.deselected, plain["deselected"])
