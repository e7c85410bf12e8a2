"""The panel in a real JupyterLab: what it does, what it looks like, and what it leaves on the disk."""

from __future__ import annotations

import json
import secrets
import textwrap

import nbformat
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from nbconvert import HTMLExporter

from toolkit.practice_service import practice
from toolkit.session import Session

pytestmark = pytest.mark.browser

SERVICE = """\
import toolkit as tk
from dataclasses import replace
from pathlib import Path

service = tk.practice().start()
settings = replace(service.settings, project=Path.cwd(), cassettes="cassettes")
"""
PANEL = "panel = tk.panel({}, settings=settings)\npanel"
CONNECTED = "Connected. The service knows these credentials"


@pytest.fixture(scope="module")
def tour(lab):
    """A cassette named "tour" in the folder of the notebooks, and a project file beside it."""
    (lab.root / "toolkit.toml").write_text("")
    path = lab.root / "cassettes" / "tour.yaml"
    with practice() as service:
        credentials = service.credentials["sandbox-secret"]
        with Session(credentials=credentials, cassette=path, settings=service.settings) as session:
            session.accounts()
    return path


def status(notebook, words):
    """Wait until the panel says so."""
    notebook.panel.get_by_role("status").get_by_text(words).wait_for()


def connect(notebook):
    notebook.panel.get_by_role("button", name="Connect").click()


def reveal(notebook, expression):
    """A secret of the practice service in the notebook's kernel."""
    return notebook.kernel(f"print({expression}, end='')")


def choose(notebook, control, label):
    notebook.panel.get_by_label(control, exact=True).select_option(label=label)


def wait_for_choice(notebook, control, label):
    """Wait until the kernel has made this choice in a control, as it does when one above it changes."""
    option = notebook.panel.get_by_label(control, exact=True).locator("option:checked")
    option.filter(has_text=label).wait_for(state="attached")


def private_key(notebook, name):
    """The private key of practice credentials in the form that services hand out."""
    data = reveal(notebook, f"service.credentials[{name!r}].secrets()[0][1].reveal()")
    return f"-----BEGIN PRIVATE KEY-----\n{textwrap.fill(data, 64)}\n-----END PRIVATE KEY-----\n"


def key_lines(pem):
    """What of a key must be found nowhere: each of its lines, and all of them in one."""
    lines = pem.splitlines()[1:-1]
    return [*lines, "".join(lines)]


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


def test_nothing_that_is_typed_reaches_the_disk(open_notebook, lab, tour, tmp_path):
    """Typed, pasted, chosen, refused or abandoned: no file of notebook, history, log or workspace holds it."""
    notebook = open_notebook("typed.ipynb", SERVICE, PANEL.format("'paper'"), "session = panel.session")
    notebook.run_all()
    texts = [
        *type_a_key_pair(notebook),
        *type_a_client_secret(notebook),
        *paste_a_private_key(notebook),
        *type_a_passphrase(notebook, tmp_path / "encrypted.pem"),
        *choose_a_private_key(notebook, tmp_path / "key.pem"),
    ]
    choose(notebook, "Credentials", "new client secret …")
    texts.append(secrets.token_hex(20))
    notebook.panel.get_by_label("Client secret").fill(texts[-1])
    notebook.kernel("panel.session.accounts()")
    notebook.save()
    notebook.command("docmanager:save")  # the second save makes a checkpoint of the first
    assert list(lab.root.rglob(".ipynb_checkpoints/typed*.ipynb"))
    (lab.root / "typed.html").write_text(HTMLExporter().from_filename(lab.root / "typed.ipynb")[0])

    notebook.open()  # as reloading the page does
    status(notebook, "Not connected to what is chosen above: press Connect.")
    notebook.panel.get_by_text("left").wait_for()
    assert notebook.panel.get_by_label("Client secret").input_value() == ""
    assert "widgets" in notebook.save().metadata

    assert "MESSAGE TYPE:comm_msg" in lab.log.read_text()  # the kernel did log what reached it
    assert lab.files_with("session = panel.session")  # the search does find what is there
    for text in texts:
        assert lab.files_with(text) == []


def type_a_key_pair(notebook):
    """With the keyboard only."""
    texts = [reveal(notebook, f"service.credentials['paper'].{name}.reveal()") for name in ("key_id", "secret_key")]
    notebook.panel.get_by_label("Key ID").focus()
    notebook.page.keyboard.type(texts[0])
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.type(texts[1])
    notebook.page.keyboard.press("Enter")
    status(notebook, f"{CONNECTED}: 1 account.")
    assert notebook.panel.get_by_label("Key ID").count() == 0
    return texts


def type_a_client_secret(notebook):
    """A wrong one first: the words stand beside the field, which was emptied."""
    choose(notebook, "Environment", "broker-sandbox · sandbox broker partner")
    wait_for_choice(notebook, "Credentials", "new client secret …")
    client_id, client_secret = notebook.panel.get_by_label("Client ID"), notebook.panel.get_by_label("Client secret")
    refused = secrets.token_hex(20)
    client_id.fill("practice-sandbox-secret")
    client_secret.fill(refused)
    connect(notebook)
    notebook.panel.get_by_role("alert").get_by_text("refused the credentials: status 401").wait_for()
    assert (client_id.input_value(), client_secret.input_value()) == ("practice-sandbox-secret", "")
    accepted = reveal(notebook, "service.credentials['sandbox-secret'].client_secret.reveal()")
    client_secret.fill(accepted)
    connect(notebook)
    status(notebook, f"{CONNECTED}: 25 accounts.")
    return [refused, accepted]


def paste_a_private_key(notebook):
    """Into the masked field, by way of the clipboard."""
    key = private_key(notebook, "sandbox-key")
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_label("Private key", exact=True).wait_for()  # the form before has a client ID, too
    notebook.panel.get_by_label("Client ID").fill("practice-sandbox-key")
    notebook.page.evaluate("(text) => navigator.clipboard.writeText(text)", key)
    notebook.panel.get_by_label("Private key", exact=True).focus()
    notebook.page.keyboard.press("ControlOrMeta+V")
    connect(notebook)
    notebook.panel.get_by_text("default · client key · sandbox broker partner").wait_for()
    return key_lines(key)


def type_a_passphrase(notebook, file):
    """For an encrypted key from a file: the field appears when the key says so, and the key need not be given again."""
    passphrase = secrets.token_hex(20)
    key = encrypted(private_key(notebook, "sandbox-key"), passphrase)
    file.write_text(key)
    choose(notebook, "Credentials", "new client secret …")  # away from the key before
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_label("Private key", exact=True).wait_for()
    notebook.panel.get_by_label("Client ID").fill("practice-sandbox-key")
    notebook.panel.get_by_label("Private key file").set_input_files(file)
    connect(notebook)
    notebook.panel.get_by_role("alert").get_by_text("This private key is encrypted. Type its passphrase.").wait_for()
    field, wrong = notebook.panel.get_by_label("Passphrase"), secrets.token_hex(20)
    for text in (wrong, passphrase):
        field.and_(notebook.page.locator(":focus")).wait_for()
        notebook.page.keyboard.type(text)
        notebook.page.keyboard.press("Enter")
        if text == wrong:
            notebook.panel.get_by_role("alert").get_by_text("cannot be decrypted with this passphrase").wait_for()
            assert field.input_value() == ""
    field.wait_for(state="detached")
    status(notebook, f"{CONNECTED}: 25 accounts.")
    return [wrong, passphrase, *key_lines(key)]


def encrypted(pem, passphrase):
    key = load_pem_private_key(pem.encode(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode())).decode()


def choose_a_private_key(notebook, file):
    """As a file, for an environment whose calls would reach a real account."""
    file.write_text(private_key(notebook, "broker-key"))
    choose(notebook, "Environment", "broker-live · live broker partner")
    wait_for_choice(notebook, "Credentials", "new client secret …")
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_label("Private key", exact=True).wait_for()
    notebook.panel.get_by_label("Client ID").fill("practice-broker-key")
    notebook.panel.get_by_label("Private key file").set_input_files(file)
    connect(notebook)
    notebook.panel.get_by_text("default · client key · live broker partner").wait_for()
    assert notebook.panel.get_by_text("real account", exact=True).count() == 2
    return key_lines(file.read_text())


def test_the_token_is_counted_down_in_the_page(open_notebook, tour):
    """The text moves on by itself, without a word to or from the kernel."""
    notebook = open_notebook(
        "token.ipynb", SERVICE, PANEL.format("'broker-sandbox', service.credentials['sandbox-key']")
    )
    notebook.run_all()
    connect(notebook)
    status(notebook, CONNECTED)
    left = notebook.panel.locator(".toolkit-left")
    left.get_by_text("left").wait_for()
    before = left.inner_text()
    notebook.kernel("sent = []; panel._view.send = sent.append")
    notebook.page.wait_for_function(
        "(before) => document.querySelector('.toolkit-left').innerText !== before", arg=before
    )
    assert notebook.kernel("print(sent)").strip() == "[]"


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


def test_escape_empties_a_field(open_notebook, tour):
    """What was typed by mistake is gone with one key."""
    notebook = open_notebook("escape.ipynb", SERVICE, PANEL.format("'paper'"))
    notebook.run_all()
    field = notebook.panel.get_by_label("Secret key")
    field.fill(secrets.token_hex(20))
    field.press("Escape")
    assert field.input_value() == ""


def test_a_screen_reader_is_told_all_of_it(open_notebook, tour):
    """Roles and names: what is chosen, what is typed, what came of it, how long the token lasts, the last calls."""
    notebook = open_notebook("roles.ipynb", SERVICE, PANEL.format("None, service.credentials['sandbox-key']"))
    notebook.run_all()
    connect(notebook)
    status(notebook, CONNECTED)
    notebook.kernel("panel.session.accounts(); panel._after_cell(None)")
    panel = notebook.panel
    panel.get_by_role("region", name="Last calls").wait_for()
    assert panel.get_by_role("progressbar", name="Lifetime left of the token").count() == 1
    for name in ("Environment", "Mode", "Credentials"):
        assert panel.get_by_role("combobox", name=name).count() == 1
    assert panel.get_by_role("columnheader").all_inner_texts() == [
        "when (UTC)",
        "interface",
        "path",
        "status",
        "elapsed",
        "token",
    ]
    choose(notebook, "Credentials", "new client secret …")
    panel.get_by_role("textbox", name="Client ID").wait_for()
    status(notebook, "Not connected to what is chosen above: press Connect.")


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


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_follows_the_theme(open_notebook, tour, tmp_path, theme):
    """Text stands out from its ground in both themes, wide and narrow; pictures are in the test's folder."""
    notebook = open_notebook("theme.ipynb", SERVICE, PANEL.format("'live', service.credentials['live']"))
    notebook.run_all()
    notebook.command("apputils:change-theme", {"theme": theme})
    connect(notebook)
    status(notebook, CONNECTED)
    choose(notebook, "Credentials", "new key pair …")
    for width in (1200, 800, 640):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        notebook.panel.screenshot(path=tmp_path / f"{theme}-{width}.png")
        box = notebook.panel.bounding_box()
        overflow = notebook.panel.evaluate("(panel) => panel.scrollWidth - panel.clientWidth")
        assert box["width"] > 150
        assert overflow <= 0
    weakest = notebook.panel.evaluate(CONTRAST)
    assert weakest["ratio"] >= 3, weakest


# The weakest contrast between a text and its ground, as WCAG 2 defines it.
CONTRAST = """(panel) => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 10 ? v / 3294 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map(linear);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parts(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const texts = [...panel.querySelectorAll("label, select, input, button, dt, dd, span, div")].filter(
    (element) => element.offsetParent && [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim()),
  );
  const ratios = texts.map((element) => {
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    return { ratio: (a + 0.05) / (b + 0.05), text: element.textContent };
  });
  return ratios.sort((x, y) => x.ratio - y.ratio)[0];
}"""


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
