"""The panel in a real JupyterLab: what it does, saved and unsaved, with and without its kernel."""

from __future__ import annotations

import ast
import json
import secrets

import nbformat
from panel_driver import CONNECTED, PANEL, SERVICE, choose, connect, status


def test_a_replay_runs_from_top_to_bottom(open_notebook, tour):
    """A notebook with a panel needs no hand: the cells below get the recorded accounts."""
    notebook = open_notebook(
        "replay.ipynb",
        "import toolkit as tk\npanel = tk.panel(cassette='tour')\npanel",
        "len(panel.session.accounts())",
    )
    notebook.run_all()
    status(notebook, "Replaying tour.yaml. Nothing is sent, and no credentials are needed.")
    notebook.panel.get_by_text("left, as recorded").wait_for()
    notebook.panel.get_by_text("just now").or_(notebook.panel.get_by_text("ago")).wait_for()
    saved = notebook.save()
    assert saved.cells[1].outputs[0]["data"]["text/plain"] == "25"
    words, widget = saved.cells[0].outputs
    assert words["data"]["text/plain"].startswith("<Panel: broker-sandbox · replay tour.yaml")
    assert list(widget["data"]) == ["application/vnd.jupyter.widget-view+json"]
    assert not notebook.page.get_by_text("run this cell again").is_visible()
    assert len(json.dumps(saved.metadata["widgets"])) < 25_000


def test_a_cell_that_is_run_too_early_says_what_to_do(open_notebook, tour):
    """Two lines in place of a traceback."""
    notebook = open_notebook("early.ipynb", SERVICE, PANEL.format("'paper'"), "panel.session")
    notebook.run_all()
    said = notebook.page.locator(".jp-OutputArea-output").last
    assert said.inner_text().split("\n")[:2] == [
        "ConfigurationError: The panel is not connected.",
        "Press Connect, then run this cell again.",
    ]


def test_the_token_is_counted_down_in_the_page(open_notebook, tour):
    """The text moves on by itself, though the kernel says nothing more."""
    notebook = open_notebook(
        "token.ipynb", SERVICE, PANEL.format("'broker-sandbox', service.credentials['sandbox-key']")
    )
    notebook.run_all()
    connect(notebook)
    status(notebook, CONNECTED)
    left = notebook.panel.locator(".toolkit-left")
    left.get_by_text("left").wait_for()
    notebook.kernel("panel._view.send = lambda told: None")
    for _ in range(2):
        before = left.inner_text()
        notebook.page.wait_for_function(
            "(before) => document.querySelector('.toolkit-left').innerText !== before", arg=before
        )


GONE = "From an earlier run of the kernel. To use the panel, run its cell again."


def test_a_panel_of_an_earlier_kernel_says_so(open_notebook, tour):
    """Restarted before its eyes, or saved and opened again: words in place of controls that do nothing."""
    notebook = open_notebook("restarted.ipynb", SERVICE, PANEL.format("None, service.credentials['paper']"))
    notebook.run_all()
    connect(notebook)
    status(notebook, CONNECTED)
    notebook.save()
    notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"
    )
    status(notebook, GONE)
    assert not notebook.panel.get_by_role("button", name="Connect").is_visible()
    assert not notebook.panel.get_by_text("Connected.").is_visible()
    assert notebook.panel.get_by_text("paper · key pair · paper account").is_visible()
    notebook.open()
    status(notebook, GONE)
    assert not notebook.panel.get_by_role("combobox").first.is_visible()
    notebook.run_all()
    status(notebook, "Not connected.")
    assert notebook.panel.get_by_role("button", name="Connect").is_visible()


def test_a_notebook_that_was_saved_without_widgets_has_words_in_their_place(open_notebook, lab, tour):
    """As JupyterLab saves it by default: neither "model not found" nor an empty place."""
    cells = "import toolkit as tk\npanel = tk.panel(cassette='tour')\npanel", "panel.session.accounts()"
    notebook = open_notebook("words.ipynb", *cells)
    notebook.run_all()
    status(notebook, "Replaying tour.yaml")
    saved = notebook.save()
    del saved.metadata["widgets"]
    again = open_notebook("words-only.ipynb", *cells)
    nbformat.write(saved, lab.root / "words-only.ipynb")
    for is_trusted in (False, True):
        if is_trusted:
            lab.trust("words-only.ipynb")
        again.open()
        again.page.get_by_text("run this cell again").wait_for()
        again.page.wait_for_timeout(3000)  # after this long JupyterLab gives a missing model up
        assert not again.page.get_by_text("model not found").is_visible()


def test_a_letter_at_a_list_of_choices_is_no_command_to_the_notebook(open_notebook, tour):
    """In JupyterLab "b" adds a cell and "x" cuts one, with the keyboard's focus on a control of a panel as well."""
    notebook = open_notebook("letters.ipynb", SERVICE, PANEL.format("'paper'"))
    notebook.run_all()
    notebook.panel.get_by_label("Environment", exact=True).focus()
    notebook.page.keyboard.type("bbp")
    assert notebook.page.locator(".jp-Cell").count() == 2
    assert notebook.page.evaluate(FOCUSED) == "Environment"


def test_the_button_keeps_the_focus_while_it_works(open_notebook, tour):
    """Who connects with the keyboard goes on from there, and not from the top of the page."""
    notebook = open_notebook("focus.ipynb", SERVICE, PANEL.format("None, service.credentials['sandbox-secret']"))
    notebook.run_all()
    notebook.panel.get_by_role("button", name="Connect", exact=True).focus()
    notebook.page.keyboard.press("Enter")
    status(notebook, CONNECTED)
    notebook.page.wait_for_function(f"() => ({FOCUSED})() === 'Connect'")


def test_a_press_counts_though_words_above_it_go(open_notebook, tour):
    """Leaving a field takes the words about it away, and so moves the button between press and release."""
    notebook = open_notebook("press.ipynb", SERVICE, PANEL.format("None, service.credentials['sandbox-secret']"))
    notebook.run_all()
    choose(notebook, "Mode", "record · call the service and keep the answers")
    name, words = notebook.panel.get_by_label("Name", exact=True), notebook.panel.get_by_text("has no name")
    connect(notebook)
    words.wait_for()
    name.fill("pressed")
    notebook.panel.get_by_role("button", name="Connect", exact=True).hover()
    notebook.page.mouse.down()
    words.wait_for(state="detached")
    notebook.page.mouse.up()
    status(notebook, "Calls are recorded to pressed.yaml")


SLOW_FILES = """() => {
  const read = File.prototype.text;
  File.prototype.text = async function () {
    if (this.name.startsWith("slow")) await new Promise((done) => setTimeout(done, 1000));
    if (this.name.startsWith("broken")) throw new Error("cannot be read");
    return read.call(this);
  };
}"""
KEEPING_WHAT_IS_HANDED_OVER = """
kept = []
inputs = panel._controls._credentials.inputs
inputs._answered = lambda: kept.append(inputs.take()["private_key"].reveal())
"""


def handed_over(notebook):
    """What the page has for the private key when it is asked."""
    notebook.kernel("kept.clear(); inputs.ask()")
    while (kept := notebook.kernel("if kept: print(kept)")) == "":
        notebook.page.wait_for_timeout(50)
    return ast.literal_eval(kept)


def test_the_file_that_was_chosen_last_counts(open_notebook, tour, tmp_path):
    """One that is refused, or read more slowly than the next, leaves no other in its place."""
    notebook = open_notebook("files.ipynb", SERVICE, PANEL.format("'broker-sandbox'"))
    notebook.run_all()
    notebook.page.evaluate(SLOW_FILES)
    choose(notebook, "Credentials", "new client key …")
    file = notebook.panel.get_by_label("Private key file")
    typed = notebook.panel.get_by_label("Private key", exact=True)
    file.wait_for()
    notebook.kernel(KEEPING_WHAT_IS_HANDED_OVER)
    paths = {name: tmp_path / f"{name}.pem" for name in ("slow", "fast", "broken", "large")}
    for name, path in paths.items():
        path.write_text(f"fake key {name} " + "x" * (100_000 if name == "large" else 0))

    def chosen(*names):
        for name in names:
            file.set_input_files(paths[name])
        if names[-1] in ("broken", "large"):
            notebook.panel.get_by_text("This file").wait_for()
        return handed_over(notebook)

    assert chosen("slow", "fast") == ["fake key fast "]
    assert chosen("fast", "large") == [""]
    assert chosen("fast", "broken") == [""]
    assert chosen("slow") == ["fake key slow "]
    file.set_input_files(paths["slow"])
    typed.fill("typed meanwhile")
    assert handed_over(notebook) == ["typed meanwhile"]


def test_escape_empties_a_field(open_notebook, tour):
    """What was typed by mistake is gone with one key."""
    notebook = open_notebook("escape.ipynb", SERVICE, PANEL.format("'paper'"))
    notebook.run_all()
    field = notebook.panel.get_by_label("Secret key")
    field.fill(secrets.token_hex(20))
    field.press("Escape")
    assert field.input_value() == ""


def test_a_panel_whose_kernel_does_not_answer_says_so(open_notebook, tour):
    """Found out when somebody points at it: what is shown is what it was."""
    notebook = open_notebook("saved.ipynb", SERVICE, PANEL.format("None, service.credentials['paper']"))
    notebook.run_all()
    connect(notebook)
    status(notebook, CONNECTED)
    absent = notebook.panel.get_by_text("The kernel is busy, or gone: this shows the panel as it last was.")
    assert not absent.is_visible()
    notebook.command("kernelmenu:shutdown")
    notebook.panel.hover()
    absent.wait_for()


def test_every_control_has_a_name_and_can_be_reached_with_the_keyboard(open_notebook, tour):
    """Tab goes through the form from top to bottom; each stop has a name that a screen reader says."""
    notebook = open_notebook("keyboard.ipynb", SERVICE, PANEL.format("'broker-sandbox'"))
    notebook.run_all()
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_label("Private key", exact=True).wait_for()
    notebook.panel.get_by_label("Environment", exact=True).focus()
    names = []
    for _ in range(7):
        names.append(notebook.page.evaluate(FOCUSED))
        notebook.page.keyboard.press("Tab")
    expected = ["Environment", "Mode", "Credentials", "Client ID", "Private key", "Private key file", "Connect"]
    assert names == expected


FOCUSED = """() => {
  const element = document.activeElement;
  return element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent.trim();
}"""
