from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest
from chart_samples import START, count_marks, history, marks_by_row, rows_of, texts_of

from toolkit.core.errors import TabulationError
from toolkit.tables.charts import token_timeline

pytestmark = pytest.mark.usefixtures("_no_layout")


def together(*histories):
    """Return the tables of several sessions, one below the other, so that numbers repeat."""
    return {name: pd.concat([tables[name] for tables in histories]) for name in ("tokens", "calls")}


def test_a_bar_for_each_token():
    """State, remaining lifetime and calls are written beside the bar of a token, and its calls are marks on it."""
    chart = token_timeline(**history(2, paths=("/a", "/b")))
    assert rows_of(chart) == ["token 1", "token 2"]
    assert count_marks(chart, "o") == 4
    assert {"replaced, 2 calls", "valid, 13:59 left, 2 calls"} <= set(texts_of(chart))
    assert chart.axes[0].get_legend() is None


def test_earlier_tokens_share_a_bar():
    """There are at most eight rows, with all calls on them."""
    chart = token_timeline(**history(12))
    assert rows_of(chart) == ["5 earlier tokens", *(f"token {number}" for number in range(6, 13))]
    assert count_marks(chart, "o") == 12
    assert rows_of(token_timeline(**history(8)))[0] == "token 1"


def test_failed_calls_are_crosses():
    """A failed call is a cross, and there is a legend."""
    chart = token_timeline(**history(2, status=503))
    assert count_marks(chart, "X") == 2
    assert chart.axes[0].get_legend() is not None


def test_tokens_of_several_sessions():
    """Each token has its own bar with its own calls, although the numbers repeat."""
    first, second = history(2), history(1, paths=("/a", "/b", "/c"), start=START + timedelta(hours=2))
    for tables, rows, marks in (
        (together(first, second), ["token 1", "token 2", "token 1"], [1, 1, 3]),
        (together(second, first), ["token 1", "token 1", "token 2"], [3, 1, 1]),
    ):
        chart = token_timeline(**tables)
        assert rows_of(chart) == rows
        assert marks_by_row(chart) == marks
    chart = token_timeline(**together(history(5), history(5, start=START + timedelta(hours=2))))
    assert rows_of(chart)[:3] == ["3 earlier tokens", "token 4", "token 5"]
    assert marks_by_row(chart) == [3, *[1] * 7]


@pytest.mark.parametrize("apart", [timedelta(), timedelta(minutes=1)])
def test_sessions_at_the_same_time(apart):
    """A chart is refused if two tokens with the same number were valid when a call was made."""
    with pytest.raises(TabulationError, match="2 tokens have the number 1") as caught:
        token_timeline(**together(history(1), history(1, start=START + apart)))
    assert "each session" in caught.value.next_step


def test_tokens_with_unknown_times():
    """A token without times has no bar, and its calls are not drawn on another bar."""
    first, second = history(1), history(1, start=START + timedelta(hours=2), status=404)
    second["tokens"]["expires"] = pd.NaT
    first["calls"] = first["calls"].head(1)
    chart = token_timeline(**together(first, second))
    assert rows_of(chart) == ["token 1"]
    assert marks_by_row(chart) == [0]
    assert chart.axes[0].get_legend() is None
    with pytest.raises(TabulationError, match="unknown which of them"):
        token_timeline(**together(history(1), {**second, "tokens": second["tokens"].assign(issued=pd.NaT)}))
