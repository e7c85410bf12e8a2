"""`progress` goes through items like a plain loop, and shows how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit as tk
from toolkit.local import progress as module


class Watched:
    """Bars that only remember, a clock that is moved by hand, and the counts of calls."""

    def __init__(self) -> None:
        self.at, self.traffic = 0.0, SimpleNamespace(sent=0, played=0)
        self.bars: list[Any] = []
        self.shown: list[tuple[int, str]] = []
        self.ended = 0

    def bar(self, label: str, total: int | None, *_: Any) -> Any:
        self.bars.append((label, total))
        return SimpleNamespace(show=self.show, end=self.end)

    def show(self, done: int, note: str) -> None:
        self.shown.append((done, note))

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    monkeypatch.setattr(module, "Bar", watched.bar)
    timed = partial(module.progress_bar, seconds=lambda: watched.at, traffic=watched.traffic)
    monkeypatch.setattr(module, "progress_bar", timed)
    return watched


async def later(items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


async def each(items: Any, work: Callable[[Any], None]) -> None:
    async for item in tk.progress(later(items), total=len(items)):
        work(item)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_loop_shows_how_far_it_is(is_async: bool, watched: Watched) -> None:
    """Items come through unchanged, counts grow twice a second, and the last one is shown in the end."""
    found = []

    def work(item: int) -> None:
        watched.at += 0.01
        found.append(item)

    if is_async:
        asyncio.run(each(range(203), work))
    else:
        for item in tk.progress(range(203), label="calls"):
            work(item)
    assert found == list(range(203))
    assert watched.bars == [("" if is_async else "calls", 203)]
    assert 4 <= len(watched.shown) <= 5  # of two seconds
    assert (watched.shown[-1], watched.ended) == ((203, ""), 1)


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError])
def test_a_stopped_loop_leaves_its_last_count(watched: Watched, error: type[BaseException] | None) -> None:
    """A loop that is left with `break`, is interrupted or fails ends its bar."""

    def work() -> None:
        for item in tk.progress(range(5)):
            watched.at += 2
            if item == 3 and error is None:
                break
            if item == 3 and error is not None:
                raise error

    with pytest.raises(error) if error else contextlib.nullcontext():
        work()
    gc.collect()
    assert (watched.shown[-1], watched.ended) == ((3, ""), 1)


def test_a_replay_shows_nothing_until_a_call_is_sent(watched: Watched) -> None:
    for item in tk.progress(range(9)):
        watched.at += 5
        watched.traffic.played += item < 4
        watched.traffic.sent += item >= 4
    assert watched.shown[0] == (5, "")


def test_nothing_is_shown_offline(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verified notebook does not depend on the time."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    for _ in tk.progress(range(9)):
        watched.at += 5
    assert watched.bars == []


@pytest.mark.parametrize("nothing", [100, None])
def test_what_is_not_gone_through_item_by_item_is_refused(nothing: Any) -> None:
    with pytest.raises(tk.ConfigurationError, match="items must be something to loop over"):
        tk.progress(nothing)


def test_a_cell_has_text_and_no_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved notebook holds one line of text, which changes while the loop runs."""
    outputs: list[Any] = []
    monkeypatch.setattr(module, "shell", lambda: SimpleNamespace(kernel=object()))

    def display(bundle: dict[str, str], **options: Any) -> Any:
        outputs.append((bundle["text/plain"], list(bundle), options))
        return SimpleNamespace(update=display)

    monkeypatch.setattr("IPython.display.display", display)
    bar = module.Bar("a [b]", 10, 0.0, lambda: 4.0)
    bar.show(4, "")
    bar.show(10, "3 failed [b]")
    (first, *made), (last, *changed) = outputs
    assert made == [["text/plain"], {"raw": True, "display_id": True}]
    assert changed == [["text/plain"], {"raw": True}]
    assert first.startswith("a [b] ")
    assert " 4/10 0:00:04" in first
    assert last.endswith("3 failed [b]")


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has pseudo-terminals")
def test_at_a_terminal_one_line_changes(tmp_path: Path) -> None:
    """Printed text has lines of its own, stdout in a file is left alone, and in the end the cursor is back."""
    script = (
        "import sys, functools, itertools, threading, toolkit.local.progress as p\n"
        "clock = itertools.count()\n"
        "p.progress_bar = functools.partial(p.progress_bar, seconds=lambda: next(clock))\n"
        "for item in p.progress(range(8), label='items'):\n"
        "    if item == 6: print('printed', threading.active_count())\n"
        "sys.stdout = open('out.csv', 'w')\n"
        "for item in p.progress(range(3), label='rows'): print('row', item)\n"
    )
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environ.pop("TOOLKIT_OFFLINE", None)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environ, stdout=theirs, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert [text for text in ("items", "3/8", "8/8", "\x1b[2Kprinted 1\r\n") if text not in shown] == []
    assert "3/3" in shown.rsplit("\x1b[2K", 1)[1]
    assert shown.endswith("\x1b[?25h")
    assert (tmp_path / "out.csv").read_text() == "row 0\nrow 1\nrow 2\n"
