"""The chart of latencies: a line of marks for each endpoint, with its median."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from toolkit.core.text import count_text, excerpt
from toolkit.tables.charts.arguments import HasTables, Source, check_columns, source_of, tables_for
from toolkit.tables.charts.figure import (
    INK,
    MAX_ROWS,
    Chart,
    draw_calls,
    draw_legend,
    draw_message,
    name_rows,
    new_chart,
)

_MIN_FOR_MEDIAN: Final = 3  # calls
_LOGARITHMIC_FROM: Final = 50  # longest over shortest


def call_latencies(
    session: HasTables | None = None, *, calls: pd.DataFrame | None = None, source: Source = None
) -> Chart:
    """Draw how long each call took, by endpoint, the slowest endpoint first.

    A dot is a call, a cross is a failed call, and a vertical stroke is the median of at least three calls. Of more
    than eight endpoints, the seven with the most calls have a line each, and the others share a line.

    Args:
        session: the session that made the calls; not needed with `calls`.
        calls: a table such as `session.calls()`.
        source: the session that the table came from, or a text; by default what a session wrote to `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if the table lacks a column of calls.
    """
    (calls,) = tables_for("call_latencies", session, calls=calls)
    check_columns(calls, "method", "path", "status", "elapsed", about="calls")
    finished = calls[calls["elapsed"].notna()]
    lines = _lines(finished)
    title = f"How long calls took: {count_text(len(finished), 'call')}"
    source_line = source_of(source or session, calls)
    with new_chart(title, height=0.42 * max(len(lines), 2), source=source_line) as (chart, axes):
        if not lines:
            draw_message(axes, "No call has finished.")
            return chart
        unit, factor = ("seconds", 1.0) if finished["elapsed"].max() >= 1 else ("milliseconds", 1000.0)
        for row, (_, line) in enumerate(lines):
            _draw_line(axes, row, line, factor)
        medians = [f"median {line['elapsed'].median() * factor:.3g} {unit}" for _, line in lines]
        name_rows(axes, [f"{label} ({len(line)})" for label, line in lines], medians)
        _scale(axes, finished["elapsed"] * factor)
        stroke = "; a stroke is the median" if any(len(line) >= _MIN_FOR_MEDIAN for _, line in lines) else ""
        axes.set_xlabel(f"{unit} from sending to the end of the answer{stroke}")
        draw_legend(axes, finished["status"])
    return chart


def _lines(calls: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the label and the calls of each line: the highest median first, the other endpoints last."""
    calls = calls.reset_index(drop=True)  # the numbers of calls repeat in tables of several sessions
    endpoints = [
        (excerpt(f"{method} {path}", 40), line) for (method, path), line in calls.groupby(["method", "path"], sort=True)
    ]
    endpoints.sort(key=lambda endpoint: -len(endpoint[1]))
    own = len(endpoints) if len(endpoints) <= MAX_ROWS else MAX_ROWS - 1
    lines = sorted(endpoints[:own], key=lambda endpoint: -endpoint[1]["elapsed"].median())
    if rest := endpoints[own:]:
        others = calls.loc[sorted(number for _, line in rest for number in line.index)]
        lines.append((f"{len(rest)} other endpoints", others))
    return lines


def _draw_line(axes: Axes, row: int, line: pd.DataFrame, factor: float) -> None:
    latencies = line["elapsed"] * factor
    draw_calls(axes, latencies, row, line["status"])
    if len(line) >= _MIN_FOR_MEDIAN:
        axes.vlines(latencies.median(), row - 0.28, row + 0.28, colors=INK, linewidth=2)


def _scale(axes: Axes, latencies: pd.Series[float]) -> None:
    shortest, longest = float(latencies[latencies > 0].min()), float(latencies.max())
    if longest > _LOGARITHMIC_FROM * shortest and (latencies > 0).all():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_xlim(0, (longest or 1) * 1.05)
