"""Tokens over time: each lifetime a bar, the calls that it authorized as marks on it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from toolkit.charts.given import AT_MOST, need, need_session, source_of
from toolkit.charts.picture import (
    AMBER,
    BLUE,
    INK,
    Picture,
    draw_legend,
    draw_marks,
    nothing_to_show,
    picture,
    rows_of,
)
from toolkit.rich_display.words import count_text, minutes_text
from toolkit.session import AsyncSession, Session

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_DATES: Any = importlib.import_module("matplotlib.dates")  # after picture, which says what to do without matplotlib
_COLOURS = {"valid": BLUE, "replaced": AMBER, "expired": INK}


def token_timeline(
    session: Session | AsyncSession | None = None,
    *,
    tokens: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    source: str | None = None,
) -> Picture:
    """When each access token was valid, and which calls were made with it.

    A bar is a token's lifetime, a dot a call that it authorized, a cross one that failed. Of more than
    eight tokens the last seven have a bar each, and those before share one.

    Args:
        session: whose tokens; or give both tables.
        tokens: as `session.tokens()` gives it.
        calls: as `session.calls()` gives it.
        source: live or replayed and of when, for tables that do not say so.

    Returns:
        A figure of matplotlib.

    Raises:
        ConfigurationError: matplotlib is not installed.
        TabulationError: a table is not one of tokens, or of calls.
    """
    need_session(session, "token_timeline")
    tokens = session.tokens() if session is not None and tokens is None else tokens
    calls = session.calls() if session is not None and calls is None else calls
    if tokens is None or calls is None:
        raise TypeError("token_timeline takes a session, or tokens=session.tokens() and calls=session.calls()")
    need(tokens, "issued", "expires", "remaining", "state", "calls")
    need(calls, "when", "status", "token")
    known = tokens[tokens["issued"].notna() & tokens["expires"].notna()]
    lanes = _lanes(list(known.index))
    title = (
        f"Tokens and their calls: {count_text(len(tokens), 'token')}, {count_text(int(tokens['calls'].sum()), 'call')}"
    )
    source = source_of(source or session, tokens, calls)
    with picture(title, height=0.45 * max(len(lanes), 2), source=source) as (figure, axes):
        if not lanes:
            nothing_to_show(axes, "No call was authorized by an access token.")
            return figure
        for height, (_, numbers) in enumerate(lanes):
            lane = known[known.index.isin(numbers)]
            _draw_bars(axes, height, lane)
            made = calls[calls["token"].isin(numbers)]
            draw_marks(axes, made["when"], height, made["status"])
            _draw_words(axes, height, lane)
        rows_of(axes, [label for label, _ in lanes])
        _draw_time(axes, known)
        draw_legend(axes, calls.loc[calls["token"].isin(known.index), "status"])
    return figure


def _lanes(numbers: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Label and tokens of each bar."""
    if len(numbers) <= AT_MOST:
        return [(f"token {number}", [number]) for number in numbers]
    before, last = numbers[: 1 - AT_MOST], numbers[1 - AT_MOST :]
    return [(f"{len(before)} tokens before", list(before)), *((f"token {number}", [number]) for number in last)]


def _draw_bars(axes: Axes, height: int, lane: pd.DataFrame) -> None:
    for row in lane.itertuples():
        start, end = _DATES.date2num(row.issued), _DATES.date2num(row.expires)
        colour = _COLOURS.get(str(row.state), INK)
        axes.broken_barh([(start, end - start)], (height - 0.28, 0.56), facecolors=colour, alpha=0.35, linewidth=0)
        axes.vlines([start, end], height - 0.28, height + 0.28, colors=colour, linewidth=1.5)


def _draw_words(axes: Axes, height: int, lane: pd.DataFrame) -> None:
    """Beside the bar, so that no colour needs to be looked up."""
    said = [count_text(int(lane["calls"].sum()), "call")]
    if len(lane) == 1:
        row = lane.iloc[0]
        left = f", {minutes_text(timedelta(seconds=float(row['remaining'])))} left" if row["state"] == "valid" else ""
        said.insert(0, f"{row['state']}{left}")
    place = (lane["expires"].max(), height)
    axes.annotate(", ".join(said), place, (8, 0), textcoords="offset points", va="center", fontsize=9)


def _draw_time(axes: Axes, tokens: pd.DataFrame) -> None:
    first, last = tokens["issued"].min(), tokens["expires"].max()
    room = (last - first) * 0.02
    axes.set_xlim(first - room, last + (last - first) * 0.28)  # on the right for the words
    locator = _DATES.AutoDateLocator(minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator, show_offset=False))
    day = f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    axes.set_xlabel(f"time in UTC, {day}")
