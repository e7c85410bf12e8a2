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
