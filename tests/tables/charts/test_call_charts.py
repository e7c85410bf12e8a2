from __future__ import annotations

import matplotlib as mpl
import pandas as pd
import pytest
from chart_samples import count_marks, history, texts_of

from toolkit.core.errors import TabulationError
from toolkit.tables.charts import call_latencies, token_timeline

MARKS = "A dot is a call, and a cross is a failed call."

pytestmark = pytest.mark.usefixtures("_no_layout")


def test_a_bar_for_each_token():
    """State, remaining lifetime and calls are written above the bar of a token, and its calls are marks on it."""
    chart = token_timeline(**history(2, paths=("/a", "/b")))
    assert chart.rows == ("token 1: replaced, 2 calls", "token 2: valid, 13:59 left, 2 calls")
    assert set(chart.rows[0].split(": ")) <= set(texts_of(chart))
    assert count_marks(chart, "o") == 4
    assert chart.axes[0].get_xlabel() == "time in UTC, 2026-05-12\nA bar is the lifetime of a token.\n" + MARKS


def test_tokens_of_several_sessions():
    """Tokens with the same number are refused, because it is unknown which of them authorized a call."""
    tables = {name: pd.concat([table, table]) for name, table in history(1).items()}
    with pytest.raises(TabulationError, match="same number") as caught:
        token_timeline(**tables)
    assert "each session" in caught.value.next_step


@pytest.mark.parametrize("status", [404, 503, 599])
@pytest.mark.parametrize("draw", [token_timeline, lambda tokens, calls: call_latencies(calls=calls)])
def test_failed_calls_are_crosses(draw, status):
    """A failed call is a cross, which the line below explains; 599 is a call without an answer."""
    chart = draw(**history(2, status=status))
    assert count_marks(chart, "X") == 2
    assert MARKS in chart.axes[0].get_xlabel()


def test_endpoints_by_their_median():
    """The slowest endpoint comes first, with a line at the median."""
    chart = call_latencies(calls=history(3)["calls"])
    assert chart.rows == (
        "POST /v1/oauth2/token (3): median 80 milliseconds",
        "GET /v1/accounts (3): median 20 milliseconds",
    )
    lines = [part for part in chart.axes[0].collections if isinstance(part, mpl.collections.LineCollection)]
    assert [line.get_segments()[0][0][0] for line in lines] == [80, 20]
    assert chart.axes[0].get_xlabel().endswith(MARKS + "\nThe line marks the median.")
