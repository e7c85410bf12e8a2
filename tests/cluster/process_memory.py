"""The memory of other processes of this machine, searched from outside, so that the search itself is not found."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

_PAGE = 4096
_MOST_PAGES = 4096  # read at once
_REGION = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r")
_PRESENT = 0xC0  # in the last byte of an entry of pagemap: in memory, or swapped out


def holds(pid: int, text: str) -> bool:
    """Check whether the memory of a process holds a text, as UTF-8 or in two or four bytes a character."""
    patterns = [text.encode(code) for code in ("utf-8", "utf-16-le", "utf-32-le")]
    return any(pattern in data for data in _memory(pid, overlap=max(map(len, patterns))) for pattern in patterns)


def _memory(pid, overlap):
    """Yield the pages of a process that exist, in runs; a piece of a long run begins with the end of the last."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for start, end in _runs(pid):
            last = b""
            for position in range(start, end, _MOST_PAGES * _PAGE):
                memory.seek(position)
                try:
                    data = last + memory.read(min(_MOST_PAGES * _PAGE, end - position))
                except OSError:  # gone in the meantime, or not memory
                    break
                yield data
                last = data[-overlap:]


def _runs(pid):
    """Yield start and end of the consecutive pages that exist."""
    with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pages:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            region = _REGION.match(line)
            if region is None or "[v" in line:
                continue
            first, last = int(region[1], 16) // _PAGE, int(region[2], 16) // _PAGE
            pages.seek(first * 8)
            flags = pages.read((last - first) * 8)[7::8]
            page = first
            for exists, run in groupby(flags, key=lambda flag: bool(flag & _PRESENT)):
                count = sum(1 for _ in run)
                if exists:
                    yield page * _PAGE, (page + count) * _PAGE
                page += count
