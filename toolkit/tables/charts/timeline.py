"""The chart of tokens over time: each lifetime is a bar, and the calls that it authorized are marks on it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import matplotlib.dates
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from toolkit.core.errors import TabulationError
from toolkit.core.text import count_text, minutes_text
from toolkit.tables.charts.arguments import HasTables, Source, check_columns, source_of, tables_for
from toolkit.tables.charts.figure import (
    AMBER,
    BLUE,
    INK,
    MAX_ROWS,
    Chart,
    draw_calls,
    draw_legend,
    draw_message,
    name_rows,
    new_chart,
)

_COLOURS: Final = {"valid": BLUE, "replaced": AMBER, "expired": INK}
_DATES: Any = matplotlib.dates  # has no type annotations

# Positions of rows in the table of tokens; unlike the numbers of tokens, they never repeat.
_Positions = npt.NDArray[np.int64]


def token_timeline(
    session: HasTables | None = None,
    *,
    tokens: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    source: Source = None,
) -> Chart:
    """Draw when each access token was valid, and which calls were made with it.

    A bar is the lifetime of a token, a dot is a call that the token authorized, and a cross is a failed call. Of more
    than eight tokens, the last seven have a bar each, and the earlier tokens share a bar. In tables of several
    sessions the numbers of tokens repeat; a call belongs to the token that was valid at its time.

    Args:
        session: the session that used the tokens; not needed with both tables.
        tokens: a table such as `session.tokens()`.
        calls: a table such as `session.calls()`.
        source: the session that the tables came from, or a text; by default what a session wrote to `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a table lacks a column of tokens or calls, or if several tokens have the same number and
            it is unknown which of them authorized a call.
    """
    tokens, calls = tables_for("token_timeline", session, tokens=tokens, calls=calls)
    check_columns(tokens, "issued", "expires", "remaining", "state", "calls", about="tokens")
    check_columns(calls, "when", "status", "token", about="calls")
    known = np.flatnonzero(tokens["issued"].notna() & tokens["expires"].notna())
    lanes = _lanes(tokens.index, known)
    title = (
        f"Tokens and their calls: {count_text(len(tokens), 'token')}, {count_text(int(tokens['calls'].sum()), 'call')}"
    )
    source_line = source_of(source or session, tokens, calls)
    with new_chart(title, height=0.45 * max(len(lanes), 2), source=source_line) as (chart, axes):
        if not lanes:
            draw_message(axes, "No call was authorized by an access token.")
            return chart
        token_of_call = _tokens_of_calls(calls, tokens)
        for row, (_, positions) in enumerate(lanes):
            lane = tokens.iloc[positions]
            _draw_bars(axes, row, lane)
            lane_calls = calls[np.isin(token_of_call, positions)]
            draw_calls(axes, lane_calls["when"], row, lane_calls["status"])
            _draw_words(axes, row, lane)
        name_rows(axes, [label for label, _ in lanes], [_words(tokens.iloc[positions]) for _, positions in lanes])
        _scale(axes, tokens.iloc[known])
        draw_legend(axes, calls.loc[np.isin(token_of_call, known), "status"])
    return chart


def _lanes(numbers: pd.Index[Any], positions: _Positions) -> list[tuple[str, _Positions]]:
    """Return the label and the tokens of each lane."""
    if len(positions) <= MAX_ROWS:
        return [(f"token {numbers[position]}", np.array([position])) for position in positions]
    earlier, last = positions[: 1 - MAX_ROWS], positions[1 - MAX_ROWS :]
    return [(f"{len(earlier)} earlier tokens", earlier), *_lanes(numbers, last)]


def _tokens_of_calls(calls: pd.DataFrame, tokens: pd.DataFrame) -> _Positions:
    """Return the position of the token that authorized each call, or -1."""
    if tokens.index.is_unique:
        return tokens.index.get_indexer(pd.Index(calls["token"]))
    pairs = zip(calls["when"], calls["token"], strict=True)
    return np.array([_token_of_call(when, number, tokens) for when, number in pairs], dtype=np.int64)


def _token_of_call(when: datetime, number: Any, tokens: pd.DataFrame) -> int:
    """Return the position of the token with this number that was valid at the time, or -1.

    Times of tokens are cut to the second, so that the second in which one expires counts in full.
    """
    if pd.isna(number):
        return -1
    positions = np.flatnonzero(tokens.index == number)
    if len(positions) > 1:
        candidates = tokens.iloc[positions]
        # A token with unknown times may have been valid.
        possible = positions[~((candidates["issued"] > when) | (candidates["expires"] < when.replace(microsecond=0)))]
        if len(possible) != 1:
            raise TabulationError(
                f"{len(positions)} tokens have the number {number}, and it is unknown which of them authorized a call.",
                "Draw a chart of each session.",
                about="tokens",
            )
        return int(possible[0])
    return int(positions[0]) if len(positions) else -1


def _draw_bars(axes: Axes, row: int, lane: pd.DataFrame) -> None:
    for token in lane.itertuples():
        start, end = _DATES.date2num(token.issued), _DATES.date2num(token.expires)
        colour = _COLOURS.get(str(token.state), INK)
        axes.broken_barh([(start, end - start)], (row - 0.28, 0.56), facecolors=colour, alpha=0.35, linewidth=0)
        axes.vlines([start, end], row - 0.28, row + 0.28, colors=colour, linewidth=1.5)


def _draw_words(axes: Axes, row: int, lane: pd.DataFrame) -> None:
    """Write state, remaining lifetime and calls beside the bar, so that the colours need no legend."""
    end = (lane["expires"].max(), row)
    axes.annotate(_words(lane), end, (8, 0), textcoords="offset points", va="center", fontsize=9)


def _words(lane: pd.DataFrame) -> str:
    words = [count_text(int(lane["calls"].sum()), "call")]
    if len(lane) == 1:
        token = lane.iloc[0]
        remaining = timedelta(seconds=float(token["remaining"])) if token["state"] == "valid" else None
        words.insert(0, str(token["state"]) + (f", {minutes_text(remaining)} left" if remaining is not None else ""))
    return ", ".join(words)


def _scale(axes: Axes, tokens: pd.DataFrame) -> None:
    first, last = tokens["issued"].min(), tokens["expires"].max()
    length = last - first
    axes.set_xlim(first - length * 0.02, last + length * 0.28)  # with room for the words on the right
    locator = _DATES.AutoDateLocator(minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator, show_offset=False))
    day = f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    axes.set_xlabel(f"time in UTC, {day}")
