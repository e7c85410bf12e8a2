"""The result of publishing a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolkit.core.text import badge, card, code, count_text, printable


@dataclass(frozen=True)
class PublishedCopy:
    """A copy of a notebook to give away.

    Attributes:
        path: the folder, archive or page.
        sizes: the sizes in bytes of its files by their paths, with "/"; for a page its own.
        environments: names of the environments that its recordings were made in.
        replaced: number of values that were replaced in recordings and texts.
        notes: what its author should know before giving it away.
        command: what runs it in its folder; empty for a page.
    """

    path: Path
    sizes: Mapping[str, int]
    environments: tuple[str, ...]
    replaced: int
    notes: tuple[str, ...] = ()
    command: str = ""

    def __str__(self) -> str:
        return printable(str(self.path))

    def __repr__(self) -> str:
        facts = f"{count_text(len(self.sizes), 'file')}, {count_text(self.replaced, 'value')} replaced"
        return printable(
            "\n".join([f"<PublishedCopy {self.path}: {facts}>", *(f"Note: {note}" for note in self.notes)])
        )

    def _repr_html_(self) -> str:
        rows = [("where", code(str(self.path)))]
        rows += [("files", "<br>".join(map(code, self.sizes)))] if len(self.sizes) > 1 else []
        rows += [("recorded in", code(", ".join(self.environments)))] if self.environments else []
        rows += [("run it with", code(self.command))] if self.command else []
        rows += [("note", code(note)) for note in self.notes]
        return card("Published", [badge(f"{count_text(self.replaced, 'value')} replaced")], rows)
