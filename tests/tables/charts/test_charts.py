"""Pictures are the same bytes each time, say where they come from, and change nothing around them."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colors
from PIL import Image

import toolkit
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import TabulationError
from toolkit.core.ledger import Authorization, Call
from toolkit.session.session import Session
from toolkit.tables.charts import balances, call_latencies, token_timeline
from toolkit.tables.charts.bars import _bars
from toolkit.tables.charts.figure import BLUE, INK, RED, Picture
from toolkit.tables.tabulation import calls_table, tabulate, tokens_table

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
ROOT = Path(toolkit.__file__).parents[1]
SOURCE = "replayed, recorded 12 May 2026"


def history(tokens, *, status=200, paths=("/v1/accounts",), start=START):
    """Tables of some tokens, each with a token request and a call of each path."""
    calls = []
    for number in range(1, tokens + 1):
        issued = start + timedelta(minutes=14 * (number - 1))
        ends = issued + timedelta(seconds=899)
        by = Authorization(CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "desk", number, issued, ends)
        calls.append(Call(issued, "auth", "POST", "/v1/oauth2/token", 200, timedelta(milliseconds=80)))
        for index, path in enumerate(paths):
            at = issued + timedelta(seconds=30 * (index + 1))
            calls.append(Call(at, "broker", "GET", path, status, timedelta(milliseconds=20 + index), by))
    return {"tokens": tokens_table(calls, calls[-1].ended_at if calls else START), "calls": calls_table(calls)}


def together(*histories):
    """Tables of several sessions, one below the other: the numbers of calls and tokens repeat."""
    return {name: pd.concat([each[name] for each in histories]) for name in ("tokens", "calls")}


def accounts(count=3, **more):
    records = [
        {"account_number": f"0{number}", "status": "open", "currency": "USD", "equity": f"{1000 * number}.50", **more}
        for number in range(1, count + 1)
    ]
    return tabulate(records)


def words_of(picture):
    """Every text in a picture."""
    picture.draw_without_rendering()
    return [text.get_text() for text in picture.findobj(mpl.text.Text) if text.get_text()]


def rows_of(picture):
    return [label.get_text() for label in picture.axes[0].get_yticklabels()]


def marks_of(picture, marker):
    return sum(len(line.get_xdata()) for line in picture.axes[0].lines if line.get_marker() == marker)


def marks_by_row(picture):
    """How many marks each row has."""
    marks = [line for line in picture.axes[0].lines if line.get_marker() in ("o", "X")]
    return [sum(list(line.get_ydata()).count(row) for line in marks) for row in range(len(rows_of(picture)))]


def large_accounts():
    """So large that the numbers below the axis need room of their own."""
    table = accounts(9)
    table["equity"] *= 119_942.48
    return table


ALL = {
    "timeline": lambda: token_timeline(**history(3), source=SOURCE),
    "latencies": lambda: call_latencies(calls=history(3)["calls"], source=SOURCE),
    "balances": lambda: balances(large_accounts(), source=SOURCE),
}


@pytest.fixture(params=ALL)
def draw(request):
    return ALL[request.param]


def test_the_same_bytes_each_time(draw):
    """Drawn twice or shown twice; without a date or a version; twice as fine as it is wide on the page."""
    picture = draw()
    data, metadata = picture._repr_mimebundle_()
    assert data == picture._repr_mimebundle_()[0] == draw()._repr_mimebundle_()[0]
    image = Image.open(io.BytesIO(picture._repr_png_()))
    assert set(image.info) <= {"dpi"}
    size = metadata["image/png"]
    assert (size["width"], size["height"]) == (image.width // 2, image.height // 2)
    for kind in ("svg", "pdf"):
        files = [io.BytesIO(), io.BytesIO()]
        for file in files:
            draw().savefig(file, format=kind)
        assert files[0].getvalue() == files[1].getvalue()
        assert mpl.__version__.encode() not in files[0].getvalue()


def test_the_same_bytes_in_another_process():
    """Whatever the order of sets there, its time zone, and its styles."""
    code = (
        "import sys, zlib; sys.path.insert(0, 'tests/tables/charts'); import matplotlib; import test_charts as pictures;"
        "matplotlib.rcParams.update({'axes.linewidth': 5, 'xtick.major.size': 20, 'timezone': 'Asia/Tokyo'});"
        "print(*[zlib.crc32(draw()._repr_png_()) for draw in pictures.ALL.values()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == [str(zlib.crc32(draw()._repr_png_())) for draw in ALL.values()]


def test_no_style_of_others_is_changed(draw):
    """Neither by drawing nor by showing; and no window's back end is loaded."""
    before = dict(mpl.rcParams)
    draw()._repr_png_()
    assert dict(mpl.rcParams) == before


def test_it_reads_on_light_and_on_dark(draw):
    """The ground is transparent; text has 4.3 to 1 on white and on #111, bars and marks 3 to 1."""
    image = Image.open(io.BytesIO(draw()._repr_png_())).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0

    def luminance(colour):
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colors.to_rgb(colour)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour, least in ((INK, 4.3), (BLUE, 3), (RED, 3)):
        for ground in ("#ffffff", "#111111"):
            lighter, darker = sorted([luminance(colour) + 0.05, luminance(ground) + 0.05], reverse=True)
            assert lighter / darker >= least


def test_each_says_live_or_replayed_and_of_when(draw):
    """In the picture and in the words for those who cannot see it."""
    picture = draw()
    assert SOURCE in words_of(picture)
    assert repr(picture) == str(picture) == f"<Picture: {picture.axes[0].get_title(loc='left')}; {SOURCE}>"
    assert isinstance(picture, Picture)


def test_the_source_is_that_of_the_session_or_of_the_table(settings, service, make_credentials):
    """A session says it, with a mark for a real account; a table by its attribute; else it is said to be unknown."""
    session = Session(credentials=make_credentials("live"), settings=settings, transport=service)
    assert "live · real account · live calls, no call yet" in words_of(call_latencies(session))
    session.accounts()
    assert "live · real account · live calls, as of " in repr(call_latencies(session))
    table = accounts()
    assert "source not known" in repr(balances(table))
    table.attrs["source"] = SOURCE
    assert repr(balances(table[table["status"] == "open"])).endswith(f"; {SOURCE}>")


def test_a_session_that_replays(settings, service, make_credentials):
    """Its pictures are those of its recording."""
    service.answer = lambda request: service.reply([{"account_number": "01", "equity": "5.50"}])
    credentials = make_credentials("broker-sandbox")
    with Session(credentials=credentials, cassette="one", settings=settings, transport=service) as session:
        session.accounts()
    replayed = Session(cassette="one", mode="none", settings=settings)
    table = replayed.accounts()
    recorded = f"recorded {datetime.now(UTC).day} "
    for picture in (token_timeline(replayed), call_latencies(replayed), balances(table, source=replayed)):
        assert f"broker-sandbox · replayed, {recorded}" in repr(picture)
        assert picture._repr_png_()


def test_a_token_is_a_bar_with_its_calls():
    """With its state, its lifetime left and its calls in words beside it."""
    picture = token_timeline(**history(2, paths=("/a", "/b")), source=SOURCE)
    assert rows_of(picture) == ["token 1", "token 2"]
    assert marks_of(picture, "o") == 4
    assert {"replaced, 2 calls", "valid, 13:59 left, 2 calls"} <= set(words_of(picture))
    assert picture.axes[0].get_legend() is None


def test_of_many_tokens_the_first_share_a_bar():
    """Eight rows at most; all calls are on them."""
    picture = token_timeline(**history(12), source=SOURCE)
    assert rows_of(picture) == ["5 tokens before", *(f"token {number}" for number in range(6, 13))]
    assert marks_of(picture, "o") == 12
    assert rows_of(token_timeline(**history(8), source=SOURCE))[0] == "token 1"


def test_tokens_of_several_sessions():
    """Each has a bar of its own with its own calls, though their numbers are the same."""
    one, other = history(2), history(1, paths=("/a", "/b", "/c"), start=START + timedelta(hours=2))
    for tables, rows, marks in (
        (together(one, other), ["token 1", "token 2", "token 1"], [1, 1, 3]),
        (together(other, one), ["token 1", "token 1", "token 2"], [3, 1, 1]),
    ):
        picture = token_timeline(**tables)
        assert rows_of(picture) == rows
        assert marks_by_row(picture) == marks
    later = together(history(5), history(5, start=START + timedelta(hours=2)))
    picture = token_timeline(**later)
    assert rows_of(picture)[:3] == ["3 tokens before", "token 4", "token 5"]
    assert marks_by_row(picture) == [3, *[1] * 7]


@pytest.mark.parametrize("apart", [timedelta(), timedelta(minutes=1)])
def test_tokens_of_several_sessions_at_one_time(apart):
    """Whose call it was cannot be told from a number that both have, and is not guessed."""
    with pytest.raises(TabulationError, match="2 tokens have the number 1") as caught:
        token_timeline(**together(history(1), history(1, start=START + apart)))
    assert "each session" in caught.value.next_step


def test_tokens_of_several_sessions_of_unknown_times():
    """A token without times has no bar; its calls are on no other's, and where they might be, it is not guessed."""
    one, other = history(1), history(1, start=START + timedelta(hours=2), status=404)
    other["tokens"]["expires"] = pd.NaT
    one["calls"] = one["calls"].head(1)
    picture = token_timeline(**together(one, other))
    assert rows_of(picture) == ["token 1"]
    assert marks_by_row(picture) == [0]
    assert picture.axes[0].get_legend() is None
    with pytest.raises(TabulationError, match="cannot be told"):
        token_timeline(**together(history(1), {**other, "tokens": other["tokens"].assign(issued=pd.NaT)}))


@pytest.mark.parametrize("status", [404, 503, 599])
def test_calls_that_failed_are_crosses(status):
    """And a legend says what a cross is; 599 is a call without an answer."""
    tables = history(2, status=status)
    for picture, count in ((token_timeline(**tables), 2), (call_latencies(calls=tables["calls"]), 2)):
        assert marks_of(picture, "X") == count
        assert [text.get_text() for text in picture.axes[0].get_legend().get_texts()] == ["a call", "one that failed"]


def test_endpoints_by_their_median():
    """The slowest first, with a stroke at the median of three calls or more."""
    picture = call_latencies(calls=history(3)["calls"], source=SOURCE)
    assert rows_of(picture) == ["POST /v1/oauth2/token (3)", "GET /v1/accounts (3)"]
    strokes = [one for one in picture.axes[0].collections if isinstance(one, mpl.collections.LineCollection)]
    assert [stroke.get_segments()[0][0][0] for stroke in strokes] == [80, 20]
    assert "milliseconds" in picture.axes[0].get_xlabel()


def test_of_many_endpoints_the_rare_share_a_line():
    """Eight rows at most, and no call is lost."""
    picture = call_latencies(calls=history(2, paths=[f"/v1/accounts/{number}" for number in range(20)])["calls"])
    assert len(rows_of(picture)) == 8
    assert rows_of(picture)[-1] == "14 other endpoints (28)"
    assert marks_of(picture, "o") == 42


def test_calls_of_several_sessions_are_drawn_once():
    """Whatever their numbers, which both sessions count from 1."""
    calls = history(1, paths=[f"/v1/accounts/{number}" for number in range(12)])["calls"]
    picture = call_latencies(calls=pd.concat([calls, calls]))
    assert rows_of(picture)[-1] == "6 other endpoints (12)"
    assert marks_of(picture, "o") == 26


def test_times_far_apart_are_on_a_logarithmic_scale():
    """So that the short ones are told apart."""
    calls = history(1)["calls"]
    calls["elapsed"] = [0.001, 5.0]
    picture = call_latencies(calls=calls)
    assert picture.axes[0].get_xscale() == "log"
    assert picture.axes[0].get_xlabel().startswith("seconds")


def test_bars_are_as_long_as_the_balances():
    """The longest first, with the amount beside it and the currency below; one below zero goes the other way."""
    table = accounts()
    table.loc[0, "equity"] = -5000.0
    picture = balances(table)
    assert rows_of(picture) == ["01", "03", "02"]
    assert [bar.get_width() for bar in picture.axes[0].patches] == [-5000, 3000.5, 2000.5]
    assert {"-5,000", "3,000", "equity in USD", "Equity by account number: 3 accounts"} <= set(words_of(picture))


def test_balances_of_decimals_and_other_columns():
    """Any column of numbers, decimals too, by any column."""
    table = tabulate(
        [{"id": "a", "cash": "1.25", "desk": "x"}, {"id": "b", "cash": "2.50", "desk": None}], numbers="decimal"
    )
    picture = balances(table, by="desk", amount="cash")
    assert rows_of(picture) == ["without (1)", "x (1)"]
    assert [bar.get_width() for bar in picture.axes[0].patches] == [2.5, 1.25]
    assert rows_of(balances(table)) == ["b", "a"]


def test_of_many_accounts_the_small_ones_are_summed():
    """Eight bars at most, the last one the sum of the rest."""
    picture = balances(accounts(10))
    assert rows_of(picture)[-1] == "3 others"
    assert picture.axes[0].patches[-1].get_width() == 6001.5


def test_a_sum_that_would_dwarf_the_others_has_no_bar():
    """It is written, and the bars above it stay readable."""
    table = accounts(500).assign(equity=[100.0] * 500)
    picture = balances(table)
    assert [bar.get_width() for bar in picture.axes[0].patches] == [100.0] * 7 + [0.0]
    assert picture.axes[0].texts[-1].get_text() == "49,300, too long for a bar"
    some = balances(table[:17])
    assert [bar.get_width() for bar in some.axes[0].patches] == [100.0] * 7 + [1000.0]


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ([1234.5, 2.0], ["1,234", "2"]),
        ([999.994, 0.004], ["999.99", "0.00"]),
        ([0.00012, 0.0], ["0.00012", "0"]),
    ],
)
def test_amounts_are_written_as_finely_as_they_are(amounts, words):
    """Without cents from a thousand on, with cents below, and a fraction of a unit with its digits."""
    assert [text.get_text() for text in balances(accounts(2).assign(equity=amounts)).axes[0].texts] == words


def test_currencies_are_not_added_up():
    """Not by a column, not into "others"; by currency they may."""
    table = accounts(9)
    table.loc[8, "currency"] = "EUR"
    table.loc[0, "currency"] = "EUR"
    with pytest.raises(TabulationError, match="different currencies"):
        balances(table, by="status")
    with pytest.raises(TabulationError, match="different currencies"):
        balances(table)
    assert rows_of(balances(table, by="currency")) == ["USD (7)", "EUR (2)"]
    assert "each in its own currency" in balances(table.head(8)).axes[0].get_xlabel()


CURRENCIES = ["USD", "EUR", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK"]


def accounts_of_currencies(currencies):
    """An account of each, the largest first."""
    count = len(currencies)
    return accounts(count).assign(equity=[1000.0 - row for row in range(count)], currency=currencies)


def test_each_currency_has_its_own_bar():
    """However many there are: of currencies there are no others."""
    picture = balances(accounts_of_currencies(CURRENCIES), by="currency")
    assert rows_of(picture) == [f"{currency} (1)" for currency in CURRENCIES]
    assert [bar.get_width() for bar in picture.axes[0].patches] == [1000.0 - row for row in range(10)]


def test_currencies_of_small_groups_are_not_added_up():
    """Not where each group has one currency, but the bar of the others would sum several."""
    table = accounts_of_currencies(CURRENCIES).assign(branch=[f"branch {row}" for row in range(10)])
    with pytest.raises(TabulationError, match="different currencies") as caught:
        balances(table, by="branch")
    assert 'by="currency"' in caught.value.next_step
    table = accounts_of_currencies([*CURRENCIES[:7], "DKK", "DKK", "DKK"]).assign(branch=table["branch"])
    assert rows_of(balances(table, by="branch"))[-1] == "3 others"


def test_currencies_of_bars_of_their_own_may_differ():
    """What counts is what a bar sums: one account in euro with a bar of its own leaves the others in dollars."""
    table = accounts_of_currencies(["USD", "EUR", *["USD"] * 8])
    assert rows_of(balances(table))[-1] == "3 others"
    assert rows_of(balances(pd.concat([table, table])))[-1] == "13 others"
    with pytest.raises(TabulationError, match="different currencies"):
        balances(table.assign(currency=[*["USD"] * 9, "EUR"]))


AMOUNTS = st.tuples(st.just("USD"), st.integers(1, 9)) | st.tuples(st.just("EUR"), st.just(1000))


@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), AMOUNTS), max_size=30))
def test_no_bar_sums_two_currencies(rows):
    """Each amount is in one bar, and none holds both dollars, which are few here, and euros, which are thousands."""
    table = pd.DataFrame([(desk, *amount) for desk, amount in rows], columns=["desk", "currency", "equity"])
    for by, is_grouped in (("desk", False), ("desk", True), ("currency", True)):
        try:
            lengths = [length for _, length in _bars(table, by, table["equity"], is_grouped=is_grouped)]
        except TabulationError:
            assert by == "desk"
            assert table["currency"].nunique() == 2
        else:
            assert sum(lengths) == table["equity"].sum()
            assert all(length < 1000 or length % 1000 == 0 for length in lengths)
            assert len(lengths) <= 8


def test_groups_are_of_values_and_not_of_labels():
    """Names that look alike once they are cut, or that hold invisible characters, are two bars all the same."""
    alike = ["x" * 40 + "1", "x" * 40 + "2", "a b", "a  b", "c", "c\u200b", "without", None]
    table = accounts(9).assign(desk=[*alike, alike[0]], equity=[800.0, 700, 600, 500, 400, 300, 200, 100, 50])
    picture = balances(table, by="desk")
    cut = "x" * 31 + "…"
    assert rows_of(picture) == [
        f"{cut} (2)",
        f"{cut} (1)",
        "a b (1)",
        "a b (1)",
        "c (1)",
        "c (1)",
        "without (1)",
        "without (1)",
    ]
    assert [bar.get_width() for bar in picture.axes[0].patches] == [850, 700, 600, 500, 400, 300, 200, 100]
    assert len(rows_of(balances(table.assign(account_number=table["desk"]).head(8)))) == 8


def test_groups_of_values_of_any_kind():
    """A number and its text are two, missing values of any kind are one, and lists go by their words."""
    table = accounts(6).assign(equity=[60.0, 50, 40, 30, 20, 10])
    mixed = table.assign(desk=pd.Series([1, "1", None, float("nan"), 1, pd.NA], dtype=object))
    assert rows_of(balances(mixed, by="desk")) == ["1 (2)", "without (3)", "1 (1)"]
    lists = table.assign(desk=pd.Series([["a"], ["b"], None, float("nan"), ["a"], ["b"]], dtype=object))
    assert rows_of(balances(lists, by="desk")) == ["['a'] (2)", "without (2)", "['b'] (2)"]


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        (pd.DataFrame({"a": [1]}), {}, "has none of equity"),
        (accounts(), {"amount": "nope"}, "no column nope"),
        (accounts(), {"amount": "status"}, "not of numbers"),
        (accounts(), {"by": "nope"}, "no column nope"),
    ],
)
def test_tables_without_balances(table, options, said):
    """An error of ours that names the columns there are."""
    with pytest.raises(TabulationError, match=said):
        balances(table, **options)


def test_tables_that_are_others():
    """A picture of tokens or calls needs tables of tokens or calls, and one of both."""
    with pytest.raises(TabulationError, match="no column"):
        call_latencies(calls=accounts())
    with pytest.raises(TabulationError, match="no column"):
        token_timeline(tokens=accounts(), calls=history(1)["calls"])
    with pytest.raises(TypeError, match="takes a session"):
        token_timeline()
    with pytest.raises(TypeError, match="takes a session"):
        call_latencies()


def test_nothing_to_draw():
    """Without tokens, calls or accounts a picture says so."""
    empty = history(0)
    assert "No call was authorized by an access token." in words_of(token_timeline(**empty))
    assert "No call was finished." in words_of(call_latencies(calls=empty["calls"]))
    assert "No account has a balance." in words_of(balances(accounts().head(0)))


def test_words_of_others_are_words():
    """What a server calls an account is drawn as it is, cut, and is no formula."""
    table = accounts()
    table["account_number"] = ["$\\frac$", "\u202eabc\x1b[2J", "x" * 500]
    picture = balances(table)
    assert picture._repr_png_()
    assert rows_of(picture) == ["x" * 31 + "…", "abc[2J", "$\\frac$"]


def test_without_matplotlib():
    """The error says what to install, and `import toolkit` does not need it."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import toolkit as tk\n"
        "try:\n    import toolkit.tables.charts\nexcept tk.ConfigurationError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "Pictures need matplotlib" in done.stdout
    assert "service-access-toolkit[lab]" in done.stdout
    heavy = subprocess.run(
        [sys.executable, "-c", "import sys, toolkit, toolkit.session.session; print('matplotlib' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert heavy.stdout.strip() == "False"


KERNEL_CELLS = [
    "import matplotlib.pyplot as plt\nplt.style.use('dark_background')",
    "from toolkit.tables.charts import balances\nimport pandas as pd",
    "picture = balances(pd.DataFrame({'id': ['a', 'b'], 'cash': [1, 2]}))\npicture",
    "display(picture, picture.axes[0].get_title(loc='left'))",
]


def test_in_a_notebook_it_shows_itself(tmp_path):
    """Once, at half its size in dots, without matplotlib's version, whatever style and back end are in force."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in KERNEL_CELLS])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (shown,), (again, title) = (cell.outputs for cell in notebook.cells[2:])
    assert title.data["text/plain"] == "'Cash by id: 2 accounts'"
    assert shown.data == again.data
    assert shown.data["text/plain"].startswith("<Picture: Cash by id")
    assert shown.metadata["image/png"]["width"] > 600
    png = base64.b64decode(shown.data["image/png"])
    assert b"matplotlib" not in png.lower()
    own = balances(pd.DataFrame({"id": ["a", "b"], "cash": [1, 2]}))
    assert png == own._repr_png_()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: balances(None),
        lambda: balances("accounts"),
        lambda: token_timeline(pd.DataFrame()),
        lambda: call_latencies(pd.DataFrame()),
        lambda: call_latencies(calls="calls"),
    ],
)
def test_what_no_picture_is_drawn_from(draw):
    """A session in place of a table, or the other way round, is told with what to give."""
    with pytest.raises(TabulationError, match=r"not (from )?[A-Za-z]+") as caught:
        draw()
    assert "calls" in caught.value.next_step
