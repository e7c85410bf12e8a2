from __future__ import annotations

import json
import pickle
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.display import readable
from toolkit.tables.tabulation import tabulate

UUID = "47589832-d0f3-5226-b8c7-a73e9e7a53a{}"


def accounts(count=3):
    """Return a table of accounts with a UUID first, and with amounts from 1,000.50."""
    return tabulate(
        [
            {
                "id": UUID.format(row % 10),
                "account_number": f"0{row}",
                "cash": f"{1000 * (row + 1)}.50",
                "created_at": "2026-05-12T09:30:07.678795Z",
                "closed_on": None,
            }
            for row in range(count)
        ]
    )


def test_readable_in_a_terminal():
    """UUIDs are short and last, amounts have separators, instants end at the second; the size stands below."""
    assert repr(readable(accounts())).splitlines() == [
        "  account_number      cash            created_at closed_on         id",
        "0             00  1,000.50  2026-05-12 09:30:07Z         –  47589832…",  # noqa: RUF001 - a dash
        "1             01  2,000.50  2026-05-12 09:30:07Z         –  47589832…",  # noqa: RUF001
        "2             02  3,000.50  2026-05-12 09:30:07Z         –  47589832…",  # noqa: RUF001
        "[3 rows x 5 columns]",
    ]


def test_days():
    """A date has no time of day."""
    assert repr(readable(tabulate([{"on": "2026-05-12"}]))).splitlines()[1].split() == ["0", "2026-05-12"]


def test_at_most_twenty_rows():
    """More rows are counted below; a wide table is wrapped at the width of the line."""
    lines = repr(readable(accounts(100).assign(note="x" * 60))).splitlines()
    assert len(lines) == 2 * 21 + 1 + 2
    assert max(map(len, lines)) <= 80
    assert lines[-2:] == ["and 80 more rows", "[100 rows x 6 columns]"]
    html = readable(accounts(100))._repr_html_()
    assert html.count("<tr>") == 20
    assert "<p>and 80 more rows</p><p>[100 rows x 5 columns]</p>" in html


def test_numbers():
    """Amounts share their decimals; years, codes and identifiers have no separators, and no digit is made up."""
    table = pd.DataFrame(
        {
            "year": [2026, 1999],
            "size": [12345, 7],
            "account_id": [1234567, 7],
            "rate": [0.5, 1234.25],
            "tiny": [1e-9, 1.0],
            "exact": [Decimal("1234.50"), None],
            "whole": [1500.0, float("inf")],
        }
    )
    assert repr(readable(table)).splitlines()[1].split() == [
        *["0", "2026", "12,345", "1234567", "0.50", "1e-09", "1,234.50", "1,500"],
    ]


def test_options_of_pandas():
    """Options that the user sets count: rows, columns, widths of text, precision and the form of floats."""
    table = readable(accounts(30).assign(rate=1 / 3))
    options = ["display.max_rows", 2, "display.precision", 2, "display.max_columns", 6]
    with pd.option_context(*options):
        assert "and 28 more rows" in repr(table)
        assert "1,000.50" in repr(table)
        assert "<td>0.33</td>" in table._repr_html_()
    with pd.option_context("display.max_rows", None):
        assert "more row" not in repr(table)
    with pd.option_context("display.float_format", "{:.1f} EUR".format):
        assert "1000.5 EUR" in repr(table)
    with pd.option_context("display.notebook_repr_html", False):
        assert table._repr_html_() is None


def test_what_is_made_from_it_is_shown_like_it():
    """Selections and results keep the display; pickles are plain, and no other table is one of these."""
    table = readable(accounts())
    for made in (
        table[["cash", "created_at"]],
        table.drop(columns="id"),
        table.groupby("account_number")[["cash"]].sum(),
        table[table["cash"] > 0].set_index("account_number"),
    ):
        assert "1,000.50" in repr(made)
        assert "<td>1,000.50</td>" in made._repr_html_()
    assert not isinstance(pd.DataFrame(), type(table))
    assert type(pickle.loads(pickle.dumps(table))) is pd.DataFrame  # noqa: S301 - our own
    assert b"toolkit" not in pickle.dumps(table)
    assert pickle.loads(pickle.dumps(readable(accounts(), "2 of 3"))).attrs["summary"] == "2 of 3"  # noqa: S301
    pd.testing.assert_frame_equal(table, accounts())
    assert pa.Table.from_pandas(table).equals(pa.Table.from_pandas(accounts()))


def test_long_json_is_shortened():
    """JSON text is cut in a cell, unless all text is wanted."""
    table = pd.DataFrame({"positions": [json.dumps([{"symbol": "ALFA"}] * 20)], "n": [1]})
    assert max(map(len, repr(readable(table)).splitlines())) < 60
    with pd.option_context("display.max_colwidth", None, "display.expand_frame_repr", False):
        assert table["positions"][0] in repr(readable(table))
    assert table["positions"][0] in readable(table, cuts_text=False)._repr_html_().replace("&quot;", '"')


def test_foreign_text():
    """Text from a service can neither control a terminal nor be HTML."""
    table = readable(pd.DataFrame({"<b>\x1b[2J": ["<script>\u202e\x1b[31m\r\n"]}))
    for shown in (repr(table), table._repr_html_()):
        assert not {"\x1b", "\u202e", "\r"} & set(shown)
    assert "<script>" not in table._repr_html_()
    assert "<b>" not in table._repr_html_()


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=False) | st.just(Decimal("NaN")),
    st.text(max_size=3),
    st.datetimes(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=1), st.none(), max_size=1),
)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=3), st.booleans())
def test_any_table_can_be_shown(rows, has_same_names):
    """No value stops the display, and no row is lost."""
    table = readable(pd.DataFrame(rows, columns=["a", "a" if has_same_names else "b"], dtype=object))
    assert repr(table).endswith(f"[{len(rows)} row{'' if len(rows) == 1 else 's'} x 2 columns]")
    assert table._repr_html_().count("<tr>") == len(rows)
