"""Sample tables for charts, and functions that read what is on a chart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import matplotlib as mpl

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization, Call
from toolkit.tables.charts import balances, call_latencies, token_timeline
from toolkit.tables.display import calls_table, tokens_table
from toolkit.tables.tabulation import tabulate

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
SOURCE = "replayed, recorded 12 May 2026"


def history(tokens, *, status=200, paths=("/v1/accounts",), start=START):
    """Return the tables of some tokens, with a token request for each and a call of each path."""
    calls = []
    for number in range(1, tokens + 1):
        issued = start + timedelta(minutes=14 * (number - 1))
        expires = issued + timedelta(seconds=899)
        token = Authorization(CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "desk", number, issued, expires)
        calls.append(Call(issued, "auth", "POST", "/v1/oauth2/token", 200, timedelta(milliseconds=80)))
        for index, path in enumerate(paths):
            sent_at = issued + timedelta(seconds=30 * (index + 1))
            calls.append(Call(sent_at, "broker", "GET", path, status, timedelta(milliseconds=20 + index), token))
    return {"tokens": tokens_table(calls, calls[-1].ended_at if calls else START), "calls": calls_table(calls)}


def accounts(count=3):
    """Return a table of accounts, with balances of 1,000.50, 2,000.50 and so on."""
    return tabulate(
        [
            {"account_number": f"0{number}", "status": "open", "currency": "USD", "equity": f"{1000 * number}.50"}
            for number in range(1, count + 1)
        ]
    )


def large_accounts():
    """Return accounts with balances so large that the numbers below the axis need their own layout."""
    table = accounts(9)
    table["equity"] *= 119_942.48
    return table


CHARTS = {
    "timeline": lambda: token_timeline(**history(3), source=SOURCE),
    "latencies": lambda: call_latencies(calls=history(3)["calls"], source=SOURCE),
    "balances": lambda: balances(large_accounts(), source=SOURCE),
}


def texts_of(chart):
    """Return every text on a chart."""
    return [text.get_text() for text in chart.findobj(mpl.text.Text) if text.get_text()]


def rows_of(chart):
    """Return the labels of the rows of all plots, from the top."""
    return [row.partition(": ")[0] for row in chart.rows]


def widths_of(axes):
    """Return the lengths of the bars, from the top."""
    return [bar.get_width() for bar in axes.patches]


def count_marks(chart, marker):
    """Return the number of dots ("o") or crosses ("X")."""
    return sum(len(line.get_xdata()) for line in chart.axes[0].lines if line.get_marker() == marker)
