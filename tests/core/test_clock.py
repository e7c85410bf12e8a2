# ruff: noqa: DTZ001 - naive instants are refused, and hypothesis takes its limits as naive instants

from __future__ import annotations

import asyncio
import time
from datetime import datetime, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.clock import ManualClock, SystemClock, sleep, sleep_async

STEPS = st.lists(st.floats(0, 1e6), max_size=20)


@given(STEPS)
def test_manual_clock_never_goes_back(steps):
    """Readings never decrease."""
    clock = ManualClock()
    readings = [(clock.now(), clock.monotonic())]
    for step in steps:
        clock.advance(step)
        readings.append((clock.now(), clock.monotonic()))
    assert readings == sorted(readings)
    assert [now for now, _ in readings] == sorted(now for now, _ in readings)


@pytest.mark.parametrize("seconds", [-1, -1e-9, float("-inf"), float("nan"), float("inf")])
def test_manual_clock_refuses(seconds):
    """A negative or impossible step is refused and changes nothing."""
    clock = ManualClock()
    before = clock.now(), clock.monotonic()
    with pytest.raises((ValueError, OverflowError)):
        clock.advance(seconds)
    assert (clock.now(), clock.monotonic()) == before


class NoOffset(tzinfo):
    def utcoffset(self, when):
        return None


@pytest.mark.parametrize("start", [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=NoOffset())])
def test_manual_clock_naive_start(start):
    """A start without an offset is refused rather than taken as local time."""
    with pytest.raises(ValueError, match="aware"):
        ManualClock(start)


def test_sleep():
    """A manual clock is moved instead of waiting; with the system's clock real time passes."""
    manual = ManualClock()
    sleep(manual, 3)
    asyncio.run(sleep_async(manual, 4))
    assert manual.monotonic() == 7.0
    started = time.monotonic()
    sleep(SystemClock(), 0.01)
    asyncio.run(sleep_async(SystemClock(), 0.01))
    assert time.monotonic() - started >= 0.019
