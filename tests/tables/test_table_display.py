from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables import tabulate
from toolkit.tables.display import UncutTable, readable

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
        "   account_number      cash            created_at  closed_on         id",
        "0              00  1,000.50  2026-05-12 09:30:07Z          –  47589832…",  # noqa: RUF001 - a dash
        "1              01  2,000.50  2026-05-12 09:30:07Z          –  47589832…",  # noqa: RUF001
        "2              02  3,000.50  2026-05-12 09:30:07Z          –  47589832…",  # noqa: RUF001
        "[3 rows x 5 columns]",
    ]


def test_uuids_that_are_the_only_key():
    """UUIDs stay where they are if nothing else tells the rows apart."""
    assert repr(readable(accounts().drop(columns="account_number"))).split()[:2] == ["id", "cash"]


def test_at_most_twenty_rows_and_the_columns_that_fit():
    """More rows, and columns beyond the width, are counted below."""
    lines = repr(readable(accounts(100).assign(note="x" * 60))).splitlines()
    assert len(lines) == 1 + 20 + 3
    assert max(map(len, lines)) <= 80
    assert lines[-3:] == ["and 80 more rows", "and 2 more columns: note, id", "[100 rows x 6 columns]"]
    html = readable(accounts(100))._repr_html_()
    assert html.count("<tr>") == 20
    assert "<p>and 80 more rows</p><p>[100 rows x 5 columns]</p>" in html


def test_columns_that_fit_with_a_smaller_gap():
    """Columns stand closer together if all of them fit into the line then."""
    for length, gap, notes in ((36, "  ", 1), (37, " ", 1), (39, " ", 1), (40, "  ", 2)):
        with pd.option_context("display.max_colwidth", None):
            lines = repr(readable(pd.DataFrame({"a": ["x" * 36], "b": ["y" * length], "c": ["z"]}))).splitlines()
        assert lines[1].startswith(f"0{gap}x")
        assert len(lines) == 2 + notes
        assert max(map(len, lines)) <= 80


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
    with pd.option_context("display.max_columns", 3):
        assert "and 3 more columns: closed_on, rate, id" in table._repr_html_()
    with pd.option_context("display.max_rows", None):
        assert "more row" not in repr(table)
    with pd.option_context("display.float_format", "{:.1f} EUR".format):
        assert "1000.5 EUR" in repr(table)
    with pd.option_context("display.notebook_repr_html", False):
        assert table._repr_html_() is None
    with pd.option_context("display.large_repr", "info", "display.max_rows", 2):
        assert "30 entries" in repr(table)


def test_first_and_last_rows():
    """`head` and `tail` look like the whole table, and leave out a summary that is about all rows."""
    table = readable(accounts(30), "30 rows differ")
    assert repr(table.tail(2)) == repr(readable(accounts(30).tail(2)))
    assert table.head(2)._repr_html_() == readable(accounts(30).head(2))._repr_html_()
    assert repr(table.head()).endswith("[5 rows x 5 columns]")
    assert repr(table).endswith("30 rows differ")
    pd.testing.assert_frame_equal(table.tail(), accounts(30).tail())


def test_what_is_made_from_it_is_plain():
    """Copies, other selections, results and pickles are plain DataFrames with equal data."""
    plain, table = accounts(), readable(accounts())
    made = [
        table.copy(),
        table[table["cash"] > 0],
        table.iloc[:5],
        table.head().copy(),
        table.merge(plain),
        pd.concat([table, table]),
        pickle.loads(pickle.dumps(table)),  # noqa: S301 - our own
        copy.copy(table),
        pa.Table.from_pandas(table).to_pandas(),
    ]
    assert {type(each) for each in made} == {pd.DataFrame}
    assert type(table["cash"]) is pd.Series
    assert b"toolkit" not in pickle.dumps(table)
    assert table.equals(plain)
    assert plain.equals(table)
    pd.testing.assert_frame_equal(table, plain)
    pd.testing.assert_frame_equal(plain, table)
    assert readable(plain, "2 of 3").attrs["summary"] == "2 of 3"
    assert repr(readable(plain, "2 of 3")).endswith("\n2 of 3")


def test_no_rows():
    """A table without rows names its columns."""
    assert repr(readable(pd.DataFrame())) == "Columns: none\n[0 rows x 0 columns]"
    assert repr(readable(accounts()[:0])).startswith("Columns: id, account_number, cash, created_at, closed_on\n")
    assert readable(accounts(0))._repr_html_()


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


def test_long_texts_leave_room_for_the_last_columns():
    """Texts that are cut anyway are cut shorter if all columns fit then; whoever sets a width gets that width."""
    instant = "2026-05-12 09:30:00Z"
    table = readable(pd.DataFrame({"left": ["x" * 90], "at": [instant], "right": ["y" * 90], "change": [1.5]}))
    header, row, size = repr(table).splitlines()
    assert header.split() == ["left", "at", "right", "change"]
    assert row.split() == ["0", "x" * 15 + "…", *instant.split(), "y" * 15 + "…", "1.50"]
    assert size == "[1 row x 4 columns]"
    with pd.option_context("display.max_colwidth", 40):
        assert "x" * 39 + "…" in repr(table)


def test_texts_that_are_not_cut():
    """Reasons of failures are shown whole as text and as HTML, except if the user has set a length."""
    reason = "Service Unavailable:" + " no such account" * 12
    table = UncutTable(pd.DataFrame({"key": ["a"], "reason": [reason]}))
    assert reason in " ".join(repr(table).split())
    assert reason in table._repr_html_()
    assert type(table.copy()) is pd.DataFrame
    with pd.option_context("display.max_colwidth", 20):
        assert reason not in table._repr_html_()
