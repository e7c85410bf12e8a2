"""The actions of a user with a panel in a notebook: choose, type, connect, read."""

from __future__ import annotations

import textwrap

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

SERVICE = """\
import toolkit as tk
from dataclasses import replace
from pathlib import Path

service = tk.practice().start()
settings = replace(service.settings, project=Path.cwd(), cassettes="cassettes")
"""
PANEL = "panel = tk.panel({}, settings=settings)\npanel"
CONNECTED = "Connected. The service accepts these credentials"


def status(notebook, words):
    """Wait until the panel has this status."""
    notebook.panel.get_by_role("status").get_by_text(words).wait_for()


def emptied(field):
    """Wait until a field is empty: the message that empties it may come after the one that is seen first."""
    from playwright.sync_api import expect

    expect(field).to_have_value("")


def alert(notebook, words):
    """Wait until the panel shows this problem."""
    notebook.panel.get_by_role("alert").get_by_text(words).wait_for()


def connect(notebook):
    notebook.panel.get_by_role("button", name="Connect").click()


def choose(notebook, control, label):
    notebook.panel.get_by_label(control, exact=True).select_option(label=label)


def wait_for_choice(notebook, control, label):
    """Wait until the kernel has made this choice, as it does when a control above it changes."""
    option = notebook.panel.get_by_label(control, exact=True).locator("option:checked")
    option.filter(has_text=label).wait_for(state="attached")


def reveal(notebook, expression):
    """Return a secret of the practice service in the notebook's kernel."""
    return notebook.kernel(f"print({expression}, end='')")


def private_key(notebook, name):
    """Return the private key of practice credentials in the form that services hand out."""
    data = reveal(notebook, f"service.credentials[{name!r}].secrets()[0][1].reveal()")
    return f"-----BEGIN PRIVATE KEY-----\n{textwrap.fill(data, 64)}\n-----END PRIVATE KEY-----\n"


def pem_of(key, encryption=None):
    """Return a private key as text."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()).decode()


class TwoPanels:
    """Two panels of a notebook, used by turns; the first is called "a" and the second "b"."""

    def __init__(self, notebook):
        self._panels = dict(zip("ab", notebook.page.locator(".toolkit-panel").all(), strict=True))

    def connect(self, name, environment, offered, credentials, texts, options):
        """Choose, type what is to be typed, and connect; labels of choices are given by how they start.

        `offered` is in a label that only the credentials of this environment have.
        """
        panel = self._panels[name]
        self._choose(panel, "Environment", f"{environment} · ")
        self._choose(panel, "Credentials", credentials, offered)
        for label, text in texts.items():
            panel.get_by_label(label, exact=True).fill(text)
        if options and panel.locator("details:not([open])").count():
            panel.get_by_text("More options").click()
        for label, text in options.items():
            field = panel.get_by_label(label, exact=True)
            if field.evaluate("(field) => field.tagName") == "INPUT":
                field.fill(text)
            elif text:
                field.select_option(label=text)
        panel.get_by_role("button", name="Connect", exact=True).click()
        self.status(name, CONNECTED)

    def status(self, name, words):
        self._panels[name].get_by_role("status").get_by_text(words).wait_for()

    def fields(self):
        """Return how many fields to type into each panel shows."""
        return {name: panel.get_by_role("textbox").count() for name, panel in self._panels.items()}

    @staticmethod
    def _choose(panel, control, start, offered=""):
        """Choose the option whose label starts with these words, once these words are offered as well."""
        options = panel.get_by_label(control, exact=True).locator("option")
        options.filter(has_text=offered or start).first.wait_for(state="attached")
        label = options.filter(has_text=start).first.inner_text()
        panel.get_by_label(control, exact=True).select_option(label=label.replace("\xa0", " "))
