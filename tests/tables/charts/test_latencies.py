from __future__ import annotations

import matplotlib as mpl
import pandas as pd
import pytest
from chart_samples import count_marks, history, rows_of

from toolkit.tables.charts import call_latencies

pytestmark = pytest.mark.usefixtures("_no_layout")


def test_endpoints_by_their_median():
    """The slowest endpoint comes first, with a stroke at the median of at least three calls."""
    chart = call_latencies(calls=history(3)["calls"])
    assert rows_of(chart) == ["POST /v1/oauth2/token (3)", "GET /v1/accounts (3)"]
    strokes = [part for part in chart.axes[0].collections if isinstance(part, mpl.collections.LineCollection)]
    assert [stroke.get_segments()[0][0][0] for stroke in strokes] == [80, 20]
    assert "milliseconds" in chart.axes[0].get_xlabel()


@pytest.mark.parametrize("status", [404, 503, 599])
def test_failed_calls_are_crosses(status):
    """A failed call is a cross, and the legend explains it; 599 is a call without an answer."""
    chart = call_latencies(calls=history(2, status=status)["calls"])
    assert count_marks(chart, "X") == 2
    assert [text.get_text() for text in chart.axes[0].get_legend().get_texts()] == ["a call", "a failed call"]


def test_rare_endpoints_share_a_line():
    """There are at most eight rows, and no call is lost."""
    chart = call_latencies(calls=history(2, paths=[f"/v1/accounts/{number}" for number in range(20)])["calls"])
    assert len(rows_of(chart)) == 8
    assert rows_of(chart)[-1] == "14 other endpoints (28)"
    assert count_marks(chart, "o") == 42


def test_calls_of_several_sessions():
    """Each call is drawn once, although the numbers of the calls repeat."""
    calls = history(1, paths=[f"/v1/accounts/{number}" for number in range(12)])["calls"]
    chart = call_latencies(calls=pd.concat([calls, calls]))
    assert rows_of(chart)[-1] == "6 other endpoints (12)"
    assert count_marks(chart, "o") == 26


def test_logarithmic_scale():
    """Latencies far apart are on a logarithmic scale, so that the short ones can be told apart."""
    calls = history(1)["calls"]
    calls["elapsed"] = [0.001, 5.0]
    chart = call_latencies(calls=calls)
    assert chart.axes[0].get_xscale() == "log"
    assert chart.axes[0].get_xlabel().startswith("seconds")
