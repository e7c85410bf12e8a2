"""All charts: the same bytes each time, readable on any background, and with a line that names the source."""

from __future__ import annotations

import base64
import html
import io
import sys
from datetime import UTC, datetime
from functools import cache

import pytest
from chart_samples import CHARTS, SOURCE, accounts, history, texts_of
from PIL import Image

from toolkit.core.errors import ConfigurationError, TabulationError
from toolkit.session.session import Session
from toolkit.tables.charts import balances, call_latencies, token_timeline


@cache
def png_of(name):
    """Return the bytes of a chart, drawn once for all tests."""
    return CHARTS[name]()._repr_png_()


def test_same_bytes_each_time():
    """A chart has the same bytes each time it is drawn or shown, and is shown at half its number of dots."""
    chart = CHARTS["timeline"]()
    data, metadata = chart._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == chart._repr_png_() == png_of("timeline")
    image = Image.open(io.BytesIO(png_of("timeline")))
    assert set(image.info) <= {"dpi", "Description"}
    size = metadata["image/png"]
    assert (size["width"], size["height"]) == (image.width // 2, image.height // 2)


@pytest.mark.parametrize("name", CHARTS)
def test_no_line_through_a_label(name):
    """No line, mark or bar touches the text of a row, and no two texts touch."""
    chart = CHARTS[name]()
    chart.canvas.draw()
    (axes,) = chart.axes
    texts = [text.get_window_extent() for text in axes.texts]
    lines = [line.get_transform().transform(line.get_xydata()) for line in axes.lines]
    assert not any(box.contains(*point) for box in texts for points in lines for point in points)
    others = [part.get_datalim(axes.transData).transformed(axes.transData) for part in axes.collections]
    others += [part.get_window_extent() for part in axes.patches]
    assert not any(box.overlaps(other) for box in texts for other in others)
    assert not any(box.overlaps(other) for place, box in enumerate(texts) for other in texts[:place])


def test_dark_pages():
    """On a screen, a dark page turns the lightness of a chart over."""
    shown = CHARTS["balances"]()._repr_mimebundle_()[0]["text/html"]
    style = shown.partition("<style>")[2].partition("</style>")[0]
    assert style.startswith("@media screen {")
    assert '[data-jp-theme-light="false"] .access-chart' in style


@pytest.mark.usefixtures("_no_layout")
def test_source_of_sessions_and_tables(settings, service, make_credentials):
    """The source is a session, with a mark for a real account or a replay, or the note of a table; or it is unknown."""
    options = {"settings": settings, "transport": service}
    with Session(credentials=make_credentials("live"), cassette="one", **options) as session:
        assert "live · real account · live calls, recorded, no call yet" in texts_of(call_latencies(session))
        session.accounts()
    replayed = Session(cassette="one", mode="none", settings=settings)
    replayed.accounts()
    recorded = f"live · replayed, recorded {datetime.now(UTC).day} "
    for each, words in ((session, "live · real account · live calls, recorded, as of "), (replayed, recorded)):
        for chart in (token_timeline(each), call_latencies(each), balances(accounts(), source=each)):
            assert words in repr(chart)
    table = accounts()
    assert "source not known" in repr(balances(table))
    table.attrs["source"] = SOURCE
    assert repr(balances(table[table["status"] == "open"])).endswith(f"; {SOURCE}>")
    assert repr(balances(table, source="by hand")).endswith("; by hand>")


@pytest.mark.parametrize(
    ("function", "arguments", "about"),
    [
        (balances, {"accounts": "accounts"}, "accounts"),
        (token_timeline, {"session": accounts()}, "session"),
        (call_latencies, {}, "session"),
        (call_latencies, {"calls": "calls"}, "calls"),
        (call_latencies, {"calls": accounts()}, "calls"),
        (token_timeline, {"tokens": accounts(), "calls": history(1)["calls"]}, "tokens"),
    ],
)
def test_wrong_arguments(function, arguments, about):
    """A table instead of a session, a session instead of a table, and a table of another kind are refused."""
    with pytest.raises(TabulationError) as caught:
        function(**arguments)
    assert caught.value.about == about
    assert caught.value.next_step


@pytest.mark.filterwarnings("error")
def test_nothing_to_draw():
    """A chart without tokens, calls or accounts says so, in a place that needs no warning about the layout."""
    empty = history(0)
    assert "No call was authorized by an access token." in texts_of(token_timeline(**empty))
    assert "No call has finished." in texts_of(call_latencies(calls=empty["calls"]))
    assert "No account has a balance." in texts_of(balances(accounts().head(0)))


def test_without_matplotlib(monkeypatch):
    """The error says what to install."""
    for name in [name for name in sys.modules if name.startswith("toolkit.tables.charts")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigurationError, match="Charts need matplotlib") as caught:
        __import__("toolkit.tables.charts")
    assert "[lab]" in caught.value.next_step


@pytest.mark.usefixtures("_no_layout")
def test_alternative_text(tmp_path):
    """Pages and files carry title, rows and source as text, safe for HTML."""
    chart = balances(accounts().assign(account_number=["<b>", '"x"', "03"]), source=SOURCE)
    text = f'Equity by account number: 3 records. 03: 3,000; "x": 2,000; <b>: 1,000. {SOURCE}.'
    assert chart.alternative_text == text
    data, metadata = chart._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == text
    assert f'alt="{html.escape(text)}"' in data["text/html"]
    assert f'src="data:image/png;base64,{data["image/png"]}"' in data["text/html"]
    assert Image.open(io.BytesIO(chart._repr_png_())).info["Description"] == text
    chart.savefig(tmp_path / "chart.svg")
    assert SOURCE in (tmp_path / "chart.svg").read_text("utf-8")
    assert token_timeline(**history(2)).rows == ("token 1: replaced, 1 call", "token 2: valid, 14:29 left, 1 call")
    assert call_latencies(calls=history(3)["calls"]).rows[0].endswith(": median 80 milliseconds")
