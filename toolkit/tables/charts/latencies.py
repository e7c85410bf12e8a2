"""How long calls took: one line of marks for each endpoint, with its median."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolkit.core.escaping import excerpt
from toolkit.core.words import count_text
from toolkit.tables.charts.figure import (
    AT_MOST,
    INK,
    HasTables,
    Picture,
    Source,
    draw_legend,
    draw_marks,
    need,
    need_session,
    nothing_to_show,
    picture,
    rows_of,
    source_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_HAS_MEDIAN: Final = 3  # calls, from where on a median says something
_WIDE: Final = 50  # longest over shortest, from where on a logarithmic scale shows more


def call_latencies(
    session: HasTables | None = None, *, calls: pd.DataFrame | None = None, source: Source = None
) -> Picture:
    """How long each call took, by endpoint, the slowest first.

    A dot is a call, a cross one that failed, an upright stroke the median of three calls or more. Of more
    than eight endpoints the seven with most calls have a line each, and the others share one.

    Args:
        session: whose calls; or give the table.
        calls: as `session.calls()` gives it.
        source: live or replayed and of when, for a table that does not say so.

    Returns:
        A figure of matplotlib.

    Raises:
        ConfigurationError: matplotlib is not installed.
        TabulationError: the table is not one of calls.
    """
    need_session(session, "call_latencies")
    calls = session.calls() if session is not None and calls is None else calls
    if calls is None:
        raise TypeError("call_latencies takes a session, or calls=session.calls()")
    need(calls, "method", "path", "status", "elapsed")
    finished = calls[calls["elapsed"].notna()]
    words = source_of(source or session, calls)
    title = f"How long calls took: {count_text(len(finished), 'call')}"
    lines = _lines(finished)
    with picture(title, height=0.42 * max(len(lines), 2), source=words) as (figure, axes):
        if not lines:
            nothing_to_show(axes, "No call was finished.")
            return figure
        unit, factor = ("seconds", 1.0) if finished["elapsed"].max() >= 1 else ("milliseconds", 1000.0)
        for height, (_, line) in enumerate(lines):
            _draw_line(axes, height, line, factor)
        rows_of(axes, [f"{label} ({len(line)})" for label, line in lines])
        _scale(axes, finished["elapsed"] * factor)
        stroke = "; a stroke is the median" if any(len(line) >= _HAS_MEDIAN for _, line in lines) else ""
        axes.set_xlabel(f"{unit} from sending to the end of the answer{stroke}")
        draw_legend(axes, finished["status"])
    return figure


def _lines(calls: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Label and calls of each line, the one with the highest median first, the rest last."""
    calls = calls.reset_index(drop=True)  # calls of several sessions have the same numbers
    grouped = [
        (excerpt(f"{method} {path}", 40), line) for (method, path), line in calls.groupby(["method", "path"], sort=True)
    ]
    many = sorted(grouped, key=lambda one: -len(one[1]))
    shown, rest = (many, []) if len(many) <= AT_MOST else (many[: AT_MOST - 1], many[AT_MOST - 1 :])
    shown = sorted(shown, key=lambda one: -one[1]["elapsed"].median())
    if rest:
        others = calls.loc[sorted(number for _, line in rest for number in line.index)]
        shown.append((f"{len(rest)} other endpoints", others))
    return shown


def _draw_line(axes: Axes, height: int, line: pd.DataFrame, factor: float) -> None:
    taken = line["elapsed"] * factor
    draw_marks(axes, taken, height, line["status"])
    if len(line) >= _HAS_MEDIAN:
        axes.vlines(taken.median(), height - 0.28, height + 0.28, colors=INK, linewidth=2)


def _scale(axes: Axes, taken: pd.Series[float]) -> None:
    shortest, longest = float(taken[taken > 0].min()), float(taken.max())
    if longest > _WIDE * shortest and (taken > 0).all():
        from matplotlib.ticker import FuncFormatter  # after picture, which says what to do without

        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_xlim(0, (longest or 1) * 1.05)
