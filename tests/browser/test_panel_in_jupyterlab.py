"""The panel works in JupyterLab: live and replaying, saved and opened again, with its kernel and without."""

from __future__ import annotations

import json

import nbformat
from panel_driver import CONNECTED, PANEL, SERVICE, choose, status

EARLY = "panel.session"
GONE = "This panel belongs to an earlier kernel. Run its cell again to use it."
FOCUSED = """() => {
  const element = document.activeElement;
  return element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent.trim();
}"""


def test_a_replay_runs_from_top_to_bottom_and_leaves_words_where_widgets_are_not_saved(open_notebook, lab):
    """A replay runs without credentials and clicks, and leaves words in a notebook saved without widgets."""
    cells = "import toolkit as tk\npanel = tk.panel(cassette='tour')\npanel", "len(panel.session.accounts())"
    notebook = open_notebook("replay.ipynb", *cells)
    notebook.run_all()
    status(notebook, "Replaying tour.yaml. Nothing is sent, and no credentials are needed.")
    notebook.panel.get_by_text("left at the end of the last call").wait_for()
    notebook.panel.get_by_text("just now").or_(notebook.panel.get_by_text("ago")).wait_for()
    saved = notebook.save()
    assert saved.cells[1].outputs[0]["data"]["text/plain"] == "25"
    words, widget = saved.cells[0].outputs
    assert words["data"]["text/plain"].startswith("<Panel: broker-sandbox · replay tour.yaml")
    assert list(widget["data"]) == ["application/vnd.jupyter.widget-view+json"]
    assert not notebook.page.get_by_text("run this cell again").is_visible()
    assert len(json.dumps(saved.metadata["widgets"])) < 45_000

    del saved.metadata["widgets"]
    notebook.name = "words.ipynb"
    nbformat.write(saved, lab.root / notebook.name)
    for is_trusted in (False, True):
        if is_trusted:
            lab.trust(notebook.name)
        notebook.open()
        notebook.page.get_by_text("run this cell again").wait_for()
        notebook.page.wait_for_timeout(3000)  # until JupyterLab gives up the missing model
        assert not notebook.page.get_by_text("model not found").is_visible()


def test_a_live_panel_is_used_with_the_keyboard_and_outlives_its_kernel(open_notebook):
    """A live panel works with the keyboard alone; without its kernel, words replace its controls."""
    notebook = open_notebook("live.ipynb", SERVICE, PANEL.format("None, service.credentials['sandbox-key']"), EARLY)
    page, panel = notebook.page, notebook.panel
    notebook.run_all()
    output = page.locator(".jp-OutputArea-output").last
    assert output.inner_text().split("\n")[:2] == [
        "ConfigurationError: The panel is not connected.",
        "Press Connect, then run this cell again.",
    ]
    choose(notebook, "Credentials", "new client key …")
    panel.get_by_label("Private key", exact=True).wait_for()
    panel.get_by_label("Environment", exact=True).focus()
    names = []
    for _ in range(9):
        names.append(page.evaluate(FOCUSED))
        page.keyboard.press("Tab")
    expected = ["Environment", "Mode", "Credentials", "Client ID", "Private key", "Private key file"]
    expected += ["Passphrase", "More options", "Connect"]
    assert names == expected

    panel.get_by_label("Environment", exact=True).focus()
    cells = page.locator(".jp-Cell").count()
    page.keyboard.type("bb")  # in command mode, "b" adds a cell
    assert page.locator(".jp-Cell").count() == cells

    choose(notebook, "Environment", "broker-sandbox · sandbox broker partner")
    choose(notebook, "Credentials", "sandbox-key · practice service · client key")
    panel.get_by_label("Private key", exact=True).wait_for(state="detached")
    panel.get_by_role("button", name="Connect", exact=True).focus()
    page.keyboard.press("Enter")
    status(notebook, CONNECTED)
    page.wait_for_function(f"() => ({FOCUSED})() === 'Connect'")
    panel.locator(".toolkit-left").get_by_text("left").wait_for()

    notebook.save()
    notebook.restart_kernel()
    status(notebook, GONE)
    assert not panel.get_by_role("button", name="Connect").is_visible()
    assert not panel.get_by_text("Connected.").is_visible()
    assert panel.get_by_text("sandbox-key · client key · sandbox broker partner").is_visible()
    notebook.open()
    status(notebook, GONE)
    assert not panel.get_by_role("combobox").first.is_visible()
    notebook.run_all()
    status(notebook, "Not connected.")
    assert panel.get_by_role("button", name="Connect").is_visible()
