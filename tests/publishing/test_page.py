"""The page of a published notebook runs nothing, loads nothing, and reads well on any screen."""

from __future__ import annotations

import base64
import re

import pytest
from bs4 import BeautifulSoup
from notebook_files import PIXEL, new_cell, notebook_with_everything

import toolkit as tk
from toolkit.sharing.page import heading_of, page_of, sanitized

UNSAFE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/x.png'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' jAvAscript:alert(1)'>x</a>",
    "<p style='background:url(https://evil.example)'>x</p>",
    "<p onclick='alert(1)'>x</p>",
    "<style>@import url(https://evil.example)</style>",
    "<link rel=stylesheet href=https://evil.example>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<iframe src=https://evil.example></iframe>",
    "<form action=https://evil.example><input></form>",
    "<math><mtext></p><style><!--</style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'><base href=https://evil.example>",
    "<!--[if IE]><script>alert(1)</script><![endif]-->",
]


@pytest.mark.parametrize("html", UNSAFE)
def test_unsafe_html_is_taken_out(html):
    """Scripts, handlers, frames, forms and everything that loads from elsewhere goes; what is beside it stays."""
    safe = sanitized(f"<b>before</b>{html}")
    assert safe.startswith("<b>before</b>")
    left = BeautifulSoup(safe, "html.parser").find_all()
    assert {tag.name for tag in left} <= {"a", "b", "p", "img", "style"}
    assert not [tag for tag in left if set(tag.attrs) - {"title"} or "evil.example" in tag.decode()]


def test_html_of_tables_stays():
    """Tables, their alignment and the style sheets of pandas stay; a sheet that loads something goes."""
    sheet = "<style>#T_1_a, #T_1_b {color: red; font-weight: bold;}</style>"
    row = '<tr style="text-align: right;"><td colspan="2" id="T_1_a">1</td></tr>'
    table = f'<table class="dataframe"><tbody>{row}</tbody></table>'
    assert sanitized(sheet + table) == sheet + table
    assert sanitized("<style>#T_1_c {background: url(x)}</style>" + table) == table


def test_page():
    """The page shows texts literally, pictures with a description, and a text in place of a widget or a script."""
    content = notebook_with_everything()
    assert heading_of(content) == "A report x & more"
    html = page_of(content, title="notebook", environments=["live"]).decode()
    assert html.startswith("<!DOCTYPE html>")
    assert "<title>A report x &amp; more</title>" in html
    assert "default-src 'none'" in html
    chart = 'alt="&lt;Chart: a chart&gt;"'
    for text in ("&lt;b&gt;literal&lt;/b&gt;", "no script", "IntSlider(value=3)", chart, '<img alt="a picture"'):
        assert text in html, text
    assert "alert(1)" not in html
    assert "evil.example" not in html
    assert base64.b64encode(b"<svg").decode()[:5] in html
    assert html == page_of(notebook_with_everything(), title="notebook", environments=["live"]).decode()
    assert heading_of({"cells": [new_cell(1, "1")]}) == ""


def test_attached_pictures_are_in_the_page():
    """A picture that is attached to a text is shown in it; one that is missing is an error that names it."""
    cell = {**new_cell(1, "# A\n\n![one](attachment:a.png)"), "attachments": {"a.png": {"image/png": PIXEL}}}
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    html = page_of(content, title="a").decode()
    assert re.search(f'<img alt="one" src="data:image/png;base64,{re.escape(PIXEL)}"/?>', html)
    with pytest.raises(tk.PublishError, match=r"not attached .*a\.png"):
        page_of({**content, "cells": [{**cell, "attachments": {}}]}, title="a")


@pytest.mark.filterwarnings("error")
def test_an_output_that_only_jupyter_shows_is_a_text():
    """A widget without a text of its own, such as a panel, is named; nothing is warned about."""
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    cell = {**new_cell(1, "panel"), "outputs": [{"output_type": "display_data", "metadata": {}, "data": data}]}
    html = page_of({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, title="a").decode()
    assert "[shown in Jupyter only]" in html
