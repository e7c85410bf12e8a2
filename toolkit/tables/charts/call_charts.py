"""The charts of calls: the tokens that authorized them over time, and how long they took."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import matplotlib.dates
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from toolkit.core.errors import TabulationError
from toolkit.core.text import count_text, excerpt, minutes_text
from toolkit.tables.charts.figure import (
    AMBER,
    BAND,
    BLUE,
    INK,
    MAX_ROWS,
    Chart,
    check_columns,
    draw_calls,
    draw_rows,
    marks_text,
    new_chart,
    source_of,
    tables_for,
)

_COLOURS: Final = {"valid": BLUE, "replaced": AMBER, "expired": INK}
_DATES: Any = matplotlib.dates  # has no type annotations
_MIN_FOR_MEDIAN: Final = 3  # calls
_LOGARITHMIC_FROM: Final = 50  # longest over shortest


def token_timeline(
    session: Any = None,
    *,
    tokens: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    source: Any = None,
) -> Chart:
    """Draw when each access token was valid, and which calls were made with it.

    A bar is the lifetime of a token, a dot is a call that the token authorized, and a cross is a failed call. Of more
    than eight tokens, the last seven have a bar each, and the earlier tokens share a row.

    Args:
        session: the session that used the tokens; not needed with both tables.
        tokens: a table such as `session.tokens()`.
        calls: a table such as `session.calls()`.
        source: the session that the tables came from, or a text; by default what a session wrote to `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a table lacks a column of tokens or calls, or if several tokens have the same number.
    """
    tokens, calls = tables_for("token_timeline", session, tokens=tokens, calls=calls)
    check_columns(tokens, "issued", "expires", "remaining", "state", "calls", about="tokens")
    check_columns(calls, "when", "status", "token", about="calls")
    if not tokens.index.is_unique:
        raise TabulationError("Several tokens have the same number.", "Draw a chart of each session.", about="tokens")
    known = tokens[tokens["issued"].notna() & tokens["expires"].notna()]
    own = len(known) if len(known) <= MAX_ROWS else MAX_ROWS - 1
    earlier, last = known.iloc[: len(known) - own], known.iloc[len(known) - own :]
    rows = [(f"{len(earlier)} earlier tokens", earlier)] if len(earlier) else []
    rows += [(f"token {number}", last.loc[[number]]) for number in last.index]
    title = (
        f"Tokens and their calls: {count_text(len(tokens), 'token')}, {count_text(int(tokens['calls'].sum()), 'call')}"
    )
    source = source_of(source or session, tokens, calls)
    with new_chart(title, rows=[len(rows)], source=source) as (chart, (axes,)):
        words = [_token_words(part) for _, part in rows]
        draw_rows(axes, [label for label, _ in rows], words, "No call was authorized by an access token.")
        if not rows:
            return chart
        for row, (_, part) in enumerate(rows):
            _draw_lifetimes(axes, row, part)
            own_calls = calls[calls["token"].isin(part.index)]
            draw_calls(axes, own_calls["when"], row, own_calls["status"])
        locator = _DATES.AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator, show_offset=False))
        days = sorted({f"{known['issued'].min():%Y-%m-%d}", f"{known['expires'].max():%Y-%m-%d}"})
        marks = marks_text(calls.loc[calls["token"].isin(known.index), "status"])
        axes.set_xlabel(f"time in UTC, {' to '.join(days)}\nA bar is the lifetime of a token.\n{marks}")
    return chart


def _draw_lifetimes(axes: Axes, row: int, tokens: pd.DataFrame) -> None:
    for token in tokens.itertuples():
        start, end = _DATES.date2num(token.issued), _DATES.date2num(token.expires)
        colour = _COLOURS.get(str(token.state), INK)
        axes.broken_barh([(start, end - start)], (row, 2 * BAND), facecolors=colour, alpha=0.35, linewidth=0)
        axes.vlines([start, end], row, row + 2 * BAND, colors=colour, linewidth=1.5)


def _token_words(tokens: pd.DataFrame) -> str:
    words = [count_text(int(tokens["calls"].sum()), "call")]
    if len(tokens) == 1:
        token = tokens.iloc[0]
        left = minutes_text(timedelta(seconds=float(token["remaining"])))
        words.insert(0, f"valid, {left} left" if token["state"] == "valid" else str(token["state"]))
    return ", ".join(words)


def call_latencies(session: Any = None, *, calls: pd.DataFrame | None = None, source: Any = None) -> Chart:
    """Draw how long each call took, by endpoint, the slowest endpoint first.

    A dot is a call, a cross is a failed call, and a line marks the median of at least three calls. Of more than eight
    endpoints, the seven with the most calls have a row each, and the others share a row.

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
    finished = calls[calls["elapsed"].notna()].reset_index(drop=True)
    rows = _endpoints(finished)
    title = f"How long calls took: {count_text(len(finished), 'call')}"
    with new_chart(title, rows=[len(rows)], source=source_of(source or session, calls)) as (chart, (axes,)):
        if not rows:
            draw_rows(axes, [], [], "No call has finished.")
            return chart
        unit, factor = ("seconds", 1.0) if finished["elapsed"].max() >= 1 else ("milliseconds", 1000.0)
        for row, (_, part) in enumerate(rows):
            draw_calls(axes, part["elapsed"] * factor, row, part["status"])
            if len(part) >= _MIN_FOR_MEDIAN:
                axes.vlines(part["elapsed"].median() * factor, row, row + 2 * BAND, colors=INK, linewidth=2)
        words = [f"median {part['elapsed'].median() * factor:.3g} {unit}" for _, part in rows]
        draw_rows(axes, [f"{label} ({len(part)})" for label, part in rows], words)
        latencies = finished["elapsed"] * factor
        if latencies.min() > 0 and latencies.max() > _LOGARITHMIC_FROM * latencies.min():
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            axes.set_xlim(0, (latencies.max() or 1) * 1.05)
        median = "\nThe line marks the median." if any(len(part) >= _MIN_FOR_MEDIAN for _, part in rows) else ""
        marks = marks_text(finished["status"])
        axes.set_xlabel(f"{unit} from sending to the end of the answer\n{marks}{median}")
    return chart


def _endpoints(calls: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the label and the calls of each row: the highest median first, the other endpoints last."""
    endpoints = [(excerpt(f"{method} {path}", 26), part) for (method, path), part in calls.groupby(["method", "path"])]
    endpoints.sort(key=lambda endpoint: -len(endpoint[1]))
    own = len(endpoints) if len(endpoints) <= MAX_ROWS else MAX_ROWS - 1
    rows = sorted(endpoints[:own], key=lambda endpoint: -endpoint[1]["elapsed"].median())
    if rest := endpoints[own:]:
        rows.append((f"{len(rest)} other endpoints", pd.concat(part for _, part in rest).sort_index()))
    return rows
