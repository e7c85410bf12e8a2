"""`progress` goes through items like a plain loop, and shows how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.core.ledger import Traffic
from toolkit.local.progress import Loop
from toolkit.local.progress_lines import LoopStatus


class FakeLine:
    """A line that remembers what was shown, and how it ended."""

    def __init__(self) -> None:
        self.shown: list[LoopStatus] = []
        self.ends: list[str] = []

    def show(self, status: LoopStatus) -> None:
        self.shown.append(status)

    def end(self, words: str) -> None:
        self.ends.append(words)


class Watch:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def seen() -> FakeLine:
    return FakeLine()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)


async def later(items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def test_a_loop_shows_how_far_it_is(seen: FakeLine, watch: Watch) -> None:
    """Counts grow, and the last line says that everything is done."""
    for _ in Loop(range(3), total=3, label="calls", line=lambda: seen, seconds=watch):
        watch.at += 2
    assert [(status.done, status.elapsed) for status in seen.shown] == [(1, 2), (2, 4), (3, 6)]
    assert seen.ends == ["calls: 3 in 6.0 s"]


def test_an_async_loop_shows_how_far_it_is(seen: FakeLine, watch: Watch) -> None:
    """An async loop shows its progress as items arrive."""

    async def go() -> list[int]:
        found = []
        async for item in Loop(later(range(3)), total=3, line=lambda: seen, seconds=watch):
            watch.at += 2
            found.append(item)
        return found

    assert asyncio.run(go()) == [0, 1, 2]
    assert [status.done for status in seen.shown] == [1, 2, 3]
    assert seen.ends == ["3 in 6.0 s"]


def test_a_short_loop_shows_nothing(seen: FakeLine, watch: Watch) -> None:
    """A loop of less than half a second leaves no line."""
    for _ in Loop(range(40), total=40, line=lambda: seen, seconds=watch):
        watch.at += 0.01
    assert not seen.shown
    assert not seen.ends


def test_the_line_changes_a_few_times_a_second(seen: FakeLine, watch: Watch) -> None:
    """Ten thousand quick items cause only a few updates."""
    for _ in Loop(range(10_000), total=10_000, line=lambda: seen, seconds=watch):
        watch.at += 0.001
    assert 40 <= len(seen.shown) <= 50  # ten seconds, less the first half, five times a second


@pytest.mark.usefixtures("only_new_garbage")
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError])
def test_a_stopped_loop_leaves_a_line(seen: FakeLine, watch: Watch, error: type[BaseException] | None) -> None:
    """A loop that is left with `break`, is interrupted or fails leaves a line that says how far it was."""

    def work() -> None:
        for item in Loop(range(5), total=5, line=lambda: seen, seconds=watch):
            watch.at += 2
            if item == 3 and error is None:
                break
            if item == 3:
                raise error

    with pytest.raises(error) if error else contextlib.nullcontext():
        work()
    gc.collect()
    assert seen.ends == ["stopped after 3 of 5, 8.0 s"]


def test_errors_of_the_items_come_through(seen: FakeLine, watch: Watch) -> None:
    """An error of the items is raised, and the line says how far the loop was."""

    def items() -> Any:
        yield 1
        watch.at += 2
        yield 2
        raise LookupError

    with pytest.raises(LookupError):
        list(Loop(items(), line=lambda: seen, seconds=watch))
    assert seen.ends == ["stopped after 2, 2.0 s"]


@pytest.mark.usefixtures("only_new_garbage")
def test_a_cancelled_async_loop_leaves_a_line(seen: FakeLine, watch: Watch) -> None:
    """A cancelled async loop leaves a line that says how far it was."""

    async def work() -> None:
        async for _ in Loop(later(range(5)), total=5, line=lambda: seen, seconds=watch):
            watch.at += 2
            if watch.at > 5:
                raise asyncio.CancelledError

    async def go() -> None:
        with pytest.raises(asyncio.CancelledError):
            await work()
        gc.collect()
        await asyncio.sleep(0.01)

    asyncio.run(go())
    assert seen.ends == ["stopped after 2 of 5, 6.0 s"]


def test_a_replay_shows_nothing(seen: FakeLine, watch: Watch) -> None:
    """A loop shows nothing while every call is replayed, however long it takes."""
    traffic = Traffic()
    traffic.sent = 7
    for _ in Loop(range(9), total=9, line=lambda: seen, seconds=watch, traffic=traffic):
        traffic.played += 1
        watch.at += 5
    assert not seen.shown
    assert not seen.ends


def test_a_loop_shows_progress_from_the_first_sent_call_on(seen: FakeLine, watch: Watch) -> None:
    """A loop of replayed calls shows its progress as soon as a call is sent."""
    traffic = Traffic()
    for item in Loop(range(9), total=9, line=lambda: seen, seconds=watch, traffic=traffic):
        watch.at += 5
        traffic.played += item < 4
        traffic.sent += item >= 4
    assert [status.done for status in seen.shown] == [5, 6, 7, 8, 9]


def test_nothing_is_shown_offline(seen: FakeLine, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shown offline, so that a verified notebook does not depend on the time."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    for _ in Loop(range(9), total=9, line=lambda: seen, seconds=watch):
        watch.at += 5
    assert not seen.shown


def test_a_loop_runs_where_nothing_can_be_shown(watch: Watch) -> None:
    """A loop runs where no line can be shown, such as in a CI log."""
    for _ in Loop(range(9), total=9, line=lambda: None, seconds=watch):
        watch.at += 5


def test_a_loop_may_run_again(seen: FakeLine, watch: Watch) -> None:
    """A loop may run as often as its items allow."""
    bar = Loop(range(2), total=2, line=lambda: seen, seconds=watch)
    for _ in (1, 2):
        for _ in bar:
            watch.at += 1
    assert seen.ends == ["2 in 2.0 s", "2 in 2.0 s"]


@given(st.lists(st.integers()))
def test_the_items_are_unchanged(items: list[int]) -> None:
    """Any iterable gives the same items in the same order."""
    assert list(tk.progress(items)) == items
    assert list(tk.progress(iter(items))) == items
    assert list(tk.progress(dict.fromkeys(items))) == list(dict.fromkeys(items))


@pytest.mark.parametrize("nothing", [100, None, 1.5, object()])
def test_what_cannot_be_iterated_over_is_refused(nothing: Any) -> None:
    """Items that cannot be iterated over, such as a number, are refused with advice."""
    with pytest.raises(tk.ConfigurationError, match=f"{type(nothing).__name__} cannot be iterated") as raised:
        tk.progress(nothing)
    assert "range(number)" in raised.value.next_step


@pytest.mark.parametrize("total", [np.int64(9), np.uint8(9), np.array(9), 9])
def test_a_total_may_be_of_numpy(total: Any, seen: FakeLine, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A total may be an integer of NumPy."""
    monkeypatch.setattr("toolkit.local.progress.Loop", partial(Loop, line=lambda: seen, seconds=watch))
    for _ in tk.progress(iter(range(2)), total=total):
        watch.at += 2
    assert [(status.total, type(status.total)) for status in seen.shown] == [(9, int)] * 2


@pytest.mark.parametrize("total", [-1, 1.5, "9", True, np.bool_(True), np.float64(9), np.int64(-1), np.array([9, 9])])
def test_a_total_that_is_not_a_count_is_refused(total: Any) -> None:
    """A total that is not a count is refused before the loop begins."""
    with pytest.raises(tk.ConfigurationError, match="count of items"):
        tk.progress([], total=total)


def test_a_display_that_fails_does_not_end_the_work(watch: Watch) -> None:
    """A display that fails, such as a closed terminal, does not end the loop."""

    class Gone(FakeLine):
        def show(self, status: LoopStatus) -> None:
            raise BrokenPipeError

    done = 0
    for _ in Loop(range(9), total=9, line=Gone, seconds=watch):
        watch.at += 5
        done += 1
    assert done == 9


def test_a_table_is_refused() -> None:
    """A table is refused, because a loop would go through its columns."""
    with pytest.raises(tk.ConfigurationError, match="through the columns") as caught:
        tk.progress(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    assert "itertuples" in caught.value.next_step
    assert len(list(tk.progress(pd.Series([1, 2, 3])))) == 3
