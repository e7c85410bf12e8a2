from __future__ import annotations

import pandas as pd
import pytest
from chart_samples import count_marks, history, marks_by_row, rows_of, texts_of

from toolkit.core.errors import TabulationError
from toolkit.tables.charts import token_timeline

pytestmark = pytest.mark.usefixtures("_no_layout")


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
    """Tables in which the numbers of tokens repeat are refused."""
    tables = history(1)
    with pytest.raises(TabulationError, match="same number") as caught:
        token_timeline(tokens=pd.concat([tables["tokens"]] * 2), calls=tables["calls"])
    assert "each session" in caught.value.next_step


def test_tokens_with_unknown_times():
    """A token without times has no bar, and its calls are not drawn on another bar."""
    tables = history(2, status=404)
    tables["tokens"].loc[2, "expires"] = pd.NaT
    chart = token_timeline(**tables)
    assert rows_of(chart) == ["token 1"]
    assert marks_by_row(chart) == [1]
