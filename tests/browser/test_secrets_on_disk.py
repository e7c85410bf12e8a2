"""No file holds a text typed into a panel: notebook, widget state, checkpoint, export, history, log, workspace."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from canaries import assert_absent, files_with, pieces
from cryptography.hazmat.primitives.asymmetric import ec
from nbconvert import HTMLExporter
from panel_driver import (
    CONNECTED,
    PANEL,
    SERVICE,
    alert,
    choose,
    connect,
    pem_of,
    private_key,
    reveal,
    status,
    wait_for_choice,
)

# What is typed into an ordinary widget is saved with the notebook. If the search misses it, the search proves nothing.
PLANTED = "import ipywidgets\nplanted = ipywidgets.Password(description='Planted')\nplanted"
NAME = "typed.ipynb"


class Typist:
    """Types into the panel of a notebook, and searches for everything that was typed.

    Attributes:
        notebook: the notebook, with a panel and an ordinary widget below it.
        typed: texts that must not be found anywhere.
    """

    def __init__(self, notebook):
        self.notebook, self.root = notebook, notebook.lab.root
        self.typed = []

    def fill(self, label, text):
        """Type a secret into a field."""
        self.typed += [text]
        self.notebook.panel.get_by_label(label, exact=True).fill(text)

    def paste(self, label, pem):
        """Paste a private key into a field, by way of the clipboard."""
        self.typed += pieces(pem)
        self.notebook.page.evaluate("(text) => navigator.clipboard.writeText(text)", pem)
        self.notebook.panel.get_by_label(label, exact=True).focus()
        self.notebook.page.keyboard.press("ControlOrMeta+V")

    def choose_file(self, file, pem):
        """Choose a file with a private key, which is outside of what is searched."""
        self.typed += pieces(pem)
        file.write_text(pem)
        self.notebook.panel.get_by_label("Private key file").set_input_files(file)

    def look(self, save):
        """Save the notebook and search everything; only text in the ordinary widget is found."""
        planted = secrets.token_hex(20)
        self.notebook.page.get_by_label("Planted").last.fill(planted)
        save()
        assert {Path(NAME), Path(".home/lab.log")} <= {*files_with(self.root, planted)}
        self.search()

    def search(self):
        """Search every file, and what the page stores."""
        stored = json.dumps(self.notebook.page.context.storage_state())
        assert_absent([self.root, stored], self.typed, layers=0)

    def export(self):
        """Write the saved notebook as HTML."""
        html, _ = HTMLExporter().from_filename(self.root / NAME)
        (self.root / "typed.html").write_text(html)


def test_nothing_that_is_typed_into_a_panel_reaches_the_disk(open_notebook, tmp_path):
    """No typed text reaches the disk, whether abandoned, refused or accepted, saved, exported or opened again."""
    notebook = open_notebook(NAME, SERVICE, PANEL.format("'paper'"), PLANTED)
    notebook.run_all()
    typist = Typist(notebook)
    for kind in (key_pair, client_secret, pasted_key, chosen_key):
        kind(typist, tmp_path)
    choose(notebook, "Environment", "paper · paper account")
    wait_for_choice(notebook, "Credentials", "default · this notebook")
    choose(notebook, "Credentials", "new key pair …")
    typist.fill("Secret key", secrets.token_hex(20))
    typist.look(notebook.save)
    typist.export()
    assert list(notebook.lab.root.rglob(".ipynb_checkpoints/typed*.ipynb"))

    notebook.open()  # reloads the page
    status(notebook, "The choices above are not in use yet")
    assert notebook.panel.get_by_label("Secret key").input_value() == ""
    notebook.save()
    notebook.command("kernelmenu:shutdown")  # writes the history of what was executed
    history = files_with(notebook.lab.root, PLANTED.splitlines()[1])
    assert Path(".home/ipython/profile_default/history.sqlite") in history
    typist.search()


def key_pair(typist, _):
    """Type a wrong key pair and then the right one, with the keyboard only."""
    notebook = typist.notebook
    choose(notebook, "Credentials", "new key pair …")
    key_id, secret_key = key_pair_of_practice(notebook)
    typist.fill("Key ID", secrets.token_hex(10))
    typist.fill("Secret key", secrets.token_hex(20))
    typist.look(notebook.autosave)
    connect(notebook)
    alert(notebook, "status 401")
    typist.typed += [key_id, secret_key]
    notebook.panel.get_by_label("Key ID").fill("")
    notebook.panel.get_by_label("Key ID").focus()
    notebook.page.keyboard.type(key_id)
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.type(secret_key)
    notebook.page.keyboard.press("Enter")
    status(notebook, f"{CONNECTED} and shows 1 account.")
    notebook.panel.get_by_label("Key ID").wait_for(state="detached")
    typist.look(notebook.save)


def client_secret(typist, _):
    """Type a wrong client secret, which is emptied and reported, and then the right one."""
    from playwright.sync_api import expect

    notebook = typist.notebook
    choose(notebook, "Environment", "broker-sandbox · sandbox broker partner")
    wait_for_choice(notebook, "Credentials", "sandbox-secret · practice service")
    choose(notebook, "Credentials", "new client secret …")
    client_id, field = notebook.panel.get_by_label("Client ID"), notebook.panel.get_by_label("Client secret")
    client_id.fill("practice-sandbox-secret")
    typist.fill("Client secret", secrets.token_hex(20))
    connect(notebook)
    alert(notebook, "refused the credentials: status 401")
    expect(field).to_have_value("")  # the kernel empties it after it has reported the refusal
    assert client_id.input_value() == "practice-sandbox-secret"
    typist.look(notebook.save)
    typist.fill("Client secret", reveal(notebook, "service.credentials['sandbox-secret'].client_secret.reveal()"))
    connect(notebook)
    status(notebook, f"{CONNECTED} and shows 25 accounts.")


def pasted_key(typist, _):
    """Paste a wrong key into the masked field by way of the clipboard, and then the right key."""
    notebook = typist.notebook
    start_a_client_key(notebook, "practice-sandbox-key")
    typist.paste("Private key", pem_of(ec.generate_private_key(ec.SECP256R1())))
    typist.look(notebook.autosave)
    connect(notebook)
    alert(notebook, "refused the credentials: status 401")
    typist.paste("Private key", private_key(notebook, "sandbox-key"))
    connect(notebook)
    notebook.panel.get_by_text("default · client key · sandbox broker partner").wait_for()


def chosen_key(typist, folder):
    """Choose a file, for an environment whose calls reach a real account or, as here, a practice service."""
    notebook = typist.notebook
    choose(notebook, "Environment", "broker-live · live broker partner")
    wait_for_choice(notebook, "Credentials", "broker-secret · practice service")
    start_a_client_key(notebook, "practice-broker-key")
    typist.choose_file(folder / "key.pem", private_key(notebook, "broker-key"))
    connect(notebook)
    notebook.panel.get_by_text("default · client key · live broker partner").wait_for()
    assert notebook.panel.get_by_text("practice", exact=True).count() == 2
    typist.look(notebook.save)


def key_pair_of_practice(notebook):
    return [reveal(notebook, f"service.credentials['paper'].{name}.reveal()") for name in ("key_id", "secret_key")]


def start_a_client_key(notebook, client_id):
    choose(notebook, "Credentials", "new client secret …")  # forgets the previous key
    choose(notebook, "Credentials", "new client key …")
    notebook.panel.get_by_label("Private key", exact=True).wait_for()
    notebook.panel.get_by_label("Client ID").fill(client_id)
