"""Timing two ways of doing the same in turn, so that a machine's mood falls on both alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Seconds a call for each way, and each way's ratio to the first, as medians over rounds."""

    seconds: Mapping[str, float]
    ratios: Mapping[str, float]


def in_turn(ways: Mapping[str, Callable[[], object]], *, rounds: int, repeats: int) -> Figures:
    """Run each way `repeats` times a round, round after round; ratios are taken within a round."""
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                started = time.perf_counter()
                for _ in range(repeats):
                    way()
                seconds[name].append((time.perf_counter() - started) / repeats)
    finally:
        gc.enable()
    first = seconds[next(iter(ways))]
    ratios = {
        name: statistics.median(one / other for one, other in zip(times, first, strict=True))
        for name, times in seconds.items()
    }
    return Figures({name: statistics.median(times) for name, times in seconds.items()}, ratios)
