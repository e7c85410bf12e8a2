"""Tokens over time: each lifetime a bar, the calls that it authorized as marks on it."""

from __future__ import annotations

import importlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.words import count_text, minutes_text
from toolkit.tables.charts.figure import (
    AMBER,
    AT_MOST,
    BLUE,
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
    from matplotlib.axes import Axes

_DATES: Any = importlib.import_module("matplotlib.dates")  # after picture, which says what to do without matplotlib
_COLOURS = {"valid": BLUE, "replaced": AMBER, "expired": INK}


def token_timeline(
    session: HasTables | None = None,
    *,
    tokens: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    source: Source = None,
) -> Picture:
    """When each access token was valid, and which calls were made with it.

    A bar is a token's lifetime, a dot a call that it authorized, a cross one that failed. Of more than
    eight tokens the last seven have a bar each, and those before share one. Of tables of several sessions,
    in which numbers repeat, a call belongs to the token of its number that was valid at the time.

    Args:
        session: whose tokens; or give both tables.
        tokens: as `session.tokens()` gives it.
        calls: as `session.calls()` gives it.
        source: live or replayed and of when, for tables that do not say so.

    Returns:
        A figure of matplotlib.

    Raises:
        ConfigurationError: matplotlib is not installed.
        TabulationError: a table is not one of tokens, or of calls; or tokens of several sessions have one
            number, and it cannot be told which of them authorized a call.
    """
    need_session(session, "token_timeline")
    tokens = session.tokens() if session is not None and tokens is None else tokens
    calls = session.calls() if session is not None and calls is None else calls
    if tokens is None or calls is None:
        raise TypeError("token_timeline takes a session, or tokens=session.tokens() and calls=session.calls()")
    need(tokens, "issued", "expires", "remaining", "state", "calls")
    need(calls, "when", "status", "token")
    known = np.flatnonzero(tokens["issued"].notna() & tokens["expires"].notna())
    lanes = _lanes(tokens.index, known)
    title = (
        f"Tokens and their calls: {count_text(len(tokens), 'token')}, {count_text(int(tokens['calls'].sum()), 'call')}"
    )
    words = source_of(source or session, tokens, calls)
    with picture(title, height=0.45 * max(len(lanes), 2), source=words) as (figure, axes):
        if not lanes:
            nothing_to_show(axes, "No call was authorized by an access token.")
            return figure
        used = _tokens_of(calls, tokens)
        for height, (_, places) in enumerate(lanes):
            lane = tokens.iloc[places]
            _draw_bars(axes, height, lane)
            made = calls[np.isin(used, places)]
            draw_marks(axes, made["when"], height, made["status"])
            _draw_words(axes, height, lane)
        rows_of(axes, [label for label, _ in lanes])
        _draw_time(axes, tokens.iloc[known])
        draw_legend(axes, calls.loc[np.isin(used, known), "status"])
    return figure


_Places = npt.NDArray[np.int64]  # where rows stand in the table of tokens, in which numbers may repeat


def _lanes(numbers: pd.Index[Any], places: _Places) -> list[tuple[str, _Places]]:
    """Label and tokens of each bar."""
    if len(places) <= AT_MOST:
        return [(f"token {numbers[place]}", np.array([place])) for place in places]
    before, last = places[: 1 - AT_MOST], places[1 - AT_MOST :]
    return [(f"{len(before)} tokens before", before), *_lanes(numbers, last)]


def _tokens_of(calls: pd.DataFrame, tokens: pd.DataFrame) -> _Places:
    """For each call the token that authorized it; -1 for none."""
    if tokens.index.is_unique:
        return tokens.index.get_indexer(pd.Index(calls["token"]))
    by_call = zip(calls["when"], calls["token"], strict=True)
    return np.array([_token_of(when, number, tokens) for when, number in by_call], dtype=np.int64)


def _token_of(when: datetime, number: Any, tokens: pd.DataFrame) -> int:
    """The token of that number; of several, which are of several sessions, the one whose lifetime it was."""
    if pd.isna(number):
        return -1
    places = np.flatnonzero(tokens.index == number)
    if len(places) > 1:
        some = tokens.iloc[places]
        could = places[~((some["issued"] > when) | (some["expires"] < when))]  # one of unknown times could always
        if len(could) != 1:
            raise TabulationError(
                f"{len(places)} tokens have the number {number}, and it cannot be told which one authorized a call.",
                "Draw a picture of each session.",
            )
        return int(could[0])
    return int(places[0]) if len(places) else -1


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
